"""`hybrid mcp` as clients start it: hands lines between the client and the worker, which speaks MCP for all sessions.

Standard library only and cheap to import: every session of a client keeps such a process. It starts the worker where
there is none, and meanwhile answers the greeting and lists the tools as the last one of this version did. When the worker
ends, for an upgrade or by accident, the session goes on with the next one: the relay greets it as the client did, and
answers what was under way with an error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import zlib
from contextlib import suppress

from hybrid import __version__
from hybrid.base.home import home_path
from hybrid.ipc.start import kept_environment, start_command, start_detached, start_service
from hybrid.ipc.wire import PROTOCOL, Greeting, WireError, connect, is_newer, read_endpoint, run_folder

TYPE_CHECKING = False  # `typing` costs four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
_DISCOVER = "server/discover"
"""The greeting of the protocol from 2026-07-28 on, whose requests all name their version: in `_VERSION` of `_meta`."""
_VERSION = "io.modelcontextprotocol/protocolVersion"
_MOST_VERSION = 32
_MOST_NAMES = 256
"""Answers that are kept by name; those of folders with the same tools share one."""
_OURS = "hybrid: "
"""Beginning of the ids of requests whose answers the client has from memory."""
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

    2 when no worker can be had: the client is told why in answer to its requests, a person on standard error.
    """
    # Ctrl-C ends it like any other signal, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    session = _Session(options.get("--client", ""), options.get("--project", ""))
    with suppress(WireError):
        session.connect(_connected)  # What a worker says that is there goes before what one said.
    threading.Thread(target=session.read_client, daemon=True).start()
    return session.serve()


class _Session:
    """One client and the connection to the worker."""

    def __init__(self, client: str, project: str) -> None:
        self._home = home_path(os.environ)
        self._cwd = _directory(project)
        environ = _environment()
        # A session keeps its number when its worker is replaced.
        hello = {"cwd": self._cwd, "client": client, "environ": environ, "session": os.urandom(8).hex()}
        self._hello = json.dumps(hello).encode()
        self._said = _Said(self._home)
        self._place = f"{zlib.crc32(repr((self._cwd, sorted(environ.items()))).encode()):08x}"
        self._version = ""
        self._greeting: list[dict[str, Any]] = []
        """What each worker hears first: the greeting, and that the client took the answer."""
        self._open: dict[str, tuple[Any, str]] = {}
        """Id as text → the id of a request without an answer, and the name under which its answer is kept."""
        self._lock = threading.Lock()
        self._socket: Any = None
        self._waiting: list[bytes] = []
        """Lines for a worker that is not there yet."""
        self._over = threading.Event()
        self._refusal = ""

    # --- the worker ---------------------------------------------------------------------------------------

    def serve(self) -> int:
        """Hand what the worker says to the client, until the client is gone."""
        # The first question needs the service too, which starts meanwhile.
        if read_endpoint(self._home) is None:
            start_service(self._home, os.environ, cwd=self._cwd)
        n_lost = 0
        while n_lost < _MOST_STARTS:
            since_s = time.monotonic()
            try:
                if self._socket is None:
                    self.connect(ask_worker)
            except OSError as error:
                return self._give_up(str(error))
            with suppress(OSError):
                for line in _lines(self._socket):
                    if not self._take(line):
                        return 0
            if self._over.is_set():
                return 0
            # A client may run for weeks, and outlive the workers of many versions.
            n_lost = n_lost + 1 if time.monotonic() - since_s < _SOON_S else 1
            self._lose()
        return self._give_up("the MCP worker of hybrid ended again and again")

    def connect(self, reach: Callable[[str, bytes, bytes], Any]) -> None:
        """Connect to the worker, and say what waits for it; raises as `reach` does, which is `ask_worker` or a part of it."""
        sock = reach(self._home, b"session", self._hello)
        with self._lock:
            self._socket, waiting, self._waiting = sock, self._waiting, []
            # `serve` meets a failure too, and connects again.
            with suppress(OSError):
                sock.sendall(b"".join(waiting))
                if self._over.is_set():
                    sock.shutdown(1)  # SHUT_WR

    def _lose(self) -> None:
        """Answer what was under way with an error; the next worker is greeted as the client greeted this one."""
        with self._lock:
            self._socket.close()
            lost, self._open, self._socket = self._open, {}, None
            for message in self._greeting:
                key = json.dumps(message.get("id"))
                if key in lost:  # Nobody answered it: the next worker does.
                    self._open[key] = lost.pop(key)
                self._waiting.append(_line(message if key in self._open else _as_ours(message)))
        self._answer_all(lost, "the MCP worker of hybrid was replaced; ask again")

    def _take(self, line: bytes) -> bool:
        """Hand on a line of the worker, but no answer that the client has; return False when the client is gone."""
        if self._open and b'"id"' in line:
            message = _parsed(line)
            if "method" not in message:
                identity, name = self._open.pop(json.dumps(message.get("id")), ("", ""))
                if name and "result" in message:
                    self._said.note(name, message["result"])
                if _is_ours(identity):
                    return True
        return _write(line)

    def _give_up(self, reason: str) -> int:
        """Have every request answered with the reason until the client is gone; return 2."""
        with self._lock:
            self._refusal = reason
            lost, self._open = self._open, {}
        self._answer_all(lost, reason)
        sys.stderr.write(f"hybrid: {reason}\n")
        if not os.isatty(0):
            self._over.wait()
        return 2

    def _answer_all(self, lost: dict[str, tuple[Any, str]], reason: str) -> None:
        for identity, _ in lost.values():
            if not _is_ours(identity):
                _answer_error(identity, reason)

    # --- the client ---------------------------------------------------------------------------------------

    def read_client(self) -> None:
        """Hand what the client says to the worker, until standard input closes."""
        for line in _lines(None):
            with self._lock:
                if self._refusal:
                    _refuse_line(line, self._refusal)
                    continue
                told = self._told(line)
                if self._socket is None:
                    self._waiting.append(told)
                else:
                    # `serve` meets a failure too, and connects again; the request is answered with an error.
                    with suppress(OSError):
                        self._socket.sendall(told)
        until_s = time.monotonic() + _LAST_S
        # The worker drops what it has not answered yet when it hears that the client is gone.
        while self._open and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        # A worker that is just being connected to must hear it too: the lock waits for that.
        with self._lock:
            self._over.set()
            with suppress(OSError, AttributeError):
                self._socket.shutdown(1)  # SHUT_WR

    def _told(self, line: bytes) -> bytes:
        """Note a line of the client, answer it from memory while there is no worker, and return what that is told."""
        message = _parsed(line)
        method, identity = message.get("method"), message.get("id")
        if method == "initialize" or (method == _DISCOVER and not self._greeting):
            self._greeting = [message]
        elif method == "notifications/initialized":
            self._greeting = [*self._greeting[:1], message]
        elif method == "notifications/cancelled":
            # Nobody answers it any more.
            with suppress(AttributeError, KeyError):
                self._open.pop(json.dumps(message["params"].get("requestId")), None)
        if method is None or not isinstance(identity, (str, int)):
            return line
        name = self._name(method, message.get("params"))
        known = self._said.get(name) if name and self._socket is None else None
        if known is not None:
            _write(_line({"jsonrpc": "2.0", "id": identity, "result": known}))
            # It hears the question all the same: a greeting begins the session, and the answer may be another one now.
            message = _as_ours(message)
            identity, line = message["id"], _line(message)
        self._open[json.dumps(identity)] = identity, name
        return line

    def _name(self, method: str, params: Any) -> str:
        """Return a name for all questions with the same answer; empty for those whose answers are not kept."""
        given: dict[str, Any] = params if isinstance(params, dict) else {}
        meta = given.get("_meta")
        version = given.get("protocolVersion") or (isinstance(meta, dict) and meta.get(_VERSION))
        if isinstance(version, str):
            self._version = version[:_MOST_VERSION]
        if method in ("initialize", _DISCOVER):
            return f"{method} {self._version}"
        return f"{method} {self._version} {self._place}" if method == "tools/list" and "cursor" not in given else ""


