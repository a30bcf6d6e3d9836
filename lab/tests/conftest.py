"""What tests of the laboratory share: judged files and repositories of the product's tests, a small one, an empty home."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import write_files
from tests.unit.evaluation.conftest import manifest_file, prompts_file, queries_file, repos

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["manifest_file", "prompts_file", "queries_file", "repos"]

BOATS = {
    "src/anchor.py": 'def drop_anchor(depth):\n    """Lower the anchor to the sea bed."""\n    return depth * 3\n',
    "src/sails.py": 'def hoist_sails(wind):\n    """Hoist the sails into the wind."""\n    return wind > 2\n',
    "src/galley.py": 'def boil_potatoes(count):\n    """Cook the anchor potatoes."""\n    return count * 20\n',
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's settings are those of an empty home."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "user"))


@pytest.fixture
def boats(tmp_path: Path) -> Path:
    """A folder that holds one small repository."""
    write_files(tmp_path / "repos" / "boats", BOATS)
    return tmp_path / "repos"
