"""Those who ask much keep nobody out: hooks have connections left, and a full house is not taken for a dead one."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from hybrid.daemon import performing, server
from hybrid.daemon.performing import Performer
from hybrid.daemon.server import Listener, Server
from hybrid.ipc.wire import Greeting, WireError, connect, read_endpoint
from hybrid.mcp_server import server as mcp
from tests.support.agent import until

if TYPE_CHECKING:
    from collections.abc import Generator

WAIT_S = 60.0


class _Service:
    """A service that nobody asks."""

    def event(self, message: list[bytes], connection: object) -> None:
        """Answer a hook."""

    def perform(self, message: list[bytes], connection: object) -> None:
        """Answer a tool."""

    def tick(self) -> bool:
        """Go on."""
        return True


@contextlib.contextmanager
def _serving(home: Path) -> Generator[None]:
    (home / "run").mkdir()
    listener = Listener(home, {})
    serving = Server(listener, cast("Any", _Service()))
    thread = threading.Thread(target=serving.serve)
    thread.start()
    try:
        yield
    finally:
        serving.stop()
        thread.join(WAIT_S)
        listener.close()
        serving.close()


def test_a_service_without_room_greets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says nothing is taken for hung: the next service killed it while it answered others."""
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 1)
    with _serving(tmp_path):
        where = read_endpoint(str(tmp_path)) or {}
        if "socket" not in where:
            pytest.skip("a port wants a proof first, which takes a thread")
        with contextlib.closing(connect(where, timeout_s=WAIT_S)) as first:
            greeting = Greeting(first.receive(timeout_s=WAIT_S))
            with contextlib.closing(connect(where, timeout_s=WAIT_S)) as second:
                greetings = [greeting, Greeting(second.receive(timeout_s=WAIT_S))]
                with pytest.raises(WireError, match=r"closed|reset"):
                    second.receive(timeout_s=WAIT_S)

    assert greetings[0].pid == greetings[1].pid > 0


@pytest.mark.parametrize(("number", "is_current"), [(errno.EMFILE, True), (errno.ENOENT, False)])
def test_too_many_open_files_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_current: bool
) -> None:
    """A look that failed for want of a file ended the process of all sessions; a file that is gone still does."""
    (tmp_path / "run").mkdir()
    listener = Listener(tmp_path, {})
    try:
        with monkeypatch.context() as patched:
            patched.setattr(server, "read_regular", lambda *_: (_ for _ in ()).throw(OSError(number, "no")))
            assert is_current == listener.is_current()
    finally:
        listener.close()


def test_tools_leave_connections_to_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of questions, those that wait among them, one more is told at once that it is busy."""
    monkeypatch.setattr(performing, "_MOST_WAITING", 1)
    asked, is_over = threading.Event(), threading.Event()

    def environ_of(_: object) -> dict[str, str]:
        asked.set()
        is_over.wait(WAIT_S)
        raise ValueError

    nothing = cast("Any", None)
    performer = Performer(environ_of, nothing, nothing)
    question = json.dumps({"cwd": "/"}).encode()
    first = threading.Thread(target=performer.answer, args=["search", question])
    first.start()
    try:
        assert asked.wait(WAIT_S)
        assert "busy" == json.loads(performer.answer("search", question))["error"]["kind"]
    finally:
        is_over.set()
        first.join(WAIT_S)
    assert "failed" == json.loads(performer.answer("search", question))["error"]["kind"]


def test_cancelled_questions_keep_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asked and cancelled again and again held every connection of the service; others go on."""
    n_asked, is_over = [0, 0], threading.Event()

    def exchange(home: str, *_: object, **__: object) -> dict[str, str]:
        n_asked[home == "other"] += 1
        is_over.wait(WAIT_S if home != "other" else 0)
        return {"text": home}

    monkeypatch.setattr(mcp, "exchange", exchange)
    hasty, other = mcp.ToolSession("hasty", str(tmp_path)), mcp.ToolSession("other", str(tmp_path))

    async def ask_and_cancel() -> str:
        for _ in range(5):
            tasks = [asyncio.ensure_future(hasty.ask("search", {})) for _ in range(20)]
            await asyncio.to_thread(until, lambda: n_asked[0] > 0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await other.ask("search", {})

    try:
        assert "other" == asyncio.run(ask_and_cancel())
        assert 0 < n_asked[0] <= 4
    finally:
        is_over.set()
