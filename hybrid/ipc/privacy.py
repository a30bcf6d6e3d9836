"""Notes whose last prompt was private (`[no-hybrid]`), so that nothing of such a turn is kept, whoever sees it.

The memory knows it too, by the prompts that it stores; this file serves where there is no memory, and a hook at its
deadline, which opens no database. A line is added for a private prompt, and for the next one of its session. Standard
library only and cheap to import.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterable

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


def read_start(path: str, most_bytes: int, flags: int = 0) -> bytes:
    """Return the first bytes of a file; none when it is missing or cannot be read. It never waits for a pipe.

    Args:
        path: The file.
        most_bytes: Bytes to read at most.
        flags: Added to those of `os.open`, such as `O_NOFOLLOW`.
    """
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most_bytes)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


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
    with open(path, "rb") as file:  # noqa: PTH123
        lines = file.read().splitlines(keepends=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.writelines(lines[len(lines) // 2 :])
    os.replace(temporary, path)  # noqa: PTH105
