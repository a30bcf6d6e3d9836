"""The evidence for a record is compared with a slow loop over pieces, records and words, written for these tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.index.lookup import record_block
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.content import terms_of_words, word_groups
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.background import background_scores, load_background
from hybrid.search.gate.record_evidence import LEAST_COSINE, RecordEvidence, meant_pieces, pieces_of_background
from hybrid.search.gate.verdict import Gate, open_gate
from tests.support.builders import ListSource, build_index, open_index, place_in
from tests.support.worlds import SETTINGS, Weighing

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.constants import GateConfig
    from hybrid.index.segment import Segment
    from hybrid.index.snapshot import Snapshot
    from hybrid.search.scores import Verdict
    from hybrid.types import Embedder

WORTH = replace(SETTINGS, words=0.1, hinge=0.5)
PROMPT = "whole cents, a lock and what failed"

RECORDS = {
    "L001": "Waiting for a lock\n\nTwo workers wait for the same lock.\n",
    "L002": "Money in cents\n\nAmounts are whole cents, never floats.\n",
    "L003": "Retries\n\nWait twice as long after each failed request.\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `$HYBRID_HOME` that keeps the background of the weighing model."""
    made = tmp_path_factory.mktemp("weighing")
    load_background(Weighing(), made)
    return made


def _records(folder: Path, home: Path, embedder: Embedder, how: GateConfig = WORTH) -> Snapshot:
    """Three records, of which the first was replaced."""
    source = ListSource(RECORDS | {"L001": "Cents and locks\n"})
    annotator = GateAnnotator(embedder, home, records=how)
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    source.put("L001", RECORDS["L001"])
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    snapshot = open_index(place_in(folder), embedder)
    assert 2 == len(snapshot.segments)
    return snapshot


def _gate(snapshot: Snapshot, home: Path, how: GateConfig = WORTH) -> Gate:
    return Gate(snapshot, Weighing(), lambda: load_background(Weighing(), home), how)


def _judged(snapshot: Snapshot, gate: Gate, text: str) -> Verdict:
    asked = gate.ask(text)
    leg, closest = snapshot.dense_with_pieces(asked.vectors[0], asked.vectors, 10)
    return gate.judge(asked, closest, leg.top)


def _cosine(total: np.ndarray, row: np.ndarray, null: float) -> float:
    length = math.sqrt(float(total @ total) + null)
    return float(total @ row) / length if length > 1e-3 else 0.0


def _slow(piece: str, segment: Segment, row: int, how: GateConfig) -> float:
    """One piece and one record, with every sum made anew."""
    embedder, null = Weighing(), float(how.null)
    vector = segment.vector[row] * segment.vector_scale[row]

    def total(texts: list[str]) -> np.ndarray:
        unit, lengths = embedder.embed_queries([" ".join(texts)])
        assert lengths is not None
        return unit[0] * lengths[0]

    groups = list(word_groups(piece))
    whole = total(piece.split())
    damped = _cosine(whole, vector, null)
    without = [_cosine(whole - total([group]), vector, null) for group in groups]
    words = 0.0
    for word in terms_of_words(piece):
        (unit,), lengths = embedder.embed_queries([word])
        assert lengths is not None
        near = [0.0]
        for number in range(len(segment.texts("term"))):
            if row in segment.post_row[segment.span("term_start", number)]:
                kept = segment.arrays["term_vector"][number] * segment.arrays["term_vector_scale"][number]
                cosine = float(unit @ kept)
                near.append(cosine if cosine > LEAST_COSINE else 0.0)
        words += float(lengths[0]) * max(near)
    hinge = max(_cosine(whole, vector, null) - min(without), 0) if without else 0.0
    return damped + how.words * words - how.hinge * hinge


# --- one segment -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [WORTH, replace(WORTH, null=False), replace(WORTH, hinge=0.0), replace(WORTH, words=0.0)],
    ids=["all", "no null", "no hinge", "no words"],
)
def test_the_evidence_is_that_of_the_slow_loop(tmp_path: Path, home: Path, how: GateConfig) -> None:
    """For every piece and every record that is alive, of each segment; a dead record has none."""
    snapshot = _records(tmp_path, home, Weighing(), how)
    texts = _gate(snapshot, home, how).ask(PROMPT + ". A lock!").texts
    unit, lengths = Weighing().embed_queries(texts)
    assert lengths is not None
    null = lengths / np.sqrt(lengths * lengths + 1)
    pieces = meant_pieces(unit, null, [terms_of_words(t) for t in texts], [word_groups(t) for t in texts], Weighing())
    assert pieces is not None
    n_dead = 0
    for segment in snapshot.segments:
        records = RecordEvidence(record_block(segment.arrays, segment.is_live))
        found = sum(records.parts(pieces, how).values()) + records.hinges(pieces, np.arange(len(records)), how)
        for row in range(len(records)):
            if segment.is_live is not None and not segment.is_live[row]:
                assert np.isneginf(found[:, row]).all()
                n_dead += 1
                continue
            expected = [_slow(text, segment, row, how) for text in texts]
            np.testing.assert_allclose(expected, found[:, row], atol=2e-4)
    assert len(texts) > 1
    assert 1 == n_dead


