"""`hybrid mcp` as clients start it: hands lines between the client and the worker, which speaks MCP for all sessions.

Standard library only and cheap to import: every session of a client keeps such a process. It starts the worker where
there is none. When the worker ends, for an upgrade or by accident, the session goes on with the next one: the relay
greets it as the client did, and answers what was under way with an error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from hybrid import __version__
from hybrid.base.home import home_path
from hybrid.ipc.start import kept_environment, start_command, start_detached
from hybrid.ipc.wire import PROTOCOL, Greeting, WireError, connect, is_newer, read_endpoint, run_folder

TYPE_CHECKING = False  # `typing` costs four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "mcp"
"""Name of the worker among those that listen."""

_WORKER_S = 15.0
"""Seconds in which a worker must be there that was started now; a busy machine needs some for its imports."""
_STEP_S = 5.0
"""Seconds for each step of connecting."""
_LAST_S = 10.0
"""Seconds for the answers to what a client asked before it closed its side; most clients end the relay earlier."""
_LOOK_S = 0.01
_MOST_STARTS = 5
"""Workers that one session may lose one soon after the other, before it gives up."""
_SOON_S = 60.0
_READ_BYTES = 1 << 16
_LOST = -32000
"""Code of JSON-RPC for an error of the server's own."""
# made: `make docs` makes this from `hooks/clients`.
_PASSED_ON = (
    "CLAUDE_CODE_SESSION_ID",
    "GEMINI_SESSION_ID",
    "LORE_DATA_DIR",
    "QWEN_CODE_SESSION_ID",
)
"""Variables that the worker gets of the client, beside those of our own settings: they name its session."""
# made: end


def is_relayed(argv: list[str]) -> bool:
    """Return whether the arguments ask for the relay; anything else is the command's business."""
    return not argv or (len(argv) % 2 == 0 and all(name in ("--client", "--project") for name in argv[::2]))


def relay(argv: list[str]) -> int:
    """Serve one client on standard input and output until it is gone; return the exit code.

    2 when no worker can be had: the client is told why in the answer to its first request, a person on standard error.
    """
    # Ctrl-C ends it like any other signal, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    session = _Session(options.get("--client", ""), options.get("--project", ""))
    try:
        session.connect()
    except WireError as error:
        return session.refuse(str(error))
    threading.Thread(target=session.read_client, daemon=True).start()
    return session.serve()


class _Session:
    """One client and the connection to the worker."""

    def __init__(self, client: str, project: str) -> None:
        self._home = home_path(os.environ)
        # A session keeps its number when its worker is replaced.
        hello = {
            "cwd": _directory(project),
            "client": client,
            "environ": _environment(),
            "session": os.urandom(8).hex(),
        }
        self._hello = json.dumps(hello).encode()
        self._greeting: list[bytes] = []
        self._greeting_id = ""
        self._open: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._socket: Any = None
        self._is_over = False
        self._refusal = ""

    # --- the worker ---------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect to the worker, started if needed; raises as `ask_worker` does."""
        self._socket = ask_worker(self._home, b"session", self._hello)

    def serve(self) -> int:
        """Hand what the worker says to the client, until the client is gone."""
        n_lost = 0
        while n_lost < _MOST_STARTS:
            since_s = time.monotonic()
            try:
                for line in _lines(self._socket):
                    self._note_answer(line)
                    if not _write(line):
                        return 0
            except OSError:
                pass
            if self._is_over:
                return 0
            # A client may run for weeks, and outlive the workers of many versions.
            n_lost = n_lost + 1 if time.monotonic() - since_s < _SOON_S else 1
            try:
                self._resume()
            except OSError as error:
                return self._give_up(str(error))
        return self._give_up("the MCP worker of hybrid ended again and again")

    def _give_up(self, reason: str) -> int:
        """Have every request answered with the reason until the client is gone; return 2."""
        with self._lock:
            self._refusal = reason
            lost, self._open = list(self._open.values()), {}
        for identity in lost:
            _answer_error(identity, reason)
        sys.stderr.write(f"hybrid: {reason}\n")
        while not self._is_over:
            time.sleep(_STEP_S)
        return 2

    def _resume(self) -> None:
        """Connect to another worker, greet it as the client greeted the one before, and settle what was under way."""
        with self._lock:
            self.connect()
            # A greeting that was not answered yet is answered by this one.
            is_greeted = self._greeting_id not in self._open
            lost = [one for key, one in self._open.items() if is_greeted or key != self._greeting_id]
            self._open = {} if is_greeted else {self._greeting_id: self._open[self._greeting_id]}
            self._socket.settimeout(_WORKER_S)
            for line in self._greeting:
                self._socket.sendall(line)
            if self._greeting and is_greeted:
                # The client has its answer to the greeting.
                next(_lines(self._socket, byte_by_byte=True), None)
            self._socket.settimeout(None)
        for identity in lost:
            _answer_error(identity, "the MCP worker of hybrid was replaced; ask again")

    # --- the client ---------------------------------------------------------------------------------------

    def read_client(self) -> None:
        """Hand what the client says to the worker, until standard input closes."""
        for line in _lines(None):
            with self._lock:
                if self._refusal:
                    _refuse_line(line, self._refusal)
                    continue
                self._note_request(line)
                # `serve` meets a failure too, and connects again; the request is answered with an error.
                with suppress(OSError):
                    self._socket.sendall(line)
        self._is_over = True
        until_s = time.monotonic() + _LAST_S
        # The worker drops what it has not answered yet when it hears that the client is gone.
        while self._open and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        # A worker that is just being connected to must hear it too: the lock waits for that.
        with self._lock, suppress(OSError):
            self._socket.shutdown(1)  # SHUT_WR

    def _note_request(self, line: bytes) -> None:
        message = _parsed(line)
        method, identity = message.get("method"), message.get("id")
        if method == "initialize":
            self._greeting, self._greeting_id = [line], json.dumps(identity)
        elif method == "notifications/initialized":
            self._greeting = [*self._greeting[:1], line]
        elif method == "notifications/cancelled":
            # Nobody answers it any more.
            with suppress(AttributeError, KeyError):
                self._open.pop(json.dumps(message["params"].get("requestId")), None)
        if method is not None and isinstance(identity, (str, int)):
            self._open[json.dumps(identity)] = identity

    def _note_answer(self, line: bytes) -> None:
        if self._open and b'"id"' in line:
            message = _parsed(line)
            if "method" not in message:
                self._open.pop(json.dumps(message.get("id")), None)

    def refuse(self, reason: str) -> int:
        """Answer every request of the client with the reason until it is gone; return 2."""
        sys.stderr.write(f"hybrid: {reason}\n")
        for line in () if os.isatty(0) else _lines(None):
            _refuse_line(line, reason)
        return 2


