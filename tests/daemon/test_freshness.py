"""What a developer does to files is found by the prompts after it, without a command."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.support.agent import Agent, until
from tests.support.builders import PAYMENTS, git_project, new_shop

if TYPE_CHECKING:
    from pathlib import Path

RETRY = "How does the payment client retry a request after a timeout?"
QUESTION = "How does the zebra crossing calculate its tariff?"
ANSWER = 'def zebra_crossing(tariff):\n    """Calculate the tariff of the zebra crossing."""\n    return tariff\n'


def _finds(agent: Agent) -> bool:
    return "def zebra_crossing" in agent.prompt(QUESTION, f"s{agent.status()['answers']}").text


def _is_watched(agent: Agent) -> bool:
    return any(found["is_watched"] and not found["is_building"] for found in agent.status().get("projects", ()))


def test_the_first_session_of_a_project_makes_its_index(tmp_path: Path) -> None:
    """A session in a repository that was never indexed starts it in the background; nothing is written there."""
    agent = Agent(new_shop(tmp_path, is_indexed=False))
    before = sorted(agent.shop.root.rglob("*"))
    try:
        first = agent.send("SessionStart", source="startup").text
        until(lambda: _is_watched(agent))
        second = agent.send("SessionStart", source="startup", session_id="s2").text
    finally:
        agent.stop_service()

    assert ("", True) == (first, "documents indexed" in second)
    assert before == sorted(agent.shop.root.rglob("*"))


def test_edits_are_found_after_the_project_was_made_anew(served: Agent) -> None:
    """A project that is removed and cloned again under its old path is followed like before."""
    served.send("SessionStart", source="startup")
    until(lambda: _is_watched(served))
    shutil.rmtree(served.shop.root)
    until(lambda: not served.status()["projects"])
    git_project(served.shop.root, PAYMENTS)
    served.send("SessionStart", source="startup", session_id="s2")
    until(lambda: _is_watched(served))
    (served.shop.root / "src/payments/crossing.py").write_text(ANSWER)
    until(lambda: _finds(served))

    assert [str(served.shop.root)] == [project["root"] for project in served.status()["projects"]]


def test_a_build_that_fails_is_told(served: Agent) -> None:
    """The status of a project names the failure of its build in the background; prompts are answered all the same."""
    [catalog] = served.shop.home.glob("projects/*/catalog.db")
    for path in catalog.parent.glob("catalog.db*"):
        path.unlink()
    catalog.mkdir()
    served.send("SessionStart", source="resume")
    until(lambda: served.shop.json("status")["health"]["last_error"])
    answer = served.prompt(RETRY).text

    assert "catalog.db" in served.shop.json("status")["health"]["last_error"]["message"]
    assert "src/payments/client.py" in answer
