"""The part "words" is compared with a slow loop over pieces, chunks and words, written for these tests."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.arrays import read_arrays, write_arrays
from hybrid.gate.annotator import GateAnnotator
from hybrid.gate.background import load_background
from hybrid.gate.calibration import SILENT, background_scores
from hybrid.gate.terms import terms_of
from hybrid.gate.verdict import Gate, open_gate
from hybrid.gate.words import (
    LEAST_COSINE,
    has_words,
    score_words,
    word_arrays,
    words_of_background,
    words_of_pieces,
)
from hybrid.index.backend import Closest
from hybrid.index.segment import Segment
from hybrid.models.hashing import HashingEmbedder
from tests.builders import PAYMENTS, ListSource, build_index, open_index, place_in
from tests.worlds import DIM, SETTINGS, Held, Piece, TinyChunk, World, make_world, segment_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.snapshot import Snapshot

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
WORTH = replace(SETTINGS, words=0.1)


class Weighing(HashingEmbedder):
    """The hashing model, but every word has a direction of its own in few dimensions, and queries have lengths.

    A word of n letters weighs n / 4; a text is the sum of its words; one that begins with `un` is unknown.
    """

    def __init__(self, known: Mapping[str, Sequence[float]] | None = None) -> None:
        super().__init__(DIM)
        self.known = known or {}

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Unit vectors, and the lengths of the sums."""
        sums = np.array([np.sum([self._word(word) for word in text.split()], axis=0) for text in texts])
        sums = sums.reshape(len(texts), DIM)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        unit = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
        return unit.astype(np.float32), lengths[:, 0].astype(np.float32)

    def _word(self, word: str) -> NDArray[np.float64]:
        if word in self.known:
            return np.array(self.known[word], np.float64)
        if word.startswith("un"):
            return np.zeros(DIM)
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        direction = np.random.default_rng(seed).normal(size=DIM)
        return direction / np.linalg.norm(direction) * len(word) / 4


def _world(pieces: Sequence[Sequence[str]]) -> World:
    """A background of one task whose pieces are made of these words."""
    return make_world([Held(False, tuple(Piece([1, 0, 0, 0], words=tuple(words)) for words in pieces))])


def _segment(
    path: Path, chunks: Sequence[Sequence[str]], world: World, embedder: Weighing, *, dead: Sequence[int] = ()
) -> Segment:
    """Chunks of these terms as a segment of records."""
    segment_file(path, [TinyChunk([100, 0, 0, 0], tuple(terms)) for terms in chunks], world.background)
    stored = read_arrays(path)
    arrays: dict[str, NDArray[Any]] = {name: np.array(stored[name]) for name in stored}
    words = words_of_background(world.background, embedder)
    assert words is not None
    target = path.with_suffix(".words")
    write_arrays(target, arrays | word_arrays(arrays, words, embedder))
    return Segment(target, dead)


def _slow(piece: Sequence[str], chunk: Sequence[str], embedder: Weighing, segment: Segment) -> float:
    """Word by word, with the vectors that the segment keeps of its terms."""
    total = 0.0
    for word in piece:
        (vector,), lengths = embedder.embed_queries([word])
        assert lengths is not None
        best = 0.0
        for term in chunk:
            number = segment.term_number(term)
            kept = segment.array("term_vector")[number] * segment.array("term_vector_scale")[number]
            cosine = float(vector @ kept)
            best = max(best, cosine if cosine > LEAST_COSINE else 0.0)
        total += float(lengths[0]) * best
    return total


def _scores(pieces: Sequence[Sequence[str]], segment: Segment, embedder: Weighing) -> NDArray[np.float32]:
    words = words_of_pieces(pieces, embedder)
    assert words is not None
    return score_words(words, segment)


# --- the scores ------------------------------------------------------------------------------------------------


