"""`hybrid mcp` as clients start it: hands lines between one client and the web process, which speaks MCP for all.

Standard library only and cheap to import: every session of a client keeps such a process. It starts the web process
where there is none, and meanwhile answers the greeting and lists the tools as the last one of this version did. When
that process ends, for an upgrade or by accident, the session goes on with the next one: the relay greets it as the
client did, and answers what was under way with an error, where the end could not wait for it.
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
from hybrid.ipc.start import MOVED, ask_web, start_service
from hybrid.ipc.wire import WireError, read_endpoint, run_folder

TYPE_CHECKING = False  # `typing` costs four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LAST_S = 10.0
"""Seconds for the answers to what a client asked before it closed its side; most clients end the relay earlier."""
_LOOK_S = 0.01
_MOST_STARTS = 5
"""Web processes that one session may lose one soon after the other, before it gives up."""
_SOON_S = 60.0
_READ_BYTES = 1 << 16
_LOST = -32000
"""Code of JSON-RPC for an error of the server's own."""
_DISCOVER = "server/discover"
"""The greeting of the protocol from 2026-07-28 on, whose requests all name their version: in `_VERSION` of `_meta`."""
_VERSION = "io.modelcontextprotocol/protocolVersion"
_MOST_VERSION = 32
_MOST_ANSWERS = 40
"""Answers that are kept: a list of tools for each folder, of 10 kB."""
_OURS = f"hybrid {os.urandom(8).hex()}: "
"""Beginning of the ids of requests whose answers the client has from memory; no id of a client begins so."""
# made: `make docs` makes this from `hooks/clients`.
_PASSED_ON = (
    "CLAUDE_CODE_SESSION_ID",
    "GEMINI_SESSION_ID",
    "LORE_DATA_DIR",
    "QWEN_CODE_SESSION_ID",
)
"""Variables that the web process gets of the client, beside those of our own settings: they name its session."""
# made: end


def is_relayed(argv: list[str]) -> bool:
    """Return whether the arguments ask for the relay; anything else is the command's business."""
    return not argv or (len(argv) % 2 == 0 and all(name in ("--client", "--project") for name in argv[::2]))


def relay(argv: list[str]) -> int:
    """Serve one client on standard input and output until it is gone; return the exit code.

    2 when no web process can be had: the client is told why in answer to its requests, a person on standard error.
    """
    # Ctrl-C ends it like any other signal, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    session = _Session(options.get("--client", ""), options.get("--project", ""))
    with suppress(WireError):
        session.connect(is_started=False)  # What one says that is there goes before what one said.
    threading.Thread(target=session.read_client, daemon=True).start()
    return session.serve()


