"""The shipped background as two models see it; worlds to work out by hand are made by `tests/support/worlds.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.models.registry import HashingEmbedder, load_embedder
from hybrid.search.gate.background import Background, load_background

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import Embedder


@pytest.fixture(scope="session")
def static_embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The shipped model."""
    return load_embedder("static-v1", home=tmp_path_factory.mktemp("static-home"))


@pytest.fixture(scope="session")
def static_home(static_embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `$HYBRID_HOME` that keeps the background of the shipped model; tests do not write to it."""
    home = tmp_path_factory.mktemp("static-background")
    load_background(static_embedder, home)
    return home


@pytest.fixture
def static_background(static_embedder: Embedder, static_home: Path) -> Background:
    """The shipped background as the shipped model sees it; it has a probe, and queries have lengths."""
    return load_background(static_embedder, static_home)


@pytest.fixture(scope="session")
def hashing_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `$HYBRID_HOME` that keeps the background of the hashing model; tests do not write to it."""
    home = tmp_path_factory.mktemp("hashing-background")
    load_background(HashingEmbedder(), home)
    return home


@pytest.fixture
def hashing_background(hashing_home: Path) -> Background:
    """The shipped background as the hashing model sees it: no probe, no lengths."""
    return load_background(HashingEmbedder(), hashing_home)
