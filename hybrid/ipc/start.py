"""Starts the service and the web process, and asks them.

Nothing of the caller clings to what is started: no pipe, no socket, no terminal, no working directory. Who asks may
wait longer than a hook. Standard library only; a hook imports it only when there is no service.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from hybrid import __version__
from hybrid.ipc.wire import SERVICE, Connection, Greeting, WireError, connect, read_endpoint, run_folder

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags with which no link is followed, and no pipe waited for."""
_AGAIN_S = 5.0
"""Seconds before another start is tried: a service that cannot live must not be started by every prompt. One that
listens takes the mark away."""

_KEPT = (
    "ANTHROPIC_API_KEY",
    "APPDATA",
    "COMSPEC",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HOME",
    "HYBRID_HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "LOCALAPPDATA",
    "LOGNAME",
    "MILVUS_TOKEN",
    "PATH",
    "PATHEXT",
    "SENTENCE_TRANSFORMERS_HOME",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "USERPROFILE",
    "WINDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)
"""Environment variables that the service gets; it outlives the session, whose secrets are none of its business."""


def entry_script() -> str:
    """Return the path of the script that starts any command of this installation, run by `python -I -S`."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is 6 ms
    return os.path.join(package, "entry.py")  # noqa: PTH118


def start_command(*arguments: str) -> list[str]:
    """Return a command line of this installation that neither the environment nor the working directory can change."""
    return [sys.executable, "-I", "-S", entry_script(), *arguments]


def kept_environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment that the service and its builds get."""
    # A query is one small matrix-vector product: a second thread costs more than it gives.
    ours = {"HYBRID_HOME": home, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {name: environ[name] for name in _KEPT if name in environ} | ours


def start_service(home: str, environ: Mapping[str, str], *, cwd: str = "") -> None:
    """Start a service unless one was started moments ago; it may find that another one is there, and goes.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the caller.
        cwd: A directory of the project to look after first.
    """
    if sys.executable and _may_start(home):
        command = start_command("daemon", "run", "--marked", *(["--project", cwd] if cwd else []))
        with contextlib.suppress(OSError, ValueError):
            start_detached(command, kept_environment(environ, home))


def starting_mark(home: str) -> str:
    """Return the path of a file whose age tells when a service was last started; one that listens deletes it."""
    return os.path.join(run_folder(home), "starting")  # noqa: PTH118


def _may_start(home: str) -> bool:
    """Return True, and mark the start, for one caller in five seconds; False where the mark cannot be written."""
    folder, marker = run_folder(home), starting_mark(home)
    try:
        if -1 < time.time() - os.stat(marker).st_mtime < _AGAIN_S:  # noqa: PTH116
            return False
    except OSError:
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    try:
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | _AS_IT_IS, 0o600))
        os.utime(marker)
    except OSError:
        return False
    return True


def _started(command: list[str], environ: dict[str, str], **options: Any) -> None:
    import subprocess

    null = subprocess.DEVNULL
    subprocess.Popen(command, env=environ, stdin=null, stdout=null, stderr=null, **options)


if sys.platform == "win32":

    def start_detached(command: list[str], environ: dict[str, str]) -> None:
        """Start the command without a window, outside of the caller's job where that is allowed."""
        import subprocess

        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        # A client that ends its job would end the service with it; not every job lets a process leave.
        for extra in (subprocess.CREATE_BREAKAWAY_FROM_JOB, 0):
            with contextlib.suppress(OSError):
                _started(command, environ, cwd=environ.get("SYSTEMROOT"), creationflags=flags | extra)
                return
        raise OSError("the service could not be started")

else:

    def start_detached(command: list[str], environ: dict[str, str]) -> None:
        """Start the command in a session of its own; the service itself closes file descriptors left open for it."""
        streams = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            os.posix_spawn(command[0], command, environ, file_actions=streams, setsid=True)
        except (NotImplementedError, AttributeError):
            _started(command, environ, start_new_session=True)


# --- asking it ------------------------------------------------------------------------------------------------


def reached(home: str, name: str, timeout_s: float) -> tuple[Connection, Greeting]:
    """Return a connection to a process by its name, and how that greeted.

    Raises:
        WireError: There is none, or it does not greet in time.
    """
    endpoint = read_endpoint(home, name)
    if endpoint is None:
        raise WireError("there is none")
    connection = connect(endpoint, timeout_s=timeout_s)
    try:
        return connection, Greeting(connection.receive(timeout_s=timeout_s))
    except BaseException:
        connection.close()
        raise


_ASK_S = 2.0
_LOOK_S = 0.02
"""Seconds between two looks whether the service has gone."""


class NoServiceError(WireError):
    """Nobody heard the question: there is no service, or none that can be asked."""


