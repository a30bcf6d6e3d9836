"""The service's HTTP interface: on loopback, for its owner's own programs, with the memory's lists; it changes nothing.

A request must come from where `loopback` allows, and carry the token of the home, which only the owner
can read. Every connection carries one request, is bounded in bytes and in time, and is cut off at the end. When
there are too many, one that has not asked yet gives way to the next one. The parameters are the words of the commands,
and the answers those of `hybrid memory --json`.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import parse_qs, urlsplit

from hybrid import __version__
from hybrid.base.atomic import read_regular
from hybrid.base.errors import HybridError
from hybrid.ipc.loopback import (
    CHALLENGE,
    HOST,
    LOOK_S,
    MOST_HEAD,
    SILENT_S,
    grouped,
    listening,
    made_token,
    place_problem,
    token_file,
    token_of,
    token_problem,
    write_secret,
)
from hybrid.render.marks import harmless, harmless_json
from hybrid.render.visible import json_escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from hybrid.ipc.loopback import Headers

    Answer = Callable[[str, Mapping[str, list[str]]], dict[str, Any] | str]
    Problem = Callable[[Headers], str]


_MOST_CONNECTIONS = 16
"""Connections at a time, a thread each: few programs ask, and prompts come first."""
_HEAD_S = 5.0
"""Seconds in which request line and headers must be there, however they come."""
_BACKLOG = 128


class HttpInterface:
    """Listens on a port, writes port and token to `run/http.json`, and answers requests until it is closed.

    Args:
        home: `$HYBRID_HOME`.
        port: 0 for one that is free.
        answer: Answers a request, as `Routes.answer` does.
        clock: Gives monotonic seconds.
        head_s: Seconds in which request line and headers must be there.

    Raises:
        HybridError: A folder stands in the place of a file.
        OSError: The port is taken, or the home is read-only.
    """

    def __init__(
        self,
        home: Path,
        port: int,
        answer: Answer,
        clock: Callable[[], float] = time.monotonic,
        *,
        head_s: float = _HEAD_S,
    ) -> None:
        self._home = home
        self._path = token_file(home).with_name("http.json")
        self._announcement = b""
        self._head_s = head_s
        self._server = _Server(port, answer, self._problem, clock)
        self._is_stopping = False
        try:
            self._announce()
        except BaseException:
            self._server.server_close()
            raise
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="http")
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._server.server_port

    def close(self) -> None:
        """Stop listening, remove `run/http.json` if it is ours, and cut off connections that are being answered."""
        self._is_stopping = True
        with contextlib.suppress(OSError):
            if read_regular(self._path, len(self._announcement)) == self._announcement:
                self._path.unlink()
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join(LOOK_S)
        self._server.server_close()
        self._server.cut_off(waiting_s=0.0, answering_s=0.0)
        self._wake.close()
        self._waker.close()

    def _announce(self) -> None:
        data = b"%s\n" % json.dumps({"port": self.port, "token": made_token(self._home), "pid": os.getpid()}).encode()
        if data != self._announcement:
            write_secret(self._path, data)
            self._announcement = data

    def _problem(self, headers: Headers) -> str:
        """Return why a request does not carry the token; then `run/http.json` tells the one that is right."""
        problem = token_problem(headers, self._home)
        if problem and token_of(self._home).encode() not in self._announcement:
            with contextlib.suppress(HybridError, OSError):
                self._announce()
        return problem

    def _serve(self) -> None:
        """Accept connections until closed, and cut off those that take too long: also while one sends."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._server, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while not self._is_stopping:
                ready = selector.select(LOOK_S if self._server.is_busy else None)
                if any(key.fileobj is self._server for key, _ in ready) and not self._is_stopping:
                    self._server.handle_request()
                self._server.cut_off(waiting_s=self._head_s, answering_s=SILENT_S)


