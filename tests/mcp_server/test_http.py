"""MCP over HTTP: who gets something and who gets nothing, and how it begins and ends."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListRootsResult, Root
from pydantic import FileUrl

from hybrid.ipc.loopback import token_of
from hybrid.ipc.start import start_command
from tests.support.agent import kill, until
from tests.support.builders import hear_interrupts
from tests.support.tool_client import environment, session_over, web_pid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from pathlib import Path

    from tests.support.builders import Shop


CLIENT = httpx2.Client(timeout=120, limits=httpx2.Limits(max_keepalive_connections=0))
"""One for all: its certificates cost more than a request."""


@contextlib.contextmanager
def _listening(shop: Shop, *more: str) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """`hybrid mcp --http`: its address and process."""
    process = subprocess.Popen(
        start_command("mcp", "--http", "--json", *more),
        cwd=shop.root,
        env=environment(shop),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    end = threading.Timer(60, process.kill)
    end.start()
    try:
        assert process.stdout
        lines: list[bytes] = []
        while not lines or lines[-1] not in (b"", b"}\n"):
            lines.append(process.stdout.readline())
        end.cancel()
        yield json.loads(b"".join(lines))["url"], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def url(shared: Shop) -> Iterator[str]:
    """The address of a server for the shared project."""
    with _listening(shared) as (found, _):
        yield found


def _token(shop: Shop) -> str:
    return token_of(shop.home)


def _post(url: str, headers: dict[str, str], method: str = "POST") -> httpx2.Response:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    accept = {"Accept": "application/json, text/event-stream"}
    return CLIENT.request(method, url, headers=accept | headers, json=body if method == "POST" else None)


def test_the_right_token_serves_the_official_client(shared: Shop, url: str) -> None:
    """Every request of the client carries the token; the tools are those of standard input."""

    @contextlib.asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {_token(shared)}"}, timeout=60) as client,
            streamable_http_client(url, http_client=client) as streams,
        ):
            yield streams

    with session_over(transport) as tools:
        assert 8 == len(tools.ask("list_tools").tools)
        assert tools.refs(query="how does the payment client retry", limit=1)[0].startswith("src/payments/client.py:")
        assert "no file or record" in tools.error("read", ref=".env")
        assert "documents indexed" in tools.ask("read_resource", "hybrid://orientation").contents[0].text


def test_a_client_tells_its_folder_for_all_of_its_session(shared: Shop, tmp_path: Path) -> None:
    """Where the server does not stand in a project, each client is asked, and what it says holds for later requests."""

    async def roots(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(shared.root.as_uri()))])

    async def found(url: str) -> list[bool]:
        errors: list[bool] = []
        headers = {"Authorization": f"Bearer {_token(shared)}"}
        for _ in range(2):
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as client,
                streamable_http_client(url, http_client=client) as streams,
                ClientSession(*streams[:2], list_roots_callback=roots) as session,
            ):
                await session.initialize()
                errors += [(await session.call_tool("read", {"ref": "README.md"})).is_error for _ in range(2)]
        return errors

    with _listening(shared, "--project", str(tmp_path)) as (url, _):
        assert [False] * 4 == anyio.run(found, url)


OTHERS = (
    (401, {}),
    (401, {"Authorization": "Bearer wrong"}),
    (403, {"Authorization": "Bearer {token}", "Origin": "http://evil.example"}),
)


def test_others_get_nothing(shared: Shop, url: str) -> None:
    """Without the token, with a wrong one or from another origin nothing is given out that the right one gets."""
    token = _token(shared)
    assert 200 == _post(url, {"Authorization": f"Bearer {token}"}).status_code
    for status, headers in OTHERS:
        for method in ("POST", "GET", "DELETE"):
            found = _post(url, {name: value.replace("{token}", token) for name, value in headers.items()}, method)

            assert status == found.status_code
            assert {"error", "status"} == set(found.json())
            assert token not in found.text
            assert "mcp-session-id" not in found.headers
            assert not [name for name in found.headers if name.startswith("access-control")]


def test_other_addresses_need_the_token_too(url: str) -> None:
    """Nothing is told of what lies there."""
    for path in ("/", "/mcp/../", "/sse", "/.well-known/oauth-protected-resource"):
        assert 401 == CLIENT.get(url.removesuffix("/mcp") + path).status_code


def test_the_token_outlives_service_and_web_process(small: Shop) -> None:
    """A client that has it in its settings goes on after a restart of both, on the same port."""
    with _listening(small) as (url, _):
        token, pid = _token(small), web_pid(small.home)
        small.out("daemon", "start", "--quiet")
        until(lambda: (small.home / "run" / "http.json").exists())
        assert token == json.loads((small.home / "run" / "http.json").read_bytes())["token"]
        small.out("daemon", "stop", "--quiet")
        assert 200 == _post(url, {"Authorization": f"Bearer {token}"}).status_code
        kill(pid)
        until(lambda: web_pid(small.home) not in (0, pid))
        until(lambda: _is_listening(url))
        assert 200 == _post(url, {"Authorization": f"Bearer {token}"}).status_code
        assert token == _token(small)


def test_it_needs_no_http_of_the_service(small: Shop) -> None:
    """`daemon.http` is about the memory."""
    small.out("config", "set", "daemon.http", "false", "--user")
    with _listening(small) as (url, _):
        assert 200 == _post(url, {"Authorization": f"Bearer {_token(small)}"}).status_code


def test_a_port_that_is_taken_is_named(shared: Shop) -> None:
    """The error names the port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert str(port) in shared.error("mcp", "--http", "--port", str(port))


def test_it_closes_with_the_command(shared: Shop) -> None:
    """Ctrl-C ends the command without a traceback, and nobody listens any more; the web process lives on."""
    with _listening(shared) as (url, process):
        assert _is_listening(url)
        pid = web_pid(shared.home)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    until(lambda: not _is_listening(url))
    assert b"Traceback" not in err
    assert pid == web_pid(shared.home)


def _is_listening(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1].split("/")[0])), timeout=10).close()
    except OSError:
        return False
    return True
