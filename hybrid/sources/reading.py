"""Opens files without leaving the project and without hanging on pipes; `files` and `ignore` read through it."""

from __future__ import annotations

import errno
import os
import stat

# A pipe must not block the open; the last component must not be a link (it was resolved before).
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


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


def read_regular(full_path: str, limit_bytes: int) -> bytes:
    """At most `limit_bytes` + 1 bytes of a regular file that is not a link.

    One byte more than the limit tells the caller that the file is longer.

    Raises:
        OSError: Not there, not readable, a link, or not a regular file.
    """
    descriptor = os.open(full_path, _FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", full_path)
        return file.read(limit_bytes + 1)


def _with_separator(root: str) -> str:
    return root if root.endswith(os.sep) else root + os.sep
