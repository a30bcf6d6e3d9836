"""Pages of a project with a service, hostile texts in everything that they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent
from tests.support.pages import Served, full_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browsing import Browser
    from tests.support.builders import Shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A project with records, memory and a log, each with hostile texts; its service ends with the tests."""
    found = full_shop(tmp_path_factory.mktemp("full"))
    yield found
    Agent(found).stop_service()


@pytest.fixture(scope="module")
def served(shop: Shop) -> Iterator[Served]:
    """The page of that project; each test logs in with a session of its own, where it needs one."""
    found = Served(shop)
    yield found
    found.end()


@pytest.fixture(scope="module")
def browser(served: Served) -> Browser:
    """A browser that is logged in."""
    return served.log_in()
