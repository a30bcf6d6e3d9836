from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.search.gate.background import NOTHING, closest_background
from tests.support.worlds import DIM, Held, Piece, TinyChunk, make_world, segment_file

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.search.gate.background import Background


@pytest.fixture
def background() -> Background:
    """Two calibration pieces, three terms."""
    first = Piece([1, 0, 0, 0], words=("alpha", "gamma"))
    return make_world([Held(True, (first, Piece([0, 0, 0.6, 0.8], words=("beta",))))]).background


def test_the_arrays_of_a_segment_by_hand(tmp_path: Path, background: Background) -> None:
    """Top of a piece: its largest cosine to a chunk. Then the chunks that hold each term."""
    chunks = [TinyChunk([100, 0, 0, 0], ("alpha", "other")), TinyChunk(None, ("alpha",)), TinyChunk([0, 0, 60, 80])]

    segment = segment_file(tmp_path / "s", chunks, background)

    assert pytest.approx([1, 1], abs=1e-6) == segment.arrays["background_top"].tolist()
    assert ["alpha", "beta", "gamma"] == background.terms
    assert [2, 0, 0] == segment.arrays["background_df"].tolist()
    assert [8, 0] == segment.arrays["background_together"].tolist()
    names = ("background_top", "background_df", "background_together")
    assert ["float32", "uint32", "float32"] == [str(segment.arrays[name].dtype) for name in names]


def test_words_stand_together_in_one_chunk(tmp_path: Path) -> None:
    """The rarities of a piece's words are added up over the best chunk, not over all; common words are worth little."""
    words = ("alpha", "beta", "gamma")
    world = make_world([Held(True, (Piece([1, 0, 0, 0], words=words),))], generic={"beta": 8_000, "gamma": 4_000})
    chunks = [TinyChunk([100, 0, 0, 0], ("alpha",)), TinyChunk([0, 100, 0, 0], ("beta", "gamma")), TinyChunk(None)]
    half, quarter = math.log(2), math.log(4)

    apart = segment_file(tmp_path / "apart", chunks, world.background)
    meeting = segment_file(tmp_path / "meeting", [TinyChunk(None, words)], world.background)
    common = segment_file(tmp_path / "common", chunks[1:], world.background)

    assert [8] == apart.arrays["background_together"].tolist()
    assert [pytest.approx(8 + half + quarter)] == meeting.arrays["background_together"].tolist()
    assert [pytest.approx(half + quarter)] == common.arrays["background_together"].tolist()


def test_a_top_is_a_plain_cosine(tmp_path: Path, background: Background) -> None:
    """Nothing is subtracted from it."""
    segment = segment_file(tmp_path / "s", [TinyChunk([80, 60, 0, 0])], background)

    assert pytest.approx([0.8, 0.0], abs=1e-6) == segment.arrays["background_top"].tolist()


@pytest.mark.parametrize("chunks", [[], [TinyChunk(None, ("alpha",))]], ids=["no chunk", "no vector"])
def test_a_segment_without_a_vector(tmp_path: Path, background: Background, chunks: list[TinyChunk]) -> None:
    """Nothing can be compared: every top stands below any cosine, and terms are counted all the same."""
    segment = segment_file(tmp_path / "s", chunks, background)

    assert [NOTHING, NOTHING] == segment.arrays["background_top"].tolist()
    assert [len(chunks), 0, 0] == segment.arrays["background_df"].tolist()
    assert [8 * len(chunks), 0] == segment.arrays["background_together"].tolist()


def _random_rows(n_rows: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    random = np.random.default_rng(3)
    vectors = random.integers(-100, 100, (n_rows, DIM)).astype(np.int8)
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    scales = np.where(random.random(n_rows) < 0.2, 0, 1 / lengths).astype(np.float32)
    return vectors, scales


def test_the_size_of_a_block_changes_nothing(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are compared in blocks, of which the last is smaller."""
    vectors, scales = _random_rows(50)
    whole = closest_background(vectors, scales, background)
    monkeypatch.setattr("hybrid.search.gate.background._BLOCK_ROWS", 7)

    np.testing.assert_allclose(whole, closest_background(vectors, scales, background), atol=1e-6)


def test_tops_of_two_halves_combine_to_those_of_the_whole(background: Background) -> None:
    """The larger of two tops is the top of both: that is why an edit costs only the chunks it changed."""
    vectors, scales = _random_rows(40)
    top = closest_background(vectors, scales, background)

    halves = [closest_background(vectors[part], scales[part], background) for part in (slice(0, 13), slice(13, 40))]

    np.testing.assert_allclose(np.maximum(*halves), top, atol=1e-6)


def test_every_top_is_that_of_a_plain_loop(background: Background) -> None:
    """Chunk by chunk: the largest of the cosines, where a chunk without a vector counts for nothing."""
    vectors, scales = _random_rows(30)
    top = closest_background(vectors, scales, background)

    rows = [(vector, scale) for vector, scale in zip(vectors.tolist(), scales.tolist(), strict=True) if scale]
    for piece, found in zip(background.piece_vectors.tolist(), top.tolist(), strict=True):
        cosines = [sum(v * scale * p for v, p in zip(vector, piece, strict=True)) for vector, scale in rows]
        assert pytest.approx(max(cosines), abs=1e-5) == found
