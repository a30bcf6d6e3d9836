"""The store of a team ends and comes back while hooks ask it, through real processes; only in `make milvus`."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent, until
from tests.support.builders import new_shop
from tests.team.test_index_command import committed

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop
    from tests.team.conftest import Desk

DEADLINE_MS = 5_000
"""Of a hook: more than a search waits for the store, and less than connecting may take."""
ROUNDS = 3
"""Times that the store ends; six hooks each, and those that ask until it is back."""
RETRY = "how does the payment client retry a request after a timeout"
ZEBRA = "how is the tariff of the zebra crossing calculated by weight"
HERE = '''"""Tariffs of the zebra crossing."""


def zebra_tariff(animal, weight_kg):
    """Calculate the tariff of an animal at the zebra crossing by its weight."""
    base_cents = 250 if animal == "zebra" else 400
    return base_cents + 3 * weight_kg
'''


@pytest.fixture
def agent(tmp_path: Path, desk: Desk) -> Iterator[Agent]:
    """An agent in a project of a team: one file differs from what was pushed, and a service runs."""
    assert desk.server is not None
    # A home of its own: the server inherits that of the tests, and would count as left behind by the service.
    shop = committed(new_shop(tmp_path / "work", is_indexed=False), "shop")
    for key, value in (("uri", desk.server.uri), ("collection", "of_an_outage")):
        shop.run("config", "set", f"index.{key}", value, "--user")
    shop.out("index", "push", "--quiet")
    shop.run("config", "set", "index.backend", "milvus", "--user")
    (shop.root / "src" / "crossing.py").write_text(HERE)
    shop.out("reindex", "--quiet")
    agent = Agent(shop, deadline_ms=DEADLINE_MS)
    agent.send("SessionStart")
    agent.wait_for_service()
    yield agent
    agent.stop_service()
    shop.run("index", "drop", "--everything")


def problem(shop: Shop) -> str | None:
    """Why the store is not asked, as the status says."""
    return shop.json("status")["index"]["team"]["problem"]


def answers(started: list[subprocess.Popen[bytes]]) -> list[str]:
    """What some hooks gave, each with code 0, in silence on standard error, and as one JSON document or nothing."""
    found: list[str] = []
    for process in started:
        out, err = process.communicate(timeout=120)
        assert (0, b"") == (process.returncode, err)
        found.append(json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else "")
    return found


@pytest.mark.parametrize("desk", [pytest.param("lite-2.5.1", marks=pytest.mark.milvus)], indirect=True)
def test_hooks_go_on_while_the_store_ends_and_comes_back(desk: Desk, agent: Agent) -> None:
    """No hook is late or loud, and each has its context: of the overlay, and of the commit from what lies here."""
    assert desk.server is not None
    shop, pid = agent.shop, agent.status()["pid"]

    sessions = map(str, itertools.count())

    def start() -> list[subprocess.Popen[bytes]]:
        return [agent.start(prompt=text, session_id=next(sessions)) for text in (RETRY, ZEBRA)]

    def is_told() -> bool:
        assert "src/payments/client.py" in agent.prompt(RETRY, next(sessions)).text
        return problem(shop) is not None

    for _ in range(ROUNDS):
        during = start()
        desk.server.stop()
        found = [*answers(during), *answers(start())]
        until(is_told, timeout_s=90)  # At first the service may be connecting still, which is no outage.
        during = start()
        desk.server.start()
        found += answers(during)
        until(lambda: not is_told(), timeout_s=90)

        assert [True] * 3 == ["src/payments/client.py" in text for text in found[::2]]
        assert [True] * 3 == ["src/crossing.py" in text for text in found[1::2]]
    assert pid == agent.status()["pid"]
    assert not {"error", "deadline"} & set(shop.reasons())
