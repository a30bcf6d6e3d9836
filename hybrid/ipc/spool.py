"""Keeps what hooks leave for whoever comes later: events of hooks that ran out of time, and which turns are private.

An event is a file in `$HYBRID_HOME/spool`. A hook writes it and ends; the service, or the next hook, reads it, lets the
event have its effects, and deletes it. Only the owner can read the files.

Of a private turn (`[no-hybrid]`) nothing is kept, whoever sees it. The memory knows such turns too, by the prompts that
it stores; `private_turns` serves where there is no memory, and a hook at its deadline, which opens no database. A line
is added for a private prompt, and for the next one of its session. Standard library only and cheap to import: a hook
writes at its deadline, when the machine is busy.
"""

from __future__ import annotations

import os
import stat
import time

from hybrid.ipc.wire import WireError, is_own, packed, unpacked

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
        data = read_start(self._path(kept.name), MAX_EVENT_BYTES + 1, _AS_IT_IS, is_trusted=True)
        try:
            parts = unpacked(data[4:]) if len(data) <= MAX_EVENT_BYTES else []
        except WireError:
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


# --- Private turns ---------------------------------------------------------------------------------------------------


OPT_OUT = "[no-hybrid]"
"""Text in a prompt, in any case of letters, that asks to leave it alone."""

NAME = "private_turns"
"""Name of the file in a `$HYBRID_HOME`."""

_MAX_BYTES = 64_000
"""Bytes of the file beyond which its older half goes, some four hundred turns."""

_MAX_ID_CHARS = 200
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PRIVATE, _OPEN = b"private", b"open"


def note_turn(home: str, session_id: str, key: str, *, is_private: bool) -> None:
    """Note that a prompt begins a turn, private or not; a session without a private prompt so far is not noted.

    Args:
        home: `$HYBRID_HOME`.
        session_id: The client's id of the session; one that no client makes is not noted.
        key: Key of the prompt's event, as `spool.new_key` makes it: it sorts by time.
        is_private: Whether the prompt asks to be left alone.
    """
    session = session_id.encode("utf-8", "replace")
    if not _is_usual(session) or not _is_usual(key.encode("utf-8", "replace")):
        return
    turns = [turn for turn in _turns(home) if turn[2] == session]
    line = (key.encode(), _PRIVATE if is_private else _OPEN, session)
    if line in turns or not (is_private or turns):
        return
    path = os.path.join(home, NAME)  # noqa: PTH118 - pathlib costs a hook 6 ms
    try:
        os.makedirs(home, 0o700, exist_ok=True)  # noqa: PTH103
        # One write at the end of the file: lines of several processes do not mix.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _AS_IT_IS, 0o600)
        try:
            os.write(descriptor, b" ".join(line) + b"\n")
            is_long = os.fstat(descriptor).st_size > _MAX_BYTES
        finally:
            os.close(descriptor)
        if is_long:
            _shorten(path)
    except OSError:
        return


def is_private_turn(home: str, session_id: str, key: str) -> bool:
    """Return whether what an agent does may be for a private prompt.

    A clock that was set back, or an event that is taken in late, leaves it open which prompt was the last one. Then it
    is enough that one of those in question is private.

    Args:
        home: `$HYBRID_HOME`.
        session_id: The client's id of the session.
        key: Key of the event; empty for one that has just come.
    """
    session, now = session_id.encode("utf-8", "replace"), key.encode() or b"~"
    turns = [turn for turn in _turns(home) if turn[2] == session]
    before = [turn for turn in turns if turn[0] <= now]
    ahead = [turn for turn in turns if turn[0] > now]
    in_question = [*before[-1:], *sorted(before)[-1:], *ahead]
    return any(state == _PRIVATE for _, state, _ in in_question)


def may_be_private(home: str, data: bytes) -> bool:
    """Return whether an event that has just come, unread, names a session whose last prompt was private."""
    last = {session: state for _, state, session in _turns(home)}
    return any(state == _PRIVATE and b'"' + session + b'"' in data for session, state in last.items())


def read_start(path: str, most_bytes: int, flags: int = 0, *, is_trusted: bool = False) -> bytes:
    """Return the first bytes of a regular file; none when it is missing or cannot be read. It never waits for a pipe.

    Args:
        path: The file.
        most_bytes: Bytes to read at most.
        flags: Added to those of `os.open`, such as `O_NOFOLLOW`.
        is_trusted: Return none either when somebody else could have written it.
    """
    flags |= getattr(os, "O_NONBLOCK", 0)
    try:
        with open(path, "rb", opener=lambda name, usual: os.open(name, usual | flags)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and (not is_trusted or is_own(status)):
                return file.read(most_bytes)
    except OSError:
        pass
    return b""


def _turns(home: str) -> Iterable[tuple[bytes, bytes, bytes]]:
    """Yield key, state and session of each line, oldest first; nothing without a file."""
    data = read_start(os.path.join(home, NAME), 2 * _MAX_BYTES, _AS_IT_IS)  # noqa: PTH118
    for line in data.split(b"\n"):
        parts = line.split(b" ")
        if len(parts) == 3:
            yield parts[0], parts[1], parts[2]


def _is_usual(name: bytes) -> bool:
    """Return whether a session's id can stand in a line, and in JSON, as it is."""
    return 0 < len(name) <= _MAX_ID_CHARS and all(33 <= byte < 127 and byte not in b'"\\' for byte in name)


def _shorten(path: str) -> None:
    """Keep only the newer half of the lines.

    Raises:
        OSError: The folder cannot be written.
    """
    lines = read_start(path, 2 * _MAX_BYTES, _AS_IT_IS).splitlines(keepends=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.writelines(lines[len(lines) // 2 :])
    os.replace(temporary, path)  # noqa: PTH105
