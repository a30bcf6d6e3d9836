"""Reads and writes a client's settings file: through links of the user's own, never through those of a project."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import ProjectError
from hybrid.hooks.install.merge import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.hooks.install.client import Scope

_MAX_BYTES = 5_000_000
_TEMPORARY = re.compile(r"\d+\.\d+\.tmp")


def real_path(path: Path, scope: Scope, root: Path | None) -> Path:
    """The file to write: people link their own settings from elsewhere; a link in a project may lead anywhere.

    Raises:
        ProjectError: A link stands in a project's file or folder.
    """
    if scope == "user":
        # `Path.resolve` raises for links in a circle, in some versions of Python what is no OSError.
        return type(path)(os.path.realpath(path))
    # Of a project elsewhere only the file and its folder are known to belong to it.
    inside = path.parent.parent if root is None else root
    for part in (path, *path.parents):
        if part == inside:
            break
        if part.is_symlink():
            raise ProjectError(f"{part} is a link: settings of a project are not written through links")
    return path


def read_bytes(path: Path) -> bytes | None:
    """What a file holds; None when there is none.

    Raises:
        SettingsError: Far too long for settings, or not a file.
    """
    if path.exists() and not path.is_file():
        raise SettingsError(f"{path} is not changed: it is no file")
    try:
        # People link their own settings from elsewhere. That of a clone may be a hole of any length.
        data = read_regular(os.path.realpath(path), _MAX_BYTES)
    except FileNotFoundError:
        return None
    if len(data) > _MAX_BYTES:
        raise SettingsError(f"{path} is not changed: more than {_MAX_BYTES:,} bytes are no settings file")
    return data


def decoded(data: bytes | None, path: Path) -> str:
    """The text, line ends and byte order mark kept.

    Raises:
        SettingsError: It is not UTF-8.
    """
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not changed, for it is not UTF-8 ({error.reason}): repair it first") from error


def write(path: Path, data: bytes, *, is_shared: bool) -> None:
    """Replace a file in one step; rights stay, a new file of a project is as readable as others there."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    if is_new and is_shared:
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)


def sweep(path: Path) -> None:
    """Delete what a write of ours that was killed left beside a file; for the holder of the lock on all writes."""
    with contextlib.suppress(OSError):
        for file in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            if _TEMPORARY.fullmatch(file.name.removeprefix(f".{path.name}.")):
                file.unlink()


def missing_folders(path: Path) -> tuple[str, ...]:
    """Folders that writing a file would make, outermost first."""
    missing = [str(folder) for folder in path.parents if not folder.exists()]
    return tuple(reversed(missing))


def remove(path: Path, folders: Sequence[str]) -> None:
    """Delete a file, and those folders that are empty then."""
    path.unlink(missing_ok=True)
    remove_folders(folders)


def remove_folders(folders: Sequence[str]) -> None:
    """Delete those folders that are empty."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106 - the text of a path, as it was recorded
