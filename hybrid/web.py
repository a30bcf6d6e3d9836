"""The web process of a home: MCP for the sessions of relays and on a port, and the page; one of each home.

It is started by whoever needs it first and ends two minutes after the last one has gone. Each keeps a connection to it
for as long as it is to be served. When another version is installed it lets a new process take its place, and ends when
all that it serves has gone there. `mcp` and what the page needs are loaded when somebody asks for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import threading
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.atomic import locked
from hybrid.base.errors import HybridError
from hybrid.base.home import home_path
from hybrid.base.lasting import how_to_add
from hybrid.daemon.server import Listener, allow_files, detach_from_caller
from hybrid.ipc.loopback import BACKLOG, LOOK_S, MOST_HEAD, Site, bounded, cutting_off, listening
from hybrid.ipc.start import MOVED, WEB
from hybrid.ipc.wire import Connection, WireError, run_folder

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Generator, Mapping

    import uvicorn

    Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

IDLE_S = 120.0
"""Seconds with nobody to serve after which it ends."""
_SESSION, _HTTP, _PAGE = "session", "http", "page"
_SERVED = {
    _SESSION: ("mcp", "hybrid.mcp_server.server", 512),
    _HTTP: ("mcp", "hybrid.mcp_server.http", 16),
    _PAGE: ("dashboard", "hybrid.dashboard.app", 16),
}
"""What can be asked for → the extra that it needs, the module that serves it, and how many there may be."""
_TICK_S = 2.0
_LOOK_S = 0.02
_STEP_S = 5.0
_LOCK_S = 3.0
_LINE_BYTES = 16_000_000
"""Bytes of the longest line that is read from a relay."""
_REST_S = 60
"""Seconds for requests under way when another process takes over."""
_END_S = 2
"""The same when the command that asked for a port is gone."""


def run_web(*, idle_s: float = IDLE_S) -> int:
    """Serve the home that the environment names until nobody needs it; a second process of a home ends at once.

    Args:
        idle_s: Seconds with nobody to serve after which it ends.

    Returns:
        The exit code.
    """
    detach_from_caller()
    allow_files()
    home = Path(home_path(os.environ))
    with contextlib.ExitStack() as held:
        if held.enter_context(locked(Path(run_folder(str(home))) / "web.lock", _LOCK_S)):
            asyncio.run(_Web(home, Listener(home, os.environ, name=WEB), idle_s, held.close).run())
    return 0


def port_server(app: Any, protocol: type[Any], clock: Callable[[], float] = time.monotonic) -> uvicorn.Server:
    """Return a server that is not started yet.

    Args:
        app: An application of ASGI.
        protocol: `bounded`; servers with the same one share its limit.
        clock: Gives monotonic seconds.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MOST_HEAD,
        timeout_graceful_shutdown=_END_S,
        timeout_notify=int(LOOK_S),
    )

    class _Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            # Leaves them to the process: a package takes the server that hears them for one whose end ends all streams.
            yield

    serving = _Server(config)
    config.callback_notify = cutting_off(serving.server_state.connections, clock)
    return serving


