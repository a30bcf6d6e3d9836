"""Writes and locks that survive a kill at any byte; everyone who writes a file that others read uses them.

Folders of a project may come from strangers: no file is opened through a link that stands in its place, for reading
(`read_regular`), writing or locking. Standard library only and cheap to import: the prompt path keeps its state here.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import sys
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

_POLL_S = 0.01
_SHARED_S = 1.0 if sys.platform == "win32" else 0.0
"""Seconds in which a file that is to be replaced may be open in another process: only Windows refuses then."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none; links need rights there.
_BINARY = getattr(os, "O_BINARY", 0)


def write_atomic(
    path: Path, data: bytes, *, durable: bool = True, before_replace: Callable[[], None] | None = None
) -> None:
    """Replace a file as one step: readers see the old bytes or the new ones, never a part.

    Args:
        path: Target; its folder is created, owner-only, when missing.
        data: The whole new content.
        durable: Wait until the bytes are on disk before the rename; off for counters that may be lost.
        before_replace: Called right before the rename, when the bytes are written; what it raises leaves the old file.

    Raises:
        OSError: The folder is read-only or the disk is full; the old file is untouched.
    """
    make_private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        with open_private(temporary) as out:
            out.write(data)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        if (rights := _rights_of(path)) != 0o600:
            temporary.chmod(rights)
        if before_replace is not None:
            before_replace()
        replace_file(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # A write names no file, and nobody knows the temporary one.
        raise
    if durable:
        sync_folder(path.parent)


def replace_file(source: Path, target: Path) -> None:
    """Rename a file over another one; on Windows wait a moment for those who have that one open.

    Raises:
        OSError: It cannot be renamed.
    """
    until_s = time.monotonic() + _SHARED_S
    while True:
        try:
            source.replace(target)
        except PermissionError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(_POLL_S)
        else:
            return


def open_private(path: Path) -> BinaryIO:
    """Open a file for writing, emptied; a new one is readable by its owner only, one that exists keeps its rights.

    Raises:
        OSError: It cannot be written, its folder is missing, or a link stands in its place.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK | _BINARY
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _rights_of(path: Path) -> int:
    """Return the mode bits for the file that replaces this one: the same, or 0o600 where no regular file stands."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0o600
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else 0o600


def sync_folder(folder: Path) -> None:
    """Wait until renames inside a folder are on disk, where the platform can; errors are ignored."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its parents; new ones are readable by their owner only.

    A file in the place of the folder itself raises nothing here: whoever writes into it meets it.

    Raises:
        OSError: A folder cannot be written, or a file stands in the place of a parent.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def read_regular(path: str | Path, limit_bytes: int) -> bytes:
    """Return at most `limit_bytes` + 1 bytes of a regular file that is not a link; never wait for a pipe.

    One byte more than the limit tells the caller that the file is longer.

    Raises:
        OSError: Not there, not readable, a link, or not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK | _BINARY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit_bytes + 1)
    finally:
        os.close(descriptor)


def append_line(path: Path, line: bytes) -> None:
    """Append one line; lines of several processes never mix, since each is one write in append mode.

    A half line that a killed process left is ended first, so that only it is lost. A line that another process is
    writing just then may look like one: readers pass over blank lines.

    Raises:
        OSError: The folder is read-only, the disk is full, or a link is in the place of the file.
    """
    make_private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK | _BINARY, 0o600)
    try:
        data = line.rstrip(b"\n") + b"\n"
        if _ends_in_half_line(descriptor):
            data = b"\n" + data
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, "only a part of the line was written", str(path))
    finally:
        os.close(descriptor)


def _ends_in_half_line(descriptor: int) -> bool:
    if os.lseek(descriptor, 0, os.SEEK_END) == 0:
        return False
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) != b"\n"


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file to `NAME.corrupt-YYYYMMDDTHHMMSS`, never deleting it.

    Returns:
        The new path, or None when it could not be renamed (gone, or a read-only folder).
    """
    target = free_path(path.with_name(f"{path.name}.corrupt-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}"))
    try:
        path.replace(target)
    except OSError:
        return None
    return target


def free_path(path: Path) -> Path:
    """Return the path, or the path with `-2`, `-3`, … behind it, the first that does not exist."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return path if not path.exists() else next(free for free in numbered if not free.exists())


@contextlib.contextmanager
def locked(path: Path, timeout_s: float) -> Generator[bool]:
    """Hold an exclusive lock on a file for the block; the system frees it when its process dies, however it dies.

    Args:
        path: The lock file; it is created and stays.
        timeout_s: How long to wait for another holder, in seconds; 0 tries once.

    Yields:
        True when the lock is held, False when the time ran out or locks cannot be had here (read-only folder, a link).
    """
    try:
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    except OSError:
        yield False
        return
    try:
        held = _acquire(descriptor, timeout_s)
        try:
            yield held
        finally:
            if held:
                _unlock(descriptor)
    finally:
        os.close(descriptor)


def can_be_locked(path: Path) -> bool:
    """Return whether a file can be locked, whether its lock is held or free.

    Nothing is created. False for a file that is missing, cannot be written or is a link.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | _NO_LINK)
    except OSError:
        return False
    try:
        _try_lock(descriptor)  # It is free again once the file is closed.
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _acquire(descriptor: int, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
    except OSError:  # Some file systems have no locks: waiting would not help.
        return False
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # Held by another one; networks say it in the second way.
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