def test_the_scores_by_hand(tmp_path: Path) -> None:
    """Each word counts its length times the largest cosine to a term of the chunk; one below the least counts nothing."""
    embedder = Weighing(
        {"alpha": [2, 0, 0, 0], "beta": [0, 3, 0, 0], "near": [0.6, 0.8, 0, 0], "far": [0.3, 0, 0.954, 0]}
    )
    world = _world([["alpha", "beta"], ["beta"]])
    segment = _segment(tmp_path / "s", [["alpha"], ["near", "far"], ["far"], ["beta", "near"]], world, embedder)

    found = _scores([["alpha", "beta"], ["beta"], []], segment, embedder)

    expected = [[2, 2 * 0.6 + 3 * 0.8, 0, 2 * 0.6 + 3], [0, 3 * 0.8, 0, 3], [0, 0, 0, 0]]
    np.testing.assert_allclose(expected, found, atol=0.03)
    np.testing.assert_allclose([4.2, 3], segment.array("background_words"), atol=0.03)
    types = [str(segment.array(name).dtype) for name in ("term_vector", "term_vector_scale", "background_words")]
    assert ["int8", "float32", "float32"] == types


_pieces = st.lists(st.lists(st.sampled_from((*WORDS, "unknown")), unique=True, max_size=5), min_size=1, max_size=5)
_chunks = st.lists(st.lists(st.sampled_from((*WORDS, "unheard")), unique=True, max_size=6), max_size=7)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("block", [None, 1, 3], ids=["one block", "blocks of one", "blocks of three"])
@given(_pieces, _chunks)
def test_the_scores_are_those_of_the_slow_loop(
    tmp_path_factory: pytest.TempPathFactory,
    block: int | None,
    pieces: list[list[str]],
    chunks: list[list[str]],
) -> None:
    """Of prompts and of the background, however the terms and pieces are cut into blocks; no chunk gives zeros."""
    embedder, folder = Weighing(), tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        if block:
            for name in ("_BLOCK_TERMS", "_BLOCK_CELLS", "_BATCH"):
                patch.setattr(f"hybrid.gate.words.{name}", block)
        segment = _segment(folder / "s", chunks, _world(pieces), embedder)
        found = _scores(pieces, segment, embedder)

    expected = np.array([[_slow(piece, chunk, embedder, segment) for chunk in chunks] for piece in pieces])
    np.testing.assert_allclose(expected.reshape(len(pieces), len(chunks)), found, atol=1e-4)
    tops = [max(row, default=0) for row in expected.reshape(len(pieces), len(chunks)).tolist()]
    np.testing.assert_allclose(tops, segment.array("background_words"), atol=1e-4)


def test_a_dead_chunk_scores_nothing(tmp_path: Path) -> None:
    """A record that is gone opens no gate; in the bars it counts until its segment is written anew, as cosines do."""
    embedder, world = Weighing(), _world([["alpha"]])
    chunks = [["alpha"], ["beta"], ["alpha", "gamma"]]
    whole = _segment(tmp_path / "a", chunks, world, embedder)
    part = _segment(tmp_path / "b", chunks, world, embedder, dead=[0])

    before, after = (_scores([["alpha"], ["beta"]], segment, embedder) for segment in (whole, part))

    assert before[0, 0] > 1
    np.testing.assert_array_equal([0, 0], after[:, 0])
    np.testing.assert_array_equal(before[:, 1:], after[:, 1:])
    np.testing.assert_array_equal(whole.array("background_words"), part.array("background_words"))


def test_a_word_and_its_term_are_alike_and_an_unknown_one_is_like_nothing(tmp_path: Path) -> None:
    """A word of the prompt that a record holds counts its whole length; one that the model does not know nothing."""
    embedder = Weighing()
    segment = _segment(tmp_path / "s", [["alpha", "unheard"]], _world([["alpha"]]), embedder)

    found = _scores([["alpha"], ["unheard"]], segment, embedder)

    np.testing.assert_allclose([[5 / 4], [0]], found, atol=1e-3)


