"""Ends a hook process in silence when its time is up; a hook that hangs is worse than one that says nothing."""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable

_NOTE_S = 0.05
"""Seconds before the deadline at which it is given up, so that as a rule the event is kept in time."""

_KEEP_S = 1.0
"""Seconds that keeping the event may take on a machine too busy for it; clients wait for five and more."""

_LOOK_S = 0.02


class Deadline:
    """Ends the process, in silence and with exit code 0, unless it is met.

    Args:
        started_s: `time.monotonic()` that deadlines count from.
        seconds: The first deadline.
        on_miss: Keeps the event and leaves a note; what it does not finish within a second is lost.
    """

    def __init__(self, started_s: float, seconds: float, on_miss: Callable[[str], None]) -> None:
        self._started_s = started_s
        self._seconds = seconds
        self._until_s = started_s + seconds
        self._on_miss = on_miss
        self._lock = _thread.allocate_lock()
        self._is_met = False
        try:
            _thread.start_new_thread(self._watch, ())
        except Exception:  # noqa: BLE001 - no room for a thread
            return  # What is waited for has time limits of its own.

    @property
    def left_s(self) -> float:
        """Seconds until the process ends."""
        return max(self._until_s - _NOTE_S - time.monotonic(), 0.0)

    def set_ms(self, milliseconds: int) -> None:
        """Another deadline, counted from the start of the process."""
        self._seconds = milliseconds / 1000
        self._until_s = self._started_s + self._seconds
        self._look()

    def meet(self) -> None:
        """From here on the answer is written; nothing interrupts that."""
        with self._lock:
            self._is_met = True

    def allow(self, seconds: float) -> None:
        """The answer is out; what is recorded now may take so long."""
        self._seconds = seconds
        self._until_s = time.monotonic() + seconds
        self._is_met = False

    def _watch(self) -> None:
        while True:
            if self._is_met or self.left_s > 0:
                time.sleep(_LOOK_S)
                continue
            self._look()

    def _look(self) -> None:
        with self._lock:
            if not self._is_met and self.left_s <= 0:
                self._end()

    def _end(self) -> None:
        # The disk may be what hangs, so this is not waited for without end.
        done = _thread.allocate_lock()
        done.acquire()

        def note() -> None:
            try:
                self._on_miss(f"not done after {self._seconds:g} s")
            finally:
                done.release()

        try:
            _thread.start_new_thread(note, ())
        except Exception:  # noqa: BLE001 - as above
            note()
        done.acquire(timeout=_KEEP_S)
        os._exit(0)
