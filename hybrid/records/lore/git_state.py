"""What a repository looks like when a record is written: commit, branch, last commits; read without git.

Which files are not committed cannot be told without git, whose settings in a foreign repository may run commands: that
list stays empty.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular
from hybrid.project.git_folder import folders_of, read_small
from hybrid.records.lore.handoffs import GitState
from hybrid.redact import redact

if TYPE_CHECKING:
    from pathlib import Path

_MAX_LOG_BYTES = 8_000_000
_N_COMMITS = 5
_BRANCH = "ref: refs/heads/"
_COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMITTED = re.compile(r"\S+ ([0-9a-f]{40,64}) .*\tcommit(?: \([a-z]+\))?: (.+)")


def head_commit(root: Path) -> str | None:
    """The id of the commit that is checked out; None without one, or where it is stored in a form unknown here."""
    folders = folders_of(root)
    if folders is None:
        return None
    own, common = folders
    head = (read_small(own / "HEAD") or "").strip()
    if not head.startswith("ref: "):
        return _id(head)
    name = head.removeprefix("ref: ").strip()
    if ".." in name or not name.startswith("refs/"):
        return None
    loose = _id((read_small(own / name) or read_small(common / name) or "").strip())
    return loose or _packed(read_small(common / "packed-refs") or "", name)


def git_state(root: Path) -> GitState:
    """Branch, the last five commits made here, the newest first, and stashes; empty without a repository."""
    folders = folders_of(root)
    if folders is None:
        return GitState()
    own, common = folders
    head = (read_small(own / "HEAD") or "").strip()
    committed = [match for line in _log_lines(own / "logs" / "HEAD") if (match := _COMMITTED.fullmatch(line))]
    return GitState(
        branch=head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else "",
        commits=tuple(f"{match[1][:7]} {redact(match[2])}" for match in reversed(committed[-_N_COMMITS:])),
        stash_count=len(_log_lines(common / "logs" / "refs" / "stash")),
    )


def _id(text: str) -> str | None:
    return text if _COMMIT_ID.fullmatch(text) else None


def _packed(text: str, name: str) -> str | None:
    for line in text.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _id(commit)
    return None


def _log_lines(path: Path) -> list[str]:
    """Lines of a log of references; none of one that is missing or very long."""
    try:
        data = read_regular(path, _MAX_LOG_BYTES)
    except (OSError, ValueError):
        return []
    return data.decode("utf-8", "replace").splitlines() if len(data) <= _MAX_LOG_BYTES else []