def test_scores_of_two_halves_are_those_of_the_whole(tmp_path: Path) -> None:
    """A segment is decided by its own chunks: an edit costs the chunks it changed."""
    embedder, pieces = Weighing(), [list(WORDS[:4]), list(WORDS[3:])]
    world, chunks = _world(pieces), [[word] for word in WORDS]
    whole = _segment(tmp_path / "whole", chunks, world, embedder)
    halves = [_segment(tmp_path / name, part, world, embedder) for name, part in (("a", chunks[:3]), ("b", chunks[3:]))]

    joined = np.concatenate([_scores(pieces, half, embedder) for half in halves], axis=1)

    np.testing.assert_allclose(_scores(pieces, whole, embedder), joined, atol=1e-5)
    tops = np.maximum(*(half.array("background_words") for half in halves))
    np.testing.assert_allclose(whole.array("background_words"), tops, atol=1e-5)


# --- in the bars -----------------------------------------------------------------------------------------------


def test_the_bars_are_raised_by_what_the_background_reaches(tmp_path: Path) -> None:
    """The largest of all segments times the weight; a piece that nothing can be compared with stays silent."""
    embedder = Weighing()
    held = [
        Held(True, (Piece([1, 0, 0, 0], words=("alpha",)),)),
        Held(False, (Piece([1, 0, 0, 0], words=("beta", "gamma")),)),
        Held(False, (Piece([0, 0, 0, 0], words=("alpha",)),)),
    ]
    world = make_world(held)
    segments = [
        _segment(tmp_path / str(i), chunks, world, embedder)
        for i, chunks in enumerate([[["alpha"]], [["beta"], ["gamma", "delta"]]])
    ]

    without, _ = background_scores(world.background, segments, SETTINGS)
    found, _ = background_scores(world.background, segments, replace(SETTINGS, words=0.1))

    tops = np.max([segment.array("background_words") for segment in segments], axis=0)
    assert tops.min() > 1
    np.testing.assert_allclose(without[:2] + 0.1 * tops[:2], found[:2])
    assert SILENT == found[2] == without[2]


