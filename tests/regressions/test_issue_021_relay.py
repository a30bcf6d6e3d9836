"""The relay of `hybrid mcp` while its worker is replaced: the client leaves, or waits for its first answer."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import python_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pairs of sockets of Unix")

WORKERS = """
    import json, os, socket, sys, threading, time
    from hybrid.mcp_server import relay

    seen = []

    def ask_worker(home, what, hello):
        # The first worker ends with the first line that it hears; each further one takes half a second to start.
        mine, ours = socket.socketpair()
        seen.append(ours)
        if len(seen) > 1:
            os.write(1, b"{}\\n")
            time.sleep(0.5)
        threading.Thread(target=work, args=(ours, len(seen)), daemon=True).start()
        return mine

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

    relay.ask_worker = ask_worker
    sys.exit(relay.relay([]))
"""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The relay between us and those workers; it says `{}` when the second one begins to start."""
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
