"""Closes batches of tool uses when their time is over, though nothing follows them; the service has one.

A client that was killed sends nothing more: without a clock its last uses would wait for another event.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hybrid.answer.recording import record_error
from hybrid.knowledge.memory_intake import flush
from hybrid.records.memory.errors import MemoryBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hybrid.knowledge.open_records import Records
    from hybrid.workspace import Workspace

_SPARE_S = 0.1
"""Seconds after the end of a batch at which it is closed: two clocks may disagree a little."""
_MOST = 100
"""Batches that are told at once; the rest follows a moment later."""


class Batches:
    """When the batches of each memory are over.

    Args:
        records: Gives the records for an environment.
    """

    def __init__(self, records: Callable[[Mapping[str, str]], Records]) -> None:
        self._records = records
        self._due: dict[Path, tuple[float, Workspace, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def expect(self, workspace: Workspace, environ: Mapping[str, str], *, is_now: bool = False) -> None:
        """Look after the memory of a workspace once what was just stored there is over, or at once."""
        memory = workspace.config.memory
        if not memory.enabled:
            return
        path = self._records(environ).stores.memory(workspace).path
        due_s = time.monotonic() + (0.0 if is_now else memory.batch_window_ms / 1000 + _SPARE_S)
        with self._lock:
            # What waits already is not put off by what follows.
            if path not in self._due or self._due[path][0] > due_s:
                self._due[path] = (due_s, workspace, environ)

    def seconds_left(self) -> float | None:
        """Until the next batch may be over; None when nothing waits."""
        with self._lock:
            due = [due_s for due_s, _, _ in self._due.values()]
        return max(min(due) - time.monotonic(), 0.0) if due else None

    def close_due(self) -> None:
        """Tell the batches that are over, and bring the index of their memory up to date."""
        now_s = time.monotonic()
        with self._lock:
            due = [path for path, (due_s, _, _) in self._due.items() if due_s <= now_s]
            over = [self._due.pop(path)[1:] for path in due]
        for workspace, environ in over:
            self._close(workspace, environ)

    def _close(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        records = self._records(environ)
        store = records.stores.memory(workspace)
        try:
            before = store.last_change()
            for problem in flush(workspace, store, time.time_ns() // 1_000_000, most=_MOST):
                record_error(workspace, None, problem)
            if store.n_waiting():
                self.expect(workspace, environ)
            if store.last_change() != before:
                records.memory(workspace)
        except MemoryBusyError:
            self.expect(workspace, environ)
