"""The catalog gives back the room of what it no longer holds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.support.builders import ListSource, build_index, place_in

if TYPE_CHECKING:
    from pathlib import Path


def _texts(n: int) -> dict[str, str]:
    dice = random.Random(16)
    return {f"d{i}.txt": " ".join(f"{dice.randrange(1 << 40):x}" for _ in range(1_000)) for i in range(n)}


def test_a_catalog_that_is_mostly_free_is_written_anew(tmp_path: Path) -> None:
    """After most documents are gone and collected, the file is a fraction of what it was."""
    place, texts = place_in(tmp_path / "index"), _texts(90)
    build_index(place, ListSource(texts))
    before = place.catalog.stat().st_size
    build_index(place, ListSource(dict(list(texts.items())[:5])), full=True)

    assert before > 1_000_000
    assert place.catalog.stat().st_size < before / 4
