"""The relay that clients start, and the worker behind it: accidents, upgrades, hang-ups, and lines that mean harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from hybrid import __version__
from tests.support.agent import kill, until
from tests.support.builders import hear_interrupts, python_process
from tests.support.tool_client import (
    READ,
    RawClient,
    end_web,
    environment,
    greeted,
    server_command,
    tools_of,
    web_pid,
    web_pids,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.builders import Shop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")


def _said(shop: Shop) -> Path:
    """The file of what the last worker said."""
    return shop.home / "run" / "mcp.said"


def test_the_session_survives_its_worker(shared: Shop) -> None:
    """A worker that is killed while nobody asks is replaced, and the client notices nothing."""
    with tools_of(shared) as tools:
        assert tools.file("README.md").startswith("# Shop")
        first = web_pid(shared.home)
        kill(first)
        until(lambda: web_pid(shared.home) not in (0, first))  # The relay has noticed.
        assert tools.file("README.md").startswith("# Shop")
        assert web_pid(shared.home) not in (0, first)


def test_what_was_under_way_is_answered_with_an_error(shared: Shop) -> None:
    """A worker that is killed before it answers: that call fails and may be asked again, the next one is answered."""
    with greeted(shared) as client:
        for number in range(100, 120):
            pid = web_pid(shared.home)
            kill(pid, signal.SIGSTOP)
            client.say({"id": number, "method": "tools/call", "params": READ})
            kill(pid)
            lost = client.answer(number)
            if "error" in lost:
                break  # Else the relay saw the end before it sent the call, and gave it to the next worker.
            until(lambda killed=pid: web_pid(shared.home) not in (0, killed))
        again = client.ask("tools/call", 8, **READ)

    assert "ask again" in lost["error"]["message"]
    assert "# Shop" in again["result"]["content"][0]["text"]


def test_two_relays_share_one_worker(fresh: Shop) -> None:
    """Of two sessions that start in the same moment, one starts the worker that both use."""
    found: list[str] = []

    def greet() -> None:
        with greeted(fresh) as client:
            found.append(client.ask("tools/call", 1, **READ)["result"]["content"][0]["text"][:10])
            barrier.wait(60)
            numbers.append(len(web_pids(fresh.home)))
            barrier.wait(60)

    numbers: list[int] = []
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=greet) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert ["README.md:", "README.md:"] == found
    assert web_pid(fresh.home)
    until(lambda: 1 == len(web_pids(fresh.home)))


# --- before there is a web process -------------------------------------------------------------------------


ALONE = """
    import sys, threading
    from hybrid.mcp_server import relay

    def ask_web(home, what, hello, is_started=True):
        if not is_started:
            raise relay.WireError("there is none")
        threading.Event().wait()  # One that never comes.

    relay.ask_web = ask_web
    relay.start_service = lambda *args, **options: None
    sys.exit(relay.relay(["--client", "claude"]))
