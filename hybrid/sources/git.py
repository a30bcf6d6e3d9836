"""Runs git: `listing` asks for the files of a working tree, `index.history_build` for its log. Nobody else runs git.

The repository may be foreign: nothing that its configuration names is executed, nothing is written into it, and the
search for it does not leave the folder that was given.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import re
import signal
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.home import expanded
from hybrid.base.text import sha256_hex
from hybrid.project.find import folders_of, parse_config, read_small
from hybrid.redact import redact
from hybrid.sources.file_rules import join

if TYPE_CHECKING:
    import subprocess
    import threading
    from collections.abc import Generator, Iterator, Mapping, Sequence


_TIMEOUT_S = 10.0
_LOOK_S = 0.5
"""Seconds without an answer after which git is checked for waiting at a pipe, which it would do for ever."""
_COUNT_BYTES = 65_536
_WITH_LITTLE_MEMORY = ("/bin/sh", "-c", 'ulimit -v 2097152 2>/dev/null; exec "$@"', "git")
"""Starts git with 2 GB of address space: the index of a million files takes a third of it, and rules of gigabytes do
not fit. A shell does it, since nothing else can before git begins without running Python between `fork` and `exec`."""

_SMALL_BYTES = 1_000_000
_INDEX_BYTES = 500_000_000
_OWN_FILES = {"HEAD": _SMALL_BYTES, "index": _INDEX_BYTES, "config.worktree": _SMALL_BYTES}
_COMMON_FILES = {
    "config": _SMALL_BYTES,
    "packed-refs": _INDEX_BYTES,
    "info/exclude": _SMALL_BYTES,
    "info/attributes": _SMALL_BYTES,
    "info/sparse-checkout": _SMALL_BYTES,
    "objects/info/alternates": _SMALL_BYTES,
}
_TREE_FILES = {".gitignore": _SMALL_BYTES, ".gitattributes": _SMALL_BYTES}
"""What git reads of a repository or of the top of its tree → the size up to which it may: git has no limit of its own,
and waits for ever for a pipe."""

_MAX_FOLDERS = 20_000
_at_work: set[subprocess.Popen[bytes]] = set()
_starting = _thread.allocate_lock()
_unreadable: dict[str, str] = {}
"""Top of a tree → the file below that git waited for; while it is no regular file, git is not started there again."""

# Variables of git that are passed on: where the user's own settings lie. All others could turn git to another
# repository or into another behaviour; a surrounding git process (a hook, for example) sets some of them.
_PASSED_ON = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM")

# A sparse index whose trees are missing has git fetch them from a "promisor" that the repository's configuration
# names, and so run `ext::COMMAND` or core.sshCommand. Older versions of git do not know GIT_NO_LAZY_FETCH, so no
# protocol is allowed either: no transport is called `none`, and the variable overrides every `protocol.*` setting.
_OWN_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_ARGUMENTS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "submodule.recurse=false",
)
_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
# The tag says whether a path is tracked (`?`: it is not); the mode of a tracked one says whether it is a submodule.
_WITH_MODES = ("-t", "--stage")
_SUBMODULE = "160000 "
_SMALL_WINDOWS = ("-c", "core.packedGitWindowSize=32m", "-c", "core.packedGitLimit=512m")
"""Parts of packs that are mapped at a time: by default up to all of them, and packs may be larger than git's memory."""


NO_TREE = "not the top of a git working tree"


class GitUnavailableError(Exception):
    """Git cannot be asked about this folder; the message says why."""


