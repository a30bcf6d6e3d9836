"""A project that was forgotten on purpose stays forgotten until its owner indexes it by hand (#16)."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.agent import Agent, until
from tests.support.builders import PAYMENTS, Shop, git_project

if TYPE_CHECKING:
    from pathlib import Path


def _last_build(agent: Agent) -> dict[str, Any]:
    """How the last build of the one project went, by the service."""
    return next((project["last_build"] or {} for project in agent.status().get("projects", ())), {})


def _is_at_rest(agent: Agent) -> bool:
    return any(project["is_watched"] and not project["is_building"] for project in agent.status().get("projects", ()))


def test_a_forgotten_project_stays_forgotten_while_the_service_runs(agent: Agent) -> None:
    """The service went on watching, and the next change of a file made the index again, without a name."""
    shop = agent.shop
    agent.send("SessionStart", source="startup")
    until(lambda: _is_at_rest(agent))
    until(lambda: shop.run("projects", "forget", "shop").returncode == 0)

    (shop.root / "src" / "new.py").write_text("def brand_new():\n    return 1\n")
    until(lambda: _last_build(agent).get("state") == "refused")

    assert "forgotten" == _last_build(agent)["reason"]
    assert [] == shop.json("projects", code=1)["projects"]
    agent.send("SessionStart", source="startup", session_id="s2")
    assert not agent.prompt("How does the payment client retry?", "s2").text
    until(lambda: not agent.status()["projects"][0]["is_building"])
    assert [] == shop.json("projects", code=1)["projects"]
    assert not agent.status()["projects"][0]["is_watched"]


def test_a_lesson_of_all_projects_brings_no_forgotten_project_back(tmp_path: Path) -> None:
    """What is given there of other places was counted in the home, and the counters were listed as a project."""
    shop = Shop(git_project(tmp_path / "shop", PAYMENTS), tmp_path / "home")
    agent = Agent(shop)
    rule = ("Retry of the payment client", "The payment client retries a declined charge five times with backoff")
    shop.out("lessons", "add", *rule, "--system", "--trigger", "retry", "--trigger", "payment")
    try:
        agent.send("SessionStart", source="startup")
        until(lambda: _is_at_rest(agent))
        until(lambda: shop.run("projects", "forget", "shop").returncode == 0)
        text = agent.prompt("How does the payment client retry a declined charge?", "s2").text
    finally:
        agent.stop_service()

    assert "[lesson] S001" in text
    assert [] == shop.json("projects", code=1)["projects"]


def test_a_forgotten_project_stays_forgotten_where_no_service_ran(agent: Agent) -> None:
    """A service that starts later indexes nothing either; every command that tells of the index says why."""
    shop = agent.shop
    shop.out("projects", "forget", "shop")
    agent.send("SessionStart", source="startup")
    agent.wait_for_service()
    until(lambda: _last_build(agent).get("state") == "refused")

    assert "forgotten" == _last_build(agent)["reason"]
    assert [] == shop.json("projects", code=1)["projects"]
    assert b"forgotten on purpose" in shop.run("doctor", "--no-trial").stdout
    assert b"forgotten on purpose" in shop.run("project").stdout


def test_reindex_makes_it_a_project_again(agent: Agent) -> None:
    """By hand it gets index and name back, and what changes later is indexed unasked again."""
    shop = agent.shop
    shop.out("projects", "forget", "shop")
    shop.out("reindex", "--quiet")
    agent.send("SessionStart", source="startup")
    until(lambda: _is_at_rest(agent))

    assert ["shop"] == [project["name"] for project in shop.json("projects")["projects"]]
    assert "built" == _last_build(agent)["state"]
    assert [] == list((shop.home / "projects").glob("*.forgotten"))


def test_another_project_in_its_place_is_another_project(agent: Agent) -> None:
    """What is forgotten is known by origin, identity and, without an origin, path; nothing of it stands in the notes."""
    shop = agent.shop
    config = shop.root / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = https://example.org/a/shop.git\n')
    shop.out("reindex", "--quiet")
    shop.out("projects", "forget", shop.json("status")["project"]["key"])
    shutil.rmtree(shop.root)
    git_project(shop.root, PAYMENTS)
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = https://example.org/b/store.git\n')

    assert "store" == shop.json("status")["project"]["name"]
    assert b"forgotten" not in shop.run("project").stdout
    assert b"" == b"".join(path.read_bytes() for path in (shop.home / "projects").glob("*.forgotten"))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_project_is_forgotten_with_all_its_working_trees(agent: Agent, tmp_path: Path) -> None:
    """A worktree of a forgotten project is not indexed unasked; `reindex` in one of them brings the project back."""
    main, home = tmp_path / "main", agent.shop.home
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    main.mkdir()
    (main / "a.py").write_text("def a():\n    return 1\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["worktree", "add", "-q", "../side"]):
        subprocess.run([*git, *arguments], cwd=main, check=True, capture_output=True)
    first, second = Shop(main, home), Shop(tmp_path / "side", home)
    first.out("reindex", "--quiet")
    second.out("reindex", "--quiet")

    first.out("projects", "forget", "main")
    forgotten = [b"forgotten on purpose" in tree.run("project").stdout for tree in (first, second)]
    second.out("reindex", "--quiet")
    known = [b"forgotten on purpose" in tree.run("project").stdout for tree in (first, second)]

    assert ([True, True], [False, False]) == (forgotten, known)


def test_an_index_that_the_quota_took_comes_back_with_its_name(agent: Agent) -> None:
    """A change of one file built an index of a project that the registry had let go, and gave it no name."""
    shop = agent.shop
    agent.send("SessionStart", source="startup")
    until(lambda: _is_at_rest(agent))
    other = Shop(git_project(shop.root.parent / "other", PAYMENTS), shop.home)
    other.out("config", "set", "index.quota_mb", "1", "--user", "--quiet")
    (other.root / "more.py").write_text("".join(f"def made_{n}(x):\n    return x + {n}\n" for n in range(9000)))
    shop.out("trust", "--revoke")
    other.out("reindex", "--quiet")
    gone = [project["name"] for project in shop.json("projects")["projects"]]

    (shop.root / "src" / "new.py").write_text("def brand_new():\n    return 1\n")
    until(lambda: str(shop.root) in shop.run("projects").stdout.decode())

    assert ["other"] == gone
    assert "shop" in [project["name"] for project in shop.json("projects")["projects"]]
