"""The service's HTTP interface: on loopback, for its owner's own programs, with the memory's lists; it changes nothing.

A request must come from where `loopback` allows, and carry the token, which is made at each start and which only the
owner can read. Every connection carries one request, is bounded in bytes and in time, and is cut off at the end. When
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
from hybrid.ask.memory_lookup import (
    DEFAULT_LIMIT,
    FORMS,
    MAX_LIMIT,
    Filters,
    MemoryScope,
    OpenMemory,
    RankedRow,
    RowRequest,
    around,
    checked_limit,
    id_of,
    list_text,
    newest_first,
    nothing_known,
    of_files,
    project_named,
    project_paths,
    recent,
    row_json,
    rows_of,
    search,
    since_ms,
)
from hybrid.base.atomic import write_atomic
from hybrid.base.errors import BusyError, HybridError, ProjectError
from hybrid.base.resources import shipped
from hybrid.ipc.loopback import (
    CHALLENGE,
    HOST,
    LOOK_S,
    MOST_HEAD,
    SILENT_S,
    grouped,
    listening,
    place_problem,
    token_file,
    token_problem,
)
from hybrid.knowledge.memory_intake import flush
from hybrid.records.types import MemoryBusyError
from hybrid.render.marks import harmless, harmless_json
from hybrid.render.visible import json_escaped
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.records.memory.types import Row, RowFilter
    from hybrid.search.searcher import Mode

    Answer = Callable[[str, Mapping[str, list[str]]], dict[str, Any] | str]


_TOKEN_BYTES = 32
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
        self._path = token_file(home)
        self._head_s = head_s
        self._server = _Server(port, answer, clock)
        self._wake, self._waker = socket.socketpair()
        self._is_stopping = False
        try:
            self._announcement = self._announce()
        except BaseException:
            self._server.server_close()
            raise
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
            if self._path.read_bytes() == self._announcement:
                self._path.unlink()
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join(LOOK_S)
        self._server.server_close()
        self._server.cut_off(waiting_s=0.0, answering_s=0.0)
        self._wake.close()
        self._waker.close()

    def _announce(self) -> bytes:
        address = {"port": self.port, "token": self._server.token, "pid": os.getpid()}
        data = json.dumps(address).encode() + b"\n"
        # A file that is replaced keeps its rights, and those may have let others read it.
        self._path.unlink(missing_ok=True)
        write_atomic(self._path, data, durable=False)
        return data

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
        token: The token that a request must carry.
    """

    timeout = 0
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, answer: Answer, clock: Callable[[], float]) -> None:
        self.answer = answer
        self.token = os.urandom(_TOKEN_BYTES).hex()
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

    def read(self, size: int = -1) -> bytes:
        return self._inner.read(size)

    def close(self) -> None:
        self._inner.close()


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
        if problem := token_problem(headers, self._server.token):
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


_SEVERAL = ("type", "file", "path")
"""Parameters that may be given more than once."""


