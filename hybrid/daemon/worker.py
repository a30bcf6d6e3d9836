"""The service's processes for background work: builds of indexes, reading, masking by newer rules for secrets.

Requests for builds are JSON lines on stdin, the answers are lines on stdout. The process of builds ends by itself: when
stdin closes, even in the middle of a build (a build can be killed at any byte), and after a minute without a request.
Processes of their own leave the service its memory and its interpreter lock.
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
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import BusyError, HybridError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hybrid.index.plan import Progress
    from hybrid.models.registry import LazyEmbedder
    from hybrid.workspace import Workspace


_LONGEST_BUILD_S = 3600.0
"""Seconds after which a build is given up: a file system that hangs must not keep other projects waiting for ever."""

_GRACE_S = 2.0
_END_S = 0.5
"""Seconds in which a worker may end by itself before it is killed."""
_IDLE_S = 60.0
"""Seconds without a request after which a worker ends: its memory is worth more than the next start."""
_NICE = 10
"""Added to the niceness of builds: whoever types comes first."""
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from hybrid.daemon import worker; worker.{}()"
_NOT_PASSED_ON = ("HYBRID_", "PYTHON", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Beginnings of variables that a worker does not get: settings come with each request, git's lead to other trees."""


def spawn_worker() -> subprocess.Popen[bytes]:
    """Start a worker and return its process; it reads requests from stdin, and ends when stdin closes.

    Raises:
        OSError: The system starts no more processes.
    """
    return spawn_python("serve_builds", {}, has_pipes=True)


def spawn_python(function: str, environ: Mapping[str, str], *, has_pipes: bool = False) -> subprocess.Popen[bytes]:
    """Start a Python process that runs a function of this module, without the caller's own settings; return it.

    Args:
        function: Name of the function.
        environ: Added to the environment.
        has_pipes: Its stdin and stdout are pipes; else they lead nowhere.

    Raises:
        OSError: The system starts no more processes.
    """
    package = Path(__file__).resolve().parent.parent.parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _CODE.format(function), str(package)],
        cwd=str(package),
        env=kept | dict(environ),
        stdin=subprocess.PIPE if has_pipes else subprocess.DEVNULL,
        stdout=subprocess.PIPE if has_pipes else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )


# --- the side of the service ----------------------------------------------------------------------------


