"""Plays a client of MCP: the official client library over the real command, used without `await`; and raw lines."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from hybrid.ipc.start import WEB, start_command
from hybrid.ipc.wire import read_endpoint
from tests.support.agent import is_alive, kill, until
from tests.support.builders import command_environment
from tests.support.tool_texts import file_text, hits_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from anyio.abc import BlockingPortal
    from mcp_types import CallToolResult

    from tests.support.builders import Shop
    from tests.support.tool_texts import Hit

WAIT_S = 60.0


def environment(shop: Shop, **more: str) -> dict[str, str]:
    """What a client of a project gives the server that it starts."""
    return command_environment(shop.home) | {"HOME": str(shop.home / "user")} | more


def server_command(client: str = "claude", *more: str) -> list[str]:
    """The command that clients are registered with."""
    return start_command("mcp", "--client", client, *more)


class Tools:
    """A session of a client, used from a thread without an event loop.

    Args:
        portal: Runs the client library.
        session: Of the client library, greeted.
    """

    def __init__(self, portal: BlockingPortal, session: ClientSession) -> None:
        self._portal = portal
        self.session = session

    def ask(self, method: str, *args: Any, **options: Any) -> Any:
        """What a method of the client session gives."""
        return self._portal.call(lambda: getattr(self.session, method)(*args, **options))

    def begin(self, name: str, progress: Callable[..., Any] | None = None, **arguments: Any) -> Future[CallToolResult]:
        """Start a call of a tool; the future can be cancelled, which tells the server."""
        return self._portal.start_task_soon(lambda: self.session.call_tool(name, arguments, WAIT_S, progress))

    def result(self, name: str, progress: Callable[..., Any] | None = None, **arguments: Any) -> CallToolResult:
        """What a call of a tool gives, an error or not."""
        return self.begin(name, progress, **arguments).result(WAIT_S)

    def text(self, name: str, **arguments: Any) -> str:
        """What a call that works says to a reader."""
        result = self.result(name, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def error(self, name: str, **arguments: Any) -> str:
        """What a call that cannot be done says."""
        result = self.result(name, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    def hits(self, **arguments: Any) -> list[Hit]:
        """The hits of a search."""
        return hits_of(self.text("search", **arguments))

    def refs(self, **arguments: Any) -> list[str]:
        """The refs of a search's hits."""
        return [hit.ref for hit in self.hits(**arguments)]

    def file(self, ref: str, **arguments: Any) -> str:
        """The lines of a file, or a part of one, as `read` shows them, without their numbers."""
        return file_text(self.text("read", ref=ref, **arguments))


def text_of(result: CallToolResult) -> str:
    """The text of an answer, which is its only content."""
    [content] = result.content
    assert ("text", None) == (content.type, result.structured_content)
    return content.text


@contextlib.contextmanager
def tools_of(
    shop: Shop, *, client: str = "claude", cwd: Path | None = None, options: tuple[str, ...] = (), **environ: str
) -> Generator[Tools]:
    """A greeted session of the official client over the real command, in the folder of a project."""
    command = server_command(client, *options)
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], env=environment(shop, **environ), cwd=str(cwd or shop.root)
    )
    with session_over(lambda: stdio_client(parameters)) as tools:
        yield tools


@contextlib.contextmanager
def session_over(transport: Callable[[], Any]) -> Generator[Tools]:
    """A greeted session over a transport of the client library."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[ClientSession]:
        async with transport() as (received, sent, *_), ClientSession(received, sent) as session:
            await session.initialize()
            yield session

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as session:
        yield Tools(portal, session)


# --- raw lines ----------------------------------------------------------------------------------------------


READ = {"name": "read", "arguments": {"ref": "README.md"}}
"""A call of a tool that any project answers."""


class RawClient:
    """Speaks lines to the real command, also such as no library would send."""

    def __init__(self, shop: Shop, *command: str, cwd: Path | None = None, **environ: str) -> None:
        self.process = subprocess.Popen(
            list(command) or server_command(),
            cwd=cwd or shop.root,
            env=environment(shop, **environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, *lines: bytes | dict[str, Any]) -> None:
        """Write lines; the end of a line is added."""
        assert self.process.stdin
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def answer(self, identity: object) -> dict[str, Any]:
        """The next answer with this id; a relay that gives none is ended."""
        end = threading.Timer(WAIT_S, self.process.kill)
        end.start()
        try:
            for found in self.answers():
                if found.get("id") == identity:
                    return found
        finally:
            end.cancel()
        raise AssertionError(f"no answer to {identity}")

    def answers_until(self, identity: object) -> list[dict[str, Any]]:
        """What comes, up to the answer with this id."""
        found: list[dict[str, Any]] = []
        for answer in self.answers():
            found.append(answer)
            if answer.get("id") == identity:
                break
        return found

    def answers(self) -> Iterator[dict[str, Any]]:
        """What comes."""
        assert self.process.stdout
        for line in self.process.stdout:
            yield json.loads(line)

    def ask(self, method: str, identity: object = 1, **params: Any) -> dict[str, Any]:
        """A request and its answer."""
        self.say({"id": identity, "method": method, "params": params})
        return self.answer(identity)

    def greet(self, identity: object = 0) -> dict[str, Any]:
        """What a client says first."""
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        found = self.ask("initialize", identity, **about)
        self.say({"method": "notifications/initialized"})
        return found

    def close(self) -> tuple[int, bytes]:
        """Close standard input, wait for the end; exit code and what was said on standard error."""
        process = self.process
        with contextlib.suppress(BrokenPipeError):
            if process.stdin and not process.stdin.closed:
                process.stdin.close()
        process.stdin = None
        _, err = process.communicate(timeout=WAIT_S)
        return process.returncode, err

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        with contextlib.suppress(ValueError):
            self.close()


# --- the worker ---------------------------------------------------------------------------------------------


def web_pid(home: Path) -> int:
    """The process that speaks MCP for a home; 0 for none."""
    return int((read_endpoint(str(home), WEB) or {}).get("pid", "0"))


def web_pids(home: Path) -> list[int]:
    """All processes that do or that begin to; on Linux also those that do not listen yet."""
    setting = b"\0HYBRID_HOME=" + os.fsencode(home) + b"\0"
    numbers = {web_pid(home)} - {0}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            is_worker = b"entry.py\0web\0" in (folder / "cmdline").read_bytes()
            if is_worker and setting in b"\0" + (folder / "environ").read_bytes() + b"\0":
                numbers.add(int(folder.name))
    return sorted(pid for pid in numbers if is_alive(pid))


def end_web(home: Path) -> None:
    """End them by their numbers, and wait until they are gone."""

    def is_alone() -> bool:
        pids = web_pids(home)
        for pid in pids:
            kill(pid, signal.SIGTERM)
        return not pids

    until(is_alone)


def greeted(shop: Shop, *command: str) -> RawClient:
    """A client that was greeted, with a web process that is there."""
    client = RawClient(shop, *command)
    try:
        assert "hybrid" == client.greet()["result"]["serverInfo"]["name"]
        assert {} == client.ask("ping", "first")["result"]
    except BaseException:
        client.__exit__()
        raise
    return client