class _Session:
    """One client and the connection to the web process."""

    def __init__(self, client: str, project: str) -> None:
        self._home = home_path(os.environ)
        self._cwd = _directory(project)
        environ = _environment()
        # A session keeps its number from one web process to the next.
        self._hello = json.dumps(
            {"cwd": self._cwd, "client": client, "environ": environ, "session": os.urandom(8).hex()}
        ).encode()
        self._said = _Said(self._home)
        self._place = f"{zlib.crc32(repr((self._cwd, sorted(environ.items()))).encode()):08x}"
        self._version = ""
        self._greeting: list[dict[str, Any]] = []
        """What each web process hears first: the greeting, and that the client took the answer."""
        self._open: dict[str, tuple[Any, str]] = {}
        """Id as text → the id of a request without an answer, and the name under which its answer is kept."""
        self._lock = threading.Lock()
        self._socket: Any = None
        self._waiting: list[bytes] = []
        """Lines for a web process that is not there yet."""
        self._over = threading.Event()
        self._refusal = ""

    # --- the web process ----------------------------------------------------------------------------------

    def serve(self) -> int:
        """Hand what the web process says to the client, until the client is gone."""
        # The first question needs the service too, which starts meanwhile.
        if read_endpoint(self._home) is None:
            start_service(self._home, os.environ, cwd=self._cwd)
        n_lost = 0
        while n_lost < _MOST_STARTS:
            since_s, is_moving = time.monotonic(), False
            try:
                if self._socket is None:
                    self.connect()
            except OSError as error:
                return self._give_up(str(error))
            with suppress(OSError):
                for line in _lines(self._socket):
                    if line == MOVED:
                        is_moving = True
                    elif not self._take(line):
                        return 0
                    if is_moving and self._leave(is_idle=True):
                        break
            if self._over.is_set():
                return 0
            # A client may run for weeks, and outlive the processes of many versions.
            n_lost = n_lost + 1 if time.monotonic() - since_s < _SOON_S else 1
            self._leave()
        return self._give_up("the web process of hybrid ended again and again")

    def connect(self, *, is_started: bool = True) -> None:
        """Connect to the web process, and say what waits for it; raises as `ask_web` does."""
        sock, _ = ask_web(self._home, "session", self._hello, is_started=is_started)
        with self._lock:
            self._socket, waiting, self._waiting = sock, self._waiting, []
            # `serve` meets a failure too, and connects again.
            with suppress(OSError):
                sock.sendall(b"".join(waiting))
                if self._over.is_set():
                    sock.shutdown(1)  # SHUT_WR

    def _leave(self, *, is_idle: bool = False) -> bool:
        """Leave the web process; the next one is greeted as this one was. What is under way is answered with an error.

        Args:
            is_idle: Stay, and return False, while something is under way.
        """
        with self._lock:
            if self._socket is None or (is_idle and self._open):
                return self._socket is None
            self._socket.close()
            lost, self._open, self._socket = self._open, {}, None
            for message in self._greeting:
                key = str(message.get("id"))
                if key in lost:  # Nobody answered it: the next one does.
                    self._open[key] = lost.pop(key)
                self._waiting.append(_line(message if key in self._open else _as_ours(message)))
        _answer_errors(lost, "the web process of hybrid was replaced; ask again")
        return True

    def _take(self, line: bytes) -> bool:
        """Hand on a line, but no answer that the client has; return False when the client is gone."""
        message = _parsed(line) if b'"id"' in line and (self._open or _OURS.encode() in line) else {}
        identity = message.get("id")
        if "method" not in message:
            _, name = self._open.pop(str(identity), ("", ""))
            if name and "result" in message:
                self._said.note(name, message["result"])
        return _is_ours(identity) or _write(line)

    def _give_up(self, reason: str) -> int:
        """Have every request answered with the reason until the client is gone; return 2."""
        with self._lock:
            self._refusal = reason
            lost, self._open = self._open, {}
        _answer_errors(lost, reason)
        sys.stderr.write(f"hybrid: {reason}\n")
        if not os.isatty(0):
            self._over.wait()
        return 2

    # --- the client ---------------------------------------------------------------------------------------

    def read_client(self) -> None:
        """Hand what the client says to the web process, until standard input closes."""
        for line in _lines(None):
            with self._lock:
                told = self._told(line)
                if self._refusal:
                    _answer_errors(self._open, self._refusal)
                    self._open.clear()
                elif self._socket is None:
                    self._waiting.append(told)
                else:
                    # `serve` meets a failure too, and connects again; the request is answered with an error.
                    with suppress(OSError):
                        self._socket.sendall(told)
        until_s = time.monotonic() + _LAST_S
        # The web process drops what it has not answered yet when it hears that the client is gone.
        while self._open and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        # One that is just being connected to must hear it too: the lock waits for that.
        with self._lock, suppress(OSError):
            self._over.set()
            if self._socket is not None:
                self._socket.shutdown(1)  # SHUT_WR

    def _told(self, line: bytes) -> bytes:
        """Note a line of the client, answer it from memory while nobody else can, and return what is handed on."""
        message = _parsed(line)
        method, identity = message.get("method"), message.get("id")
        if method == "initialize" or (method == _DISCOVER and not self._greeting):
            self._greeting = [message]
        elif method == "notifications/initialized":
            self._greeting = [*self._greeting[:1], message]
        elif method == "notifications/cancelled":
            # Nobody answers it any more, also when it is named by its number as text.
            with suppress(KeyError, TypeError):
                self._open.pop(str(message["params"]["requestId"]), None)
        # The package takes the others for notifications or answers: what comes back is nothing, or has another id.
        if method is None or "error" in message or type(identity) not in (str, int):
            return line
        name = self._name(method, message.get("params"))
        known = None if self._socket or self._refusal else self._said.answers.get(name)
        if known is not None:
            _write(_line({"jsonrpc": "2.0", "id": identity, "result": known}))
            # It hears the question all the same: a greeting begins the session, and the answer may be another one now.
            message = _as_ours(message)
            identity, line = message["id"], _line(message)
        self._open[str(identity)] = identity, name
        return line

    def _name(self, method: str, params: Any) -> str:
        """Return a name for all questions with the same answer; empty for those whose answers are not kept."""
        version: Any = None
        with suppress(AttributeError, KeyError, TypeError):  # What it says may be anything.
            if "cursor" in params:
                return ""
            version = params.get("protocolVersion") or params["_meta"][_VERSION]
        if isinstance(version, str):
            self._version = version[:_MOST_VERSION]
        if method == "tools/list":
            return f"{method} {self._version} {self._place}"
        return f"{method} {self._version}" if method in ("initialize", _DISCOVER) else ""