class _Said:
    """What the last worker of this version answered to greetings and to the question for tools, in a file for all.

    A worker needs half a second to start, and clients list tools before anybody asks anything.
    """

    def __init__(self, home: str) -> None:
        self._path = os.path.join(run_folder(home), "mcp.said")  # noqa: PTH118 - pathlib is 6 ms
        self._names, self._answers = self._read()

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the answer that is kept under a name."""
        return self._answers.get(self._names.get(name, ""))

    def note(self, name: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        if self.get(name) == answer:
            return
        self._names, self._answers = self._read()  # Others wrote meanwhile.
        digest = f"{zlib.crc32(json.dumps(answer).encode()):08x}"
        names = {other: kept for other, kept in self._names.items() if other != name} | {name: digest}
        self._names = dict([*names.items()][-_MOST_NAMES:])
        used = {*self._names.values()}
        self._answers = {key: kept for key, kept in (self._answers | {digest: answer}).items() if key in used}
        data = json.dumps({"version": __version__, "names": self._names, "answers": self._answers}).encode()
        beside = f"{self._path}.{os.getpid()}"
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(beside, flags, 0o600), "wb") as file:  # noqa: PTH123
                file.write(data)
            os.replace(beside, self._path)  # noqa: PTH105

    def _read(self) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            with open(self._path, "rb") as file:  # noqa: PTH123
                kept = json.loads(file.read())
            if kept["version"] == __version__:
                names = {name: digest for name, digest in kept["names"].items() if isinstance(digest, str)}
                return names, {key: one for key, one in kept["answers"].items() if isinstance(one, dict)}
        return {}, {}


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


def _lines(sock: Any) -> Iterator[bytes]:
    """Yield whole lines of a socket, or of standard input for None; a last half line is left out."""
    kept = b""
    while data := os.read(0, _READ_BYTES) if sock is None else sock.recv(_READ_BYTES):
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
    _write(_line({"jsonrpc": "2.0", "id": identity, "error": {"code": _LOST, "message": message}}))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _as_ours(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose answer the client has, with an id by which another answer is known."""
    return message | {"id": f"{_OURS}{message['method']}"} if "id" in message else message


def _is_ours(identity: object) -> bool:
    return isinstance(identity, str) and identity.startswith(_OURS)


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