def exchange(home: str, operation: str, *parts: bytes, timeout_s: float) -> dict[str, Any]:
    """Return the answer to an operation, with the service's `pid` and `version`.

    Raises:
        NoServiceError: Nobody heard the question.
        WireError: It was heard, and no answer came in time.
    """
    import json  # A hook that starts a service needs none.

    step_s = min(timeout_s, _ASK_S)
    try:
        connection, greeting = reached(home, SERVICE, step_s)
    except WireError as error:
        raise NoServiceError(str(error)) from error
    with contextlib.closing(connection):
        connection.send(operation.encode(), *parts, timeout_s=step_s)
        data = connection.receive(timeout_s=timeout_s)[0]
    try:
        return {"pid": greeting.pid, "version": greeting.version, **json.loads(data)}
    except (ValueError, TypeError) as error:
        raise WireError(f"no JSON object: {error}") from error


def ask(home: str, operation: str, *parts: bytes, timeout_s: float = _ASK_S) -> dict[str, Any] | None:
    """Return the answer to an operation (`status`, `stop`), or None when no service answers in time.

    Args:
        home: `$HYBRID_HOME`.
        operation: Name of the operation.
        parts: What the operation has besides.
        timeout_s: Seconds for each step.
    """
    with contextlib.suppress(WireError):
        return exchange(home, operation, *parts, timeout_s=timeout_s)
    return None


def daemon_status(home: str) -> dict[str, Any]:
    """Return the `daemon` part of the status: `running`, `pid`, `uptime_s`, `rss_bytes`, and what the service adds."""
    absent = {"running": False, "pid": None, "uptime_s": None, "rss_bytes": None}
    answer = ask(home, "status")
    return absent if answer is None else absent | answer | {"running": True}


def stop(home: str, *, timeout_s: float) -> bool:
    """Ask the service to stop, and wait until nobody answers any more; True when nobody does."""
    until_s = time.monotonic() + timeout_s
    while ask(home, "stop") is not None:
        while read_endpoint(home) is not None and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        if time.monotonic() >= until_s:
            return False
    return True


# --- the web process ------------------------------------------------------------------------------------------


WEB = "web"
"""Name of the process of MCP and the page among those that listen."""
MOVED = b'{"hybrid": "moved"}\n'
"""What a web process that is to end tells a relay: go to the next one when nothing is under way."""

_WEB_S = 15.0
"""Seconds in which a web process must be there that was started now; a busy machine needs some for its imports."""
_STEP_S = 5.0
_MADE_S = 30.0
"""Seconds for what was asked for: a page waits for the service."""


class NotServedError(WireError):
    """The web process cannot do what it was asked for."""


def ask_web(home: str, what: str, hello: bytes, *, is_started: bool = True) -> tuple[Any, dict[str, Any]]:
    """Return a socket on which the web process does what it was asked for, until that is closed, and its answer.

    Args:
        home: `$HYBRID_HOME`.
        what: `session` for MCP on this socket; `http` or `page` for MCP or the page on a port.
        hello: JSON that says who asks.
        is_started: Start the process if there is none.

    Raises:
        NotServedError: It cannot do it; the message says why.
        WireError: There is none.
    """
    until_s, started_s = time.monotonic() + _WEB_S, float("-inf")
    while True:
        try:
            return _told(home, what, hello)
        except NotServedError:
            raise
        except WireError as error:
            failure = error
        if not is_started or time.monotonic() > until_s:
            raise WireError(f"the web process of hybrid does not answer ({failure})")
        if time.monotonic() - started_s > _STEP_S:
            # Somebody else may have started one: of two the later finds that, and goes.
            started_s = time.monotonic()
            start_detached(start_command(WEB), kept_environment(os.environ, home))
        time.sleep(_LOOK_S)


def rest_web(home: str) -> None:
    """Have a web process that serves nobody end at once; one that serves somebody goes on."""
    with contextlib.suppress(WireError), contextlib.closing(reached(home, WEB, _STEP_S)[0]) as connection:
        connection.send(b"rest", timeout_s=_STEP_S)


def _told(home: str, what: str, hello: bytes) -> tuple[Any, dict[str, Any]]:
    import json

    connection, greeting = reached(home, WEB, _STEP_S)
    try:
        if not greeting.is_usable(__version__):
            connection.send(b"stop", timeout_s=_STEP_S)
            raise WireError(f"an older one, {greeting.version}, ends")
        connection.send(what.encode(), hello, timeout_s=_STEP_S)
        answer = json.loads(connection.receive(timeout_s=_MADE_S)[0])
        if "error" in answer:
            raise NotServedError(answer["error"])
        sock = connection.detach()
        sock.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return sock, answer