"""


def _alone(shop: Shop, *changes: str) -> RawClient:
    script = "\n".join(["import hybrid", *changes, textwrap.dedent(ALONE)])
    return RawClient(shop, sys.executable, "-c", script)


def test_a_session_is_greeted_before_there_is_a_web_process(fresh: Shop) -> None:
    """Greeting and tools are those that the last one said, for each version of the protocol that was asked for."""
    with greeted(fresh) as client:
        said = [client.greet(1)["result"], client.ask("tools/list", 2)["result"]]
    with _alone(fresh) as client:
        again = [client.greet("a")["result"], client.ask("tools/list", "b")["result"]]

    assert said == again
    assert 0o600 == _said(fresh).stat().st_mode & 0o777


@pytest.mark.parametrize("damage", ["version", "text", "depth", "pipe"])
def test_what_another_version_said_is_not_repeated(fresh: Shop, damage: str) -> None:
    """Nor is what cannot be read, nor waited for a pipe: the client waits for a web process, whose answer is kept."""
    path = _said(fresh)
    with greeted(fresh):
        pass
    said = path.read_text()
    path.unlink()
    if damage == "pipe":
        os.mkfifo(path)
    else:
        old = said.replace(f'"{__version__}"', '"0.0.1"')
        path.write_text({"version": old, "text": "[]", "depth": "[" * 100_000}[damage])
    with greeted(fresh) as client:
        assert 8 == len(client.ask("tools/list", 2)["result"]["tools"])

    assert f'"{__version__}"' in path.read_text()


def test_a_changed_list_of_tools_is_said_from_the_next_session_on(fresh: Shop) -> None:
    """The web process hears each question that was answered from memory, and its answer is kept."""

    def names() -> set[str]:
        with RawClient(fresh) as client:
            client.greet()
            found = {tool["name"] for tool in client.ask("tools/list", 2)["result"]["tools"]}
            assert (0, b"") == client.close()  # Which waits for what that says.
            return found

    assert "decide" in names()
    fresh.out("config", "set", "mcp.write", "false", "--user")
    end_web(fresh.home)
    assert "decide" in names()
    end_web(fresh.home)
    assert "decide" not in names()
    fresh.out("config", "unset", "mcp.write", "--user")
    assert "decide" in names()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_is_greeted_from_memory_and_goes_on_with_the_next_process(fresh: Shop, mode: Any) -> None:
    """By both greetings; a process that ends in between is replaced, and one that is killed while nobody asks."""
    command = server_command()
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], env=environment(fresh), cwd=str(fresh.root)
    )

    async def session(n: int) -> list[str]:
        async with Client(parameters, mode=mode) as client:
            versions = [client.protocol_version]
            assert 8 == len((await client.list_tools()).tools)
            for _ in range(n):
                await client.call_tool("read", {"ref": "README.md"})
                first = web_pid(fresh.home)
                kill(first)
                until(lambda first=first: web_pid(fresh.home) not in (0, first))
            found = await client.call_tool("read", {"ref": "README.md"})
            assert "# Shop" in str(found.content)
            return versions

    versions = anyio.run(session, 0)
    end_web(fresh.home)
    assert versions == anyio.run(session, 2)
    assert [("2026" if mode == "auto" else "2025")] == [version[:4] for version in versions]


# --- the end of a session -----------------------------------------------------------------------------------


def test_what_was_asked_before_the_end_is_answered(shared: Shop) -> None:
    """Standard input that closes is the end, without a word, once the last request has its answer."""
    with greeted(shared) as client:
        client.say({"id": 5, "method": "tools/call", "params": READ})
        assert client.process.stdin
        client.process.stdin.close()
        assert "# Shop" in client.answer(5)["result"]["content"][0]["text"]
        assert (0, b"") == client.close()


PATIENT = """
    import sys
    from hybrid.mcp_server import relay

    relay._LAST_S = 3600.0  # Longer than any test.
    sys.exit(relay.relay(["--client", "claude"]))