def _environment() -> dict[str, str]:
    def is_meant(name: str) -> bool:
        return name.startswith("HYBRID_") or name in _PASSED_ON

    return {name: value for name, value in os.environ.items() if is_meant(name)}


def _directory(named: str) -> str:
    try:
        return os.path.abspath(named) if named else os.getcwd()  # noqa: PTH100, PTH109 - pathlib is 6 ms
    except OSError:
        return ""  # It was deleted: there is no project.


def ask_worker(home: str, what: bytes, hello: bytes) -> Any:
    """Return a socket on which the worker does what it was asked for; start one if there is none.

    Args:
        home: `$HYBRID_HOME`.
        what: `session` for MCP on this socket, `http` for HTTP as long as it is open.
        hello: JSON that says who asks.

    Raises:
        WireError: None can be had; the message says why.
    """
    until_s, started_s = time.monotonic() + _WORKER_S, float("-inf")
    begin_s = time.time()
    while True:
        try:
            return _connected(home, what, hello)
        except WireError as error:
            failure = error
        if reason := _reason_against(home, begin_s):
            raise WireError(reason)
        if time.monotonic() > until_s:
            raise WireError(f"the MCP worker of hybrid does not answer ({failure})")
        if time.monotonic() - started_s > _STEP_S:
            # Another session may have started one: of two the later finds that, and goes.
            started_s = time.monotonic()
            start_detached(start_command("mcp", "--worker"), kept_environment(os.environ, home))
        time.sleep(_LOOK_S)


def rest_worker(home: str) -> None:
    """Have a worker that serves nobody end at once; one that serves sessions goes on for them."""
    endpoint = read_endpoint(home, NAME)
    if endpoint is None:
        return
    with suppress(WireError):
        connection = connect(endpoint, timeout_s=_STEP_S)
        try:
            connection.receive(timeout_s=_STEP_S)
            connection.send(b"rest", timeout_s=_STEP_S)
        finally:
            connection.close()


def _connected(home: str, what: bytes, hello: bytes) -> Any:
    """Return a socket on which the worker does what it was asked for.

    Raises:
        WireError: There is no worker, or an older one, which is told to end.
    """
    endpoint = read_endpoint(home, NAME)
    if endpoint is None:
        raise WireError("there is none")
    connection = connect(endpoint, timeout_s=_STEP_S)
    try:
        greeting = Greeting(connection.receive(timeout_s=_STEP_S))
        if greeting.protocol != str(PROTOCOL) or is_newer(__version__, greeting.version):
            connection.send(b"stop", timeout_s=_STEP_S)
            raise WireError(f"an older one, {greeting.version}, ends")
        connection.send(what, hello, timeout_s=_STEP_S)
        sock = connection.detach()
        sock.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return sock


def failure_path(home: str) -> str:
    """Return the file in which a worker that cannot live says why."""
    return os.path.join(run_folder(home), "mcp.failed")  # noqa: PTH118 - pathlib is 6 ms


def _reason_against(home: str, since_s: float) -> str:
    """Return why a worker that was started since then could not live; empty when nothing is said."""
    try:
        with open(failure_path(home), "rb") as file:  # noqa: PTH123
            if os.fstat(file.fileno()).st_mtime < since_s - 1:
                return ""
            return file.read(2000).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _lines(sock: Any, *, byte_by_byte: bool = False) -> Iterator[bytes]:
    """Yield whole lines of a socket, or of standard input for None; a last half line is left out.

    Args:
        sock: A connected socket.
        byte_by_byte: Take nothing beyond the end of a line, so that somebody else can read on.
    """
    kept = b""
    while True:
        n_bytes = 1 if byte_by_byte else _READ_BYTES
        data = os.read(0, n_bytes) if sock is None else sock.recv(n_bytes)
        if not data:
            return
        kept += data
        if b"\n" in data:
            *whole, kept = kept.split(b"\n")
            for line in whole:
                if line.strip():
                    yield line + b"\n"


_writing = threading.Lock()


def _write(line: bytes) -> bool:
    """Write a line to the client; return False when the client is gone."""
    with _writing:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(1, view) :]
        except OSError:
            return False
    return True


def _answer_error(identity: object, message: str) -> None:
    error = {"jsonrpc": "2.0", "id": identity, "error": {"code": _LOST, "message": message}}
    _write(json.dumps(error).encode() + b"\n")


def _refuse_line(line: bytes, reason: str) -> None:
    message = _parsed(line)
    if "method" in message and message.get("id") is not None:
        _answer_error(message["id"], reason)


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the message on a line; empty when it is none."""
    try:
        message: Any = json.loads(line)
        message["jsonrpc"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return message
