"""The last uses of tools of a client that was killed are known to the next session, though nothing follows them."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from tests.support.agent import Agent, until

if TYPE_CHECKING:
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
