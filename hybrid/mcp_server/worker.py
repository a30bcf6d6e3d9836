"""The process that speaks MCP for every session of a user: started by the first relay, gone soon after the last.

Twenty sessions in one process cost little more memory than one. It ends when another version is installed; relays go
on with the next worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hybrid
from hybrid.base.atomic import locked, make_private_folder
from hybrid.base.home import home_path
from hybrid.base.lasting import how_to_add
from hybrid.config import load
from hybrid.daemon.server import Listener, detach_from_caller
from hybrid.ipc.loopback import BACKLOG, listening, token_of
from hybrid.ipc.start import start_service
from hybrid.ipc.wire import PROTOCOL, Connection, WireError, run_folder
from hybrid.mcp_server.relay import NAME, failure_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Serve = Callable[[socket.socket, dict[str, Any]], Awaitable[None]]

IDLE_S = 120.0
"""Seconds without a session after which it ends."""
_NO_REQUEST = -32600
"""Code of JSON-RPC for what is no request."""
_TICK_S = 2.0
_STEP_S = 5.0
_LOCK_S = 3.0
_LINE_BYTES = 16_000_000
"""Bytes of the longest line that is read from a client."""
_TOKEN_S = 10.0
"""Seconds in which the service has a token that was started now."""
_LOOK_S = 0.05


def main() -> int:
    """Run the worker of the home that the environment names; return the exit code."""
    return run_worker(Path(home_path(os.environ)), os.environ)


def run_worker(home: Path, environ: Mapping[str, str], *, idle_s: float = IDLE_S) -> int:
    """Serve sessions until nobody needs it; return the exit code. A second worker of a home ends at once.

    Args:
        home: `$HYBRID_HOME`.
        environ: `XDG_RUNTIME_DIR` is a place for the socket.
        idle_s: Seconds without a session after which it ends.
    """
    detach_from_caller()
    run = Path(run_folder(str(home)))
    make_private_folder(run)
    with locked(run / "mcp.lock", _LOCK_S) as is_mine:
        if not is_mine:
            return 0
        failure = Path(failure_path(str(home)))
        failure.unlink(missing_ok=True)
        try:
            _import_server()
        except Exception as error:  # noqa: BLE001 - what a client is told in place of an answer
            is_missing = isinstance(error, ImportError) and (error.name or "").partition(".")[0] in ("mcp", "mcp_types")
            needed = f"`hybrid mcp` needs the extra `mcp`: {how_to_add('mcp')}"
            reason = f"{needed if is_missing else 'the package mcp cannot be loaded'} ({error})"
            failure.write_text(reason, encoding="utf-8")
            return 2
        asyncio.run(_Worker(home, environ, idle_s).run())
    return 0


def _import_server() -> None:
    """Import what speaks MCP: the half second that it takes comes before anybody is greeted.

    The package makes thousands of classes that stay: looking for garbage among them costs an eighth of that.
    """
    gc.disable()
    try:
        import_module("hybrid.mcp_server.server")
    finally:
        gc.freeze()
        gc.enable()


class _Worker:
    def __init__(self, home: Path, environ: Mapping[str, str], idle_s: float) -> None:
        self._home = home
        self._idle_s = idle_s
        self._listener = Listener(home, environ, name=NAME)
        self._sessions: set[asyncio.Task[None]] = set()
        self._idle_since_s = time.monotonic()
        self._over = asyncio.Event()
        self._tokens = 0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows: the process is ended as it is.
                loop.add_signal_handler(number, self._over.set)
        threading.Thread(target=self._accept, args=[loop], daemon=True).start()
        try:
            while not self._over.is_set():
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._over.wait(), _TICK_S)
                if self._is_done():
                    break
        finally:
            self._listener.close()
            for task in list(self._sessions):
                task.cancel()
            await asyncio.gather(*self._sessions, return_exceptions=True)

    def _is_done(self) -> bool:
        if self._sessions:
            self._idle_since_s = time.monotonic()
        is_idle = time.monotonic() - self._idle_since_s > self._idle_s
        return is_idle or not self._listener.is_current()

    # --- connections, on a thread of their own -------------------------------------------------------------

    def _accept(self, loop: asyncio.AbstractEventLoop) -> None:
        self._listener.socket.setblocking(True)
        while True:
            connection = self._listener.accepted()
            if connection is None:
                if self._over.is_set() or self._listener.socket.fileno() < 0:
                    return
                time.sleep(0.05)
                continue
            threading.Thread(target=self._greet, args=[connection, loop], daemon=True).start()

    def _greet(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._listener.admit(connection)
            greeting = (str(PROTOCOL), hybrid.__version__, str(os.getpid()))
            connection.send(*(part.encode() for part in greeting), timeout_s=_STEP_S)
            message = connection.receive(timeout_s=_STEP_S)
            if message[0] in (b"stop", b"rest"):
                connection.close()
                if message[0] == b"stop" or not self._sessions:
                    loop.call_soon_threadsafe(self._over.set)
                return
            hello = json.loads(message[1])
            serve = self._serve_http if message[0] == b"http" else self._serve
            loop.call_soon_threadsafe(self._begin, serve, connection.detach(), hello)
        except (WireError, ValueError, IndexError, RuntimeError):
            connection.close()

    # --- sessions -----------------------------------------------------------------------------------------

    def _begin(self, serve: Serve, sock: socket.socket, hello: dict[str, Any]) -> None:
        task = asyncio.ensure_future(serve(sock, hello))
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)

    async def _serve(self, sock: socket.socket, hello: dict[str, Any]) -> None:
        from mcp.server.stdio import stdio_server

        from hybrid.mcp_server.server import ToolSession, build_server

        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=_LINE_BYTES)
        try:
            session = ToolSession(
                str(self._home), hello["cwd"], hello.get("client", ""), hello.get("environ", {}), hello["session"]
            )
            server = build_server(lambda _ctx: session)
            answers = _Answers(writer)
            lines = _Lines(reader, answers)
            async with stdio_server(lines, answers) as (received, sent):  # pyright: ignore[reportArgumentType] - it reads lines and writes text, no more
                await server.run(received, sent, server.create_initialization_options())
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client is gone.
        finally:
            writer.close()

    async def _serve_http(self, sock: socket.socket, hello: dict[str, Any]) -> None:
        """Listen on HTTP until the command that asked for it is gone; tell it the port first, or what is wrong."""
        from hybrid.mcp_server.http import build_http

        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock)
        serving: asyncio.Task[None] | None = None
        port = int(hello.get("port") or 0)
        try:
            try:
                await self._wait_for_token(str(hello["cwd"]))
                own = listening(port, BACKLOG)  # A client may connect as soon as it knows the port.
            except OSError as error:
                problem = f"port {port} cannot be had: {error}" if error.errno else str(error)
                writer.write(json.dumps({"error": problem}).encode() + b"\n")
                await writer.drain()
                return
            port = own.getsockname()[1]
            server = build_http(self._home, str(hello["cwd"]), port)
            serving = asyncio.ensure_future(server.serve(sockets=[own]))
            writer.write(json.dumps({"port": port}).encode() + b"\n")
            await writer.drain()
            await reader.read()
            server.should_exit = True
            await serving
        except ConnectionError:
            pass
        finally:
            if serving is not None and not serving.done():
                serving.cancel()
            writer.close()

    async def _wait_for_token(self, cwd: str) -> None:
        """Start the service if needed, and wait until it listens on HTTP.

        Raises:
            OSError: It does not.
        """
        start_service(str(self._home), os.environ, cwd=cwd)
        until_s = time.monotonic() + (_TOKEN_S if load(home=self._home, environ=os.environ).config.daemon.http else 0.0)
        while not token_of(self._home):
            if time.monotonic() > until_s:
                raise OSError("the service does not listen on HTTP; is `daemon.http` switched off?")
            await asyncio.sleep(_LOOK_S)


class _Lines:
    """The messages of a client, as an asynchronous iterator.

    The package drops a line that it cannot read, without a word: who asked would wait for ever.
    """

    def __init__(self, reader: asyncio.StreamReader, answers: _Answers) -> None:
        self._reader = reader
        self._answers = answers

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        while True:
            try:
                line = await self._reader.readline()
            except (ValueError, ConnectionError):  # A line that is too long; the client is gone.
                line = b""
            if not line:
                raise StopAsyncIteration
            text = line.decode("utf-8", "replace")
            if _is_message(text):
                return text
            text, identity = _without_halves(text)
            if _is_message(text):
                return text
            if isinstance(identity, (str, int)):
                error = {"code": _NO_REQUEST, "message": "this is no request of MCP"}
                await self._answers.write(json.dumps({"jsonrpc": "2.0", "id": identity, "error": error}) + "\n")


def _is_message(text: str) -> bool:
    from mcp_types import jsonrpc_message_adapter

    try:
        jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return False
    return True


def _without_halves(text: str) -> tuple[str, object]:
    """Return a line with a question mark for each half of a pair of surrogates, and the id of its request.

    A model that is cut off writes half of an emoji, which the package cannot read. Empty and None for no request.
    """
    try:
        message = json.loads(text)
        identity = message["id"] if "method" in message else None
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace").decode(), identity
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", None


class _Answers:
    """Writes text to a client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