class GitFailedError(GitUnavailableError):
    """Git ended with an exit code other than 0, `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(f"git failed with {code}")
        self.code = code


class GitListing(Struct, frozen=True):
    """The files and inner repositories that git lists in one working tree.

    Attributes:
        files: Paths of files, also of tracked ones that were deleted, and of links to folders.
        repositories: Folders of submodules, checked out or not, and of untracked repositories inside.
    """

    files: set[str]
    repositories: set[str]


def list_files(root: str, within: Sequence[str] = (), *, timeout_s: float = _TIMEOUT_S) -> GitListing:
    """List the files that are tracked, or untracked and not ignored, as git sees them, and the repositories inside.

    Nothing in these is listed. The sets also take the place of `--deduplicate`, which git knows only since 2.31.

    Args:
        root: Real path of the top of the working tree.
        within: Relative paths of files and folders, there or gone: only these and what is below. Empty = everything.
        timeout_s: Seconds after which git is killed.

    Raises:
        GitUnavailableError: No git, no repository, not trusted (other owner), damaged, or too slow.
    """
    if not os.path.lexists(join(root, ".git")):
        raise GitUnavailableError(NO_TREE)
    import subprocess  # Costs 10 ms, and re-reading one span needs no git.

    with _running(root, (*_LIST, *_WITH_MODES, "--", *within), has_errors=True) as process:
        look_s = min(_LOOK_S, timeout_s)
        try:
            try:
                output, errors = process.communicate(timeout=look_s)
            except subprocess.TimeoutExpired:
                _refuse_pipes_below(root)
                output, errors = process.communicate(timeout=timeout_s - look_s)
        except subprocess.TimeoutExpired as error:
            _remember_unreadable(root, _SMALL_BYTES)
            raise GitUnavailableError(f"git took longer than {timeout_s:g} s") from error
    if process.returncode != 0:
        lines = errors.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise GitUnavailableError(f"git failed with {process.returncode}: {lines[0][:200]}")
    try:
        entries = os.fsdecode(output).split("\0")[:-1]
    except UnicodeDecodeError as error:
        raise GitUnavailableError("git gave a path that this system cannot name") from error
    files: set[str] = set()
    repositories: set[str] = set()
    for entry in entries:
        tag, _, rest = entry.partition(" ")
        path = rest if tag == "?" else rest.partition("\t")[2]
        if path.startswith(("../", "/")):
            continue
        if path.endswith("/") or (tag != "?" and rest.startswith(_SUBMODULE)):
            repositories.add(path.rstrip("/"))
        else:
            files.add(path)
    return GitListing(files, repositories)


def has_more_files(root: str, limit: int, *, timeout_s: float = _TIMEOUT_S) -> bool:
    """Return whether git lists more than `limit` files; git is killed as soon as that is known.

    Raises:
        GitUnavailableError: As `list_files`.
    """
    import threading

    n_files = 0
    with _running(root, _LIST) as process:
        assert process.stdout is not None
        is_done = threading.Event()
        threading.Thread(target=_watch, args=(process, root, timeout_s, is_done), daemon=True).start()
        try:
            while n_files <= limit and (data := process.stdout.read(_COUNT_BYTES)):
                n_files += data.count(b"\0")
        finally:
            is_done.set()
        if n_files > limit:
            return True
        process.wait()
    if process.returncode != 0:
        _remember_unreadable(root, _SMALL_BYTES)
        raise GitFailedError(process.returncode)
    return False


def read_output(root: str, command: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> Generator[bytes]:
    """Yield what a git command that only reads commits prints, piece by piece; closing the generator ends git.

    Args:
        root: Real path of the top of the working tree.
        command: Name of the command and its arguments.
        timeout_s: Seconds after which git is killed.

    Raises:
        GitUnavailableError: As `list_files`.
        GitFailedError: Git failed, or its time was over; after all that it printed.
    """
    if not os.path.lexists(join(root, ".git")):
        raise GitUnavailableError(NO_TREE)
    import threading

    with _running(root, (*_SMALL_WINDOWS, *command)) as process:
        assert process.stdout is not None
        limit = threading.Timer(timeout_s, _kill, (process,))
        limit.daemon = True
        limit.start()
        try:
            while data := process.stdout.read(_COUNT_BYTES):
                yield data
            process.wait()
        finally:
            limit.cancel()
    if process.returncode != 0:
        raise GitFailedError(process.returncode)


@contextlib.contextmanager
def _running(root: str, command: Sequence[str], *, has_errors: bool = False) -> Generator[subprocess.Popen[bytes]]:
    """Start git with bounded memory and yield its process; git and all that it started are killed at the end.

    Args:
        root: Real path of the top of the working tree.
        command: Name of the command and its arguments.
        has_errors: Standard error is read too.

    Raises:
        GitUnavailableError: Git cannot be run, or would read a file that it must not.
    """
    import subprocess

    _refuse_unreadable(root)
    try:
        with _starting:
            process = subprocess.Popen(
                (*(() if os.name == "nt" else _WITH_LITTLE_MEMORY), _executable(root), *_ARGUMENTS, *command),
                cwd=root,
                env=_environment(root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if has_errors else subprocess.DEVNULL,
                start_new_session=True,
            )
            _at_work.add(process)
    except (OSError, ValueError) as error:
        raise GitUnavailableError(f"git cannot be run: {error}") from error
    with process:
        try:
            yield process
        finally:
            _kill(process)
            _at_work.discard(process)


def kill_all() -> None:
    """Kill all git at work and let none start, for a process that ends at once: git at a pipe would outlive it."""
    _starting.acquire()  # For good: none is started from here on.
    for process in list(_at_work):
        _kill(process)


def _watch(process: subprocess.Popen[bytes], root: str, timeout_s: float, is_done: threading.Event) -> None:
    """Kill git when it may wait for a pipe, or when its time is over; return when either happened or git is done."""
    look_s = min(_LOOK_S, timeout_s)
    if is_done.wait(look_s):
        return
    try:
        _refuse_pipes_below(root)
    except GitUnavailableError:
        _kill(process)
        return
    if not is_done.wait(timeout_s - look_s):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all processes of its group, if it still runs; on Windows the process alone."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def _refuse_unreadable(root: str) -> None:
    """Raise when a file of rules or settings that git would read is a pipe, a device or too large.

    Files of rules in the folders below are checked only while git does not answer (`_refuse_pipes_below`).

    Raises:
        GitUnavailableError: There is such a file; the message names it.
    """
    folders = folders_of(Path(root))
    limits = {join(root, name): size for name, size in _TREE_FILES.items()}
    if folders is not None:
        own, common = folders
        limits |= {join(str(own), name): size for name, size in _OWN_FILES.items()}
        limits |= {join(str(common), name): size for name, size in _COMMON_FILES.items()}
        for name in ("config", "config.worktree"):
            limits |= dict.fromkeys(_named_files(common / name, root), _SMALL_BYTES)
    if root in _unreadable:
        limits[_unreadable[root]] = _SMALL_BYTES
    for path, size in limits.items():
        if reason := _reason_not_to_read(path, size):
            raise GitUnavailableError(f"{path} is {reason}")


def _reason_not_to_read(path: str, size_bytes: int) -> str:
    """Return why git must not read a file: too large, or no regular file. Empty when it may, or nothing is there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a path of three kinds, on each build
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(status.st_mode):
        return f"larger than {size_bytes / 1e6:g} MB" if status.st_size > size_bytes else ""
    return "" if stat.S_ISDIR(status.st_mode) else "no regular file"


