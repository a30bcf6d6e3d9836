"""Stamps of files: equal ones prove that a file was not changed, unless it was read right after it was written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

_RACY_NS = 2_000_000_000
"""Nanoseconds after a change in which a file may change again without a new time, since the clocks of file systems are
coarse."""


class Stamp(Struct, frozen=True):
    """The size, the times and the inode of a file; they differ once it is changed or replaced.

    `ctime_ns` tells of a write after which `mtime_ns` was set back.
    """

    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def is_proof_at(self, now_ns: int) -> bool:
        """Return whether an equal stamp later proves that the bytes are those read at `now_ns`."""
        return now_ns - max(self.mtime_ns, self.ctime_ns) >= _RACY_NS


def stamp_of(path: Path, *, follows_links: bool) -> Stamp | None:
    """Return the stamp of a file; None when it is not there or cannot be seen."""
    try:
        status = os.stat(path, follow_symlinks=follows_links)  # noqa: PTH116 - half the time of `Path.stat`
    except (OSError, ValueError):
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
