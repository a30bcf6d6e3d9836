"""Keeps events whose hook ran out of time, as files in `$HYBRID_HOME/spool`, until somebody takes them in.

A hook writes one file and ends; the service, or the next hook, reads it, lets the event have its effects, and deletes
it. Only the owner can read the files. Standard library only and cheap to import: a hook writes at its deadline, when
the machine is busy.
"""

from __future__ import annotations

import os
import stat
import time

from hybrid.ipc.wire import WireError, is_own, packed, unpacked

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "spool"
"""Name of the folder of the files in a `$HYBRID_HOME`."""

MAX_EVENTS = 500
MAX_BYTES = 50_000_000
"""Bytes that all files together may have; see `Worth` for what is dropped when there are more."""

MAX_EVENT_BYTES = 33_000_000
"""Bytes that one file may have; an event that is longer is not read either."""

MAX_AGE_S = 7 * 86_400
"""Seconds after which an event is dropped: the last one of a week waits until the machine is used again."""

MAX_TRIES = 12
"""Times that an event is tried: one that ends whoever reads it must not do so for ever."""


class Worth:
    """The order in which a full spool drops events: low values first; of equal ones the largest, then the oldest."""

    TOOL = 0
    """A use of a tool: as large as what the tool read, and one of many."""
    OTHER = 1
    PROMPT = 2
    LESSON = 3
    """What may hold a lesson that somebody typed: it exists nowhere else."""


_SUFFIX = ".event"
_VERSION = b"1"
_LONGEST_WAIT_S = 600.0


def new_key() -> str:
    """Return a new name for an event: milliseconds since 1970; nanoseconds and ten random digits, in hex.

    Names sort by time: a private prompt has its effects before what its agent does a moment later.
    """
    ms, ns = divmod(time.time_ns(), 1_000_000)
    return f"{ms:013d}-{ns:05x}{os.urandom(5).hex()}"


def is_key(key: bytes) -> bool:
    """Return whether a name was made by `new_key`: it becomes a part of a file name."""
    at, _, random = key.partition(b"-")
    return at.isdigit() and random.isalnum() and len(at) < 16 and len(random) <= 16


class KeptEvent:
    """An event that waits, by the name of its file.

    Attributes:
        key: The name that `new_key` made for it.
        size_bytes: Bytes of the file, as its writer says.
        worth: One of `Worth`.
        n_tries: Number of times that somebody began to take it in.
    """

    def __init__(self, key: str, size_bytes: int, worth: int, n_tries: int) -> None:
        self.key = key
        self.size_bytes = size_bytes
        self.worth = worth
        self.n_tries = n_tries

    @property
    def name(self) -> str:
        """The name of the event's file."""
        return f"{self.key}-{self.size_bytes}-{self.worth}-{self.n_tries}{_SUFFIX}"

    @property
    def at_ms(self) -> int:
        """Milliseconds since 1970 at which the event's hook started; 0 for a number that is no time."""
        digits = self.key.partition("-")[0]
        return int(digits) if len(digits) < 16 else 0


