"""The prompt hook as a process: event in, one JSON document or nothing out, exit code 0 whatever happens.

One of the two places where every exception is caught: a hook that fails is silent and leaves a line in the log.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from hybrid.hooks.answer import prompt_answer
from hybrid.hooks.event import MAX_BYTES, EventError, parse_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing import Any

HARD_STOP_S = 1.5
"""Seconds after which the process ends in silence, until the settings are read and say otherwise."""

_RECORD_S = 2.0
"""Seconds that counters and log may take once the answer is out; the agent waits for the end of the process."""

_NOTE_S = 0.2
"""Seconds before the deadline at which it is given up, so that the line in the log is written in time."""


class _Deadline:
    """Ends the process, in silence and with exit code 0, unless it is met.

    Args:
        started_s: `time.perf_counter()` that deadlines count from.
        seconds: The first deadline.
        on_miss: Leaves a note; what it does not finish in time is lost.
    """

    def __init__(self, started_s: float, seconds: float, on_miss: Callable[[str], None]) -> None:
        self._started_s = started_s
        self._on_miss = on_miss
        self._lock = threading.Lock()
        self._is_met = False
        self._timer = self._start(started_s, seconds)

    def set_ms(self, milliseconds: int) -> None:
        """Another deadline, counted from the start of the process."""
        self._timer.cancel()
        self._timer = self._start(self._started_s, milliseconds / 1000)

    def meet(self) -> None:
        """From here on the answer is written; nothing interrupts that."""
        with self._lock:
            self._is_met = True
        self._timer.cancel()

    def allow(self, seconds: float) -> None:
        """The answer is out; what is recorded now may take so long."""
        self._is_met = False
        self._timer = self._start(time.perf_counter(), seconds)

    def _start(self, from_s: float, seconds: float) -> threading.Timer:
        left_s = from_s + seconds - _NOTE_S - time.perf_counter()
        timer = threading.Timer(max(left_s, 0.001), self._end, [seconds])
        timer.daemon = True
        timer.start()
        return timer

    def _end(self, seconds: float) -> None:
        with self._lock:
            if self._is_met:
                return
            # The disk may be what hangs, so the note is not waited for beyond the deadline.
            note = threading.Thread(target=self._on_miss, args=[f"not done after {seconds:g} s"], daemon=True)
            note.start()
            note.join(_NOTE_S)
            os._exit(0)


class _Hook:
    """One run: remembers the event as soon as it is known, for the line in the log."""

    def __init__(self, flags: Mapping[str, object], started_s: float) -> None:
        self._flags = flags
        self._started_s = started_s
        self._event: Mapping[str, Any] | None = None

    def run(self, *, client: str, event: str) -> str:
        """Answer and record; returns one line for a person."""
        deadline = _Deadline(self._started_s, _first_deadline_s(os.environ), self._note)
        try:
            # Before the event is read: the client is still writing it, and a deadline can leave its note at once.
            from hybrid.hooks.direct import answer_event

            data = sys.stdin.buffer.read(MAX_BYTES + 1)
            self._event = parse_event(data, client=client, event=event, cwd=_working_directory())
            answer = answer_event(self._event, self._flags, set_deadline=deadline.set_ms)
            deadline.meet()
            _write(prompt_answer(answer.text, self._event["name"]))
            deadline.allow(_RECORD_S)
            answer.finish((time.perf_counter() - self._started_s) * 1000)
        except EventError as error:
            self._note(str(error))
            return f"hybrid: failed ({error})"
        except Exception as error:  # noqa: BLE001 - the rim: silent to the agent, a line in the log
            self._note(error)
            return f"hybrid: failed ({type(error).__name__}: {error})"
        finally:
            deadline.meet()
        return answer.debug_line

    def _note(self, error: Exception | str) -> None:
        note_failure(error, self._event)


def run_prompt_hook(
    *, client: str, event: str, flags: Mapping[str, object], is_debug: bool = False, started_s: float | None = None
) -> int:
    """Answer one prompt event from standard input.

    Args:
        client: Who calls.
        event: Name of the event; empty takes the input's own.
        flags: Settings from the command line.
        is_debug: Say on standard error what was decided; for people, never in an installed hook.
        started_s: `time.perf_counter()` at the start of the process, for the recorded latency.

    Returns:
        0, always.
    """
    started_s = time.perf_counter() if started_s is None else started_s
    line = _Hook(flags, started_s).run(client=client, event=event)
    if is_debug:
        print(line, file=sys.stderr)  # noqa: T201 - asked for by a person
    return 0


def note_failure(error: Exception | str, event: Mapping[str, Any] | None = None) -> None:
    """Leave a line in the event log; where that fails too, there is nowhere left to say it."""
    try:
        from hybrid.hooks.direct import note_failure

        note_failure(error, event)
    except Exception:  # noqa: BLE001 - the rim
        pass


def _first_deadline_s(environ: Mapping[str, str]) -> float:
    """The deadline until the settings are read; on a slow machine that alone may outlast it."""
    text = environ.get("HYBRID_HOOKS_DEADLINE_MS", "")
    return max(HARD_STOP_S, int(text) / 1000) if text.isascii() and text.isdigit() else HARD_STOP_S


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a deleted directory must not raise through Path
    except OSError:
        return ""


def _write(answer: str) -> None:
    """Write the answer.

    Raises:
        OSError: The client does not read it (any more), so nothing was given.
    """
    if not answer:
        return
    try:
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()
    except OSError:
        # What is buffered must not be tried again, loudly, at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
