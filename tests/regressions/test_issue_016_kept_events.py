"""What the spool of kept events lets go first, and what it says of it (#16)."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.daemon.service import Service
from hybrid.hooks.keeping import keep_event
from hybrid.ipc.spool import MAX_EVENTS, Spool, Worth, new_key
from hybrid.ipc.wire import Connection
from tests.support.agent import Agent, until
from tests.support.builders import new_shop
from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop

LESSON = "LESSON: gotcha: Clear the plan cache after a migration - stale plans are served otherwise"
HASTY_MS = 50
USE: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_response": {"stdout": "LESSON: " * 999},
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the service is ended with signals of POSIX")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A project that is indexed; its service ends with the test."""
    made = new_shop(tmp_path)
    yield made
    Agent(made).stop_service()


def errors(shop: Shop) -> list[str]:
    """The lines of the event log that tell of a loss."""
    path = shop.home / "log/events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if "without effect" in line or "lost" in line]


def test_lessons_stay_when_the_spool_is_full(shop: Shop) -> None:
    """At its deadline a hook drops a use of a tool for a lesson, and never a lesson for a use of a tool."""
    spool = Spool(str(shop.home))
    for _ in range(MAX_EVENTS - 1):
        spool.keep(new_key(), b"claude", b"UserPromptSubmit", b"/", b"", b"{}", worth=Worth.LESSON)
    spool.keep(new_key(), b"claude", b"PostToolUse", b"/", b"", b"{}" * 99, worth=Worth.TOOL)
    hasty = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"}, deadline_ms=HASTY_MS)
    hasty.prompt(LESSON)

    assert {Worth.LESSON} == {kept.worth for kept in spool.waiting()}
    assert 1 == len(errors(shop))
    assert "the spool is full: an event was dropped" in errors(shop)[0]

    newest = spool.waiting()[-1].key
    hasty.send("PostToolUse", **USE)

    assert newest == spool.waiting()[-1].key
    assert 2 == len(errors(shop))
    assert "the event is lost" in errors(shop)[1]


def test_a_hook_that_had_no_turn_until_its_deadline_reads_its_event(shop: Shop) -> None:
    """On a machine too busy for the process its event would be lost, and nothing would say so."""
    hasty = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"}, deadline_ms=HASTY_MS)
    shop.out("config", "get", "hooks.deadline_ms")
    hasty.prompt("what should I cook for dinner tonight?")
    process = hasty.start(after_s=0.3, prompt=LESSON)

    assert (b"", b"") == process.communicate(timeout=60)
    assert LESSON.encode() in b"".join(path.read_bytes() for path in (shop.home / "spool").glob("*.event"))


def test_files_that_are_no_events_are_said_once(shop: Shop) -> None:
    """A spool full of files that cannot be read leaves one line with their count in the log."""
    folder = shop.home / "spool"
    folder.mkdir(0o700)
    for _ in range(400):
        (folder / f"{new_key()}-5-1-0.event").write_bytes(b"wrong")
    shop.out("daemon", "start", "--quiet")
    until(lambda: not Spool(str(shop.home)).waiting())
    until(lambda: errors(shop))

    assert 1 == len(errors(shop))
    assert "400 kept events were dropped and without effect: it cannot be read" in errors(shop)[0]


def test_what_a_hook_kept_stays_when_its_service_can_keep_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk became full between the two: the service said that the event is lost, and deleted the hook's copy."""
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)
    fill_memory(shop).close()
    service = Service(shop.home, {"HYBRID_HOME": str(shop.home)}, lambda: True)
    spool, key = Spool(str(shop.home)), new_key()
    event = {"session_id": "s1", "cwd": str(shop.root), "tool_use_id": "t1"} | USE
    parts = [b"claude", b"PostToolUse", str(shop.root).encode(), b"", json.dumps(event).encode()]
    keep_event(spool, key, parts)
    ours, theirs = (Connection(sock) for sock in socket.socketpair())
    with closing(ours), closing(theirs), closing(service):
        with closing(sqlite3.connect(shop.home / "memory.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            monkeypatch.setattr("hybrid.daemon.service.keep_event", lambda *_, **__: False)
            service.event(_message(parts, key), theirs)
        waiting = [kept.key for kept in spool.waiting()]
        service.event(_message([*parts[:4], b'{"session_id": "s2"}'], new_key()), theirs)

    assert [key] == waiting
    assert [] == spool.waiting()
    with closing(sqlite3.connect(shop.home / "memory.db")) as memory:
        assert [("Bash",)] == memory.execute("SELECT tool FROM pending_events").fetchall()


def _message(parts: list[bytes], key: str) -> list[bytes]:
    """An event as a hook sends it."""
    return [b"event", *parts[:3], b"1", b"60000", *parts[3:], key.encode()]
