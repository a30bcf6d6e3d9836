"""Projects that the command line, hooks and services are tried on; a test must leave `shop` as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The payments project, indexed; only for commands that change nothing."""
    return new_shop(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def own_shop(tmp_path: Path) -> Shop:
    """The payments project, indexed, for one test alone."""
    return new_shop(tmp_path)


@pytest.fixture
def new_project(tmp_path: Path) -> Shop:
    """The payments project before its first index."""
    return new_shop(tmp_path, is_indexed=False)


@pytest.fixture
def begun(new_project: Shop) -> Shop:
    """The payments project before its first index, with a folder of its own."""
    (new_project.root / ".hybrid").mkdir()
    new_project.home.mkdir(exist_ok=True)
    return new_project


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A project whose service runs; tests have neighbours of it, and the service and the worker end after them."""
    from tests.support.tool_client import end_web  # Few need the client library, which takes long to load.

    found = new_shop(tmp_path_factory.mktemp("serving"))
    found.out("daemon", "start", "--quiet")
    yield found
    end_web(found.home)
    Agent(found).stop_service()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent in the payments project, which is indexed; no service runs yet, and one that starts ends with the test."""
    found = Agent(new_shop(tmp_path))
    yield found
    found.stop_service()


@pytest.fixture
def served(agent: Agent) -> Agent:
    """The same with a service that runs."""
    agent.shop.out("daemon", "start", "--quiet")
    return agent
