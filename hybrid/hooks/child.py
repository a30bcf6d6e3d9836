"""Lets a child process answer an event, so that the hook ends with the answer and the books are kept after it.

The child speaks as the service does. `run` imports this only when there is no service; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked
from hybrid.ipc.wire import Connection, WireError, run_folder, sockets

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


# Places for hook processes that answer by themselves: more than a few would keep the service from starting.

_PLACES = 2


@contextlib.contextmanager
def place(home: str) -> Generator[bool]:
    """Hold one of a few locks for the block; give False when all are taken. The system frees that of a dead process.

    Where no file can be written it gives True, since no service can start there that a child would disturb.
    """
    paths = [Path(run_folder(home)) / f"here.{n}.lock" for n in range(_PLACES)]
    with contextlib.ExitStack() as stack:
        is_mine = any(stack.enter_context(locked(path, 0)) for path in paths)
        yield is_mine or not any(os.access(path, os.W_OK) for path in paths)


_LONGEST_S = 30
"""Seconds after which a child ends, whatever it waits for; the longest wait of one is that for a locked database."""

_SEND_S = 1.0
_GRACE_S = 1.0
"""Seconds beyond the hook's deadline that it would wait for its child; the deadline ends the hook before."""
_MOST_DESCRIPTORS = 256
"""Number of descriptors that are looked at: a hook inherits few, and each look is a call of the system."""

CAN_FORK = sys.platform.startswith("linux")
"""Elsewhere a copy of a process may not use all libraries."""


class Child:
    """The side of the hook.

    Args:
        work: Run in the child with the connection to the hook; it must not return to anything of the hook.

    Raises:
        Exception: There can be no child: no more processes (OSError), no memory, or what an audit hook says.
    """

    def __init__(self, work: Callable[[Connection], None]) -> None:
        ours, theirs = sockets.socketpair()
        try:
            pid = os.fork()
        except BaseException:
            ours.close()
            theirs.close()
            raise
        if pid == 0:
            try:
                ours.close()
                _let_go(theirs.fileno())
                work(Connection(theirs))
            finally:
                os._exit(0)
        theirs.close()
        self._connection = Connection(ours)

    def answer(self, left_s: Callable[[], float], set_deadline: Callable[[int], None]) -> tuple[bytes, str]:
        """Wait for the answer; return the bytes to print and one line for a person.

        Args:
            left_s: Gives the seconds until the deadline.
            set_deadline: Takes the configured deadline in milliseconds as soon as it is known.

        Raises:
            WireError: The child ended without an answer, or needs longer.
        """
        while True:
            parts = self._connection.receive(timeout_s=left_s() + _GRACE_S)
            if len(parts) > 1:
                return parts[0], parts[1].decode("utf-8", "replace")
            set_deadline(int(parts[0]))

    def delivered(self, latency_ms: float) -> None:
        """Say that the agent has the text: only then it counts as given.

        Raises:
            WireError: The child has ended.
        """
        self._connection.send(str(latency_ms).encode(), timeout_s=_SEND_S)


def tell(parent: Connection, *parts: bytes) -> None:
    """Send the hook its deadline, or that there is no answer; a hook that is gone needs neither."""
    with contextlib.suppress(WireError):
        parent.send(*parts, timeout_s=_SEND_S)


def _let_go(kept: int) -> None:
    """Close the pipes and descriptors that the hook's caller gave it, leave its session, and set a time limit."""
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
