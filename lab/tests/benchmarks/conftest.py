"""Seeded corpora that the benchmarks share; built once a session, small enough for a laptop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import pytest

# As the command does; numpy reads it when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hybrid.config import load
from hybrid.index.snapshot import open_snapshot
from hybrid.models.registry import HashingEmbedder
from hybrid_lab.synthetic import Words, write_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.constants import RankingConfig, SearchConfig
    from hybrid.index.snapshot import Snapshot


class Corpus(NamedTuple):
    """A synthetic corpus, open for searching."""

    folder: Path
    snapshot: Snapshot
    embedder: HashingEmbedder
    settings: SearchConfig
    ranking: RankingConfig
    queries: list[str]


@pytest.fixture(scope="session", params=[1_000, 10_000], ids=["1k", "10k"])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Seeded chunks in one segment, and 50 queries of the same words."""
    embedder, words = HashingEmbedder(256), Words()
    folder = tmp_path_factory.mktemp("corpus")
    config = load(home=folder, environ={}).config
    write_snapshot(folder, words.bags(request.param), embedder.info)
    return Corpus(
        folder,
        open_snapshot(folder, model=embedder.info.key),
        embedder,
        config.search,
        config.ranking,
        words.queries(50),
    )
