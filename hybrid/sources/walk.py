"""Walks a project as git would list it: stands in when git cannot, and finds what `.hybridignore` brings back.

`listing` calls it. Links to folders are never followed, so there are no loops. Repositories inside are not entered.
Without git's index, a file that is tracked although a rule ignores it cannot be known here: it is left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.sources.reading import join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.sources.ignore import FolderRules


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk found.

    Attributes:
        files: Files and links, relative paths in no special order.
        brought_back: Those of them that are here because a rule with `!` of `.hybridignore` says so, or may be.
        n_unreadable: Folders that could not be opened.
        folders: Folders that were entered and are not ignored themselves; the project itself is left out.
    """

    files: list[str]
    brought_back: list[str]
    n_unreadable: int
    folders: list[str]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to enter.

    Attributes:
        path: Relative; empty for the project itself.
        is_ignored: Ignored, and entered only because a rule names a path through it: nothing is taken by default.
        is_brought_back: A rule with `!` meant this folder or one above it.
    """

    path: str
    is_ignored: bool
    is_brought_back: bool


class Walker:
    """One walk over one project."""

    def __init__(
        self, root: str, *, git_rules: FolderRules | None, own_rules: FolderRules, is_record: Callable[[str], bool]
    ) -> None:
        """A walk that can be run more than once.

        Args:
            root: Real path of the project.
            git_rules: `.gitignore`; None to follow none.
            own_rules: `.hybridignore` and the settings; where they say anything, they win.
            is_record: Tells of a relative path that it is never a document.
        """
        self._root = root
        self._git_rules = git_rules
        self._own_rules = own_rules
        self._is_record = is_record
        self._files: list[str] = []
        self._brought_back: list[str] = []
        self._folders: list[str] = []
        self._n_unreadable = 0

    def walk(self, within: Sequence[str] = ("",), *, limit: int | None = None) -> Walked:
        """Everything that is kept at or below the given paths, and some files of the folders above them.

        Args:
            within: Relative paths; an empty one is the whole project.
            limit: Stop when more files than this were found.
        """
        self._files, self._brought_back, self._folders, self._n_unreadable = [], [], [], 0
        waiting = [_Folder("", is_ignored=False, is_brought_back=False)]
        while waiting and (limit is None or len(self._files) <= limit):
            waiting.extend(self._enter(waiting.pop(), within))
        return Walked(self._files, self._brought_back, self._n_unreadable, self._folders)

    def _enter(self, folder: _Folder, within: Sequence[str]) -> list[_Folder]:
        """Note the files of one folder, and give the folders in it that are to be entered."""
        try:
            with os.scandir(join(self._root, folder.path)) as scan:
                entries = list(scan)
        except OSError:
            self._n_unreadable += 1
            return []
        if folder.path and any(entry.name == ".git" for entry in entries):
            return []
        if folder.path and not folder.is_ignored:
            self._folders.append(folder.path)
        found = (self._visit(entry, folder, within) for entry in entries)
        return [below for below in found if below is not None]

    def _visit(self, entry: os.DirEntry[str], folder: _Folder, within: Sequence[str]) -> _Folder | None:
        path = f"{folder.path}/{entry.name}" if folder.path else entry.name
        if entry.name == ".git" or self._is_record(path):
            return None
        is_folder = _is_folder(entry)
        if is_folder and not _is_wanted(path, within):
            return None
        own = self._own_rules.decide(path, is_folder=is_folder)
        if own is True:
            return None
        is_ignored = own is None and (folder.is_ignored or self._git_ignores(path, is_folder=is_folder))
        is_brought_back = folder.is_brought_back or own is False
        if is_folder:
            is_entered = not is_ignored or self._own_rules.opens(path)
            return _Folder(path, is_ignored, is_brought_back) if is_entered else None
        if not is_ignored:
            self._files.append(path)
            if is_brought_back:
                self._brought_back.append(path)
        return None

    def _git_ignores(self, path: str, *, is_folder: bool) -> bool:
        return self._git_rules is not None and self._git_rules.decide(path, is_folder=is_folder) is True


def _is_wanted(folder: str, within: Sequence[str]) -> bool:
    """Whether a folder lies on the way to one of the paths, or below it."""
    return any(not path or f"{path}/".startswith(f"{folder}/") or folder.startswith(f"{path}/") for path in within)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and not _is_junction(entry)
    except OSError:
        return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    """Windows' second kind of link to a folder; Python knows it since 3.12, and elsewhere there are none."""
    check = getattr(entry, "is_junction", None)
    return bool(check()) if check is not None else False
