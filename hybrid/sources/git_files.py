"""Reads git's own files where git itself does not answer: which ignore files count, and which files are tracked.

`listing` calls it when it walks a tree that git refuses, cannot read or is not there for. Nothing is run or written,
and files of a foreign repository are read with bounds.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular
from hybrid.base.home import expanded
from hybrid.project.find import config_entries, folders_of, parse_config, read_small, real_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