class WorkerProcess:
    """The worker, started when it is needed and started again when it ended."""

    def __init__(self, spawn: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._spawn = spawn
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to a worker, started if needed; return its answer, `failed` after two tries without one."""
        line = json.dumps(message).encode() + b"\n"
        try:
            # A worker that was idle may end just when it is asked: then another one is.
            data = self._exchange(line) or self._exchange(line, is_anew=True)
            answer: dict[str, Any] = json.loads(data) if data else {}
        except (OSError, ValueError) as error:
            return {"state": "failed", "reason": f"the building process cannot be asked: {error}"}
        return answer if "state" in answer else {"state": "failed", "reason": "the building process ended early"}

    def kill(self) -> None:
        """End the worker, and let no other one be started."""
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
        if process is not None:
            # Without its stdin it ends at once, and ends git first if that is at work.
            with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
                if process.stdin is not None:
                    process.stdin.close()
                process.wait(_END_S)
            process.kill()
            _reap(process)

    def reap(self) -> None:
        """Free the process and the pipes of a worker that has ended; do nothing while it runs."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                _reap(self._process)
                self._process = None

    def _exchange(self, line: bytes, *, is_anew: bool = False) -> bytes:
        process = self._running(is_anew=is_anew)
        if process is None or process.stdin is None or process.stdout is None:
            return b""
        limit = threading.Timer(_LONGEST_BUILD_S, process.kill)
        limit.daemon = True
        limit.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline()
        except (OSError, ValueError):
            return b""
        finally:
            limit.cancel()

    def _running(self, *, is_anew: bool) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_closed:
                return None
            if self._process is not None and (is_anew or self._process.poll() is not None):
                self._process.kill()
                _reap(self._process)
                self._process = None
            if self._process is None:
                self._process = self._spawn()
            return self._process


def _reap(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()


# --- the side of the worker -----------------------------------------------------------------------------------


def serve_builds() -> None:
    """Answer requests for builds from stdin until it closes or none came for a minute."""
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
    """Yield requests as they come, until none came for a minute; end the whole process when stdin closes."""
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
        """Return `state`: `built` (with `summary` and `folders`), `refused`, `busy` or `failed` (with `reason`)."""
        try:
            return self._build(request)
        except RefusedError as error:
            return {"state": "refused", "reason": str(error)}
        except BusyError as error:
            return {"state": "busy", "reason": str(error)}
        except Exception as error:  # noqa: BLE001 - the rim of this process: the service logs it and tries again
            return {"state": "failed", "reason": f"{type(error).__name__}: {error}"}

    def _build(self, request: Mapping[str, Any]) -> dict[str, Any]:
        from hybrid.upkeep.indexing import BuildRequest, bring_up_to_date, reason_against
        from hybrid.workspace import open_workspace

        environ = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
        workspace = open_workspace(Path(request["cwd"]), environ=environ | dict(request["environ"]))
        is_there = workspace.project is not None and str(workspace.project.root) == request["cwd"]
        # Where a project inside another one is gone, the folder lies in the other one.

        def reason() -> str:
            return reason_against(workspace) if is_there else "no_project"

        if refusal := reason():
            raise RefusedError(refusal)
        # Nobody waits for this process: it takes one core and leaves the others alone. The owner may forget the project
        # just now: a second look under the lock notices it.
        done = bring_up_to_date(
            workspace,
            BuildRequest(request["paths"], workers=1),
            progress=_ends_for_another_model(workspace, environ | dict(request["environ"])),
            embedder=self._embedder_of(workspace),
            reason_against=reason,
        )
        return {"state": "built", "summary": done.summary.as_json(), "folders": list(done.folders)}

    def _embedder_of(self, workspace: Workspace) -> LazyEmbedder:
        from hybrid.models.registry import LazyEmbedder

        embedder = LazyEmbedder(workspace.config.model.name, workspace.home)
        if self._embedder is None or self._embedder.info != embedder.info:
            self._embedder = embedder
        return self._embedder


_LOOK_AGAIN_S = 2.0
"""Seconds between two looks of a build at the settings."""


def _ends_for_another_model(workspace: Workspace, environ: Mapping[str, str]) -> Progress:
    """Return what hears how far a build is and ends it once the settings name another model; what it embedded is kept.

    Raises:
        BusyError: They do; the next try builds with that model.
    """
    from hybrid.workspace import open_workspace

    looked_s = time.monotonic()

    def heard(step: str, done: int, total: int, share: float = 0.0) -> None:
        nonlocal looked_s
        if time.monotonic() - looked_s < _LOOK_AGAIN_S:
            return
        looked_s = time.monotonic()
        name = workspace.config.model.name
        with contextlib.suppress(HybridError, OSError):  # Half-written settings: the next look will tell.
            name = open_workspace(workspace.require_project().root, environ=environ).config.model.name
        if name != workspace.config.model.name:
            raise BusyError(f"{name} was chosen in place of {workspace.config.model.name}")

    return heard


# --- work that no prompt waits for ------------------------------------------------------------------------


_NEXT_S = 60.0
"""Seconds after the start of a piece of work before the same one begins again for a folder."""
_AFTER_FAILURE_S = 3600.0
"""As `_NEXT_S`, after a failure: what is wrong with the model or the disk seldom mends itself."""
_FIRST_PROMPTS_S = 5.0
"""Seconds that the first prompts of a service have the machine for themselves."""


class BackgroundProcess:
    """Starts a process for work at the lowest priority, one at a time: reading records, or masking a home once more."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._lock = threading.Lock()
        self._next_s: dict[str, float] = {}
        self._is_over = False

    def start(self, function: str, folder: str, environ: Mapping[str, str]) -> None:
        """Start `read_and_end` for a tree, or `mask_and_end` for a home, and return at once.

        Nothing happens while another one runs, or soon after one for the same folder: the next occasion asks again.
        """
        now_s = time.monotonic()
        with self._lock:
            is_running = self._process is not None and self._process.poll() is None
            if self._process is not None and self._process.returncode:
                self._next_s[self._folder] = now_s + _AFTER_FAILURE_S
                self._process = None
            if self._is_over or is_running or now_s < self._next_s.get(folder, 0.0):
                return
            self._folder, self._next_s[folder] = folder, now_s + _NEXT_S
            with contextlib.suppress(OSError):
                self._process = spawn_python(function, {**environ, "WORK_FOLDER": folder})

    def close(self) -> None:
        """Kill the work that runs and start no other; the next service begins it again."""
        with self._lock:
            self._is_over = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def read_and_end() -> None:
    """Read records of the tree in `WORK_FOLDER`."""
    environ = _lowest_environ()
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.workspace import open_workspace

    OpenKinds(environ).read(open_workspace(Path(environ.pop("WORK_FOLDER")), environ=environ))


def mask_and_end() -> None:
    """Mask once more what the home in `WORK_FOLDER` stores, if newer rules for secrets ask for it."""
    environ = _lowest_environ()
    time.sleep(_FIRST_PROMPTS_S)
    from hybrid.upkeep.masking import mask_again
    from hybrid.workspace import open_workspace

    mask_again(open_workspace(Path(environ.pop("WORK_FOLDER")), environ=environ))


def _lowest_environ() -> dict[str, str]:
    """Give this process the lowest priority, and return a copy of its environment."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(19)
    return dict(os.environ)
