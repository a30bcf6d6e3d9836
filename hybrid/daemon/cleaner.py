"""Has what older versions stored cleaned in the background, in a process of its own; the service asks at its ticks.

That process may be killed at any byte: the next one goes on (`upkeep.cleaning`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.daemon.worker import spawn_python

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIRST_S = 5.0
"""Seconds after which the service looks first: the first prompts of a session come before."""
_AGAIN_S = 300.0
"""Between two tries while something is left: another process may hold it."""
_START = "import sys; sys.path.insert(0, sys.argv[1]); from hybrid.daemon.cleaner import main; main()"


class Cleaner:
    """Starts the cleaning when it is due; one process at a time.

    Args:
        home: `$HYBRID_HOME`.
        environ: Of the service.
    """

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = {name: value for name, value in environ.items() if name.startswith("HYBRID_")}
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._next_s = time.monotonic() + _FIRST_S
        self._is_over = False

    def tick(self) -> None:
        """Start the cleaning if it is due, and let go of one that ended; returns at once."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._process = None
            if self._is_over or self._process is not None or time.monotonic() < self._next_s:
                return
            self._next_s = time.monotonic() + _AGAIN_S
        # The memory may be in use by others for a while.
        threading.Thread(target=self._start, daemon=True).start()

    def close(self) -> None:
        """End the process; its work is gone on with by the next one."""
        with self._lock:
            self._is_over = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _start(self) -> None:
        # A failure to look or to start is met again at the next try.
        with contextlib.suppress(Exception):
            is_due = self._is_due()
            with self._lock:
                if self._is_over or not is_due:
                    self._is_over = True
                    return
                self._process = spawn_python(_START, self._environ | {"HYBRID_HOME": str(self._home)})

    def _is_due(self) -> bool:
        from hybrid.upkeep.cleaning import is_due
        from hybrid.workspace import open_workspace

        return is_due(open_workspace(self._home, environ=self._environ | {"HYBRID_HOME": str(self._home)}))


def main() -> None:
    """Clean everything; nobody waits for it."""
    from hybrid.upkeep.cleaning import clean_home
    from hybrid.workspace import open_workspace

    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(19)
    environ = dict(os.environ)
    clean_home(open_workspace(Path(environ["HYBRID_HOME"]), environ=environ), environ, is_whole=True)
