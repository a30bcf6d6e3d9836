"""What a developer does to files is found by the prompts after it, without a command."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.support.agent import Agent, until
from tests.support.builders import CHECKOUT, PAYMENTS, git_project, new_shop
from tests.support.successors import SHIPPED

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


def test_another_model_is_taken_up_while_the_old_one_answers(served: Agent) -> None:
    """After `models use` prompts get what they got before, and without a command the index is embedded anew."""
    before = served.prompt(RETRY).text
    served.shop.out("models", "use", "hashing-256", "--quiet")
    first = served.prompt(RETRY, "s2").text
    until(lambda: served.shop.json("status")["index"]["reembedding"] is None and not _is_building(served))
    log = [line for line in served.shop.reasons() if line != "injected"]

    assert ("src/payments/client.py" in before, before) == (True, first)
    assert "ready" == served.shop.json("status")["index"]["state"]
    assert [] == log


def test_an_index_whose_model_is_gone_is_made_anew_at_the_first_event(agent: Agent, tmp_path: Path) -> None:
    """After an upgrade that took its model away the index is silent in prompts, and soon answers again by itself."""
    folder = tmp_path / "model"
    shutil.copytree(CHECKOUT / "models" / SHIPPED, folder)
    agent.shop.out("reindex", "--quiet", HYBRID_MODEL_NAME=str(folder))
    shutil.rmtree(folder)
    agent.shop.out("daemon", "start", "--quiet")
    silent = agent.prompt(RETRY).text
    until(lambda: agent.shop.json("status")["index"]["reembedding"] is None)

    assert "" == silent
    assert "src/payments/client.py" in agent.prompt(RETRY, "s2").text


def _is_building(agent: Agent) -> bool:
    return any(found["is_building"] for found in agent.status().get("projects", ()))