class Spool:
    """The events that wait in a `$HYBRID_HOME`.

    Args:
        home: The folder; nothing is made before the first event is kept.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.folder = os.path.join(home, FOLDER)  # noqa: PTH118 - pathlib costs a hook 6 ms

    def keep(
        self, key: str, *parts: bytes, worth: int = Worth.OTHER, on_drop: Callable[[str], None] = lambda _: None
    ) -> bool:
        """Keep an event; half a file is never read, and one that waits already is replaced by itself.

        Args:
            key: The key of the event.
            parts: The parts that `read` gives back.
            worth: One of `Worth`.
            on_drop: Called at most once, with a line about other events that had to go.

        Returns:
            False when it cannot be kept: too long, the spool is full of what is worth more, or the folder cannot be
            written or is not ours alone.
        """
        data = packed((_VERSION, *parts))
        if len(data) > MAX_EVENT_BYTES:
            return False
        kept = KeptEvent(key, len(data), worth, 0)
        try:
            self._make_folder()
            if not self._make_room(kept, on_drop):
                return False
            temporary = self._path(f".{key}.{os.getpid()}.{time.monotonic_ns()}.tmp")
            try:
                # A file that is made anew follows no link.
                with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
                    out.write(data)
                os.replace(temporary, self._path(kept.name))  # noqa: PTH105
            except OSError:
                os.unlink(temporary)  # noqa: PTH108
                return False
        except OSError:
            return False
        return True

    def has_files(self) -> bool:
        """Return whether the folder holds an event, or what a killed writer left of one."""
        return any(name.endswith((_SUFFIX, ".tmp")) for name in self._names())

    def waiting(self) -> list[KeptEvent]:
        """Return the events that wait, oldest first; none without a folder."""
        events = [kept for kept in map(_kept, self._names()) if kept is not None]
        return sorted(events, key=lambda kept: kept.name)

    def begin(self, kept: KeptEvent) -> KeptEvent | None:
        """Count a try of an event in the name of its file, and return it with that; None when the file is gone."""
        begun = KeptEvent(kept.key, kept.size_bytes, kept.worth, kept.n_tries + 1)
        try:
            os.rename(self._path(kept.name), self._path(begun.name))  # noqa: PTH104
            # When it was tried: the time that a rename changes is that of the creation on Windows.
            os.utime(self._path(begun.name))
        except OSError:
            return None
        return begun

    def is_due(self, kept: KeptEvent) -> bool:
        """Return whether an event may be tried now: the wait after each try doubles, up to a limit."""
        if kept.n_tries == 0:
            return True
        try:
            tried_s = os.stat(self._path(kept.name)).st_mtime  # noqa: PTH116
        except OSError:
            return False
        return not 0 <= time.time() - tried_s < min(2.0**kept.n_tries, _LONGEST_WAIT_S)

    def read(self, kept: KeptEvent) -> list[bytes] | None:
        """Return the parts of an event; None for a file that is not ours, damaged, or of another version."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._path(kept.name), flags)
            try:
                status = os.fstat(descriptor)
                if not (stat.S_ISREG(status.st_mode) and is_own(status)):
                    return None
                with open(descriptor, "rb", closefd=False) as file:
                    data = file.read(MAX_EVENT_BYTES + 1)
            finally:
                os.close(descriptor)
            parts = unpacked(data[4:]) if len(data) <= MAX_EVENT_BYTES else []
        except (OSError, WireError):
            return None
        return parts[1:] if parts[:1] == [_VERSION] else None

    def remove(self, kept: KeptEvent) -> bool:
        """Delete an event; False when it is gone already, or cannot be deleted."""
        try:
            os.unlink(self._path(kept.name))  # noqa: PTH108
        except OSError:
            return False
        return True

    def remove_leftovers(self, older_than_s: float = 60.0) -> None:
        """Delete the temporary files of writers that were killed, once they are old enough."""
        for name in self._names():
            try:
                # A time to come is one of a clock that was set back since.
                if name.endswith(".tmp") and abs(time.time() - os.lstat(self._path(name)).st_mtime) > older_than_s:
                    os.unlink(self._path(name))  # noqa: PTH108
            except OSError:
                continue

    @property
    def lock_path(self) -> str:
        """The file whose lock a process holds while it takes events in."""
        return self._path("lock")

    def _names(self) -> list[str]:
        """Return the names in the folder, in no order; none when it is missing or cannot be read."""
        try:
            return os.listdir(self.folder)  # noqa: PTH208
        except OSError:
            return []

    def _make_folder(self) -> None:
        """Make the folder if it is missing.

        Raises:
            OSError: The folder cannot be made, or others can look into it.
        """
        os.makedirs(self.folder, 0o700, exist_ok=True)  # noqa: PTH103
        status = os.lstat(self.folder)
        if not (stat.S_ISDIR(status.st_mode) and is_own(status)):
            raise OSError(f"{self.folder} is not a folder of ours alone")
        if hasattr(os, "getuid") and status.st_mode & 0o077:
            os.chmod(self.folder, 0o700)  # noqa: PTH101

    def _make_room(self, new: KeptEvent, on_drop: Callable[[str], None]) -> bool:
        """Drop what is worth least if the spool is full; False when that is the new event itself."""
        events = [*(kept for kept in self.waiting() if kept.key != new.key), new]
        n_left, total = len(events), sum(kept.size_bytes for kept in events)
        surplus: list[KeptEvent] = []
        for kept in sorted(events, key=lambda kept: (kept.worth, -kept.size_bytes, kept.name)):
            if n_left <= MAX_EVENTS and total <= MAX_BYTES:
                break
            if kept is new:
                return False
            n_left, total = n_left - 1, total - kept.size_bytes
            surplus.append(kept)
        # Others may make room at the same time: each says what it dropped itself.
        dropped = [kept for kept in surplus if self.remove(kept)]
        if dropped:
            count = "an event was" if len(dropped) == 1 else f"{len(dropped)} events were"
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(kept.at_ms for kept in dropped) / 1000))
            on_drop(f"the spool is full: {count} dropped (the oldest of {since}) without effect")
        return True

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)  # noqa: PTH118


def _kept(name: str) -> KeptEvent | None:
    """Return the event of a file name; None for any other file."""
    parts = name.removesuffix(_SUFFIX).split("-")
    if not name.endswith(_SUFFIX) or len(parts) != 5 or len(name) > 100:
        return None
    at, random, *numbers = parts
    if not all(part.isascii() and part.isdigit() for part in (at, *numbers)):
        return None
    size_bytes, worth, n_tries = map(int, numbers)
    if not (random.isascii() and random.isalnum()) or size_bytes > MAX_EVENT_BYTES:
        return None
    kept = KeptEvent(f"{at}-{random}", size_bytes, worth, n_tries)
    return kept if kept.name == name else None