class Parameters:
    """The parameters of a request.

    Raises:
        RouteError: A parameter is unknown or given too often; status 400, as for wrong values in the methods.
    """

    def __init__(self, values: Mapping[str, list[str]], known: Sequence[str]) -> None:
        unknown = sorted(values.keys() - set(known))
        if unknown:
            raise RouteError(400, f"unknown parameter {unknown[0]!r}; there are: {', '.join(known) or 'none'}")
        twice = [name for name, value in values.items() if len(value) > 1 and name not in _SEVERAL]
        if twice:
            raise RouteError(400, f"{twice[0]!r} may be given once")
        self._values = values

    def one(self, name: str, default: str = "") -> str:
        """Return the value of a parameter that is given once; the default when it is missing."""
        return self._values.get(name, [default])[0]

    def several(self, name: str) -> tuple[str, ...]:
        """Return all values of a parameter, each once; empty when it is missing."""
        return tuple(dict.fromkeys(self._values.get(name, ())))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the value of a parameter that must be one of some words; the first of them when it is missing."""
        value = self.one(name, choices[0])
        if value not in choices:
            raise RouteError(400, f"{name} = {value!r} is none of {', '.join(choices)}")
        return value

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a number of rows, 0 only without a default; the default when the parameter is missing."""
        text = self.one(name)
        if not text or (text == "0" and default is None):
            return 0 if text else default
        try:
            return checked_limit(text)
        except HybridError as error:
            raise RouteError(400, f"{name}: {error}") from error

    def flag(self, name: str) -> bool:
        """Return whether a parameter is on: `1`, `true` or nothing after the name; False when it is missing."""
        value = self.one(name, "0").lower()
        if value not in ("", "0", "1", "true", "false"):
            raise RouteError(400, f"{name} = {value!r} must be true or false")
        return value in ("", "1", "true")

    def filters(self, default_limit: int = DEFAULT_LIMIT) -> Filters:
        """Return the filters that every list has: limit, since, types and files."""
        limit = self.number("limit", default_limit) or default_limit
        return Filters(limit, self.one("since"), self.several("type"), self.paths("file"))

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the values of a parameter as paths in the form of the memory; empty when it is missing.

        A relative path counts from the root of its project. An absolute one stays absolute, with `~` for the home.
        """
        return project_paths(self.several(name), None, None)


# --- routes -----------------------------------------------------------------------------------------------


SCHEMA = ("index", "schema", "http.json")
"""Parts of the path of the shipped JSON schema of the answers."""

_SEARCH_WAIT_S = 5.0
"""Seconds that a search waits for another one to end."""
_MODES = ("hybrid", "dense", "lexical")
_CONTEXT_FORMS = ("json", "text")
_LISTED = ("project", "limit", "since", "type", "file", "form", "explain")
_PARAMETERS = {
    "/context": ("project", "limit", "since", "type", "file", "form"),
    "/search": ("query", "mode", *_LISTED),
    "/timeline": ("at", "before", "after", *_LISTED),
    "/files": ("path", *_LISTED),
    "/observations": ("form",),
    "/schema": (),
}
"""Path → its parameters; any other parameter is refused."""
_PATHS = ("/health", *(f"{path}/{{id}}" if path == "/observations" else path for path in _PARAMETERS))


def _wanted(memory: OpenMemory, filters: Filters) -> RowFilter:
    with _wrong_parameter():
        return memory.scope.wanted(filters, memory.now_ms)


def _request(memory: OpenMemory, filters: Filters) -> RowRequest:
    return memory.request(_wanted(memory, filters), filters.limit)


class Routes:
    """Answers about the memory of a `$HYBRID_HOME`.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment variables for the settings.
        kinds: Gives the open stores and indexes, which hooks use too.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], kinds: Callable[[], OpenKinds]) -> None:
        self._home = home
        self._environ = environ
        self._kinds = kinds
        # One search at a time: prompts come first.
        self._searching = threading.Lock()
        self._lists = {
            "/context": self._context,
            "/search": self._search,
            "/timeline": self._timeline,
            "/files": self._files,
        }

    def answer(self, path: str, values: Mapping[str, list[str]]) -> dict[str, Any] | str:
        """Answer a path with an object, or with a text where that was asked for.

        Raises:
            RouteError: 404 for an unknown path, project or record, 400 for a wrong parameter, 503 when the memory is
                in use or cannot be searched.
        """
        name, slash, rest = path[1:].partition("/")
        route = f"/{name}"
        is_known = route in _PARAMETERS and bool(slash) == (route == "/observations")
        if not is_known:
            raise RouteError(404, f"nothing is at {path}; there are {', '.join(_PATHS)}")
        parameters = Parameters(values, _PARAMETERS[route])
        if route == "/schema":
            return cast("dict[str, Any]", json.loads(shipped(*SCHEMA).read_bytes()))
        try:
            memory = self._open(parameters)
            if route == "/observations":
                return self._observation(memory, rest, parameters)
            return self._lists[route](memory, parameters)
        except ProjectError as error:
            raise RouteError(404, str(error)) from error
        except HybridError as error:
            is_passing = isinstance(error, (BusyError, MemoryBusyError))
            raise RouteError(503, str(error), {"Retry-After": "1"} if is_passing else None) from error

    def _open(self, parameters: Parameters) -> OpenMemory:
        # Whether projects are kept apart is a question of what agents get unasked; here the owner asks.
        flags = {"memory.cross_project": True}
        workspace = open_workspace(self._home, environ=self._environ, flags=flags)
        store = self._kinds().stores.memory(workspace)
        project = parameters.one("project")
        key, name = project_named(project, self._home, store) if project else ("", "")
        now_ms = time.time_ns() // 1_000_000
        if store.exists:
            with contextlib.suppress(HybridError):  # What cannot be written may still be read.
                flush(workspace, store, now_ms)
        return OpenMemory(workspace, store, MemoryScope(key, name, key, is_cross=not key), now_ms)

    def _context(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any] | str:
        """Return the project's last summary and the newest rows by day, as JSON with the same as `text`.

        With `form=text` return that text alone, for a script that hands it on.
        """
        form = parameters.choice("form", _CONTEXT_FORMS)
        filters = parameters.filters(min(max(memory.workspace.config.memory.session_start, 1), MAX_LIMIT))
        scope = memory.scope
        ranked = recent(memory.store, _request(memory, filters), is_cross=scope.is_cross)
        summary = next(iter(memory.store.last_summaries(scope.key, 1)), None) if scope.key else None
        lines = [scope.heading]
        if summary is not None:
            lines.append(list_text([RankedRow(summary)], "full"))
        window_ms = memory.workspace.config.memory.batch_window_ms
        listed = list_text(newest_first(ranked), "index", here=scope.present, by_day=True)
        lines.append(listed or nothing_known(memory.store, scope, window_ms))
        if form == "text":
            return "\n".join(lines)
        last = row_json(RankedRow(summary)) if summary is not None else None
        return _form(memory, ranked, summary=last) | {"text": "\n".join(lines)}

    def _search(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        query = parameters.one("query")
        if not query.strip():
            raise RouteError(400, "query: say what to search")
        filters, mode = parameters.filters(), cast("Mode", parameters.choice("mode", _MODES))
        request = _request(memory, filters)
        if not self._searching.acquire(timeout=_SEARCH_WAIT_S):
            raise BusyError("other searches are not done yet")
        try:
            ranked = search(memory.workspace, self._kinds(), query, request, mode=mode)
        finally:
            self._searching.release()
        return _listed(memory, parameters, ranked, query=query)

    def _timeline(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        at, filters = parameters.one("at"), parameters.filters()
        before, after = around(filters.limit, parameters.number("before"), parameters.number("after"))
        identity = id_of(at)
        if identity is None:
            with _wrong_parameter("at: "):
                at_ms = since_ms(at, memory.now_ms)
            rows = memory.store.timeline_at(at_ms, before, after, _wanted(memory, filters))
        else:
            row = _row(memory, at)
            scope = memory.scope if memory.scope.key else memory.scope_of(row.owner)
            with _wrong_parameter():
                wanted = scope.wanted(filters, memory.now_ms)
            rows = memory.store.timeline(*identity, before, after, wanted)
        return _listed(memory, parameters, [RankedRow(row) for row in rows], at=at, by_day=True)

    def _files(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        paths, filters = parameters.paths("path"), parameters.filters()
        if not paths:
            raise RouteError(400, "path: say which file or folder, relative to its project")
        ranked = of_files(memory.store, paths, _request(memory, filters))
        return _listed(memory, parameters, ranked, files=list(paths), by_day=True)

    def _observation(self, memory: OpenMemory, name: str, parameters: Parameters) -> dict[str, Any]:
        return _listed(memory, parameters, [RankedRow(_row(memory, name))])


def _row(memory: OpenMemory, name: str) -> Row:
    identity = id_of(name)
    if identity is None:
        raise RouteError(400, f"{name!r} is no id: an observation's begins with o (o42), a summary's with s (s7)")
    rows = rows_of(memory.store, [identity])
    if not rows:
        raise RouteError(404, f"no record {name}")
    return rows[0]


def _listed(
    memory: OpenMemory, parameters: Parameters, ranked: Sequence[RankedRow], *, by_day: bool = False, **echoed: object
) -> dict[str, Any]:
    """Return a list of rows as JSON; with `form` or `explain`, `text` holds the list as the command prints it."""
    text = None
    if parameters.one("form") or parameters.flag("explain"):
        form, is_explained = parameters.choice("form", FORMS), parameters.flag("explain")
        text = list_text(ranked, form, here=memory.scope.present, by_day=by_day, is_explained=is_explained)
    return _form(memory, ranked, **echoed) | {"text": text}


def _form(memory: OpenMemory, ranked: Sequence[RankedRow], **echoed: object) -> dict[str, Any]:
    """Return rows as JSON, after what was asked (`echoed`) and the project; `query` is None without a query."""
    project = memory.scope.name or None
    return {"query": None, **echoed, "project": project, "records": [row_json(row) for row in ranked]}


@contextlib.contextmanager
def _wrong_parameter(prefix: str = "") -> Generator[None]:
    """Turn a `HybridError` of the block into a `RouteError` with status 400, with a prefix to its message."""
    try:
        yield
    except HybridError as error:
        raise RouteError(400, f"{prefix}{error}") from error
