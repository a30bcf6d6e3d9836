"""Projects that the command line is tried on; `shop` is shared by a module, so a test must leave it as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import new_shop

if TYPE_CHECKING:
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
