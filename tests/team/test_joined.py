from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.arrays import parse_arrays
from hybrid.base.tokens import query_tokens
from hybrid.index.catalog import Catalog
from hybrid.index.snapshot import Snapshot
from hybrid.models.registry import HashingEmbedder
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.team.base import BaseFigures, figures_of
from hybrid.team.joined import JoinedSnapshot
from hybrid.team.pushing import PushedTree, stored_file
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.team.store import StoredFile

QUERIES = ("wait before retry", "user store", "payment_failed", "nothing like it zebra")
MORE = {
    f"lib/part_{n}.py": f"def part_{n}(retry, user):\n    # payment {n}\n    return wait_{n}(retry)\n" for n in range(9)
}


def indexed(folder: Path, texts: dict[str, str]) -> tuple[Snapshot, list[StoredFile]]:
    """An index, and its files as a store keeps them."""
    place = place_in(folder)
    annotator = GateAnnotator(HashingEmbedder(), folder / "home")
    build_index(place, ListSource(dict(texts)), annotator=annotator)
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        tree = PushedTree(catalog, HashingEmbedder().info, b"")
        files = [stored_file(tree, path, row) for path, row in catalog.indexed().items()]
    return open_index(place), files


def figures(snapshot: Snapshot) -> BaseFigures:
    """Its figures, as a base gives them."""
    return BaseFigures(parse_arrays(figures_of(snapshot), "figures"))


@pytest.fixture(params=["all in the team's index", "half of it replaced here"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Snapshot, JoinedSnapshot]:
    """A whole index, and the same documents joined from the team's index and an overlay."""
    every = {**PAYMENTS, **MORE}
    overlaid = {} if str(request.param).startswith("all") else dict(list(every.items())[::2])
    whole, _ = indexed(tmp_path / "whole", every)
    base, files = indexed(tmp_path / "base", {path: every[path] for path in every if path not in overlaid})
    overlay, _ = indexed(tmp_path / "overlay", overlaid)
    return whole, JoinedSnapshot(files, overlay, figures(base))


def at(snapshot: Snapshot, row: int) -> tuple[str, int]:
    """Where a row stands."""
    view = snapshot.get(row)
    return view.path, view.start_line


def test_legs_are_those_of_a_whole_index(both: tuple[Snapshot, JoinedSnapshot]) -> None:
    """With all files as candidates, rankings, cosines, bm25 and mean cosines are the same."""
    whole, joined = both
    for text in QUERIES:
        vector = HashingEmbedder().embed_query(text)
        for expected, found in (
            (whole.dense(vector, 50), joined.dense(vector, 50)),
            (whole.lexical(query_tokens(text), 50), joined.lexical(query_tokens(text), 50)),
        ):
            assert {at(whole, row) for row in expected.rows} == {at(joined, row) for row in found.rows}
            assert np.allclose(expected.scores, found.scores, atol=1e-6)
        dense, other = whole.dense(vector, 5), joined.dense(vector, 5)

        assert dense.chunks.mean == pytest.approx(other.chunks.mean, abs=1e-6)
        assert dense.chunks.largest == pytest.approx(other.chunks.largest, abs=1e-6)
        assert dense.files.mean == pytest.approx(other.files.mean, abs=1e-6)
        assert dense.files.largest == pytest.approx(other.files.largest, abs=1e-6)


def test_figures_are_those_of_a_whole_index(both: tuple[Snapshot, JoinedSnapshot]) -> None:
    """Counts, frequencies of every kind, mean vectors, lengths, words and the gate's background are the same."""
    whole, joined = both
    terms = sorted({term for _, held in whole.live_terms() for term in held})

    assert (whole.n_chunks, whole.fields.n_live_files) == (joined.n_chunks, joined.fields.n_live_files)
    for one in ("document_frequency", "file_frequency", "naming_frequency", "remark_frequency", "is_held"):
        ask, other = getattr(whole.terms, one), getattr(joined.terms, one)
        assert [ask(term) for term in terms] == [other(term) for term in terms], one
    assert whole.fields.mean_lengths == pytest.approx(joined.fields.mean_lengths)
    assert np.allclose(whole.fields.mean_vector, joined.fields.mean_vector, atol=1e-6)
    assert set(whole.terms.beginning_with("pay", 20)) == set(joined.terms.beginning_with("pay", 20))
    assert set(whole.names.stems("p")) == set(joined.names.stems("p"))
    expected, found = whole.background.figures(), joined.background.figures()
    assert (whole.background.key, expected.n_rows) == (joined.background.key, found.n_rows)
    assert np.array_equal(expected.frequencies, found.frequencies)
    for mine, other in ((expected.top, found.top), (expected.together, found.together)):
        assert mine is not None
        assert other is not None
        assert np.allclose(mine, other, atol=1e-6)


def test_without_candidates_the_figures_stay(tmp_path: Path) -> None:
    """A query that the store found nothing for sees the overlay, with the frequencies of everything."""
    base, _ = indexed(tmp_path / "base", dict(PAYMENTS))
    overlay, _ = indexed(tmp_path / "overlay", MORE)
    joined = JoinedSnapshot([], overlay, figures(base))
    term = query_tokens("retry")[0]

    assert base.n_chunks + overlay.n_chunks == joined.n_chunks
    assert overlay.n_rows == joined.n_rows
    assert base.terms.document_frequency(term) + len(MORE) == joined.terms.document_frequency(term)


def test_another_background_leaves_no_bars(tmp_path: Path) -> None:
    """Figures of two backgrounds are never put together."""
    base, files = indexed(tmp_path / "base", dict(PAYMENTS))
    place = place_in(tmp_path / "overlay")
    build_index(place, ListSource(MORE))  # With none.

    assert "" == JoinedSnapshot(files, open_index(place), figures(base)).background.key
