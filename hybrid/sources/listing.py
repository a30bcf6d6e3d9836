"""Lists the files of a project: from git when it can, from a walk of its own when not; `files` calls it.

Rules of `.hybridignore` and of the settings stand above those of `.gitignore`: they may leave out what git keeps and,
with `!`, bring back what git ignores. A folder that git ignores is searched only along a path that such a rule names
literally (`!build/keep.md`, `!build/docs/**`), or if the rule means the folder itself (`!build/`); a bare `!*.log`
brings back files of folders that are not ignored. So no rule can pull in a whole `node_modules` by accident.
With git, a `.hybridignore` counts in folders where git lists a file; one further up can bring back the others.

`run` lists everything; `run_within` says the same of a few paths at a cost that does not grow with the others.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.project.git_folder import open_git_folder
from hybrid.sources.git import GitUnavailableError, has_more_files, list_files
from hybrid.sources.patterns import FolderRules, load_patterns, parse_patterns, unknown_folders
from hybrid.sources.reading import join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.sources.patterns import ListingOptions


# Walks a project as git would list it: stands in when git cannot, and finds what `.hybridignore` brings back.
#
# `listing` calls it. Links to folders are never followed, so there are no loops. Repositories inside are not
# entered. Without git's index, a file that is tracked although a rule ignores it cannot be known here: it is left
# out.


class Walked(Struct, frozen=True):
    """The result of a walk.

    Attributes:
        files: Relative paths of files and links, in no special order.
        brought_back: Those of `files` that a rule with `!` of `.hybridignore` or the settings kept, or may have kept.
        n_unreadable: Folders that could not be opened.
        folders: Folders that were entered and are not ignored themselves; the project itself is left out.
    """

    files: list[str]
    brought_back: list[str]
    n_unreadable: int
    folders: list[str]


class _Folder(Struct, frozen=True):
    """A folder to enter.

    Attributes:
        path: Relative path; empty for the project itself.
        is_ignored: True if rules ignore the folder, which is entered only because a rule with `!` names a path
            through it: its files are left out unless such a rule keeps them.
        is_brought_back: True if a rule with `!` of our own keeps this folder or one above it.
    """

    path: str
    is_ignored: bool
    is_brought_back: bool


class Walker:
    """Lists the files of one project after its ignore rules; to be run once."""

    def __init__(
        self, root: str, *, git_rules: FolderRules | None, own_rules: FolderRules, is_record: Callable[[str], bool]
    ) -> None:
        """Set the project and its rules; nothing is read yet.

        Args:
            root: Real path of the project.
            git_rules: `.gitignore`; None to follow none.
            own_rules: `.hybridignore` and the settings; where they say anything, they win.
            is_record: Returns True for a relative path that is never a document.
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
        """Return the files that the rules keep at or below some paths, and also files of the folders above these paths.

        Args:
            within: Relative paths; an empty one is the whole project.
            limit: Stop when more files than this were found.
        """
        waiting = [_Folder("", is_ignored=False, is_brought_back=False)]
        while waiting and (limit is None or len(self._files) <= limit):
            waiting.extend(self._enter(waiting.pop(), within))
        return Walked(self._files, self._brought_back, self._n_unreadable, self._folders)

    def _enter(self, folder: _Folder, within: Sequence[str]) -> list[_Folder]:
        """Note the files of one folder, and return the folders in it to enter; none for another repository."""
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
    """Return whether a folder lies on the way to one of the paths, or below it."""
    return any(not path or f"{path}/".startswith(f"{folder}/") or folder.startswith(f"{path}/") for path in within)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # A junction is Windows' second kind of link to a folder; Python knows it since 3.12.
    is_junction: Callable[[], bool] = getattr(entry, "is_junction", lambda: False)
    try:
        return entry.is_dir(follow_symlinks=False) and not is_junction()
    except OSError:
        return False


RECORD_FOLDERS = (".hybrid/", ".claude-recall/")
"""Folders of records: what is in them is given out by other sources, never as files."""


