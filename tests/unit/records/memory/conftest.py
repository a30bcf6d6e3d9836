from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """A memory that nothing was stored in."""
    with MemoryStore(tmp_path / "home" / "memory.db") as opened:
        yield opened