class _Server(ThreadingHTTPServer):
    """A server with a thread for each connection.

    Beyond `_MOST_CONNECTIONS` it cuts off the oldest that waits; when all are being answered, the new one.

    Attributes:
        answer: Answers a path with its parameters, each of them with the values that were given, in order.
        problem: Tells from its headers why a request does not carry the token.
    """

    timeout = 0
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, answer: Answer, problem: Problem, clock: Callable[[], float]) -> None:
        self.answer = answer
        self.problem = problem
        self._waiting: dict[socket.socket, float] = {}
        """Connections without a whole head, or with their answer → when they began."""
        self._answering: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._clock = clock
        # The base class would ask the network for the name of this machine.
        super().__init__((HOST, port), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening(port, _BACKLOG)
        self.server_name, self.server_port = HOST, int(self.socket.getsockname()[1])

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting or self._answering)

    @contextlib.contextmanager
    def answering(self, sock: socket.socket) -> Generator[None]:
        """Count a connection, whose head is there, as being answered during the block; it gives way to none then."""
        with self._lock:
            since_s = self._waiting.pop(sock, None)
            if since_s is not None:
                self._answering[sock] = since_s
        try:
            yield
        finally:
            with self._lock:
                since_s = self._answering.pop(sock, None)
                if since_s is not None:
                    self._waiting[sock] = since_s

    def cut_off(self, *, waiting_s: float, answering_s: float) -> None:
        """Shut down connections that began at least so many seconds ago; their threads then end by themselves."""
        now_s = self._clock()
        limits = ((self._waiting, now_s - waiting_s), (self._answering, now_s - answering_s))
        with self._lock:
            late = [sock for some, limit_s in limits for sock, since_s in some.items() if since_s <= limit_s]
        for sock in late:
            _shut(sock)

    def process_request(self, request: Any, client_address: Any) -> None:
        late = None
        with self._lock:
            if len(self._waiting) + len(self._answering) >= _MOST_CONNECTIONS:
                late = min(self._waiting, key=self._waiting.__getitem__, default=request)
                self._waiting.pop(late, None)
            if late is not request:
                self._waiting[request] = self._clock()
        if late is request:
            self.shutdown_request(request)
            return
        if late is not None:
            _shut(late)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # The system has no room for a thread.
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._waiting.pop(request, None)
            self._answering.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the client hung up, or has the error as its answer."""


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


# --- one request ------------------------------------------------------------------------------------------


_JSON = "application/json"


_MOST_LINE = 8_192
_MOST_FIELDS = 100
_DRAIN_S = 0.2
_DRAIN_BYTES = 65_536
"""Bytes that are still read after the request, at most; `_DRAIN_S` is the limit in seconds."""


class RouteError(Exception):
    """A request that is refused; `status` is the code of HTTP, `headers` go with the answer."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class _TooLongError(Exception):
    """Request line and headers have more than `MOST_HEAD` bytes."""


class _Limited:
    """A reader whose `readline` raises `_TooLongError` once more bytes than the limit were read."""

    def __init__(self, inner: BinaryIO, limit: int) -> None:
        self._inner = inner
        self._left = limit

    def readline(self, size: int = -1) -> bytes:
        line = self._inner.readline(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise _TooLongError
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Handler(BaseHTTPRequestHandler):
    """A connection, which carries one request, of a `_Server`."""

    protocol_version = "HTTP/1.1"
    timeout = SILENT_S

    def handle(self) -> None:
        """Read the request, answer it, and wait until the client has the answer; an `OSError` ends it silently."""
        self._server = cast("_Server", self.server)
        self.close_connection = True
        self.command, self.requestline, self.request_version = "", "", "HTTP/1.1"
        self.rfile = cast("Any", _Limited(cast("BinaryIO", self.rfile), MOST_HEAD))
        try:
            self._handle()
            self.wfile.flush()
            self._drain()
        except OSError:
            pass  # It hung up, or took too long.

    def _handle(self) -> None:
        try:
            self.raw_requestline = self.rfile.readline(_MOST_LINE + 1)
            if len(self.raw_requestline) > _MOST_LINE:
                self._refuse(414, f"the request line has more than {_MOST_LINE:,} bytes")
                return
            if not self.raw_requestline or not self.parse_request():
                return
        except _TooLongError:
            self._refuse(431, f"request line and headers have more than {MOST_HEAD:,} bytes")
            return
        self.close_connection = True
        with self._server.answering(self.connection):
            self._answer()

    def _answer(self) -> None:
        try:
            answer = self._answered()
        except RouteError as error:
            self._refuse(error.status, str(error), error.headers)
        except Exception as error:  # noqa: BLE001 - the rim: one answer fails, not the service
            self._refuse(500, f"{type(error).__name__}: {error}")
        else:
            self._send(200, answer)

    def _answered(self) -> dict[str, Any] | str:
        headers = grouped(self.headers.items())
        if problem := place_problem(headers, self._server.server_port):
            raise RouteError(403, problem)
        if self.command not in ("GET", "HEAD"):
            raise RouteError(405, f"{self.command} is not possible: nothing is changed here", {"Allow": "GET, HEAD"})
        if not self.path.startswith("/"):
            raise RouteError(400, "the target must be a path")
        target = urlsplit(self.path)
        if target.path == "/health":
            return {"status": "ok", "version": __version__}
        if problem := self._server.problem(headers):
            raise RouteError(401, problem, CHALLENGE)
        try:
            values = parse_qs(target.query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
        except ValueError as error:
            raise RouteError(400, f"the parameters cannot be read: {error}") from error
        return self._server.answer(target.path, values)

    def _refuse(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, {"error": message, "status": status}, headers)

    def _send(self, status: int, data: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None) -> None:
        if isinstance(data, str):
            text, kind = harmless(data), "text/plain"
        else:
            text, kind = json_escaped(json.dumps(harmless_json(data), ensure_ascii=False)), _JSON
        body = text.encode("utf-8", "backslashreplace") + b"\n"
        self.send_response(status)
        fixed = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
        for name, value in {**fixed, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the refusals of the base class as JSON."""
        self.close_connection = True
        self._refuse(int(code), message or explain or "the request cannot be read")

    def _drain(self) -> None:
        """Read what was sent after the request, within limits: closing with unread bytes would lose the answer."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_DRAIN_S)
            n_bytes = 0
            while n_bytes < _DRAIN_BYTES and (part := self.connection.recv(_MOST_LINE)):
                n_bytes += len(part)

    def version_string(self) -> str:
        """Return a name without the version of Python."""
        return "hybrid"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """Write nothing to standard error."""
