"""Agents whose service ends with the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent in the payments project, which is indexed; no service runs yet."""
    found = Agent(new_shop(tmp_path))
    yield found
    found.stop_service()


@pytest.fixture
def served(agent: Agent) -> Agent:
    """The same with a service that runs."""
    agent.shop.out("daemon", "start", "--quiet")
    return agent