@pytest.mark.parametrize("cells", [1, 100, 1 << 21])
def test_the_largest_evidence_of_the_background_is_kept(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    """However many pieces are looked at at a time; dead records count until their segment is written anew."""
    monkeypatch.setattr("hybrid.search.gate.record_evidence._BLOCK_CELLS", cells)
    snapshot = _records(tmp_path, home, Weighing())
    background = load_background(Weighing(), home)
    pieces = pieces_of_background(background, Weighing())
    assert pieces is not None

    for segment in snapshot.segments:
        records = RecordEvidence(record_block(segment.arrays))
        found = sum(records.parts(pieces, WORTH).values()) + records.hinges(pieces, np.arange(len(records)), WORTH)
        np.testing.assert_allclose(found.max(axis=1), segment.arrays["background_record"], atol=1e-4)


def test_the_sum_of_the_words_of_a_background_piece_is_its_own(home: Path, static_home: Path) -> None:
    """The words that are kept for a piece are those it is made of: without them its sum is next to nothing."""
    background = load_background(Weighing(), home)
    pieces = pieces_of_background(background, Weighing())
    assert pieces is not None
    typed = pieces.typed

    words = typed.vectors * typed.lengths[:, np.newaxis]
    left = [
        np.linalg.norm(pieces.sums[i] - words[typed.numbers[typed.starts[i] : typed.starts[i + 1]]].sum(axis=0))
        for i in range(len(pieces.sums))
    ]

    assert len(background.piece_vectors) == len(left)
    assert float(np.median(left)) < 1e-3


# --- verdicts --------------------------------------------------------------------------------------------------


def test_each_record_must_rise_above_the_bars(tmp_path: Path, static_embedder: Embedder, static_home: Path) -> None:
    """Rows of a verdict are the records that did, with their evidence; it is open when there is one."""
    snapshot = _records(tmp_path, static_home, static_embedder)
    how = replace(WORTH, max_false_open_rate=0.05, max_other_task_rate=0.05)
    gate = Gate(snapshot, static_embedder, lambda: load_background(static_embedder, static_home), how)
    bar = gate.calibration.tasks

    said = _judged(snapshot, gate, "the amounts of the invoice are floats, should they be whole cents?")
    silent = _judged(snapshot, gate, "write the css for a sidebar that folds on small screens")

    assert said.rows is not None
    assert {"L002"} == {snapshot.get(row).path for row in said.rows}
    assert said.is_open
    assert min(said.rows.values()) > bar
    assert not silent.is_open
    assert {} == silent.rows


def test_the_parts_of_the_best_record_add_up(tmp_path: Path, home: Path) -> None:
    """The score is that of one piece and one record, part by part; a part of files has no place there."""
    snapshot = _records(tmp_path, home, Weighing())

    said = _judged(snapshot, _gate(snapshot, home), "amounts are whole cents, never floats")

    assert {"cosine", "null", "words", "names", "trigger", "length", "hinge", "chat", "probe"} == set(said.parts)
    parts = {name: part for name, part in said.parts.items() if said.bar == "talk" or name not in ("chat", "probe")}
    assert pytest.approx(sum(parts.values()), abs=1e-6) == said.score
    assert said.parts["words"] > 0 > said.parts["hinge"]


def test_one_word_alone_means_little(tmp_path: Path, static_embedder: Embedder, static_home: Path) -> None:
    """A record that is near by one word only loses most of its evidence; one that is near by several keeps most."""
    snapshot = _records(tmp_path, static_home, static_embedder)
    background = load_background(static_embedder, static_home)
    most: list[float] = []
    for text in ("the lock of the garden door squeaks", "two workers wait for the same lock"):
        found = [
            max(
                Gate(snapshot, static_embedder, lambda: background, replace(WORTH, words=0.0, hinge=hinge))
                .evidence(text)
                .values()
            )
            for hinge in (0.0, 1.0)
        ]
        most.append(found[1] / found[0])

    assert most[0] < 0.5
    assert most[1] > 0.6


def test_an_identifier_speaks_for_the_records_that_hold_it(tmp_path: Path, home: Path) -> None:
    """And for no other: each record is judged by itself."""
    embedder = Weighing()
    source = ListSource({"L001": "Use retry_once\n\nfor calls.\n", "L002": "Use the pool\n\nfor calls.\n"})
    build_index(place_in(tmp_path), source, embedder, annotator=GateAnnotator(embedder, home, records=WORTH))
    snapshot = open_index(place_in(tmp_path), embedder)
    without, with_names = (_gate(snapshot, home, replace(WORTH, names=names)) for names in (0.0, 0.2))

    before, after = (gate.evidence("where is retry_once called") for gate in (without, with_names))

    gained = {snapshot.get(row).path: round(after[row] - before[row], 4) for row in after}
    assert {"L001": 0.2, "L002": 0.0} == gained


def test_a_gate_of_other_weights_is_not_opened(tmp_path: Path, home: Path) -> None:
    """The bars of records were found with the weights of then; files do not depend on them."""
    snapshot = _records(tmp_path, home, Weighing())

    assert open_gate(snapshot, Weighing(), home, WORTH) is not None
    assert open_gate(snapshot, Weighing(), home, replace(WORTH, hinge=0.25)) is None
    assert open_gate(snapshot, Weighing(), home, replace(WORTH, words=0.2)) is None


# --- a model whose lengths say nothing ---------------------------------------------------------------------------


def test_a_model_without_lengths_judges_records_as_files(tmp_path: Path, hashing_home: Path) -> None:
    """No array is written, no record is judged by itself, and the verdict lists the parts of files."""
    embedder = HashingEmbedder()
    snapshot = _records(tmp_path, hashing_home, embedder)
    background = load_background(embedder, hashing_home)
    gate = Gate(snapshot, embedder, lambda: background, WORTH)

    said = _judged(snapshot, gate, PROMPT)

    assert pieces_of_background(background, embedder) is None
    assert not snapshot.background.has_records
    assert {} == gate.evidence(PROMPT)
    assert None is said.rows
    assert "lexical" in said.parts
    assert len(background_scores(background, snapshot.background.figures(), WORTH)[0]) == background.n_prompts
