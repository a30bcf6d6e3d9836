"""One test of each great way through the real command, for `make test`: the folders beside this one have the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent
from tests.support.builders import Shop, git_project
from tests.support.tool_client import end_web, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterator

RETRY = "How does the payment client retry a request after a timeout?"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The payments project, built by its first `reindex`; its service and its MCP worker end with the tests."""
    folder = tmp_path_factory.mktemp("smoke")
    made = Shop(git_project(folder / "shop"), folder / "hybrid-home")
    try:
        yield made
    finally:
        end_web(made.home)
        Agent(made).stop_service()


@pytest.fixture(scope="module")
def built(shop: Shop) -> Shop:
    """The project with its index."""
    shop.out("reindex", "--quiet")
    return shop


def test_a_build_and_a_search(built: Shop) -> None:
    """After `reindex` a question finds the file that answers it, and `status` counts its four files."""
    found = built.json("search", RETRY)["hits"]

    assert "src/payments/client.py" == found[0]["path"]
    assert 4 == built.json("status")["index"]["documents"]


def test_a_prompt_through_hook_and_service(built: Shop) -> None:
    """The first prompt starts the service, which answers the next one; a prompt that nothing is close to gets nothing."""
    agent = Agent(built)
    first = agent.prompt(RETRY, "a")
    agent.wait_for_service()
    second = agent.prompt(RETRY, "b")

    assert "src/payments/client.py" in first.text
    assert first.text == second.text
    assert "" == agent.prompt("thanks, looks good", "b").text


def test_a_lesson_is_added_and_given(built: Shop) -> None:
    """A lesson that a command wrote is in the list, and in what an agent gets for a prompt about it."""
    title = "Never edit an applied migration"
    built.out("lessons", "add", title, "Write a new migration; the old one has run on every customer's database.")

    assert [title] == [lesson["title"] for lesson in built.json("lessons", "list")["lessons"]]
    assert title in built.hook("May I edit a migration that was applied to a customer's database?", session="c")


def test_a_call_of_a_tool(built: Shop) -> None:
    """A client of MCP finds the same file by the tool `search`."""
    with tools_of(built) as tools:
        refs = tools.refs(query=RETRY)

    assert "src/payments/client.py" in refs[0]
