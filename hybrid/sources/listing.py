"""Lists the files of a project: from git when it can, from a walk of its own when not; `files` calls it.

Rules of `.hybridignore` and of the settings stand above those of `.gitignore`: they may leave out what git keeps and,
with `!`, bring back what git ignores. A folder that git ignores is searched only along a path that such a rule names
literally (`!build/keep.md`, `!build/docs/**`), or if the rule means the folder itself (`!build/`); a bare `!*.log`
brings back files of folders that are not ignored. So no rule can pull in a whole `node_modules` by accident.
With git, a `.hybridignore` counts in folders where git lists a file; one further up can bring back the others.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.project.git_folder import open_git_folder
from hybrid.sources.git import GitUnavailableError, list_files
from hybrid.sources.ignore import FolderRules, load_patterns
from hybrid.sources.patterns import parse_patterns
from hybrid.sources.reading import join
from hybrid.sources.walk import Walker

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORD_FOLDERS = (".hybrid/", ".claude-recall/")
"""Folders of records: what is in them is given out by other sources, never as files."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a project before anything is known of them.

    Attributes:
        paths: Relative paths of files and links, sorted, each once.
        method: `git`, or `walk: REASON`.
        n_unreadable: Folders that could not be opened.
    """

    paths: list[str]
    method: str
    n_unreadable: int


@dataclass(frozen=True, slots=True)
class ListingOptions:
    """What to list.

    Attributes:
        include: Patterns of files to list although a rule ignores them.
        exclude: Patterns of files never to list; these win over everything.
        record_paths: Files and folders that are never documents, relative to the project. A single name with a slash
            at its end means folders of that name at every depth.
        follow_gitignore: False lists what `.gitignore` names too.
        use_git: False never runs git.
    """

    include: Sequence[str]
    exclude: Sequence[str]
    record_paths: Sequence[str]
    follow_gitignore: bool
    use_git: bool


class Lister:
    """One listing of one project."""

    def __init__(self, root: str, options: ListingOptions) -> None:
        """A listing of the real path `root`; call `run` once."""
        self._root = root
        self._options = options
        lines = [*(_negated(line) for line in options.include), *options.exclude]
        self._own_rules = FolderRules(root, ".hybridignore", last=parse_patterns(lines))
        records = [*RECORD_FOLDERS, *options.record_paths]
        self._record_names = {path[:-1] for path in records if path.endswith("/") and "/" not in path[:-1]}
        self._record_paths = {path.strip("/") for path in records} - self._record_names
        self._kept_folders = {"": True}

    def run(self) -> Listing:
        """List the project; never raises for what is on disk."""
        if not self._options.follow_gitignore:
            return self._walk("walk: .gitignore is not followed")
        if not self._options.use_git:
            return self._walk("walk: git is not asked")
        try:
            return self._ask_git()
        except GitUnavailableError as error:
            return self._walk(f"walk: {error}")

    def is_record(self, path: str) -> bool:
        """Whether a path itself is one of records; what lies below such a folder is not asked."""
        return path in self._record_paths or path.rpartition("/")[2] in self._record_names

    def _walk(self, method: str) -> Listing:
        walked = self._walker(self._git_rules() if self._options.follow_gitignore else None).walk()
        return Listing(sorted(walked.files), method, walked.n_unreadable)

    def _ask_git(self) -> Listing:
        listed = list_files(self._root)
        folders = sorted({"", *(path.rpartition("/")[0] for path in listed)})
        is_silent = self._own_rules.is_silent(folders)
        kept = {path for path in listed if self._keeps_folder(path.rpartition("/")[0])}
        if self._record_paths:
            kept -= self._record_paths
        if is_silent:
            return Listing(sorted(kept), "git", 0)
        kept = {path for path in kept if self._own_rules.decide(path, is_folder=False) is not True}
        searches = self._own_rules.searches(folders)
        walked = self._walker(self._git_rules()).walk(searches) if searches else None
        brought_back = walked.brought_back if walked else ()
        return Listing(sorted(kept.union(brought_back)), "git", walked.n_unreadable if walked else 0)

    def _keeps_folder(self, folder: str) -> bool:
        """Whether git's files in a folder are taken: the folder is no link, and no rule or record stands against it."""
        known = self._kept_folders.get(folder)
        if known is not None:
            return known
        missing = [folder]
        while (above := missing[-1].rpartition("/")[0]) not in self._kept_folders:
            missing.append(above)
        is_kept = self._kept_folders[above]
        for below in reversed(missing):
            is_kept = is_kept and self._is_plain_folder(below)
            self._kept_folders[below] = is_kept
        return is_kept

    def _is_plain_folder(self, folder: str) -> bool:
        if self.is_record(folder) or self._own_rules.decide(folder, is_folder=True) is True:
            return False
        # A folder that git tracks files in may have become a link out of the project.
        try:
            return stat.S_ISDIR(os.lstat(join(self._root, folder)).st_mode)
        except OSError:
            return False

    def _walker(self, git_rules: FolderRules | None) -> Walker:
        return Walker(self._root, git_rules=git_rules, own_rules=self._own_rules, is_record=self.is_record)

    def _git_rules(self) -> FolderRules:
        folder = open_git_folder(Path(self._root))
        exclude = None if folder is None else load_patterns(str((folder.common / "info" / "exclude").resolve()))
        return FolderRules(self._root, ".gitignore", first=exclude)


def _negated(pattern: str) -> str:
    return pattern[1:] if pattern.startswith("!") else f"!{pattern}"
