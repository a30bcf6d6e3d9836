"""Says in words which repositories inside a project its index leaves out, and where git refuses to list files.

`hybrid init`, `hybrid status` and `hybrid doctor` print it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.knowledge.record_files import record_paths
from hybrid.upkeep.indexing import file_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid.sources.files import FileSource
    from hybrid.workspace import Workspace

_WHY = {
    "bare": "bare, so it has no files",
    "copy": "another working tree of a repository that is indexed",
    "ignored": "ignored by git",
    "setting": "index.inner_max_files is 0",
    "too_large": "more files than index.inner_max_files",
}
MISSED = ("ignored", "too_large")
"""Reasons for which a repository is left out that its owner may miss."""
HOW_TO_DECIDE = "index.include brings one in; index.exclude leaves it out without a word"
_NAMED = 5
_OF_ANOTHER_OWNER = ("dubious ownership", "unsafe repository")


class Inside(Struct, frozen=True):
    """The repositories of a project, as the last listing found them.

    Attributes:
        indexed: Repositories inside whose files are part of the index.
        left_out: Repository inside → why it is left out, a word of `hybrid.sources.listing.LeftOut`.
        refused: Repository, empty for the project itself → the message of git, which does not list it.
    """

    indexed: tuple[str, ...]
    left_out: Mapping[str, str]
    refused: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the keys of `hybrid status --json` for it."""
        return {
            "inner_repositories": list(self.indexed),
            "inner_left_out": dict(sorted(self.left_out.items())),
            "git_refused": dict(sorted(self.refused.items())),
        }


NOTHING = Inside((), {}, {})


def inside(source: FileSource) -> Inside:
    """Return what the last scan of a source, with `finds_ignored`, found of repositories."""
    return Inside(source.repositories, source.left_out, source.refused)


def look_inside(workspace: Workspace) -> Inside:
    """List the files of a workspace's project for what they say of repositories."""
    root = workspace.require_project().root
    source = file_source(root, workspace.config.index, workspace.home, record_paths(workspace))
    source.scan(finds_ignored=True)
    return inside(source)


def indexed_in_words(paths: Sequence[str]) -> str:
    """Return the repositories that are part of the index, a few by name; empty for none."""
    return f"{_few(paths)} (indexed with this project)" if paths else ""


def left_out_in_words(left_out: Mapping[str, str], reasons: tuple[str, ...] = tuple(_WHY)) -> str:
    """Return the repositories that are left out for some reasons, a few of each by name; empty for none."""
    parts: list[str] = []
    for reason in reasons:
        paths = sorted(path for path, why in left_out.items() if why == reason)
        parts += [f"{_few(paths)} ({_WHY[reason]})"] if paths else []
    return "; ".join(parts)


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def refusals(refused: Mapping[str, str], root: Path) -> list[tuple[str, str]]:
    """Return a sentence on each repository that git does not list, and the command that mends it."""
    found: list[tuple[str, str]] = []
    for path, message in sorted(refused.items()):
        folder = root / path
        what = f"git does not list {folder} ({message}): ignore rules are followed without it, commits are not read"
        if any(words in message for words in _OF_ANOTHER_OWNER):
            remedy = f"if you trust its owner: git config --global --add safe.directory {shlex.quote(str(folder))}"
        elif message.startswith("git cannot be run"):
            remedy = "install git, or put it on PATH"
        else:
            remedy = f"git -C {shlex.quote(str(folder))} status shows what is wrong"
        found.append((what, remedy))
    return found
