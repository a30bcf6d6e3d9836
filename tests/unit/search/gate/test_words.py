"""The part "words" is compared with a slow loop over pieces, chunks and words, written for these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.arrays import read_arrays, write_arrays
from hybrid.index.lookup import record_block
from hybrid.index.segment import Segment
from hybrid.search.gate.record_evidence import LEAST_COSINE, WordNearness, term_vectors, words_of_pieces
from tests.support.examples import examples
from tests.support.worlds import TinyChunk, Weighing, make_world, segment_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")


def _segment(path: Path, chunks: Sequence[Sequence[str]], embedder: Weighing) -> Segment:
    """Chunks of these terms as a segment of records."""
    segment_file(path, [TinyChunk([100, 0, 0, 0], tuple(terms)) for terms in chunks], make_world([]).background)
    stored = read_arrays(path)
    arrays: dict[str, NDArray[Any]] = {name: np.array(stored[name]) for name in stored}
    target = path.with_suffix(".words")
    write_arrays(target, arrays | term_vectors(arrays, embedder))
    return Segment(target)


def _slow(piece: Sequence[str], chunk: Sequence[str], embedder: Weighing, segment: Segment) -> float:
    """Word by word, with the vectors that the segment keeps of its terms."""
    total = 0.0
    for word in piece:
        (vector,), lengths = embedder.embed_queries([word])
        assert lengths is not None
        best = 0.0
        for term in chunk:
            number = segment.term_numbers(term)
            kept = segment.arrays["term_vector"][number] * segment.arrays["term_vector_scale"][number]
            cosine = float(vector @ kept)
            best = max(best, cosine if cosine > LEAST_COSINE else 0.0)
        total += float(lengths[0]) * best
    return total


def _scores(pieces: Sequence[Sequence[str]], segment: Segment, embedder: Weighing) -> NDArray[np.float32]:
    words = words_of_pieces(pieces, embedder)
    assert words is not None
    scores = WordNearness(words, record_block(segment.arrays))
    parts = [scores.between(at, at + 1) for at in range(len(pieces))]
    whole = scores.between(0, len(pieces))
    np.testing.assert_allclose(whole, np.concatenate(parts) if parts else whole, atol=1e-6)
    return whole


# --- the scores ------------------------------------------------------------------------------------------------


def test_the_scores_by_hand(tmp_path: Path) -> None:
    """Each word counts its length times the largest cosine to a term of the chunk; one below the least counts nothing."""
    embedder = Weighing(
        {"alpha": [2, 0, 0, 0], "beta": [0, 3, 0, 0], "near": [0.6, 0.8, 0, 0], "far": [0.3, 0, 0.954, 0]}
    )
    segment = _segment(tmp_path / "s", [["alpha"], ["near", "far"], ["far"], ["beta", "near"]], embedder)

    found = _scores([["alpha", "beta"], ["beta"], []], segment, embedder)

    expected = [[2, 2 * 0.6 + 3 * 0.8, 0, 2 * 0.6 + 3], [0, 3 * 0.8, 0, 3], [0, 0, 0, 0]]
    np.testing.assert_allclose(expected, found, atol=0.03)
    assert ["int8", "float32"] == [str(segment.arrays[name].dtype) for name in ("term_vector", "term_vector_scale")]


_pieces = st.lists(st.lists(st.sampled_from((*WORDS, "unknown")), unique=True, max_size=5), min_size=1, max_size=5)
_chunks = st.lists(st.lists(st.sampled_from((*WORDS, "unheard")), unique=True, max_size=6), max_size=7)


@examples(25)
@pytest.mark.parametrize("block", [None, 1, 3], ids=["one block", "blocks of one", "blocks of three"])
@given(_pieces, _chunks)
def test_the_scores_are_those_of_the_slow_loop(
    tmp_path_factory: pytest.TempPathFactory,
    block: int | None,
    pieces: list[list[str]],
    chunks: list[list[str]],
) -> None:
    """However the terms are cut into blocks; no chunk gives no column."""
    embedder, folder = Weighing(), tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        if block:
            for name in ("_BLOCK_TERMS", "_BATCH"):
                patch.setattr(f"hybrid.search.gate.record_evidence.{name}", block)
        segment = _segment(folder / "s", chunks, embedder)
        found = _scores(pieces, segment, embedder)

    expected = np.array([[_slow(piece, chunk, embedder, segment) for chunk in chunks] for piece in pieces])
    np.testing.assert_allclose(expected.reshape(len(pieces), len(chunks)), found, atol=1e-4)
