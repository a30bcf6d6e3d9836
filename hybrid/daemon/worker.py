"""The process in which the service builds indexes: requests come as JSON lines on stdin, answers go to stdout.

It ends by itself: when stdin closes, even in the middle of a build (a build can be killed at any byte), and when
nothing was asked for a while. The service keeps its memory and its interpreter lock free that way.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hybrid.models.lazy import LazyEmbedder
    from hybrid.workspace import Workspace

_IDLE_S = 60.0
_NICE = 10
_START = "import sys; sys.path.insert(0, sys.argv[1]); from hybrid.daemon.worker import main; main()"
_NOT_PASSED_ON = ("HYBRID_", "PYTHON", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


def spawn_worker() -> subprocess.Popen[bytes]:
    """A worker, ready for requests; it ends with its stdin.

    Raises:
        OSError: The system starts no more processes.
    """
    return spawn_python(_START, {}, has_pipes=True)


def spawn_python(start: str, environ: Mapping[str, str], *, has_pipes: bool = False) -> subprocess.Popen[bytes]:
    """A process for work in the background, with this package and without the caller's own settings.

    Args:
        start: The code that it runs; the folder of the package is its first argument.
        environ: Added to the environment.
        has_pipes: Whether it is talked to by its stdin and stdout.

    Raises:
        OSError: The system starts no more processes.
    """
    package = Path(__file__).resolve().parent.parent.parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS
    return subprocess.Popen(
        [sys.executable, "-I", "-c", start, str(package)],
        cwd=str(package),
        env=kept | dict(environ),
        stdin=subprocess.PIPE if has_pipes else subprocess.DEVNULL,
        stdout=subprocess.PIPE if has_pipes else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )


def main() -> None:
    """Serve until stdin closes or nothing was asked for a minute."""
    # Ctrl-C in the terminal of a service in the foreground reaches every process there; the service decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(_NICE)
    # Whatever a library prints must not mix with the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    worker = _Worker()
    for request in _requests():
        line = json.dumps(worker.answer(request)).encode() + b"\n"
        try:
            with os.fdopen(os.dup(answers), "wb") as file:
                file.write(line)
        except OSError:
            return


def _requests() -> Iterator[dict[str, Any]]:
    """Requests as they come; ends the process when stdin closes."""
    waiting: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            waiting.put(line)
        if git := sys.modules.get("hybrid.sources.git"):
            git.kill_all()
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            yield json.loads(waiting.get(timeout=_IDLE_S))
        except queue.Empty:
            return


class _Worker:
    """Answers requests one after the other; the embedder stays loaded between them."""

    def __init__(self) -> None:
        self._embedder: LazyEmbedder | None = None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """`state` is `built` (with `summary` and `folders`), `refused`, `busy` or `failed` (with `reason`)."""
        from hybrid.base.errors import BusyError, RefusedError

        try:
            return self._build(request)
        except RefusedError as error:
            return {"state": "refused", "reason": str(error)}
        except BusyError as error:
            return {"state": "busy", "reason": str(error)}
        except Exception as error:  # noqa: BLE001 - the rim of this process: the service logs it and tries again
            return {"state": "failed", "reason": f"{type(error).__name__}: {error}"}

    def _build(self, request: Mapping[str, Any]) -> dict[str, Any]:
        from hybrid.base.errors import RefusedError
        from hybrid.upkeep.automatic import reason_against
        from hybrid.upkeep.indexing import bring_up_to_date
        from hybrid.workspace import open_workspace

        environ = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
        workspace = open_workspace(Path(request["cwd"]), environ=environ | dict(request["environ"]))
        is_there = workspace.project is not None and str(workspace.project.root) == request["cwd"]
        # Where a project inside another one is gone, the folder lies in the other one.

        def reason() -> str:
            return reason_against(workspace, is_first=request["is_first"]) if is_there else "no_project"

        if found := reason():
            raise RefusedError(found)
        # Nobody waits for this process: it takes one core and leaves the others alone. The owner may forget the project
        # just now: a second look under the lock notices it.
        done = bring_up_to_date(
            workspace,
            paths=request["paths"],
            embedder=self._embedder_of(workspace),
            workers=1,
            reason_against=reason,
        )
        return {"state": "built", "summary": done.summary.as_json(), "folders": list(done.folders)}

    def _embedder_of(self, workspace: Workspace) -> LazyEmbedder:
        from hybrid.models.lazy import LazyEmbedder

        found = LazyEmbedder(workspace.config.model.name, workspace.home)
        if self._embedder is None or self._embedder.info != found.info:
            self._embedder = found
        return self._embedder
