"""Lists the files of a project: from git when it can, from a walk of its own when not; `files` calls it.

Repositories inside, and submodules, are listed with it, each by git or a walk and by its own ignore rules. Left out are
those of `LeftOut`. Rules of our own count from the project down, through all of them.

Rules of `.hybridignore` and of the settings stand above those of `.gitignore`: they may leave out what git keeps and,
with `!`, bring back what git ignores. A folder that git ignores is searched only along a path that such a rule names
literally (`!build/keep.md`, `!build/docs/**`), or if the rule means the folder itself (`!build/`); a bare `!*.log`
brings back files of folders that are not ignored. So no rule can pull in a whole `node_modules` by accident.
With git, a `.hybridignore` counts in folders where git lists a file; one further up can bring back the others.

`run` lists everything; `run_within` says the same of a few paths at a cost that does not grow with the others.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

from hybrid.base.atomic import read_regular
from hybrid.base.home import expanded
from hybrid.config import read_layer
from hybrid.project.find import (
    config_entries,
    folders_of,
    is_bare_repository,
    open_git_folder,
    parse_config,
    read_small,
    real_path,
)
from hybrid.sources.file_rules import join
from hybrid.sources.git import NO_TREE, GitUnavailableError, has_more_files, list_files
from hybrid.sources.patterns import FolderRules, load_patterns, parse_patterns, unknown_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hybrid.project.find import GitFolder
    from hybrid.sources.patterns import ListingOptions


# Walks a project as git would list it: does so when git cannot, and finds what `.hybridignore` brings back.
#
# Links to folders are never followed, so there are no loops. One walk lists one repository: those
# inside are named and not entered. What a rule ignores although git tracks it is left out here; `tracked_files` knows
# it.


class Walked(Struct, frozen=True):
    """The result of a walk.

    Attributes:
        files: Relative paths of files and links, in no special order.
        brought_back: Those of `files` that a rule with `!` of `.hybridignore` or the settings kept, or may have kept.
        n_unreadable: Folders that could not be opened.
        folders: Folders that were entered and are not ignored themselves; the project itself is left out.
        repositories: Folders of repositories inside that no rule ignores.
    """

    files: list[str]
    brought_back: list[str]
    n_unreadable: int
    folders: list[str]
    repositories: list[str]


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
    """Lists the files of one repository, or of a folder without one, after its ignore rules; to be run once."""

    def __init__(
        self,
        root: str,
        top: str,
        *,
        git_rules: FolderRules | None,
        own_rules: FolderRules,
        is_record: Callable[[str], bool],
    ) -> None:
        """Set the project and its rules; nothing is read yet.

        Args:
            root: Real path of the project.
            top: Relative path of the repository to list; empty for the project itself. All paths are relative to
                `root`, but for `git_rules`, which start at this folder.
            git_rules: `.gitignore`; None to follow none.
            own_rules: `.hybridignore` and the settings; where they say anything, they win.
            is_record: Returns True for a relative path that is never a document.
        """
        self._root = root
        self._top = top
        self._git_rules = git_rules
        self._own_rules = own_rules
        self._is_record = is_record
        self._files: list[str] = []
        self._brought_back: list[str] = []
        self._folders: list[str] = []
        self._repositories: list[str] = []
        self._n_unreadable = 0

    def walk(self, within: Sequence[str] = ("",), *, limit: int | None = None) -> Walked:
        """Return the files that the rules keep at or below some paths, and also files of the folders above these paths.

        Args:
            within: Relative paths; an empty one is the whole project.
            limit: Stop when more files than this were found.
        """
        waiting = [_Folder(self._top, is_ignored=False, is_brought_back=False)]
        while waiting and (limit is None or len(self._files) <= limit):
            waiting.extend(self._enter(waiting.pop(), within))
        return Walked(self._files, self._brought_back, self._n_unreadable, self._folders, self._repositories)

    def _enter(self, folder: _Folder, within: Sequence[str]) -> list[_Folder]:
        """Note the files of one folder, and return the folders in it to enter; none for another repository."""
        try:
            with os.scandir(join(self._root, folder.path)) as scan:
                entries = list(scan)
        except OSError:
            self._n_unreadable += 1
            return []
        if folder.path != self._top and not folder.is_ignored and self._is_repository(folder.path, entries):
            self._repositories.append(folder.path)
            return []
        if folder.path and not folder.is_ignored:
            self._folders.append(folder.path)
        found = (self._visit(entry, folder, within) for entry in entries)
        return [below for below in found if below is not None]

    def _is_repository(self, path: str, entries: Iterable[os.DirEntry[str]]) -> bool:
        """Return whether a folder is a repository, bare or not; as for git, a broken `.git` makes none."""
        names, folder = {entry.name for entry in entries}, Path(self._root, path)
        if ".git" in names and open_git_folder(folder) is not None:
            return True
        return "HEAD" in names and is_bare_repository(folder)

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
        below = path[len(self._top) + 1 :] if self._top else path
        return self._git_rules is not None and self._git_rules.decide(below, is_folder=is_folder) is True


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
_GIT_S = 10.0
_ALL_GIT_S = 60.0
"""Seconds for git in one repository, and in all of a project; after these the rest is walked."""
_SEARCHED_FOLDERS = 2000
_SEARCHED_DEPTH = 2
"""Ignored folders, and levels below the first of them, that are searched for repositories to name."""

LeftOut = Literal["bare", "copy", "ignored", "setting", "too_large"]
"""Why a repository inside is left out: it has no files, is another working tree of one that is listed, is ignored, is
switched off (`inner_max_files` is 0), or has more files than that."""


class Listing(Struct, frozen=True):
    """The paths of the files of a project, none of which was looked at yet.

    Attributes:
        paths: Relative paths of files and links, sorted, each once.
        method: `git`, or `walk: REASON`, for the project itself.
        n_unreadable: Folders that could not be opened.
        folders: Folders to watch for a change, sorted: those of the files with all above them, without the project
            itself. Of `run_within`: those below the given folders that nothing ignores, also without a file.
        repositories: Repositories inside whose files are among the paths, in order of path.
        left_out: Repository inside → why its files are not among the paths; none that is ignored.
        refused: Repository, empty for the project itself → why git did not list it.
    """

    paths: list[str]
    method: str
    n_unreadable: int
    folders: list[str]
    repositories: list[str] = []
    left_out: dict[str, LeftOut] = {}
    refused: dict[str, str] = {}


class _Part(Struct, frozen=True):
    """The files of one repository, or of the project itself.

    Attributes:
        top: Relative path of the repository; empty for the project itself.
        files: Paths of files and links.
        folders: Folders to watch.
        repositories: Folders in it that may be repositories inside.
        n_listed: Files before our own rules.
        n_unreadable: Folders that could not be opened.
        method: As of `Listing`.
    """

    top: str
    files: set[str]
    folders: set[str]
    repositories: set[str]
    n_listed: int
    n_unreadable: int
    method: str


class Lister:
    """Lists one project with the repositories inside, each from git or by a walk."""

    def __init__(self, root: str, options: ListingOptions) -> None:
        """Set the project by its real path; call `run` once, or `run_within` as often as rules stay the same."""
        self._root = root
        self._options = options
        lines = [*(_negated(line) for line in options.include), *options.exclude]
        self._own_rules = FolderRules(root, ".hybridignore", last=parse_patterns(lines))
        records = [*RECORD_FOLDERS, *options.record_paths]
        self._record_names = {path[:-1] for path in records if path.endswith("/") and "/" not in path[:-1]}
        self._record_paths = {path.strip("/") for path in records} - self._record_names
        self._kept_folders = {"": True}
        self._repositories: dict[str, GitFolder | None] = {}
        self._commons: set[Path] = set()
        self._taken: set[str] = set()
        self._left_out: dict[str, LeftOut] = {}
        self._refused: dict[str, str] = {}
        self._until_s = 0.0

    def run(self) -> Listing:
        """Return the files of the whole project, by a walk where git fails; never raises for what is on disk."""
        parts = list(self._parts(("",), falls_back=True))
        folders = set[str]().union(*(part.folders for part in parts))
        return self._listing(parts, sorted(folders))

    def run_within(self, targets: Sequence[str]) -> Listing | None:
        """Return what `run` lists at or below some paths; None when only a full run can tell.

        Args:
            targets: Relative paths of files and folders, there or gone; at least one, none of them empty.
        """
        try:
            parts = list(self._parts(targets, falls_back=False))
        except GitUnavailableError:
            return None
        below: set[str] = set()
        for part in parts:
            folders = [path for path in self._wanted(part.top, targets) if self._keeps_folder(path)]
            walked = self._walker(part.top, self._rules_to_walk(part.top)).walk(folders).folders if folders else []
            below.update(path for path in walked if is_within(path, folders))
        return self._listing(parts, sorted(below))

    def _listing(self, parts: list[_Part], folders: list[str]) -> Listing:
        paths = sorted(set[str]().union(*(part.files for part in parts)))
        inside = sorted(part.top for part in parts if part.top)
        n_unreadable = sum(part.n_unreadable for part in parts)
        return Listing(paths, parts[0].method, n_unreadable, folders, inside, self._left_out, self._refused)

    def has_more_files(self, limit: int) -> bool:
        """Return whether the project has more than `limit` files; with git, `.hybridignore` is not applied."""
        for part in self._parts(("",), falls_back=True, most=limit):
            limit -= part.n_listed
            if limit < 0:
                return True
        return False

    def find_ignored(self, listing: Listing) -> dict[str, LeftOut]:
        """Return the repositories in folders that are ignored, for a person: no listing needs them.

        Left out are those that the settings or a `.hybridignore` exclude, and those that lie deep in ignored folders.

        Args:
            listing: The result of `run`.
        """
        listed, found = ["", *listing.folders], dict[str, LeftOut]()
        known = {*listed, *listing.left_out}
        waiting = [(path, 0) for folder in listed for path in self._folders_in(folder) if path not in known]
        for path, depth in waiting:  # It grows.
            if (git := self._repository_in(path)) is not None:
                found[path] = self._reason_to_leave_out(path, git) or "ignored"
            elif depth < _SEARCHED_DEPTH and len(waiting) < _SEARCHED_FOLDERS:
                waiting += [(below, depth + 1) for below in self._folders_in(path)]
        return found

    def _folders_in(self, folder: str) -> list[str]:
        try:
            with os.scandir(join(self._root, folder)) as entries:
                names = sorted(entry.name for entry in entries if entry.name != ".git" and _is_folder(entry))
        except OSError:
            return []
        paths = (f"{folder}/{name}" if folder else name for name in names)
        return [path for path in paths if self._keeps_folder(path)]

    def is_record(self, path: str) -> bool:
        """Return whether a path is a file or folder of records; False for paths below such a folder."""
        return path in self._record_paths or path.rpartition("/")[2] in self._record_names

    # --- The repositories of a project ---

    def _parts(self, targets: Sequence[str], *, falls_back: bool, most: int | None = None) -> Iterator[_Part]:
        """Yield the files of the project itself, then those of each repository inside that is not left out.

        Args:
            targets: Relative paths; an empty one is the whole project.
            falls_back: Walk where git fails.
            most: Files of a part after which it need not be complete; None for all of it.

        Raises:
            GitUnavailableError: Git failed, or only a look at everything can tell.
        """
        is_whole = "" in targets
        git = open_git_folder(Path(self._root))
        self._commons = {git.common} if git else set()
        self._until_s = time.monotonic() + _ALL_GIT_S
        # Linked working trees come last: whether one is a copy is known once the others are.
        waiting = [(False, "")]
        while waiting:
            _, top = waiting.pop(0)
            inner = self._repository_in(top) if top else None
            if inner is not None:
                if reason := self._reason_to_leave_out(top, inner, is_whole=is_whole):
                    self._left_out[top] = reason
                    continue
                self._take(top, inner)
            part = self._part(top, targets, falls_back=falls_back, most=most)
            if self._is_too_large(part, is_whole=is_whole):
                self._left_out[top] = "too_large"
                self._refused.pop(top, None)
                continue
            yield part
            inside = ((path, self._repository_in(path)) for path in part.repositories if self._keeps_folder(path))
            waiting = sorted({*waiting, *((inner.is_worktree, path) for path, inner in inside if inner)})

    def _repository_in(self, folder: str) -> GitFolder | None:
        """Return the repository whose top is a folder; None for a plain folder, or a submodule not checked out."""
        if folder not in self._repositories:
            full = join(self._root, folder)
            self._repositories[folder] = open_git_folder(Path(full)) if os.path.lexists(join(full, ".git")) else None
        return self._repositories[folder]

    def _reason_to_leave_out(self, top: str, git: GitFolder, *, is_whole: bool = True) -> LeftOut | None:
        """Return why a repository inside is left out as far as its place tells; None when it is to be listed.

        Raises:
            GitUnavailableError: Only a look at everything can tell.
        """
        if git.common in self._commons:
            return "copy"
        if git.is_worktree and not is_whole:
            raise GitUnavailableError("another working tree of the same repository may be in the project")
        if self._options.inner_max_files == 0 and not self._is_included(top):
            return "setting"
        return None

    def _take(self, top: str, git: GitFolder) -> None:
        """Note that a repository inside is listed, and follow what its own settings exclude: it may be private."""
        self._commons.add(git.common)
        if top in self._taken:
            return
        self._taken.add(top)
        settings = read_layer(Path(self._root, top, ".hybrid", "config.toml"), [], is_project=True)
        excluded = cast("tuple[str, ...]", settings.get("index.exclude", ()))
        patterns = parse_patterns(line for line in excluded if not line.startswith("!"))
        if patterns is not None:
            self._own_rules.add(top, patterns)

    def _is_included(self, top: str) -> bool:
        return self._own_rules.decide(top, is_folder=True) is False

    def _is_too_large(self, part: _Part, *, is_whole: bool) -> bool:
        limit = self._options.inner_max_files
        if not part.top or limit is None or self._is_included(part.top):
            return False
        if is_whole or part.method != "git":
            return part.n_listed > limit
        return has_more_files(join(self._root, part.top), limit)

    def _wanted(self, top: str, targets: Sequence[str]) -> list[str]:
        """Return the paths that are to be listed of one repository: where another one is on the way, that one."""
        return sorted({self._first_inside(top, path) for path in _common([top], targets)})

    def _first_inside(self, top: str, path: str) -> str:
        """Return the first repository below `top` on the way to a path; the path itself when there is none."""
        for folder in folders_above(path):
            if folder != top and is_within(folder, [top]) and self._repository_in(folder):
                return folder
        return path

    # --- The files of one repository ---

    def _part(self, top: str, targets: Sequence[str], *, falls_back: bool, most: int | None) -> _Part:
        wanted = self._wanted(top, targets)
        reason = self._reason_to_walk(top)
        if not reason:
            try:
                return self._ask_git(top, wanted, most)
            except GitUnavailableError as error:
                if not falls_back:
                    raise
                self._refused[top] = str(error)
                reason = f"walk: {error}"
        return self._walk(top, wanted, reason, most)

    def _reason_to_walk(self, top: str) -> str:
        if not self._options.follow_gitignore:
            return "walk: .gitignore is not followed"
        if not self._options.use_git:
            return "walk: git is not asked"
        return "" if os.path.lexists(join(self._full(top), ".git")) else f"walk: {NO_TREE}"

    def _ask_git(self, top: str, wanted: list[str], most: int | None) -> _Part:
        root, prefix = self._full(top), f"{top}/" if top else ""
        if most is not None and has_more_files(root, most):
            return _Part(top, set(), set(), set(), most + 1, 0, "git")
        above: set[str] = set()
        if top not in wanted:
            above = {folder for path in wanted for folder in folders_above(path) if folder.startswith(prefix)}
            above = {folder for folder in above if self._is_real_folder(folder)}
        own_files = [f"{folder}/.hybridignore" for folder in sorted(above) if self._own_rules.lifts_in(folder)]
        asked = [] if top in wanted else [path[len(prefix) :] for path in (*wanted, *own_files)]
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise GitUnavailableError(f"git took longer than {_ALL_GIT_S:g} s in all repositories")
        listed = list_files(root, asked, timeout_s=min(_GIT_S, left_s))
        files = {prefix + path for path in listed.files} if prefix else listed.files
        if not files.issuperset(own_files):
            # Git lists no such file, but others beside it may make it count.
            raise GitUnavailableError("a file of rules is not listed")
        kept = files if top in wanted else {path for path in files if is_within(path, wanted)}
        folders = sorted({top, *above, *(path.rpartition("/")[0] for path in kept)})
        repositories = {prefix + path for path in listed.repositories}
        kept, walked = self._apply_own_rules(top, kept, folders, wanted)
        if walked is not None:
            repositories.update(walked.repositories)
        return _Part(
            top,
            kept,
            {folder for path in kept for folder in folders_above(path)},
            repositories,
            len(files),
            walked.n_unreadable if walked else 0,
            "git",
        )

    def _apply_own_rules(
        self, top: str, listed: set[str], folders: list[str], targets: Sequence[str]
    ) -> tuple[set[str], Walked | None]:
        """Return git's files that our own rules keep or bring back, and the walk that found the latter, if one did.

        Args:
            top: The repository.
            listed: Git's files at or below the targets.
            folders: Folders whose `.hybridignore` counts.
            targets: Relative paths; an empty one is the whole project.
        """
        kept = self._kept(listed)
        if self._own_rules.is_silent(folders):
            return kept, None
        searches = _common(self._own_rules.searches(folders), targets)
        if not searches:
            return kept, None
        walked = self._walker(top, self._git_rules(top)).walk(searches)
        return kept.union(path for path in walked.brought_back if is_within(path, targets)), walked

    def _kept(self, listed: set[str]) -> set[str]:
        """Return the files that neither a rule of our own leaves out nor a record takes."""
        kept = {path for path in listed if self._keeps_folder(path.rpartition("/")[0])} - self._record_paths
        return {path for path in kept if self._own_rules.decide(path, is_folder=False) is not True}

    def _walk(self, top: str, wanted: list[str], method: str, most: int | None) -> _Part:
        walked = self._walker(top, self._rules_to_walk(top)).walk(wanted, limit=most)
        files, repositories = (
            {path for path in found if is_within(path, wanted)} for found in (walked.files, walked.repositories)
        )
        if top in self._refused:
            tracked = {f"{top}/{path}" if top else path for path in tracked_files(self._full(top))}
            files |= self._kept({path for path in tracked if is_within(path, wanted)})
        folders = {folder for path in files for folder in folders_above(path)}.union(walked.folders, folders_above(top))
        return _Part(top, files, folders, repositories, len(files), walked.n_unreadable, method)

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
        if not self._is_real_folder(folder):
            return False
        if is_bare_repository(Path(self._root, folder)):  # For git an ordinary folder.
            self._left_out[folder] = "bare"
            return False
        return True

    def _is_real_folder(self, folder: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(join(self._root, folder)).st_mode)
        except OSError:
            return False

    def _full(self, top: str) -> str:
        return join(self._root, top) if top else self._root

    def _walker(self, top: str, git_rules: FolderRules | None) -> Walker:
        return Walker(self._root, top, git_rules=git_rules, own_rules=self._own_rules, is_record=self.is_record)

    def _rules_to_walk(self, top: str) -> FolderRules | None:
        return self._git_rules(top) if self._options.follow_gitignore else None

    def _git_rules(self, top: str) -> FolderRules:
        root = self._full(top)
        around = (load_patterns(path) for path in ignore_files(root))
        return FolderRules(root, ".gitignore", first=[patterns for patterns in around if patterns is not None])


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


# --- git's own files, where git itself does not answer: ignore files that count, and files that are tracked ---
#
# Nothing is run or written, and files of a foreign repository are read with bounds.

_MAX_CONFIGS = 50
"""Files of settings that are read at most: they may include one another without end."""
_MAX_INDEX_BYTES = 200_000_000
_WITH_COMMON_BEGINNINGS = 4
"""The version of an index in which each path says how much of the one before it keeps."""
_MAX_NAME_BYTES = 4096
"""Bytes of a tracked path, at most: in that version a short file may otherwise mean gigabytes."""
_STAT_BYTES = 40
_MODE_AT = 24
_HAS_MORE_FLAGS = 0x4000
_IS_FILE = (0o100000, 0o120000)
"""Types of the modes of files and links; others are submodules, and folders of a sparse index."""
_NEVER = {"", ".", "..", ".git"}


def ignore_files(root: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the paths of the ignore files that count in a whole tree, each stronger than those before it.

    They are the user's own (`core.excludesFile`, or git's default place for it) and `.git/info/exclude`. A file that
    only a conditional include or the repository's settings name counts too, as the weakest: it cannot be known whether
    the condition holds, and settings of a foreign repository must not switch the user's own file off.

    Args:
        root: Real path of the top of the tree; it need not be one of git.
        environ: Environment variables that say where the user's settings of git are.
    """
    user_home = environ.get("HOME") or expanded("~")
    config_home = environ.get("XDG_CONFIG_HOME") or f"{user_home}/.config"
    chosen, more = f"{config_home}/git/ignore", list[str]()
    seen: set[Path] = set()
    for config in _user_configs(environ, config_home, user_home):
        for path, is_sure in _excludes_named_in(config, seen):
            if is_sure:
                chosen = path
            else:
                more.append(path)
    own, common = folders_of(Path(root)) or (Path(root, ".git"), Path(root, ".git"))
    for config in (common / "config", own / "config.worktree"):
        more += [path for path, _ in _excludes_named_in(config, seen)]
    named = [Path(root, expanded(path)) for path in (*more, chosen) if path]
    return [str(real_path(path)) for path in (*named, common / "info" / "exclude")]


