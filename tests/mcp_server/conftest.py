"""Projects with a client of MCP; the service and the worker of each home end with the test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.mcp_server.projects import FILES, shop_of_all
from tests.support.agent import Agent
from tests.support.builders import new_shop
from tests.support.tool_client import end_web, tools_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from tests.support.builders import Shop
    from tests.support.tool_client import Tools


@contextmanager
def _ending(shop: Shop) -> Generator[Shop]:
    try:
        yield shop
    finally:
        end_web(shop.home)
        Agent(shop).stop_service()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A project with records of every kind and a memory, indexed; only for what leaves it as it is."""
    with _ending(shop_of_all(tmp_path_factory.mktemp("shared"))) as shop:
        yield shop


@pytest.fixture
def fresh(shared: Shop) -> Shop:
    """The same without a web process, and without memory of one."""
    end_web(shared.home)
    (shared.home / "run" / "mcp.said").unlink(missing_ok=True)
    return shared


@pytest.fixture
def tools(shared: Shop) -> Iterator[Tools]:
    """A session in it, which was given nothing yet."""
    with tools_of(shared) as found:
        yield found


@pytest.fixture
def unindexed(tmp_path: Path) -> Iterator[Shop]:
    """The payments project before its first index."""
    with _ending(new_shop(tmp_path, FILES, is_indexed=False)) as shop:
        yield shop


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Shop]:
    """The payments project, indexed, without records, for one test alone."""
    with _ending(new_shop(tmp_path)) as shop:
        yield shop
