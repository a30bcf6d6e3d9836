"""Reads what earlier commits changed and said, newest first; `hybrid.index.history` keeps it as arrays.

Of a commit come its subject, without secrets and without numbers of issues, and the paths it touched, by the names that
these have now. Authors are looked at to leave out programs, and not kept. The repository may be foreign: see `git`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.digest import sha256_hex
from hybrid.project.find import folders_of
from hybrid.redact import redact
from hybrid.sources.git import GitFailedError, GitUnavailableError, read_output

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

MOST_COMMITS = 5_000
"""Commits that are kept, the newest. With more of them nothing was found better."""
MOST_PATHS = 30
"""Paths of a commit that says something about each of them; larger ones are moves, formats and imports."""
_MOST_BYTES = 100_000_000
"""Bytes of a log that are read at most; 5,000 commits of usual size take one or two million."""
_MOST_LETTERS = 300
_LOG = (
    # A foreign program for signatures would be run, and mail maps, notes and orders of files be read.
    *("-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c", "log.diffMerges=off", "log", "-z"),
    *("--format=%x01%m%x02%H%x02%P%x02%an%x02%s", "--encoding=UTF-8", "--no-color", "--no-mailmap", "--no-notes"),
    *("--no-decorate", "--no-ext-diff", "--no-textconv", "--no-relative", "-O/dev/null", "--name-status"),
    # Only moves without a change: others need the content of files, which a partial clone does not have.
    "-M100%",
)
_BOT = re.compile(
    r"\[bot\]|dependabot|renovate|pre-commit|greenkeeper|pyup|snyk|github.actions|weblate|transifex", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(
    r"bump\b|releas(?:e|ing)\b|prepare (?:for|release|next)|v?\d+\.\d[\w.+-]*$|version \d|back to development|"
    r"(?:chore|build|ci)(?:\([^)]*\))?!?: ?(?:release|bump|update dep|deps)|\[(?:maven-release|pre-commit)|changelog\b|"
    r"merge (?:branch|pull|remote|tag|commit)|initial commit|"
    r"update (?:version|changelog|changes|readme|copyright|dependenc|translations|authors|sponsors)|"
    r"(?:run |apply )?(?:black|prettier|gofmt|rustfmt|cargo fmt|clang-format|isort)\b|"
    r"(?:(?:fix )?typos?|formatting|whitespace|lint(?:ing)?|wip)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\(#\d+\)|\bGH-\d+|#\d+")


class Commit(Struct, frozen=True):
    """A commit that says something about a few files.

    Attributes:
        key: Its id, in hex.
        subject: Its first line, as `cleaned` gives it.
        n_touched: Number of paths that it touched, those that are gone now too.
        paths: These paths by their present names, each once.
    """

    key: str
    subject: str
    n_touched: int
    paths: tuple[str, ...]


class CommitLog(Struct, frozen=True):
    """A part of a log, up to its newest commit.

    Attributes:
        commits: Those that say something, newest first.
        moved: Name of a file before this part → its name now, where that is another one.
        is_there: Path → whether the newest commit of this part that touched it left it there.
    """

    commits: list[Commit]
    moved: Mapping[str, str]
    is_there: Mapping[str, bool]


def cleaned(subject: str) -> str:
    """Return a subject without secrets and without numbers of issues, in one line of bounded length."""
    return redact(" ".join(_NUMBER.sub(" ", subject[:_MOST_LETTERS]).split()))


def newest(root: str, revision: str = "HEAD") -> str:
    """Return the id of the commit that a revision names; empty when there is no commit yet, or none of this name.

    Raises:
        GitUnavailableError: Git cannot be run here.
    """
    if revision.startswith("-"):  # An option, which no name of a commit begins like.
        return ""
    found = b""
    try:
        for data in read_output(root, ("rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}")):
            found += data
    except GitFailedError as error:
        if error.code != 1:
            raise
    return found.decode("ascii", "replace").strip()


def boundary(root: str) -> str:
    """Return a text that changes when a shallow clone gets older commits; empty for a whole repository."""
    folders = folders_of(Path(root))
    try:
        return sha256_hex((folders[1] / "shallow").read_bytes()) if folders else ""
    except OSError:
        return ""


def ancestors(root: str, commit: str) -> set[str]:
    """Return the ids of a commit, given by its id, and of all commits before it.

    Raises:
        GitUnavailableError: Git cannot be run here, or there is no such commit.
    """
    output = b"".join(read_output(root, ("rev-list", commit, "--")))
    return set(output.decode("ascii", "replace").split())


def read_commits(root: str, tip: str, most: int = MOST_COMMITS) -> CommitLog:
    """Read the newest commits up to `tip`. When git fails on the way, what came until then counts.

    Args:
        root: Real path of the top of the working tree.
        tip: Id of the newest commit.
        most: Commits to keep at most.

    Raises:
        GitUnavailableError: Git failed before it gave anything.
    """
    return _collect(_entries(read_output(root, (*_LOG, tip, "--"))), most)[0]


def read_newer(root: str, tip: str, known: str, most: int = MOST_COMMITS) -> CommitLog | None:
    """Read the commits up to `tip` that are not among those up to `known`.

    Returns:
        None when `known` is gone, is no ancestor of `tip`, lies too far behind, or git failed.
    """
    try:
        log, ends = _collect(_entries(read_output(root, (*_LOG, "--boundary", f"{known}..{tip}", "--"))), most)
    except GitUnavailableError:
        return None
    # All of the history before `known` is left out, so that `known` is where a way from an ancestor begins.
    return log if known in ends else None


class _Entry(Struct, frozen=True):
    """A commit as the log has it; `changes` are status, path, and the new path of a move."""

    mark: str
    key: str
    parents: str
    author: str
    subject: str
    changes: list[tuple[str, str, str]]


def _collect(entries: Generator[_Entry], most: int) -> tuple[CommitLog, set[str]]:
    """Return the log that entries make, and the ids of the commits where it begins."""
    now: dict[str, str] = {}
    is_there: dict[str, bool] = {}
    commits: list[Commit] = []
    ends: set[str] = set()
    n_entries = 0
    try:
        for entry in entries:
            n_entries += 1
            if entry.mark == "-":
                ends.add(entry.key)
                continue
            # A merge says what its commits say; the first commit that there is, or that a shallow clone has, lists
            # every file as new.
            if not entry.parents or " " in entry.parents:
                continue
            touched = [now.get(path, path) for status, path, _ in entry.changes if status != "R"]
            moved = {old: now.get(new, new) for status, old, new in entry.changes if status == "R"}
            for status, path, new in entry.changes:
                is_there.setdefault(now.get(new or path, new or path), status != "D")
            now.update(moved)
            if 0 < len(touched) <= MOST_PATHS and not _BOT.search(entry.author):
                subject = cleaned(entry.subject)
                if subject and not _SAYS_NOTHING.match(subject):
                    commits.append(Commit(entry.key, subject, len(touched), tuple(dict.fromkeys(touched))))
            if len(commits) >= most:
                break
    except GitUnavailableError:
        if not n_entries:
            raise
    finally:
        entries.close()
    return CommitLog(commits, {old: new for old, new in now.items() if old != new}, is_there), ends


def _entries(pieces: Generator[bytes]) -> Generator[_Entry]:
    """Yield the commits of a log as `_LOG` has git print it, newest first."""
    parts = _parts(pieces)
    head = ""
    changes: list[tuple[str, str, str]] = []
    for part in parts:
        if part.startswith("\x01"):
            if head:
                yield _entry(head, changes)
            head, changes = part, []
        elif status := part.strip("\n")[:1]:
            path = next(parts, "")
            changes.append((status, path, next(parts, "") if status in "RC" else ""))
    if head:
        yield _entry(head, changes)


def _entry(head: str, changes: list[tuple[str, str, str]]) -> _Entry:
    mark, key, parents, author, subject = (head[1:].split("\x02", 4) + [""] * 5)[:5]
    return _Entry(mark, key, parents, author, subject, changes)


def _parts(pieces: Generator[bytes]) -> Iterator[str]:
    """Yield the parts of an output that end in a zero byte; at most `_MOST_BYTES` are read."""
    rest, n_bytes = b"", 0
    try:
        for piece in pieces:
            *parts, rest = (rest + piece).split(b"\0")
            yield from map(os.fsdecode, parts)
            n_bytes += len(piece)
            if n_bytes > _MOST_BYTES:
                return
    finally:
        pieces.close()
    if rest:
        yield os.fsdecode(rest)
