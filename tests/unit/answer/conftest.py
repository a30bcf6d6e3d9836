"""Sessions that tests of answers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.answer.sessions import new_session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.answer.sessions import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session in the indexed payments project."""
    return new_session(tmp_path)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """The same, for tests that record nothing."""
    return new_session(tmp_path_factory.mktemp("reader"))
