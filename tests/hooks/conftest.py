"""A place to install hooks in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import Shop, git_project
from tests.support.installs import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty home and a project that was never indexed."""
    (tmp_path / "user").mkdir()
    return Desk(Shop(git_project(tmp_path / "shop"), tmp_path / "hybrid-home"), tmp_path / "user")
