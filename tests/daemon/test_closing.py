"""The last uses of tools of a client that was killed are known to the next session, though nothing follows them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

from hybrid.daemon.service import Batches
from tests.support.agent import Agent, until
from tests.support.records import new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

GIVEN = {
    "old_string": "    def retry(self, request):\n        while True:\n            self.send(request)\n",
    "new_string": "    def retry(self, request):\n        for attempt in range(MAX_ATTEMPTS):\n            self.send(request)\n",
}
ASK = "Why does the retry loop of the payment client stop after MAX_ATTEMPTS, what was wrong with it?"


def edit(agent: Agent) -> None:
    """The one event of a client that is killed then."""
    given = {"file_path": str(agent.shop.root / "src/payments/client.py"), **GIVEN}
    fields = {"tool_name": "Edit", "tool_input": given, "tool_response": {"filePath": "client.py"}}
    agent.send("PostToolUse", session_id="killed", tool_use_id="toolu_1", **fields)


def count(shop: Shop, table: str) -> int:
    """Rows of a table of the memory."""
    db = sqlite3.connect(shop.home / "memory.db")
    try:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        db.close()


def test_the_service_closes_a_batch_by_its_clock(served: Agent) -> None:
    """A use becomes an observation when its window is over, without another event; the next session gets it."""
    served.prompt("what should I cook for dinner tonight?")
    edit(served)

    assert 1 == count(served.shop, "pending_events")
    until(lambda: not count(served.shop, "pending_events"))
    assert 1 == count(served.shop, "observations")
    numbers = iter(range(1000))
    until(lambda: "[memory]" in served.prompt(ASK, f"next-{next(numbers)}").text)


def test_a_service_that_starts_closes_what_was_left(agent: Agent) -> None:
    """What a hook stored without it, or an earlier service that was killed."""
    edit(Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}))
    agent.shop.out("daemon", "start", "--quiet")
    until(lambda: not count(agent.shop, "pending_events"))

    assert 1 == count(agent.shop, "observations")


def test_without_a_service_the_next_prompt_closes_it_before_it_searches(agent: Agent) -> None:
    """The first prompt of another session gets what the killed one did last."""
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false", "HYBRID_MEMORY_BATCH_WINDOW_MS": "1"})
    edit(alone)

    assert "[memory]" in alone.prompt(ASK, "next").text


def test_a_memory_that_cannot_be_closed_keeps_no_other_waiting(tmp_path: Path) -> None:
    """Two memories are due, and a newer version wrote the first: the log says so, the second gets its observation."""
    newer, whole = (new_talk(tmp_path / name, {}) for name in ("newer", "whole"))
    given = {"file_path": str(whole.root / "src/payments/client.py"), **GIVEN}
    whole.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={})
    newer.home.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(newer.home / "memory.db")) as db:
        db.execute("PRAGMA user_version = 1000")
    batches = Batches(lambda _: whole.kinds)
    for talk in (newer, whole):
        batches.expect(talk.workspace(memory_batch_window_ms=1), {}, is_now=True)
    time.sleep(0.01)  # The window of the batch is a millisecond.
    batches.close_due()

    assert 0 == whole.kinds.stores.memory(whole.workspace()).n_waiting()
    assert [True] == [bool(event.get("error")) for event in newer.log()]