"""
NEVER_ANSWERED = (
    b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "error": {"code": 1, "message": ""}}',
    b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": "\xed\xa0\xbd", "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}\n'
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "7"}}',
)


def test_what_is_never_answered_holds_no_end(shared: Shop) -> None:
    """The relay waits at its end for what the package answers, under the id that it answers with."""
    with greeted(shared, sys.executable, "-c", textwrap.dedent(PATIENT)) as client:
        client.say(*NEVER_ANSWERED)
        assert {} == client.ask("ping", 8)["result"]
        assert 0 == client.close()[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_relay_without_a_traceback(shared: Shop, number: signal.Signals) -> None:
    """Ctrl-C ends it like any other signal."""
    process = subprocess.Popen(
        server_command(),
        cwd=shared.root,
        env=environment(shared),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    assert b'"id":1' in process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=120)

    assert (-number, b"", b"") == (process.returncode, out, err)


def test_a_client_that_hangs_up_in_the_middle_harms_nobody(shared: Shop) -> None:
    """The worker lives on when a relay is killed with half a line sent and an answer under way."""
    with greeted(shared) as other:
        with greeted(shared) as client:
            client.say({"id": 1, "method": "tools/call", "params": READ})
            assert client.process.stdin
            client.process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "meth')
            client.process.stdin.flush()
            kill(client.process.pid)
        first = web_pid(shared.home)
        assert {} == other.ask("ping", 3)["result"]
        assert first == web_pid(shared.home)


# --- lines that no library sends ----------------------------------------------------------------------------


NO_REQUESTS = (
    b"{",
    b"null",
    b"42",
    b'"text"',
    b"[]",
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]',
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0", "id": 1, "method": "sing"}',
    b'{"jsonrpc": "2.0", "id": 1}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": "text"}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {"ref": "\\ud800"}}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}}',
    b"[" * 100_000,
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
)


def test_the_session_goes_on_after_a_line_that_is_none(shared: Shop) -> None:
    """Whatever stands on a line, the next request is answered."""
    with greeted(shared) as client:
        first = web_pid(shared.home)
        for number, line in enumerate(NO_REQUESTS, 77):
            client.say(line)
            assert ({}, line) == (client.ask("ping", number)["result"], line)
        assert first == web_pid(shared.home)
        code, said = client.close()

    assert (0, b"") == (code, said)


def test_a_request_that_cannot_be_read_is_answered(shared: Shop) -> None:
    """Nobody waits for an answer that never comes; half of an emoji is no reason not to answer."""
    half = b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "read", "arguments": {"ref": "\\ud83d"}}}'
    with greeted(shared) as client:
        client.say(b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}')
        assert "error" in client.answer(5)
        client.say(b'{"jsonrpc": "2.0", "id": "5", "method": "tools/call", "params": []}')
        assert "error" in client.answer("5")
        client.say(half)
        assert "?" in str(client.answer(6)["result"]["content"])
        client.say(b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}')
        assert "error" in client.answer("\ud83d")


def test_a_line_without_end_costs_its_session_only(shared: Shop) -> None:
    """A line beyond 16 MB is answered with an error, the session and others go on."""
    with greeted(shared) as other, greeted(shared) as client:
        first = web_pid(shared.home)
        client.say(
            {"id": 6, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x" * 17_000_000}}}
        )
        lost = client.answer(6)
        assert {} == client.ask("ping", 7)["result"]
        assert {} == other.ask("ping", 8)["result"]
        assert first == web_pid(shared.home)

    assert "error" in lost


def test_a_large_request_is_answered_and_ids_of_any_kind_come_back(shared: Shop) -> None:
    """A prompt of two megabytes is refused by the tool, for its length; the same id may be used again."""
    with greeted(shared) as client:
        found = client.ask("tools/call", 1, name="context", arguments={"prompt": "x" * 2_000_000})
        for identity in ("a", 7, "7", 0, "ü\n", 2**53, "a", "hybrid: ping"):
            assert {} == client.ask("ping", identity)["result"]

    assert found["result"]["isError"]
    assert "length" in json.dumps(found)


WORKERS = """
    import json, os, socket, sys, threading, time
    from hybrid.mcp_server import relay

    seen = []

    def ask_web(home, what, hello, is_started=True):
        # The first one ends with the first line that it hears; each further one takes half a second to start.
        mine, ours = socket.socketpair()
        seen.append(ours)
        if len(seen) > 1:
            os.write(1, b"{}\\n")
            time.sleep(0.5)
        threading.Thread(target=work, args=(ours, len(seen)), daemon=True).start()
        return mine, {}

    def work(sock, number):
        file = sock.makefile("rwb", buffering=0)
        for line in file:
            if number == 1:
                sock.shutdown(2)
                return
            message = json.loads(line)
            if "id" in message:
                file.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"of": number}}).encode() + b"\\n")
        sock.shutdown(2)

    relay.ask_web = ask_web
    relay.start_service = lambda *args, **options: None
    sys.exit(relay.relay([]))
"""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The relay between us and those workers; it says `{}` when the second one begins to start."""
    if sys.platform == "win32":
        pytest.skip("pairs of sockets of Unix")
    process = python_process(WORKERS, HYBRID_HOME=str(tmp_path))
    end = threading.Timer(30, process.kill)
    end.start()
    yield process
    end.cancel()
    process.kill()
    process.communicate()


def _say(relay: subprocess.Popen[bytes], **parts: object) -> bytes:
    """Send a message and return the next line."""
    assert relay.stdin
    assert relay.stdout
    relay.stdin.write(json.dumps({"jsonrpc": "2.0", **parts}).encode() + b"\n")
    relay.stdin.flush()
    return relay.stdout.readline()


def test_a_greeting_under_way_is_answered_by_the_next_worker(relay: subprocess.Popen[bytes]) -> None:
    """A client whose first request meets a worker that ends gets the answer of the next one, and no error."""
    assert b"{}\n" == _say(relay, id=0, method="initialize", params={})
    assert relay.stdout
    assert {"jsonrpc": "2.0", "id": 0, "result": {"of": 2}} == json.loads(relay.stdout.readline())


def test_a_client_that_leaves_while_a_worker_starts_leaves_no_relay(relay: subprocess.Popen[bytes]) -> None:
    """Its end is told to the worker that is just being connected to: nobody else would end the session."""
    assert b"{}\n" == _say(relay, method="notifications/progress")
    relay.communicate()
    assert 0 == relay.returncode
