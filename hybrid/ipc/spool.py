"""Keeps events whose hook ran out of time, as files in `$HYBRID_HOME/spool`, until somebody takes them in.

A hook writes one file and ends; the service, or the next hook, reads it, lets the event have its effects, and deletes
it. Only the owner can read the files. Standard library only and cheap to import: a hook writes at its deadline, when
the machine is busy.
"""

from __future__ import annotations

import os
import stat
import time

from hybrid.ipc.wire import WireError, packed, unpacked

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "spool"
"""Where the files lie in a `$HYBRID_HOME`."""

MAX_EVENTS = 500
MAX_BYTES = 50_000_000
"""Of all files together; the oldest are dropped for a new one."""

MAX_EVENT_BYTES = 33_000_000
"""Of one file; an event that is longer is not read either."""

MAX_AGE_S = 7 * 86_400
"""Seconds after which an event is dropped: the last one of a week waits until the machine is used again."""

MAX_TRIES = 12
"""Times that an event is tried: one that ends whoever reads it must not do so for ever."""

_SUFFIX = ".event"
_VERSION = b"1"
_LONGEST_WAIT_S = 600.0


def new_key() -> str:
    """A name for an event: milliseconds since 1970 when its hook started; nanoseconds and ten random digits, in hex.

    Names sort by time: a private prompt has its effects before what its agent does a moment later.
    """
    ms, ns = divmod(time.time_ns(), 1_000_000)
    return f"{ms:013d}-{ns:05x}{os.urandom(5).hex()}"


def is_key(key: bytes) -> bool:
    """Return whether a name was made by `new_key`: it becomes a part of a file name."""
    at, _, random = key.partition(b"-")
    return at.isdigit() and random.isalnum() and len(at) < 16 and len(random) <= 16


def time_of(key: str) -> int:
    """Milliseconds since 1970 at which the hook of an event started; 0 for what is no key."""
    digits = key.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else 0


class Kept:
    """An event that waits, by the name of its file.

    Attributes:
        key: As `new_key` gives it.
        size_bytes: Of the file, as its writer says.
        n_tries: How often somebody began to take it in.
    """

    def __init__(self, name: str, key: str, size_bytes: int, n_tries: int) -> None:
        self.name = name
        self.key = key
        self.size_bytes = size_bytes
        self.n_tries = n_tries

    @property
    def at_ms(self) -> int:
        """When its hook started, milliseconds since 1970."""
        return time_of(self.key)


