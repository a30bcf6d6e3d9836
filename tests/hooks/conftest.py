"""Projects that the prompt hook is tried on; `shop` is shared by a module, so a test must leave it as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import Shop, git_project, new_shop
from tests.support.installs import Desk

if TYPE_CHECKING:
    from pathlib import Path


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
def desk(tmp_path: Path) -> Desk:
    """An empty home and a project that was never indexed."""
    (tmp_path / "user").mkdir()
    return Desk(Shop(git_project(tmp_path / "shop"), tmp_path / "hybrid-home"), tmp_path / "user")
