"""Paths of a project that do not lead out of it; `files`, `listing` and `walk` name files through it."""

from __future__ import annotations

import errno
import os


class OutsideError(OSError):
    """A path leads out of the project."""


def resolve_inside(root: str, path: str) -> str:
    """The real path of a file of the project.

    Args:
        root: Real path of the project.
        path: Relative to it, with forward slashes.

    Raises:
        OutsideError: The path, or a link on it, leads out of the project.
        OSError: The path cannot be resolved.
    """
    try:
        real = os.path.realpath(join(root, path))
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "not a path", path) from error
    if not real.startswith(_with_separator(root)):
        raise OutsideError(errno.EACCES, "leads out of the project", path)
    return real


def join(root: str, path: str) -> str:
    """Absolute path of a relative one; faster than `pathlib` and the same on every platform."""
    return _with_separator(root) + path


def _with_separator(root: str) -> str:
    return root if root.endswith(os.sep) else root + os.sep