def _user_configs(environ: Mapping[str, str], config_home: str, user_home: str) -> list[Path]:
    """Return the files of git's settings for this machine and this user, the strongest last."""
    found = [] if environ.get("GIT_CONFIG_NOSYSTEM") else [environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"]
    own = environ.get("GIT_CONFIG_GLOBAL")
    found += [f"{config_home}/git/config", f"{user_home}/.gitconfig"] if own is None else [own]
    return [Path(path) for path in found]


def _excludes_named_in(config: Path, seen: set[Path]) -> Iterator[tuple[str, bool]]:
    """Yield each `core.excludesFile` of a file and of those that it includes, and whether that holds in any case."""
    if config in seen or len(seen) >= _MAX_CONFIGS:
        return
    seen.add(config)
    for name, value in config_entries(read_small(config) or ""):
        if name == "core.excludesfile":
            yield value, True
        elif name.startswith(("include.", "includeif.")) and name.endswith(".path"):
            is_sure = name == "include.path"
            for path, is_sure_below in _excludes_named_in(real_path(config).parent / expanded(value), seen):
                yield path, is_sure and is_sure_below


def tracked_files(root: str) -> set[str]:
    """Return the paths of the files and links in the index of a tree; empty where it cannot be read or is not sound.

    A split index counts as one that cannot be read.

    Args:
        root: Real path of the top of the working tree.
    """
    folders = folders_of(Path(root))
    if folders is None:
        return set()
    own, common = folders
    config = parse_config(read_small(common / "config") or "")
    kind = config.get("extensions.objectformat", ["sha1"])[-1]
    try:
        data = read_regular(real_path(own / "index"), _MAX_INDEX_BYTES)
        return _parse_index(data, "sha256" if kind == "sha256" else "sha1") if len(data) <= _MAX_INDEX_BYTES else set()
    except (OSError, ValueError, IndexError, struct.error):
        return set()


def _parse_index(data: bytes, kind: str) -> set[str]:
    """Parse an index of version 2 to 4; see gitformat-index.

    Raises:
        ValueError: It is damaged, split, or of another version; also `IndexError` and `struct.error`.
    """
    size = hashlib.new(kind, usedforsecurity=False).digest_size
    body, checksum = data[:-size], data[-size:]
    mark, version, n_entries = struct.unpack_from(">4sLL", body)
    # Without a checksum (`index.skipHash`) there are zeros.
    is_whole = not any(checksum) or hashlib.new(kind, body, usedforsecurity=False).digest() == checksum
    if mark != b"DIRC" or version not in (2, 3, 4) or not is_whole:
        raise ValueError("not an index that can be read")
    names: set[bytes] = set()
    name, at = b"", 12
    for _ in range(n_entries):
        start, at = at, at + _STAT_BYTES + size
        (mode,) = struct.unpack_from(">L", body, start + _MODE_AT)
        (flags,) = struct.unpack_from(">H", body, at)
        at += 4 if flags & _HAS_MORE_FLAGS else 2
        n_kept = 0
        if version == _WITH_COMMON_BEGINNINGS:
            n_cut, at = _number(body, at)
            n_kept = len(name) - n_cut
        end = body.index(b"\0", at)
        if n_kept < 0 or n_kept + end - at > _MAX_NAME_BYTES:
            raise ValueError("not a path")
        name = name[:n_kept] + body[at:end]
        at = end + 1 if version == _WITH_COMMON_BEGINNINGS else start + (end - start + 8) // 8 * 8
        if mode & 0o170000 in _IS_FILE:
            names.add(name)
    while at < len(body):
        extension, n_bytes = struct.unpack_from(">4sL", body, at)
        if extension == b"link":
            raise ValueError("a split index")
        at += 8 + n_bytes
    paths = map(os.fsdecode, names)
    return {path for path in paths if _NEVER.isdisjoint(path.lower().split("/"))}


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number as packs of git write offsets, and the place behind it."""
    value = data[at] & 0x7F
    while data[at] & 0x80 and value < _MAX_NAME_BYTES:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