_FEW = 4
"""The most targets for which comparing a path with each is cheaper than making a set of the folders above it."""


class Listing(Struct, frozen=True):
    """The paths of the files of a project, none of which was looked at yet.

    Attributes:
        paths: Relative paths of files and links, sorted, each once.
        method: `git`, or `walk: REASON`.
        n_unreadable: Folders that could not be opened.
        folders: Folders to watch for a change, sorted: those of the files with all above them, without the project
            itself. Of `run_within`: those below the given folders that nothing ignores, also without a file.
    """

    paths: list[str]
    method: str
    n_unreadable: int
    folders: list[str]


class Lister:
    """Lists one project, from git or by a walk."""

    def __init__(self, root: str, options: ListingOptions) -> None:
        """Set the project by its real path; call `run` once."""
        self._root = root
        self._options = options
        lines = [*(_negated(line) for line in options.include), *options.exclude]
        self._own_rules = FolderRules(root, ".hybridignore", last=parse_patterns(lines))
        records = [*RECORD_FOLDERS, *options.record_paths]
        self._record_names = {path[:-1] for path in records if path.endswith("/") and "/" not in path[:-1]}
        self._record_paths = {path.strip("/") for path in records} - self._record_names
        self._kept_folders = {"": True}

    def run(self) -> Listing:
        """Return the files of the whole project, by a walk when git fails; never raises for what is on disk."""
        reason = self._reason_to_walk()
        if reason:
            return self._walk(reason)
        try:
            return self._ask_git()
        except GitUnavailableError as error:
            return self._walk(f"walk: {error}")

    def run_within(self, targets: Sequence[str]) -> Listing | None:
        """Return what `run` lists at or below some paths; None when only a full run can tell.

        Args:
            targets: Relative paths of files and folders, there or gone; at least one, none of them empty.
        """
        reason = self._reason_to_walk()
        if not os.path.lexists(join(self._root, ".git")):
            reason = reason or "walk: not the top of a git working tree"
        try:
            kept = self._walk_within(targets) if reason else self._ask_git_within(targets)
        except GitUnavailableError:
            return None
        if kept is None:
            return None
        folders = [path for path in targets if self._keeps_folder(path)]
        below = self._walker(self._rules_to_walk()).walk(folders).folders if folders else []
        return Listing(sorted(kept), reason or "git", 0, sorted(path for path in below if is_within(path, folders)))

    def has_more_files(self, limit: int) -> bool:
        """Return whether the project has more than `limit` files; with git, `.hybridignore` is not applied."""
        if not self._reason_to_walk():
            with contextlib.suppress(GitUnavailableError):
                return has_more_files(self._root, limit)
        return len(self._walker(self._rules_to_walk()).walk(limit=limit).files) > limit

    def _reason_to_walk(self) -> str:
        if not self._options.follow_gitignore:
            return "walk: .gitignore is not followed"
        return "" if self._options.use_git else "walk: git is not asked"

    def is_record(self, path: str) -> bool:
        """Return whether a path is a file or folder of records; False for paths below such a folder."""
        return path in self._record_paths or path.rpartition("/")[2] in self._record_names

    def _walk(self, method: str) -> Listing:
        walked = self._walker(self._rules_to_walk()).walk()
        return Listing(sorted(walked.files), method, walked.n_unreadable, sorted(walked.folders))

    def _walk_within(self, targets: Sequence[str]) -> set[str]:
        walked = self._walker(self._rules_to_walk()).walk(targets)
        return {path for path in walked.files if is_within(path, targets)}

    def _ask_git_within(self, targets: Sequence[str]) -> set[str] | None:
        above = sorted({folder for path in targets for folder in folders_above(path) if self._is_real_folder(folder)})
        own_files = [f"{folder}/.hybridignore" for folder in above if self._own_rules.lifts_in(folder)]
        listed = list_files(self._root, [*targets, *own_files])
        if not listed.issuperset(own_files):
            # Git lists no such file, but others beside it may make it count.
            return None
        kept = {path for path in listed if is_within(path, targets)}
        if any(os.path.lexists(join(self._root, f"{folder}/.git")) for path in kept for folder in folders_above(path)):
            # A repository inside: versions of git differ in what they say of a single path in it.
            return None
        folders = sorted({"", *above, *(path.rpartition("/")[0] for path in kept)})
        return self._apply_own_rules(kept, folders, targets)[0]

    def _ask_git(self) -> Listing:
        listed = list_files(self._root)
        folders = sorted({"", *(path.rpartition("/")[0] for path in listed)})
        kept, n_unreadable = self._apply_own_rules(listed, folders, ("",))
        return Listing(sorted(kept), "git", n_unreadable, sorted({f for path in kept for f in folders_above(path)}))

    def _apply_own_rules(self, listed: set[str], folders: list[str], targets: Sequence[str]) -> tuple[set[str], int]:
        """Return git's files that our own rules keep or bring back, and the number of folders that could not be read.

        Args:
            listed: Git's files at or below the targets.
            folders: Folders whose `.hybridignore` counts.
            targets: Relative paths; an empty one is the whole project.
        """
        is_silent = self._own_rules.is_silent(folders)
        kept = {path for path in listed if self._keeps_folder(path.rpartition("/")[0])}
        if self._record_paths:
            kept -= self._record_paths
        if is_silent:
            return kept, 0
        kept = {path for path in kept if self._own_rules.decide(path, is_folder=False) is not True}
        searches = _common(self._own_rules.searches(folders), targets)
        if not searches:
            return kept, 0
        walked = self._walker(self._git_rules()).walk(searches)
        return kept.union(path for path in walked.brought_back if is_within(path, targets)), walked.n_unreadable

    def _keeps_folder(self, folder: str) -> bool:
        """Return whether git's files in a folder are taken: it is no link, and no rule or record stands against it."""
        for below in unknown_folders(folder, self._kept_folders):
            is_kept = self._kept_folders[below.rpartition("/")[0]]
            self._kept_folders[below] = is_kept and self._is_plain_folder(below)
        return self._kept_folders[folder]

    def _is_plain_folder(self, folder: str) -> bool:
        if self.is_record(folder) or self._own_rules.decide(folder, is_folder=True) is True:
            return False
        # A folder that git tracks files in may have become a link out of the project.
        return self._is_real_folder(folder)

    def _is_real_folder(self, folder: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(join(self._root, folder)).st_mode)
        except OSError:
            return False

    def _walker(self, git_rules: FolderRules | None) -> Walker:
        return Walker(self._root, git_rules=git_rules, own_rules=self._own_rules, is_record=self.is_record)

    def _rules_to_walk(self) -> FolderRules | None:
        return self._git_rules() if self._options.follow_gitignore else None

    def _git_rules(self) -> FolderRules:
        folder = open_git_folder(Path(self._root))
        exclude = None if folder is None else load_patterns(str((folder.common / "info" / "exclude").resolve()))
        return FolderRules(self._root, ".gitignore", first=exclude)


def folders_above(path: str) -> list[str]:
    """Return the folders on the way to a relative path, outermost first, without the project itself."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def is_within(path: str, targets: Sequence[str]) -> bool:
    """Return whether a relative path is one of the targets or lies below one; an empty target is the whole project."""
    if len(targets) <= _FEW:
        return any(not target or path == target or path.startswith(f"{target}/") for target in targets)
    known = set(targets)
    return not known.isdisjoint(("", path, *folders_above(path)))


def _common(searches: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return the paths of both lists that are in, or lie below one of, the other list; sorted."""
    return sorted(
        {search for search in searches if is_within(search, targets)}
        | {target for target in targets if is_within(target, searches)}
    )


def _negated(pattern: str) -> str:
    return pattern[1:] if pattern.startswith("!") else f"!{pattern}"