@cache
def bounded_protocol(what: str) -> type[Any]:
    """Return the protocol of HTTP that bounds the silent connections of all servers of a kind, and of that alone."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return bounded(H11Protocol)


class _Web:
    def __init__(self, home: Path, listener: Listener, idle_s: float, release: Callable[[], None]) -> None:
        self._home = home
        self._listener = listener
        self._idle_s = idle_s
        self._release = release
        self._tasks: dict[asyncio.Task[None], str] = {}
        """What is served → its kind."""
        self._greeted: set[Connection] = set()
        """Those that have asked for something which is being made."""
        self._idle_since_s = time.monotonic()
        self._over = asyncio.Event()
        self._moving = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows: the process is ended as it is.
                loop.add_signal_handler(number, self._over.set)
        threading.Thread(target=self._accept, args=[loop], daemon=True).start()
        try:
            while not self._over.is_set():
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._over.wait(), LOOK_S if self._moving.is_set() else _TICK_S)
                if self._is_idle() or not self._listener.is_current():
                    self._move()
        finally:
            self._move()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _is_idle(self) -> bool:
        if self._tasks or self._greeted:
            self._idle_since_s = time.monotonic()
        return time.monotonic() - self._idle_since_s > self._idle_s

    def _move(self) -> None:
        """Let another process begin; this one ends as soon as it serves nobody."""
        if not self._moving.is_set():
            self._listener.close()
            self._release()
            self._moving.set()
        if not self._tasks and not self._greeted:
            self._over.set()

    # --- connections, on threads of their own --------------------------------------------------------------

    def _accept(self, loop: asyncio.AbstractEventLoop) -> None:
        self._listener.socket.setblocking(True)
        while True:
            connection = self._listener.accepted()
            if connection is None:
                if self._moving.is_set() or self._listener.socket.fileno() < 0:
                    return
                time.sleep(0.05)
                continue
            threading.Thread(target=self._greet, args=[connection, loop], daemon=True).start()

    def _greet(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._listener.admit(connection)
            message = connection.receive(timeout_s=_STEP_S)
            what = message[0].decode("ascii", "replace")
            if what in ("stop", "rest"):
                connection.close()
                if what == "stop" or not self._tasks:
                    loop.call_soon_threadsafe(self._move)
                return
            self._greeted.add(connection)
            try:
                answer, serve = self._made(what, json.loads(message[1]))
            except HybridError as error:
                answer, serve = {"error": str(error)}, None
            except Exception as error:  # noqa: BLE001 - the rim: one is not served, the others are
                answer, serve = {"error": f"{type(error).__name__}: {error}"}, None
            connection.send(json.dumps(answer).encode(), timeout_s=_STEP_S)
            if serve is None:
                connection.close()
            else:
                loop.call_soon_threadsafe(self._begin, what, serve, connection.detach())
        except WireError:
            connection.close()
        finally:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(self._greeted.discard, connection)

    def _made(self, what: str, hello: Mapping[str, Any]) -> tuple[dict[str, Any], Serve]:
        """Return the answer to a hello, and what serves it.

        Raises:
            HybridError: It cannot be served.
        """
        extra, module, most = _SERVED[what]
        if sum(kind == what for kind in self._tasks.values()) >= most:
            raise HybridError(f"{most} are served already, which is the most")
        served = _loaded(extra, module)
        if what == _SESSION:
            return {}, lambda reader, writer: self._serve_session(served, hello, reader, writer)
        port = int(hello.get("port") or 0)
        try:
            sock = listening(port, BACKLOG)
        except OSError as error:
            raise HybridError(
                f"port {port} cannot be listened on ({error.strerror}); --port 0 takes a free one"
            ) from error
        try:
            port = sock.getsockname()[1]
            site: Site = served.site(self._home, hello, port)
            server = port_server(site.app, bounded_protocol(what))
        except BaseException:
            sock.close()
            raise
        return {"port": port, **site.answer}, lambda reader, writer: self._serve_port(
            site, sock, server, reader, writer
        )

    # --- what is served -----------------------------------------------------------------------------------

    def _begin(self, what: str, serve: Serve, sock: socket.socket) -> None:
        task = asyncio.ensure_future(self._serve(serve, sock))
        self._tasks[task] = what
        task.add_done_callback(self._tasks.pop)

    async def _serve(self, serve: Serve, sock: socket.socket) -> None:
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=_LINE_BYTES)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # Whoever asked is gone.
        finally:
            writer.close()

    async def _serve_session(
        self, served: Any, hello: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async def tell() -> None:
            await self._moving.wait()
            writer.write(MOVED)

        telling = asyncio.ensure_future(tell())
        try:
            await served.serve(str(self._home), hello, reader, writer)
        finally:
            telling.cancel()

    async def _serve_port(
        self,
        site: Site,
        sock: socket.socket,
        server: uvicorn.Server,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Serve a port until the command that asked for it is gone; it hears what to keep, and when it is over."""
        serving = asyncio.ensure_future(server.serve(sockets=[sock]))
        moving, gone = asyncio.ensure_future(self._moving.wait()), asyncio.ensure_future(reader.read())
        told: object = None
        try:
            while not (serving.done() or gone.done() or moving.done() or site.is_over()):
                await asyncio.wait([serving, gone, moving], timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                if (kept := site.kept()) != told:
                    told = kept
                    writer.write(json.dumps({"kept": kept}).encode() + b"\n")
            if site.is_over():
                writer.write(b'{"over": true}\n')
            server.config.timeout_graceful_shutdown = _REST_S if moving.done() else _END_S
            server.should_exit = True
            site.end()
            while sock.fileno() >= 0 and not serving.done():
                await asyncio.sleep(_LOOK_S)
            writer.close()  # The port is free for the next process.
            await serving
        finally:
            for task in (serving, moving, gone):
                task.cancel()
            sock.close()


def _loaded(extra: str, module: str) -> Any:
    """Return a module of ours that needs an extra.

    Raises:
        HybridError: It cannot be loaded; the message says what to install.
    """
    # These packages make thousands of classes that stay: looking for garbage among them costs an eighth of the time.
    gc.disable()
    try:
        return import_module(module)
    except Exception as error:
        is_missing = isinstance(error, ModuleNotFoundError) and not (error.name or "hybrid").startswith("hybrid")
        needed = f"a package is missing, of the extra `{extra}`: {how_to_add(extra)}"
        raise HybridError(f"{needed if is_missing else f'the extra `{extra}` cannot be loaded'} ({error})") from error
    finally:
        gc.freeze()
        gc.enable()