def _refuse_pipes_below(root: str) -> None:
    """Raise when a file of rules in the tree is a pipe or device, at which git may be waiting; remember that file.

    Raises:
        GitUnavailableError: There is such a file; the message names it.
    """
    _remember_unreadable(root, sys.maxsize)
    if root in _unreadable:
        raise GitUnavailableError(f"{_unreadable[root]} is no regular file")


def _remember_unreadable(root: str, size_bytes: int) -> None:
    """Remember the first file of rules in the tree that git must not read, so that git is not started there again."""
    _unreadable.pop(root, None)
    waiting = [root]  # A stack of our own: `os.walk` of Python before 3.12 meets the limit of recursion.
    for _ in range(_MAX_FOLDERS):
        if not waiting:
            return
        folder = waiting.pop()
        for name in _TREE_FILES:
            path = join(folder, name)
            if os.path.lexists(path) and _reason_not_to_read(path, size_bytes):
                _unreadable[root] = path
                return
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            inner = [item.path for item in entries if item.name != ".git" and item.is_dir(follow_symlinks=False)]
            waiting += sorted(inner, reverse=True)


def _named_files(config: Path, root: str) -> Iterator[str]:
    """Yield the files that a file of settings has git read: excludes, attributes and further settings."""
    for key, values in parse_config(read_small(config) or "").items():
        if key in ("core.excludesfile", "core.attributesfile"):
            yield from (str(Path(root) / expanded(value)) for value in values)
        elif key.startswith(("include.", "includeif.")) and key.endswith(".path"):
            yield from (str(config.parent / expanded(value)) for value in values)


def _executable(root: str) -> str:
    """Return the absolute path of git from PATH, without relative folders and those inside the project.

    Raises:
        GitUnavailableError: There is no such git.
    """
    import shutil

    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = [folder for folder in folders if Path(folder).is_absolute() and not _is_inside(root, folder)]
    git = shutil.which("git", path=os.pathsep.join(trusted))
    if git is None or not Path(git).is_absolute() or _is_inside(root, git):
        raise GitUnavailableError("git cannot be run: there is none on PATH outside of the project")
    return git


def _is_inside(root: str, path: str) -> bool:
    real = os.path.realpath(path)
    return real == root or real.startswith(join(root, ""))


def _environment(root: str) -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _PASSED_ON
    }
    # With a damaged `.git` here, git would otherwise list this folder as part of a repository further up.
    environment["GIT_CEILING_DIRECTORIES"] = str(Path(root).parent)
    return environment | _OWN_VARIABLES


# --- the log: what earlier commits changed and said, newest first ---------------------------------------------
#
# Of a commit come its subject, without secrets and without numbers of issues, and the paths it touched, by the names
# that these have now. Authors are looked at to leave out programs, and not kept.

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
