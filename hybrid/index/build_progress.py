"""Tells of the build that holds the lock of a project: its process, how far it is, and when it will be done.

`build` writes a file beside the lock; `hybrid status` and whoever waits for the lock read it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hybrid.base.atomic import locked, read_regular, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hybrid.index.plan import Progress

_EVERY_S = 1.0
"""Seconds between two notes of a build."""
_WINDOW_S = 30.0
"""Seconds by whose pace the rest of a build is judged: some parts of a tree take longer than others."""
_LEAST_S = 3.0
"""Seconds of a build before which nothing is said of the rest."""
_MAX_BYTES = 4_096


class Holder(Struct, frozen=True):
    """A build that runs.

    Attributes:
        pid: Its process.
        host: Name of its machine.
        step: What it does: scan, read, write or merge; empty before the first file.
        done: Files that are done in this step.
        total: Files of this step; 0 while unknown.
        share: Part of the whole build that is done, 0 to 1; of a merge, which follows a build, of that.
        seconds_left: Seconds until it is done, by its pace; None while that cannot be told.
    """

    pid: int
    host: str
    step: str = ""
    done: int = 0
    total: int = 0
    share: float = 0.0
    seconds_left: float | None = None


class Pace:
    """Tells how long the rest of some work takes, from the shares that were done of it at some times."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def seconds_left(self, share: float, now_s: float) -> float | None:
        """Note that so much is done now, 0 to 1, and return the seconds that the rest takes; None while unknown."""
        self._seen.append((now_s, share))
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= _WINDOW_S:
            self._seen.popleft()
        then_s, before = self._seen[0]
        if now_s - then_s < _LEAST_S or share <= before:
            return None
        return (1 - share) * (now_s - then_s) / (share - before)


class Signature:
    """Fulfils `Progress` for a build that holds a lock: passes on what it hears, and notes it beside the lock.

    Args:
        lock: The lock.
        progress: Hears everything; what it raises is passed on.
        clock: Monotonic seconds.
    """

    def __init__(self, lock: Path, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = lock.with_suffix(".holder")
        self._progress = progress
        self._clock = clock
        self._pace = Pace()
        self._next_s = 0.0
        self._step = ""
        self._own = Holder(os.getpid(), socket.gethostname())
        self._write(self._own)

    def __call__(self, step: str, done: int, total: int, share: float = 0.0) -> None:
        """See `Progress`."""
        self._progress(step, done, total, share)
        now_s = self._clock()
        if now_s >= self._next_s:
            self._next_s = now_s + _EVERY_S
            if step == "merge" and self._step != step:
                self._pace = Pace()
            self._step = step
            left_s = self._pace.seconds_left(share, now_s) if share else None
            own = self._own
            self._write(Holder(own.pid, own.host, step, done, total, round(share, 4), left_s and round(left_s, 1)))

    def _write(self, holder: Holder) -> None:
        # A full disk is met again where it matters.
        with contextlib.suppress(OSError):
            write_atomic(self._path, msgspec.json.encode(holder), durable=False)


def read_holder(lock: Path) -> Holder | None:
    """Return what the last build with this lock noted, which may be over; None without a note."""
    try:
        return msgspec.json.decode(read_regular(lock.with_suffix(".holder"), _MAX_BYTES), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def is_held(lock: Path) -> bool:
    """Return whether a build holds the lock now."""
    if not lock.exists():
        return False
    with locked(lock, 0) as held:
        return not held