def test_segments_without_words_are_calibrated_as_before(tmp_path: Path) -> None:
    """Files have no such part, whatever it weighs; neither has a collection of which a segment lacks it."""
    embedder, world = Weighing(), _world([["alpha"]])
    plain = segment_file(tmp_path / "plain", [TinyChunk([100, 0, 0, 0], ("alpha",))], world.background)
    worded = _segment(tmp_path / "worded", [["alpha"]], world, embedder)

    for segments in ([plain], [worded, plain], []):
        assert not has_words(segments)
        for one, other in zip(
            background_scores(world.background, segments, SETTINGS),
            background_scores(world.background, segments, WORTH),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


# --- over an index ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `$HYBRID_HOME` that keeps the background of the weighing model."""
    made = tmp_path_factory.mktemp("weighing")
    load_background(Weighing(), made)
    return made


RECORDS = {
    "L001": "Waiting for a lock\n\nTwo workers wait for the same lock.\n",
    "L002": "Money in cents\n\nAmounts are whole cents, never floats.\n",
    "L003": "Retries\n\nWait twice as long after each failed request.\n",
}


def _records(folder: Path, home: Path, embedder: HashingEmbedder | None = None) -> Snapshot:
    """Three records, of which the first was replaced."""
    embedder = embedder or Weighing()
    source = ListSource(RECORDS | {"L001": "Cents and locks\n"})
    annotator = GateAnnotator(embedder, home, with_hub=False, with_words=True)
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    source.put("L001", RECORDS["L001"])
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    snapshot = open_index(place_in(folder), embedder)
    assert 2 == len(snapshot.segments)
    return snapshot


def _closest(n_pieces: int) -> Closest:
    return Closest(np.zeros(n_pieces, np.int64), np.full(n_pieces, 0.5, np.float32), np.zeros(n_pieces, np.float32))


def test_the_words_of_every_row(tmp_path: Path, home: Path) -> None:
    """By the terms of the rows, over all segments; the old version of a record counts nothing."""
    snapshot = _records(tmp_path, home)
    gate = Gate(snapshot, Weighing(), lambda: load_background(Weighing(), home), WORTH)
    text = "whole cents, a lock and what failed"

    found = gate.words(text)

    live = set(snapshot.live_rows())
    assert (snapshot.n_rows,) == found.shape
    assert {"L001", "L002", "L003"} == {snapshot.path(row) for row in live}
    for row in range(snapshot.n_rows):
        segment, _ = snapshot.locate(row)
        terms = list(snapshot.terms(row))
        expected = _slow(terms_of(text).words, terms, Weighing(), segment) if row in live else 0
        assert pytest.approx(expected, abs=1e-4) == float(found[row])
    assert (found[sorted(live)] > 0).all()


def test_the_part_of_a_verdict_is_that_of_its_best_row(tmp_path: Path, home: Path) -> None:
    """The weight times the largest score; with weight 0 the part is not there, and nothing else changed."""
    snapshot = _records(tmp_path, home)

    def parts(words: float) -> dict[str, float]:
        how = replace(SETTINGS, words=words)
        gate = Gate(snapshot, Weighing(), lambda: load_background(Weighing(), home), how)
        asked = gate.ask("whole cents for retries")
        return dict(gate.judge(replace(asked, texts=asked.texts[:1]), _closest(1), 0.5).parts)

    gate = Gate(snapshot, Weighing(), lambda: load_background(Weighing(), home), WORTH)
    (text, *_) = gate.ask("whole cents for retries").texts
    with_words, without = parts(0.1), parts(0)

    assert pytest.approx(0.1 * float(gate.words(text).max()), abs=1e-6) == with_words.pop("words") > 0
    assert "words" not in without
    assert without == with_words


def test_the_gate_of_records_opens_by_either_annotation(tmp_path: Path, home: Path) -> None:
    """Whether a collection has words is told by its segments: files and records are opened alike."""
    embedder = Weighing()
    for has in (False, True):
        annotator = GateAnnotator(embedder, home, with_hub=False, with_words=has)
        place = place_in(tmp_path / str(has))
        build_index(place, ListSource(dict(RECORDS)), embedder, annotator=annotator)
        snapshot = open_index(place, embedder)

        assert has == has_words(snapshot.segments)
        assert open_gate(snapshot, embedder, home, SETTINGS) is not None
        assert open_gate(snapshot, embedder, home, replace(SETTINGS, hub=True)) is None


def test_files_keep_the_arrays_they_had(tmp_path: Path, home: Path) -> None:
    """Words add three arrays and change none; without them not one is added."""
    embedder = Weighing()
    kept: list[dict[str, NDArray[Any]]] = []
    for has in (False, True):
        place = place_in(tmp_path / str(has))
        annotator = GateAnnotator(embedder, home, with_hub=True, with_words=has)
        build_index(place, ListSource(dict(PAYMENTS)), embedder, annotator=annotator)
        (path,) = place.folder.glob("segment-*.safetensors")
        stored = read_arrays(path)
        kept.append({name: np.array(stored[name]) for name in stored})

    without, with_words = kept

    assert {"background_words", "term_vector", "term_vector_scale"} == set(with_words) - set(without)
    for name, array in without.items():
        np.testing.assert_array_equal(array, with_words[name])


# --- a model whose lengths say nothing ---------------------------------------------------------------------------


def test_a_model_without_lengths_has_no_such_part(tmp_path: Path, hashing_home: Path) -> None:
    """No array is written, every row scores 0, and a verdict does not list the part."""
    embedder = HashingEmbedder()
    snapshot = _records(tmp_path, hashing_home, embedder)
    background = load_background(embedder, hashing_home)
    gate = Gate(snapshot, embedder, lambda: background, WORTH)

    verdict = gate.judge(gate.ask("whole cents"), _closest(1), 0.5)

    assert words_of_background(background, embedder) is None
    assert words_of_pieces([["cents"]], embedder) is None
    assert not has_words(snapshot.segments)
    assert [0.0] * snapshot.n_rows == gate.words("whole cents").tolist()
    assert verdict.parts
    assert "words" not in verdict.parts
