"""Lets a child process answer an event, so that the hook ends with the answer and the books are kept after it.

The child speaks as the service does. `run` imports this only when there is no service; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import sys

from hybrid.ipc.endpoint import sockets
from hybrid.ipc.wire import Connection, WireError

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_S = 30
"""Seconds after which a child ends, whatever it waits for; the longest wait of one is that for a locked database."""

_SEND_S = 1.0
_GRACE_S = 1.0
"""The deadline itself ends the hook before this wait for its child does."""
_DELIVERY_S = 2.0
_MOST_DESCRIPTORS = 256

CAN_FORK = sys.platform.startswith("linux")
"""Elsewhere a copy of a process may not use all libraries."""


class Child:
    """The side of the hook.

    Args:
        work: Run in the child with the other side; it must not return to anything of the hook.

    Raises:
        OSError: There can be no more processes.
    """

    def __init__(self, work: Callable[[Parent], None]) -> None:
        ours, theirs = sockets.socketpair()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if pid == 0:
            try:
                ours.close()
                _let_go(theirs.fileno())
                work(Parent(Connection(theirs)))
            finally:
                os._exit(0)
        theirs.close()
        self._connection = Connection(ours)

    def answer(self, left_s: Callable[[], float], set_deadline: Callable[[int], None]) -> tuple[bytes, str]:
        """What to print, and one line for a person.

        Args:
            left_s: Gives the seconds until the deadline.
            set_deadline: Told the configured deadline in milliseconds as soon as it is known.

        Raises:
            WireError: The child ended without an answer, or needs longer.
        """
        while True:
            parts = self._connection.receive(timeout_s=left_s() + _GRACE_S)
            if len(parts) > 1:
                return parts[0], parts[1].decode("utf-8", "replace")
            set_deadline(int(parts[0]))

    def delivered(self, latency_ms: float) -> None:
        """Tell that the agent has the text: only then it counts as given.

        Raises:
            WireError: The child has ended.
        """
        self._connection.send(str(latency_ms).encode(), timeout_s=_SEND_S)


class Parent:
    """The side of the child."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def set_deadline(self, milliseconds: int) -> None:
        """Tell the hook the configured deadline; one that is gone has met its own."""
        with contextlib.suppress(WireError):
            self._connection.send(str(milliseconds).encode(), timeout_s=_SEND_S)

    def give(self, printed: bytes, line: str) -> float | None:
        """Give the answer, and wait until the agent has it; the latency in milliseconds, or None when it has not."""
        try:
            self._connection.send(printed, line.encode("utf-8", "replace"), timeout_s=_SEND_S)
            return float(self._connection.receive(timeout_s=_DELIVERY_S)[0]) if printed else None
        except (WireError, ValueError):
            return None

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _let_go(kept: int) -> None:
    """Let go of all that the caller gave the hook: its pipes, its terminal, its group, and whatever it left open."""
    import signal

    signal.alarm(_LONGEST_S)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for number in range(3, _MOST_DESCRIPTORS):
        # What this process opened itself, its locks for one, is never inheritable.
        with contextlib.suppress(OSError):
            if number != kept and os.get_inheritable(number):
                os.close(number)
