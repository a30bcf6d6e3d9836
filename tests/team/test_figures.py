from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.arrays import read_arrays
from hybrid.base.tokens import query_tokens
from hybrid.team.base import BaseFigures, figures_of
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.snapshot import Snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """An index with removed chunks: two segments, of which one holds an older text of a file."""
    place, source = place_in(tmp_path / "index"), ListSource(dict(PAYMENTS))
    build_index(place, source)
    path = next(iter(PAYMENTS))
    source.texts[path] = "def brand_new():\n    # zebra crossing\n    return zebra\n"
    build_index(place, source)
    opened = open_index(place)
    assert len(opened.segments) > 1
    return opened


@pytest.fixture
def figures(snapshot: Snapshot, tmp_path: Path) -> BaseFigures:
    """Its figures, read from a file."""
    path = tmp_path / "figures.safetensors"
    path.write_bytes(figures_of(snapshot))
    return BaseFigures(read_arrays(path))


def test_figures_count_what_can_be_found(snapshot: Snapshot, figures: BaseFigures) -> None:
    """Chunks, files, and for each term the chunks and files that hold it, are those that a walk over all counts."""
    chunks: Counter[str] = Counter()
    files: dict[str, set[int]] = {}
    for row, terms in snapshot.live_terms():
        chunks.update(dict.fromkeys(terms, 1))
        for term in terms:
            files.setdefault(term, set()).add(int(snapshot.fields.of_rows("file", np.array([row]))[0]))

    assert (snapshot.n_chunks, snapshot.fields.n_live_files) == (figures.n_chunks, figures.n_files)
    assert chunks == {term: figures.counts(term)[0] for term in chunks}
    assert {term: len(held) for term, held in files.items()} == {term: figures.counts(term)[1] for term in files}
    assert not figures.counts("nothing_like_it").any()


def test_figures_count_names_and_comments_apart(figures: BaseFigures) -> None:
    """A word that only a comment and a text hold is in no file's names; a defined one is in one's."""
    zebra, new = query_tokens("zebra")[0], query_tokens("brand_new")[0]

    assert [1, 1, 0, 1] == figures.counts(zebra).tolist()
    assert [1, 1, 1, 0] == figures.counts(new).tolist()


def test_figures_hold_means_of_what_can_be_found(snapshot: Snapshot, figures: BaseFigures) -> None:
    """Mean vectors are those of the open index; lengths are sums over chunks."""
    assert np.allclose(snapshot.fields.mean_vector, figures.mean_vector)
    assert np.allclose(snapshot.fields.mean_file_vector, figures.mean_file_vector)
    assert sum(sum(terms.values()) for _, terms in snapshot.live_terms()) == figures.lengths[0]


def test_terms_and_stems_are_found_by_prefix(figures: BaseFigures) -> None:
    """Prefixes find terms up to a length, and words of file names."""
    term = query_tokens("zebra")[0]

    assert [term] == figures.terms.beginning_with(term[:4], len(term))
    assert [] == figures.terms.beginning_with(term[:4], len(term) - 1)
    assert "client" in figures.stems.beginning_with("cl", 99)
