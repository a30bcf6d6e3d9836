"""Reads what a `.git` folder or file says, without a git binary; `find`, `registry` and the walk of files ask it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from hybrid.project.git_config import is_true, parse_config
from hybrid.project.origin import normalise_origin

_MAX_BYTES = 1_000_000
_OWN_NAMES = (".git", ".bare")
"""Names of a repository's folder that say nothing: the folder around it has the name."""


class GitFolder(Struct, frozen=True):
    """The repository behind a working tree.

    Attributes:
        common: Folder shared by all its working trees: objects, refs, configuration.
        is_worktree: True for a linked working tree.
        main_root: The main working tree; for a bare repository the folder that has its name.
        origin: Normalised URL of the remote `origin`, empty when there is none.
    """

    common: Path
    is_worktree: bool
    main_root: Path
    origin: str


def open_git_folder(root: Path) -> GitFolder | None:
    """The repository of a folder that is the top of a working tree; None when it is none.

    Args:
        root: Real path of a folder; the folders above it are not looked at.
    """
    folders = folders_of(root)
    if folders is None:
        return None
    own, common = folders
    settings = _settings(common)
    if settings is None:
        return None
    is_worktree = common != own
    is_bare = is_true(settings, "core.bare") and "core.worktree" not in settings
    if is_bare and not is_worktree:
        return None
    main_root = _main_root(common, settings) if is_worktree else root
    url = settings.get("remote.origin.url", [""])[0]
    return GitFolder(common, is_worktree, main_root, normalise_origin(url, main_root))


def folders_of(root: Path) -> tuple[Path, Path] | None:
    """Where the repository of a working tree lies: what this tree has alone, and what all its trees share."""
    own = _own_folder(root / ".git")
    if own is None:
        return None
    shared = read_small(own / "commondir")
    return own, own if shared is None else real_path(own / shared.strip())


def is_bare_repository(folder: Path) -> bool:
    """Return whether a folder is a repository without a working tree (`name.git`), rather than the `.git` of one."""
    if folder.name == ".git":
        return False
    return is_file(folder / "HEAD") and is_folder(folder / "objects") and is_folder(folder / "refs")


def identity_of(common: Path) -> str:
    """A mark that stays when a repository is renamed or moved on its disk, and that no other repository has.

    Inode and time of a file that git writes once, when it makes the repository. Either alone may come again: inodes
    are used anew, and a copy keeps times. Empty when the file is not there.
    """
    for name in ("description", "info/exclude"):
        mark = identity_of_file(common / name)
        if mark:
            return mark
    return ""


def identity_of_file(path: Path) -> str:
    """Inode and time of change of a file; empty when it is not there, or a link that others may share."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return ""
    is_usable = stat.S_ISREG(status.st_mode) and status.st_ino != 0
    return f"{status.st_ino}:{status.st_mtime_ns}" if is_usable else ""


def real_path(path: Path) -> Path:
    """Path without links; where that cannot be had, the path as it is. Never raises."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


def is_folder(path: Path) -> bool:
    """Return whether a folder is there and can be seen; never raises."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether a file is there and can be seen; never raises."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_small(path: Path) -> str | None:
    """Text of a file of at most 1 MB; None when it is not there, not readable or not a file. Never raises."""
    if not is_file(path):
        return None
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None


def _own_folder(dot_git: Path) -> Path | None:
    """The folder that belongs to this working tree alone: `.git` itself, or where the file `.git` points to."""
    if is_folder(dot_git):
        return _checked(real_path(dot_git))
    text = read_small(dot_git)
    if text is None or not text.startswith("gitdir:"):
        return None
    target = text.removeprefix("gitdir:").strip()
    return _checked(real_path(dot_git.parent / target)) if target else None


def _checked(folder: Path) -> Path | None:
    # HEAD is a dangling link in very old repositories, so its being there is all that is asked.
    return folder if os.path.lexists(folder / "HEAD") else None


def _settings(common: Path) -> dict[str, list[str]] | None:
    """Settings of a repository; None when its folder is not one (a broken link to a worktree's main repository)."""
    if not is_folder(common / "objects"):
        return None
    settings = parse_config(read_small(common / "config") or "")
    if is_true(settings, "extensions.worktreeconfig"):
        for name, values in parse_config(read_small(common / "config.worktree") or "").items():
            settings.setdefault(name, []).extend(values)
    return settings


def _main_root(common: Path, settings: dict[str, list[str]]) -> Path:
    """Main working tree of a linked one."""
    if "core.worktree" in settings:
        return real_path(common / settings["core.worktree"][-1])
    return common.parent if common.name in _OWN_NAMES else common
