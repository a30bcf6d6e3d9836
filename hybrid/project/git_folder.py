"""Reads what a `.git` folder or file says, without a git binary: its settings, and one spelling for URLs of remotes."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 1_000_000
_OWN_NAMES = (".git", ".bare")
"""Names of a repository's folder for which the folder around it gives the name of the project."""


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
    """Return the repository of a folder that is the top of a working tree; None when it is none.

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
    """Return the git folder of this working tree alone, and the one that all trees of the repository share.

    Both are the same for a main working tree; None when `root` is the top of no working tree.
    """
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
    """Return a mark that stays when a repository is renamed or moved on its disk, and that no other repository has.

    Inode and time of a file that git writes once, when it makes the repository. Either alone may come again: inodes
    are used anew, and a copy keeps times. Empty when the file is not there.
    """
    return identity_of_file(common / "description") or identity_of_file(common / "info/exclude")


def identity_of_file(path: Path) -> str:
    """Return the inode and modification time of a regular file; empty for a link, or when the file is not there."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return ""
    is_usable = stat.S_ISREG(status.st_mode) and status.st_ino != 0
    return f"{status.st_ino}:{status.st_mtime_ns}" if is_usable else ""


def real_path(path: Path) -> Path:
    """Return the path with all links resolved, or unchanged where that fails; never raises."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


def is_folder(path: Path) -> bool:
    """Return whether a folder is there and can be seen; never raises."""
    return os.path.isdir(path)  # noqa: PTH112 - `Path.is_dir` raises where a folder above cannot be seen


def is_file(path: Path) -> bool:
    """Return whether a file is there and can be seen; never raises."""
    return os.path.isfile(path)  # noqa: PTH113 - as above


def read_small(path: Path) -> str | None:
    """Return the text of a file, its first 1 MB at most; None when it is no file or cannot be read. Never raises."""
    if not is_file(path):
        return None
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None


def _own_folder(dot_git: Path) -> Path | None:
    """Return the git folder of this working tree alone: `.git`, or the one that the file `.git` names; None without."""
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
    """Return the settings of a repository; None when its folder is not one (a broken link to the main repository)."""
    if not is_folder(common / "objects"):
        return None
    settings = parse_config(read_small(common / "config") or "")
    if is_true(settings, "extensions.worktreeconfig"):
        for name, values in parse_config(read_small(common / "config.worktree") or "").items():
            settings.setdefault(name, []).extend(values)
    return settings


def _main_root(common: Path, settings: dict[str, list[str]]) -> Path:
    """Return the main working tree of a repository; of a bare one the folder that has its name."""
    if "core.worktree" in settings:
        return real_path(common / settings["core.worktree"][-1])
    return common.parent if common.name in _OWN_NAMES else common


# --- Git's configuration syntax; no includes are followed ------------------------------------------

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE = frozenset({"true", "yes", "on", "1", ""})


def parse_config(text: str) -> dict[str, list[str]]:
    """Parse settings: `section.key` or `section.SUBSECTION.key` → values in order; sections and keys in lower case.

    A key without a value has the value `true`. A line that is not understood is passed over.
    """
    values: dict[str, list[str]] = {}
    for name, value in config_entries(text):
        values.setdefault(name, []).append(value)
    return values


def config_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that `parse_config` returns one by one, in the order of the file."""
    section = ""
    for line in _logical_lines(text.removeprefix("\ufeff")):
        at = 0
        while (head := _SECTION.match(line, at)) is not None:
            section, at = _section_name(head), head.end()
        key = _KEY.match(line, at)
        if key is None or not section:
            continue
        after = line[key.end() :]
        yield f"{section}.{key.group(1).lower()}", _value(after[1:]) if after.startswith("=") else "true"


def is_true(values: dict[str, list[str]], name: str) -> bool:
    """Return whether the last value of a setting is one of git's words for yes; False when it is not set."""
    return name in values and values[name][-1].lower() in _TRUE


def _section_name(head: re.Match[str]) -> str:
    name, subsection = head.group(1).lower(), head.group(2)
    return name if subsection is None else f"{name}." + _ESCAPE.sub(r"\1", subsection)


def _logical_lines(text: str) -> list[str]:
    """Return the lines of a text, each joined with the next where it ends in a backslash."""
    lines: list[str] = []
    pending = ""
    for raw in text.replace("\r\n", "\n").split("\n"):
        n_backslashes = len(raw) - len(raw.rstrip("\\"))
        if n_backslashes % 2 == 1:
            pending += raw[:-1]
            continue
        lines.append(pending + raw)
        pending = ""
    return [*lines, pending] if pending else lines


def _value(raw: str) -> str:
    """Return a value without its quotes, escapes, comment and outer white space."""
    out: list[str] = []
    n_kept = 0  # Length up to which white space is meant: quoted, escaped, or followed by something.
    is_quoted = False
    characters = iter(raw.lstrip())
    for character in characters:
        if character == '"':
            is_quoted = not is_quoted
            n_kept = len(out)
            continue
        if character in "#;" and not is_quoted:
            break
        is_escape = character == "\\"
        if is_escape:
            following = next(characters, "")
            character = _ESCAPED.get(following, following)
        out.append(character)
        if is_quoted or is_escape or not character.isspace():
            n_kept = len(out)
    return "".join(out[:n_kept])


# --- Origins -------------------------------------------------------------------------------------------------------

_HELPER = re.compile(r"^[A-Za-z0-9]+::")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(/.*)?$", re.DOTALL)
_SCP = re.compile(r"^(?:[^@/]+@)?(\[[^\]]+\]|[^:/@\[\]]{2,}):(.*)$", re.DOTALL)
_PORT = re.compile(r":\d*$")


def normalise_origin(url: str, base: Path) -> str:
    """Return `host/path` of a URL: no scheme, user, port or `.git`, host in lower case; of a local one the real path.

    Args:
        url: As it stands in the configuration: `https://…`, `ssh://…`, `git@host:path`, `file://…` or a path.
        base: Folder that a relative path starts from.

    Returns:
        Empty for an empty URL. Letter case of the path is kept: some hosts tell it apart.
    """
    url = _HELPER.sub("", url.strip())
    if not url:
        return ""
    matched = _URL.match(url)
    if matched is not None:
        scheme, authority, path = matched.group(1).lower(), matched.group(2), unquote(matched.group(3) or "")
        return _on_disk(path, base) if scheme == "file" else _on_host(_PORT.sub("", authority), path)
    scp = _SCP.match(url)
    if scp is not None:
        return _on_host(scp.group(1), scp.group(2))
    return _on_disk(url, base)


def name_of_origin(origin: str) -> str:
    """Return the last part of a normalised origin; empty when there is none."""
    return re.split(r"[/\\]", origin.rstrip("/\\"))[-1]


def _on_host(authority: str, path: str) -> str:
    host = authority.rpartition("@")[2].lower()
    parts = [part for part in _without_git(path).split("/") if part]
    return "/".join([host, *parts])


def _on_disk(path: str, base: Path) -> str:
    # A repository's own path, so that a clone of one on disk has the key of the one it came from.
    if re.match(r"^/[A-Za-z]:[/\\]", path):
        path = path[1:]
    real = os.path.realpath(base / path)
    return _without_git(real)


def _without_git(path: str) -> str:
    bare = path.rstrip("/\\")
    stem = bare.removesuffix(".git")
    # The `.git` folder itself is named after the folder around it.
    return stem.rstrip("/\\")