class _Said:
    """Answers of the last web process of this version to greetings and to the question for tools, in a file for all.

    The package `mcp` takes half a second to load, and clients list tools before anybody asks anything.
    """

    def __init__(self, home: str) -> None:
        self._path = os.path.join(run_folder(home), "mcp.said")  # noqa: PTH118 - pathlib is 6 ms
        self.answers = self._read()

    def note(self, name: str, answer: object) -> None:
        """Keep an answer under a name, and forget the oldest ones beyond `_MOST_ANSWERS`."""
        if self.answers.get(name) == answer:
            return
        # Others wrote meanwhile.
        answers = {other: kept for other, kept in self._read().items() if other != name} | {name: answer}
        self.answers = dict([*answers.items()][-_MOST_ANSWERS:])
        beside = f"{self._path}.{os.getpid()}"
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(beside, flags, 0o600), "wb") as file:  # noqa: PTH123
                file.write(_line({"version": __version__, "answers": self.answers}))
            os.replace(beside, self._path)  # noqa: PTH105

    def _read(self) -> dict[str, Any]:
        # A pipe in its place is not waited for.
        at_once = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            with open(self._path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
                kept: Any = json.loads(file.read() or b"")
            if kept["version"] == __version__:
                return dict(kept["answers"])
        return {}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("HYBRID_") or name in _PASSED_ON}


def _directory(named: str) -> str:
    try:
        return os.path.abspath(named) if named else os.getcwd()  # noqa: PTH100, PTH109 - pathlib is 6 ms
    except OSError:
        return ""  # It was deleted: there is no project.


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


def _answer_errors(identities: dict[str, tuple[Any, str]], message: str) -> None:
    for identity, _ in identities.values():
        if not _is_ours(identity):
            _write(_line({"jsonrpc": "2.0", "id": identity, "error": {"code": _LOST, "message": message}}))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _as_ours(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose answer the client has, with an id by which another answer is known."""
    return message | {"id": f"{_OURS}{message['method']}"} if "id" in message else message


def _is_ours(identity: object) -> bool:
    return isinstance(identity, str) and identity.startswith(_OURS)


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the message on a line; empty when it is none."""
    try:
        # As the web process reads it, so that an id is the same there.
        message: Any = json.loads(line.decode("utf-8", "replace"))
        message["jsonrpc"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return message