class Spool:
    """The events that wait in a `$HYBRID_HOME`.

    Args:
        home: The folder; nothing is made before the first event is kept.
    """

    def __init__(self, home: str) -> None:
        self.folder = os.path.join(home, FOLDER)  # noqa: PTH118 - pathlib costs a hook 6 ms

    def keep(self, key: str, *parts: bytes, on_drop: Callable[[str], None] = lambda _: None) -> bool:
        """Keep an event; half a file is never read, and one that waits already is replaced by itself.

        Args:
            key: Of the event.
            parts: What `read` gives back.
            on_drop: Hears of an older event that had to go.

        Returns:
            False when it cannot be kept: too long, or the folder cannot be written or is not ours alone.
        """
        data = packed((_VERSION, *parts))
        if len(data) > MAX_EVENT_BYTES:
            return False
        try:
            self._make_room(len(data), on_drop)
            temporary = self._path(f".{key}.{os.getpid()}.{time.monotonic_ns()}.tmp")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(temporary, flags, 0o600)
            try:
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(descriptor, view) :]
                finally:
                    os.close(descriptor)
                os.replace(temporary, self._path(_file_name(key, len(data), 0)))  # noqa: PTH105
            except OSError:
                os.unlink(temporary)  # noqa: PTH108
                return False
        except OSError:
            return False
        return True

    def has_files(self) -> bool:
        """Return whether the folder holds an event, or what a killed writer left of one."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208
        except OSError:
            return False
        return any(name.endswith((_SUFFIX, ".tmp")) for name in names)

    def waiting(self) -> list[Kept]:
        """The events that wait, oldest first; none without a folder."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208
        except OSError:
            return []
        found = [kept for kept in map(_kept, names) if kept is not None]
        return sorted(found, key=lambda kept: kept.name)

    def begin(self, kept: Kept) -> Kept | None:
        """Count a try of an event in the name of its file, before it is read; None when somebody else has it."""
        name = _file_name(kept.key, kept.size_bytes, kept.n_tries + 1)
        try:
            os.rename(self._path(kept.name), self._path(name))  # noqa: PTH104
        except OSError:
            return None
        return Kept(name, kept.key, kept.size_bytes, kept.n_tries + 1)

    def is_due(self, kept: Kept) -> bool:
        """Return whether an event may be tried now: each try waits twice as long as the one before."""
        if kept.n_tries == 0:
            return True
        try:
            tried_s = os.stat(self._path(kept.name)).st_ctime  # noqa: PTH116 - a rename changes it
        except OSError:
            return False
        return not 0 <= time.time() - tried_s < min(2.0**kept.n_tries, _LONGEST_WAIT_S)

    def read(self, kept: Kept) -> list[bytes] | None:
        """The parts of an event; None for a file that is not ours, damaged, or of another version."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._path(kept.name), flags)
            try:
                if not _is_own(os.fstat(descriptor), stat.S_ISREG):
                    return None
                with open(descriptor, "rb", closefd=False) as file:
                    data = file.read(MAX_EVENT_BYTES + 1)
            finally:
                os.close(descriptor)
            parts = unpacked(data[4:]) if len(data) <= MAX_EVENT_BYTES else []
        except (OSError, WireError):
            return None
        return parts[1:] if parts[:1] == [_VERSION] else None

    def remove(self, kept: Kept) -> None:
        """Delete an event; one that is gone is fine."""
        try:
            os.unlink(self._path(kept.name))  # noqa: PTH108
        except OSError:  # `contextlib` is not loaded in a hook.
            return

    def remove_leftovers(self, older_than_s: float = 60.0) -> None:
        """Delete what writers left that were killed."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208
        except OSError:
            return
        for name in names:
            try:
                if name.endswith(".tmp") and time.time() - os.lstat(self._path(name)).st_mtime > older_than_s:
                    os.unlink(self._path(name))  # noqa: PTH108
            except OSError:
                continue

    @property
    def lock_path(self) -> str:
        """The file whose lock a process holds while it takes events in."""
        return self._path("lock")

    def _make_room(self, n_bytes: int, on_drop: Callable[[str], None]) -> None:
        """Make the folder if it is missing, and drop the oldest events if it is full.

        Raises:
            OSError: The folder cannot be made, or others can look into it.
        """
        try:
            os.mkdir(self.folder, 0o700)  # noqa: PTH102
        except FileNotFoundError:
            os.makedirs(self.folder, 0o700, exist_ok=True)  # noqa: PTH103
        except FileExistsError:
            pass
        status = os.lstat(self.folder)
        if not _is_own(status, stat.S_ISDIR):
            raise OSError(f"{self.folder} is not a folder of ours alone")
        if hasattr(os, "getuid") and status.st_mode & 0o077:
            os.chmod(self.folder, 0o700)  # noqa: PTH101
        waiting = self.waiting()
        total = sum(kept.size_bytes for kept in waiting) + n_bytes
        for number, kept in enumerate(waiting):
            if len(waiting) - number < MAX_EVENTS and total <= MAX_BYTES:
                break
            total -= kept.size_bytes
            self.remove(kept)
            on_drop(f"the spool is full: an event of {_at(kept.at_ms)} was dropped and has no effect")

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)  # noqa: PTH118


def _file_name(key: str, size_bytes: int, n_tries: int) -> str:
    return f"{key}-{size_bytes}-{n_tries}{_SUFFIX}"


def _kept(name: str) -> Kept | None:
    """The event of a file name; None for any other file."""
    parts = name.removesuffix(_SUFFIX).split("-")
    if not name.endswith(_SUFFIX) or len(parts) != 4 or not all(part.isascii() and part.isalnum() for part in parts):
        return None
    at, random, size, tries = parts
    if not (at.isdigit() and size.isdigit() and tries.isdigit()) or len(name) > 100:
        return None
    return Kept(name, f"{at}-{random}", int(size), int(tries))


def _at(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))


def _is_own(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Return whether a file or folder is of a kind, is ours, and can be written by nobody else."""
    if not is_kind(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
