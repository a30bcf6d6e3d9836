"""What a developer does to files is found by the prompts after it, without a command."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid.daemon.freshness import Freshness
from tests.support.agent import Agent, until
from tests.support.builders import CHECKOUT, PAYMENTS, Shop, git_project, linked_worktree, new_shop
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


def test_a_new_worktree_is_answered_and_gets_an_index(served: Agent, tmp_path: Path) -> None:
    """A session there is told that the other's index answers; its prompt is answered, and its own index is made."""
    tree = Shop(linked_worktree(served.shop.root, tmp_path / "linked"), served.shop.home)
    agent = replace(served, shop=tree)
    told = agent.send("SessionStart", source="startup", session_id="s2").text
    answer = agent.prompt(RETRY, "s2").text
    until(lambda: tree.json("status")["index"]["state"] == "ready")

    assert "the index of another working tree answers until this one is indexed" in told
    assert "src/payments/client.py" in answer
    assert tree.json("status")["index"]["documents"] == len(PAYMENTS)


def test_edits_in_a_repository_inside_are_found(served: Agent) -> None:
    """A repository that is cloned into the project is indexed with it and followed, without a command."""
    served.send("SessionStart", source="startup")
    until(lambda: _is_watched(served))
    inner = git_project(served.shop.root / "libs/inner", {"src/empty.py": "EMPTY = 1\n"})
    until(lambda: ["libs/inner"] == served.shop.json("status")["index"]["inner_repositories"])
    (inner / "src" / "zebra.py").write_text(ANSWER)
    until(lambda: _finds(served))

    assert "[code] libs/inner/src/zebra.py" in served.prompt(QUESTION, "last").text


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
    """After `models use` prompts are answered, and without a command the index is embedded anew."""
    served.shop.out("models", "use", "hashing-256", "--quiet")
    # By the old index, unless the new one is there already.
    first = served.prompt(RETRY, "s2").text
    # A look at all files may follow at once, and is a build too.
    until(lambda: (None, "ready") == tuple(map(served.shop.json("status")["index"].get, ("reembedding", "state"))))
    log = [line for line in served.shop.reasons() if line != "injected"]

    assert "src/payments/client.py" in first
    assert [] == log


def test_another_model_waits_for_no_sweep(served: Agent) -> None:
    """The first prompt after `models use` has the index embedded anew, though all was looked at a moment before."""
    served.send("SessionStart", source="startup")
    until(lambda: _is_watched(served))
    served.shop.out("models", "use", "hashing-256", "--quiet")
    before = served.shop.json("status")["index"]["reembedding"]
    served.prompt(RETRY)
    until(lambda: served.shop.json("status")["index"]["reembedding"] is None)

    assert before is not None


def test_two_terminals_do_not_swap_the_index(served: Agent) -> None:
    """The model of the client that was heard first counts, whatever the environment of another one names."""
    other = replace(served, environ={"HYBRID_MODEL_NAME": "hashing-256"})
    served.prompt(RETRY)
    until(lambda: _is_watched(served))
    other.send("SessionStart", source="startup", session_id="t1")
    until(lambda: not _is_building(served))
    answers = [agent.prompt(RETRY, f"t{n}").text for n, agent in enumerate((other, served, other), 2)]
    until(lambda: not _is_building(served))
    index = served.shop.json("status")["index"]

    assert all("src/payments/client.py" in answer for answer in answers)
    assert (None, "ready", 1) == (index["reembedding"], index["state"], index["generation"])


def test_a_silent_client_gives_way(tmp_path: Path) -> None:
    """After ten minutes without an event of the first client the model of the other one counts, and stays."""
    now = [0.0]
    care, root = Freshness(tmp_path / "home", clock=lambda: now[0]), tmp_path
    other = {"HYBRID_MODEL_NAME": "hashing-256", "HOME": "/"}
    first = [care.settled(root, environ) for environ in ({"HOME": "/"}, other)]
    now[0] = 599.0
    before = [care.settled(root, environ) for environ in (other, {"HOME": "/"})]
    now[0] = 1199.0
    after = [care.settled(root, environ) for environ in (other, {"HOME": "/"})]
    elsewhere = care.settled(tmp_path / "another", other)
    care.close()

    assert [{"HOME": "/"}] * 4 == first + before
    assert [other] * 3 == [*after, elsewhere]


def test_a_service_that_starts_leaves_the_model_to_its_clients(agent: Agent) -> None:
    """An index made with a model that only a terminal's environment names is not embedded anew before an event."""
    environ = {"HYBRID_MODEL_NAME": "hashing-256"}
    agent.shop.out("reindex", "--quiet", **environ)
    before = agent.shop.json("status", **environ)["index"]
    here = replace(agent, environ=environ)
    here.prompt(RETRY)
    agent.wait_for_service()
    until(lambda: agent.status().get("projects") and not _is_building(agent))
    here.prompt(RETRY, "s2")
    until(lambda: _is_watched(agent))
    after = agent.shop.json("status", **environ)["index"]

    assert (before["generation"], None) == (after["generation"], after["reembedding"])


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
