from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.search.gate.hubs import NOTHING, closest_background
from tests.support.worlds import DIM, SCALE, Held, Piece, TinyChunk, make_world, segment_file

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.search.gate.background import Background

TASKS = [[1, 0, 0, 0], [0.6, 0.8, 0, 0], [0, 0, 0, 1]]


@pytest.fixture
def background() -> Background:
    """Three tasks, two calibration pieces, three terms."""
    first = Piece([1, 0, 0, 0], words=("alpha", "gamma"))
    return make_world([Held(True, (first, Piece([0, 0, 0.6, 0.8], words=("beta",))))], hub_bank=TASKS).background


def test_the_arrays_of_a_segment_by_hand(tmp_path: Path, background: Background) -> None:
    """Hub of a chunk: mean cosine to the tasks. Top of a piece: largest cosine − hub. Then chunks that hold each term."""
    chunks = [TinyChunk([100, 0, 0, 0], ("alpha", "other")), TinyChunk(None, ("alpha",)), TinyChunk([0, 0, 60, 80])]

    segment = segment_file(tmp_path / "s", chunks, background, with_hub=True)

    hubs = [1.6 / 3, 0, 0.8 / 3]
    assert pytest.approx(hubs, abs=1e-6) == segment.array("chunk_hub").tolist()
    assert pytest.approx([1 - hubs[0], 1 - hubs[2]], abs=1e-6) == segment.array("background_top").tolist()
    assert ["alpha", "beta", "gamma"] == background.terms
    assert [2, 0, 0] == segment.array("background_df").tolist()
    assert [8, 0] == segment.array("background_together").tolist()
    names = ("chunk_hub", "background_top", "background_df", "background_together")
    assert ["float32", "float32", "uint32", "float32"] == [str(segment.array(name).dtype) for name in names]


def test_words_stand_together_in_one_chunk(tmp_path: Path) -> None:
    """The rarities of a piece's words are added up over the best chunk, not over all; common words are worth little."""
    words = ("alpha", "beta", "gamma")
    world = make_world([Held(True, (Piece([1, 0, 0, 0], words=words),))], generic={"beta": 8_000, "gamma": 4_000})
    chunks = [TinyChunk([100, 0, 0, 0], ("alpha",)), TinyChunk([0, 100, 0, 0], ("beta", "gamma")), TinyChunk(None)]
    half, quarter = math.log(2), math.log(4)

    apart = segment_file(tmp_path / "apart", chunks, world.background, with_hub=False)
    meeting = segment_file(tmp_path / "meeting", [TinyChunk(None, words)], world.background, with_hub=False)
    common = segment_file(tmp_path / "common", chunks[1:], world.background, with_hub=False)

    assert [8] == apart.array("background_together").tolist()
    assert [pytest.approx(8 + half + quarter)] == meeting.array("background_together").tolist()
    assert [pytest.approx(half + quarter)] == common.array("background_together").tolist()


def test_without_hubs_nothing_is_subtracted(tmp_path: Path, background: Background) -> None:
    """Hubs are zeros then, and tops plain cosines."""
    segment = segment_file(tmp_path / "s", [TinyChunk([80, 60, 0, 0])], background, with_hub=False)

    assert [0] == segment.array("chunk_hub").tolist()
    assert pytest.approx([0.8, 0.0], abs=1e-6) == segment.array("background_top").tolist()


@pytest.mark.parametrize("chunks", [[], [TinyChunk(None, ("alpha",))]], ids=["no chunk", "no vector"])
@pytest.mark.parametrize("with_hub", [False, True])
def test_a_segment_without_a_vector(
    tmp_path: Path, background: Background, chunks: list[TinyChunk], with_hub: bool
) -> None:
    """Nothing can be compared: every top stands below any cosine, and terms are counted all the same."""
    segment = segment_file(tmp_path / "s", chunks, background, with_hub=with_hub)

    assert [NOTHING, NOTHING] == segment.array("background_top").tolist()
    assert [0] * len(chunks) == segment.array("chunk_hub").tolist()
    assert [len(chunks), 0, 0] == segment.array("background_df").tolist()
    assert [8 * len(chunks), 0] == segment.array("background_together").tolist()


def _random_rows(n_rows: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    random = np.random.default_rng(3)
    vectors = random.integers(-100, 100, (n_rows, DIM)).astype(np.int8)
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    scales = np.where(random.random(n_rows) < 0.2, 0, 1 / lengths).astype(np.float32)
    return vectors, scales


@pytest.mark.parametrize("with_hub", [False, True])
def test_the_size_of_a_block_changes_nothing(
    background: Background, monkeypatch: pytest.MonkeyPatch, with_hub: bool
) -> None:
    """Chunks are compared in blocks, of which the last is smaller."""
    vectors, scales = _random_rows(50)
    whole = closest_background(vectors, scales, background, with_hub=with_hub)
    monkeypatch.setattr("hybrid.search.gate.hubs._BLOCK_ROWS", 7)

    blocks = closest_background(vectors, scales, background, with_hub=with_hub)

    np.testing.assert_allclose(whole[0], blocks[0], atol=1e-6)
    np.testing.assert_allclose(whole[1], blocks[1], atol=1e-6)


def test_tops_of_two_halves_combine_to_those_of_the_whole(background: Background) -> None:
    """The larger of two tops is the top of both: that is why an edit costs only the chunks it changed."""
    vectors, scales = _random_rows(40)
    hubs, top = closest_background(vectors, scales, background, with_hub=True)

    halves = [
        closest_background(vectors[part], scales[part], background, with_hub=True)
        for part in (slice(0, 13), slice(13, 40))
    ]

    np.testing.assert_allclose(np.maximum(halves[0][1], halves[1][1]), top, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([halves[0][0], halves[1][0]]), hubs, atol=1e-6)


def test_every_hub_is_that_of_a_plain_loop(background: Background) -> None:
    """Chunk by chunk: the mean of the cosines to the tasks, 0 for a chunk without a vector."""
    vectors, scales = _random_rows(30)
    hubs, _ = closest_background(vectors, scales, background, with_hub=True)

    for vector, scale, hub in zip(vectors.tolist(), scales.tolist(), hubs.tolist(), strict=True):
        cosines = [sum(v * scale * t for v, t in zip(vector, task, strict=True)) for task in TASKS]
        assert pytest.approx(sum(cosines) / 3 if scale else 0, abs=1e-5) == hub
    assert SCALE < hubs.max()
