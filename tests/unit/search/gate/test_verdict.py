from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hybrid.models.registry import HashingEmbedder, Probe
from hybrid.prompting.clean import clean
from hybrid.prompting.content import MAX_PIECES, gate_pieces, generic_terms
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.background import (
    SILENT,
    Calibration,
    background_scores,
    load_background,
    searched_pieces,
    shipped_prompts,
)
from hybrid.search.gate.verdict import Gate, PromptPieces
from hybrid.search.scores import Verdict
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in
from tests.support.examples import examples
from tests.support.worlds import SETTINGS, Held, TinyChunk, make_world, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.constants import GateConfig
    from hybrid.index.snapshot import Snapshot
    from hybrid.search.gate.background import Background
    from hybrid.types import Embedder

PROBE = Probe(np.array([2, 0, 0, 0], np.float32), 0.5)
ALL_OFF = replace(SETTINGS, chat=0, chat_without_probe=0, probe=0, lexical=0, together=0, names=0, absent=0, length=0)


def _asked(
    texts: Sequence[str], vectors: Sequence[Sequence[float]], null: Sequence[float], n_words: int = 5
) -> PromptPieces:
    return PromptPieces(tuple(texts), np.array(vectors, np.float32), np.array(null, np.float32), n_words)


def _closest(*cosines: float) -> NDArray[np.float32]:
    return np.array(cosines, np.float32)


def _gate(
    folder: Path,
    chunks: Sequence[TinyChunk] = (),
    *,
    bars: tuple[float, float] = (0.5, 0.5),
    how: GateConfig = SETTINGS,
    probe: Probe | None = PROBE,
) -> Gate:
    """A gate with bars of our choice over some chunks; the chat bank is one axis."""
    world = make_world([Held(True, ()), Held(False, ())], chat_bank=[[0, 0, 0, 1]], probe=probe)
    gate = Gate(snapshot_of(folder, world, chunks), HashingEmbedder(4), lambda: world.background, how)
    gate.calibration = Calibration(
        *bars, n_prompts=2, talk_rate=0.1, task_rate=0.1, expected_talk=0.0, expected_tasks=0.0
    )
    return gate


# --- the parts of a piece --------------------------------------------------------------------------------------


def test_every_part_by_hand(tmp_path: Path) -> None:
    """Each part of one piece, with its sign, worked out beside the code."""
    chunks = [TinyChunk([100, 0, 0, 0], ("zorbl", "retri", "open_zorbl")), TinyChunk([0, 100, 0, 0], ("retri",))]
    gate = _gate(tmp_path, chunks, bars=(0.0, 99.0))
    asked = _asked(["zorbl retry open_zorbl quuxli"], [[0.6, 0, 0, 0.8]], [0.75], n_words=120)

    found = gate.judge(asked, _closest(0.6), 0.55)

    n_documents, counts = generic_terms()
    assert {"zorbl", "quuxli", "open_zorbl"}.isdisjoint(counts)
    elsewhere = (n_documents / 8_000 + 0.5) / (n_documents + 1)
    expected = {
        "cosine": 0.6,
        "null": -0.25 * 0.6,
        "lexical": 0.05 * min(8, math.log((1.5 / 3) / elsewhere)),
        "together": 0.03 * 16,
        "names": 0.2,
        "alone": 0,
        "absent": -0.07,
        "lacking": 0,
        "length": -0.3 * math.log(2),
        "chat": -0.5 * 0.8,
        "probe": 0.1 * (2 * 0.6 * 0.75 + 0.5),
    }
    assert pytest.approx(expected, abs=1e-6) == dict(found.parts)
    assert (0.55, "auto") == (found.top_cosine, found.source)


def test_words_count_where_they_stand_together(tmp_path: Path) -> None:
    """Of two unknown words, each of another chunk, one counts; in one chunk both do, up to 16."""
    (tmp_path / "apart").mkdir()
    (tmp_path / "meeting").mkdir()
    apart = [TinyChunk([100, 0, 0, 0], ("quuxla",)), TinyChunk([0, 100, 0, 0], ("quuxlb", "quuxlc"))]
    meeting = [TinyChunk([100, 0, 0, 0], ("quuxla", "quuxlb", "quuxlc")), TinyChunk([0, 100, 0, 0])]
    gates = [_gate(tmp_path / "apart", apart), _gate(tmp_path / "meeting", meeting)]

    def together(text: str) -> list[float]:
        asked = _asked([text], [[1, 0, 0, 0]], [1])
        return [gate.judge(asked, _closest(1), 1).parts["together"] for gate in gates]

    assert [pytest.approx(0.03 * 8), pytest.approx(0.03 * 16)] == together("quuxla quuxlb")
    assert [pytest.approx(0.03 * 16)] * 2 == together("quuxla quuxlb quuxlc")
    assert [0, 0] == together("quuxld")


def test_names_and_absent_words_have_an_upper_end(tmp_path: Path) -> None:
    """Two names that exist here count, and three words that exist nowhere; the rest adds nothing."""
    chunks = [TinyChunk([100, 0, 0, 0], ("open_file", "read_file", "save_file"))]
    text = "open_file read_file save_file quuxla quuxlb quuxlc quuxld"
    gate = _gate(tmp_path, chunks)

    parts = gate.judge(_asked([text], [[1, 0, 0, 0]], [1]), _closest(1), 1).parts

    assert (pytest.approx(0.4), pytest.approx(-0.21)) == (parts["names"], parts["absent"])


def test_a_word_that_is_common_elsewhere_is_not_absent(tmp_path: Path) -> None:
    """A word that this corpus lacks tells another project only when code at large does not know it, either."""
    assert "python" in generic_terms()[1]
    gate = _gate(tmp_path, [TinyChunk([100, 0, 0, 0])])

    parts = gate.judge(_asked(["python"], [[1, 0, 0, 0]], [1]), _closest(1), 1).parts

    assert (0, 0) == (parts["absent"], parts["lexical"])


@pytest.mark.parametrize("part", ["chat", "probe", "lexical", "together", "names", "absent", "length"])
def test_a_part_with_weight_zero_is_nothing(tmp_path: Path, part: str) -> None:
    """It stays in the list, so that a log always has the same columns; the others are as before."""
    chunks = [TinyChunk([100, 0, 0, 0], ("zorbl", "open_file"))]
    asked = _asked(["zorbl open_file quuxli"], [[0.6, 0, 0, 0.8]], [0.75], n_words=120)
    (tmp_path / "off").mkdir()
    before = _gate(tmp_path, chunks).judge(asked, _closest(0.6), 0.6).parts

    off = _gate(tmp_path / "off", chunks, how=replace(SETTINGS, **{part: 0}))
    after = off.judge(asked, _closest(0.6), 0.6).parts

    assert before[part] != 0 == after[part]
    assert {**before, part: 0} == after


def test_a_model_without_a_probe_uses_the_other_weight_of_chat(tmp_path: Path) -> None:
    """Without a probe chat weighs more, and the probe adds nothing."""
    parts = _gate(tmp_path, probe=None).judge(_asked(["piece"], [[0.6, 0, 0, 0.8]], [1]), _closest(0.6), 0.6).parts

    assert (pytest.approx(-0.9 * 0.8), 0) == (parts["chat"], parts["probe"])


# --- the verdict -----------------------------------------------------------------------------------------------

# With all weights off but those of chat and probe: evidence is the cosine, talk adds 0.1 · (2 · 0 + 0.5) = 0.05.
ONLY_TALK = replace(ALL_OFF, probe=0.1)


@pytest.mark.parametrize(
    ("cosine", "bars", "is_open", "bar"),
    [
        (0.6, (0.5, 0.5), True, "tasks"),
        (0.6, (0.64, 0.5), True, "talk"),
        (0.6, (0.66, 0.5), False, "talk"),
        (0.6, (0.5, 0.7), False, "tasks"),
        (0.6, (0.9, 0.7), False, "talk"),
        (0.6, (0.7, 0.9), False, "tasks"),
        (0.6, (math.inf, 0.5), False, "talk"),
        (0.6, (0.5, math.inf), False, "tasks"),
    ],
    ids=["both", "both, talk nearer", "talk fails", "tasks fail", "talk worse", "tasks worse", "no talk", "no tasks"],
)
def test_both_bars_must_be_reached(
    tmp_path: Path, cosine: float, bars: tuple[float, float], is_open: bool, bar: str
) -> None:
    """Score, threshold and bar of the verdict are those of the bar that was nearer, or missed by more."""
    gate = _gate(tmp_path, bars=bars, how=ONLY_TALK)
    asked = _asked(["piece"], [[0, 1, 0, 0]], [1])

    found = gate.judge(asked, _closest(cosine), 0.6)

    expected = cosine + 0.05 if bar == "talk" else cosine
    assert (is_open, bar, bars[0 if bar == "talk" else 1]) == (found.is_open, found.bar, found.threshold)
    assert pytest.approx(expected, abs=1e-6) == found.score


@pytest.mark.parametrize("bars", [(0.5, 0.0), (0.0, 0.5)], ids=["talk", "tasks"])
def test_a_tie_stays_closed(tmp_path: Path, bars: tuple[float, float]) -> None:
    """A bar is a score that the background reached: a prompt must rise above it."""
    gate = _gate(tmp_path, bars=bars, how=ALL_OFF)
    asked = _asked(["piece"], [[0, 1, 0, 0]], [1])

    opened = [gate.judge(asked, _closest(cosine), 0.5).is_open for cosine in (0.499, 0.5, 0.501)]

    assert [False, False, True] == opened


def test_the_best_piece_decides(tmp_path: Path) -> None:
    """One piece that reaches both bars opens; two that reach one bar each do not."""
    how = replace(ALL_OFF, chat=1.0)
    gate = _gate(tmp_path, bars=(0.3, 0.5), how=how)
    vectors = [[0, 0, 0.6, 0.8], [1, 0, 0, 0], [0, 1, 0, 0]]

    apart = gate.judge(_asked(["a", "b"], vectors[:2], [1, 1]), _closest(0.9, 0.4), 0.9)
    both = gate.judge(_asked("abc", vectors, [1, 1, 1]), _closest(0.9, 0.4, 0.6), 0.9)

    assert (False, "tasks", pytest.approx(0.4)) == (apart.is_open, apart.bar, apart.score)
    assert (True, "tasks", pytest.approx(0.6)) == (both.is_open, both.bar, both.score)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf], ids=str)
def test_what_is_not_finite_never_opens(tmp_path: Path, wrong: float) -> None:
    """Neither a cosine nor a bar that is no number opens the gate."""
    gate = _gate(tmp_path, bars=(0.0, 0.0))
    asked = _asked(["piece"], [[0, 1, 0, 0]], [0.5])

    assert not gate.judge(asked, _closest(wrong), 0.6).is_open
    gate.calibration = replace(gate.calibration, talk=wrong)
    assert not gate.judge(asked, _closest(0.9), 0.6).is_open


@pytest.mark.parametrize(
    ("asked", "closest"),
    [
        (
            PromptPieces((), np.zeros((0, 4), np.float32), np.zeros(0, np.float32), 5),
            _closest(),
        ),
        (_asked(["a", "b"], [[0, 0, 0, 0]] * 2, [0, 0]), _closest(math.nan, math.nan)),
    ],
    ids=["no piece", "no vector"],
)
def test_nothing_to_compare_stays_closed(tmp_path: Path, asked: PromptPieces, closest: NDArray[np.float32]) -> None:
    """Without a piece that has a vector there is no score; a bar that nothing reached is not shown as one."""
    (tmp_path / "silent").mkdir()
    gates = _gate(tmp_path, bars=(-0.5, -0.5)), _gate(tmp_path / "silent", bars=(SILENT, SILENT))

    found = [gate.judge(asked, closest, None) for gate in gates]

    assert [Verdict(False, None, bar, "auto", bar="talk") for bar in (-0.5, None)] == found


def test_the_subject_is_the_pieces_that_rise_above_their_bars(tmp_path: Path) -> None:
    """In the order of the prompt; empty when the whole is the best piece, or when the gate stays closed."""
    gate = _gate(tmp_path, bars=(0.5, 0.5), how=ALL_OFF)
    asked = _asked(["the whole", "one", "two", "three"], [[0, 1, 0, 0]] * 4, [1] * 4)

    def subject(*cosines: float) -> str:
        return gate.judge(asked, _closest(*cosines), 0.6).subject

    assert ["one", "three"] == subject(0.4, 0.6, 0.3, 0.9).split()
    assert "" == subject(0.9, 0.6, 0.3, 0.6)
    assert "" == subject(0.1, 0.4, 0.3, 0.2)


def test_the_background_is_loaded_when_the_first_prompt_is_judged(tmp_path: Path) -> None:
    """A search without a prompt pays nothing for it, and the second prompt uses what the first one loaded."""
    world = make_world([Held(True, ()), Held(False, ())])
    loaded: list[Background] = []

    def load() -> Background:
        loaded.append(world.background)
        return world.background

    gate = Gate(snapshot_of(tmp_path, world), HashingEmbedder(4), load, SETTINGS)
    counts = [len(loaded)]
    for text in ("rewrite the retry loop", "rewrite the parser of headers"):
        asked = gate.ask(text)
        counts.append(len(loaded))
        gate.judge(asked, _closest(0.6), 0.6)
        counts.append(len(loaded))

    assert [0, 0, 1, 1, 1] == counts


# --- over an index ---------------------------------------------------------------------------------------------


def _shop(folder: Path, embedder: Embedder, home: Path, how: GateConfig) -> tuple[Snapshot, Gate]:
    """The payments project as an index of two segments, with its gate."""
    annotator = GateAnnotator(embedder, home, records=how if how.words else None)
    source = ListSource({path: text for path, text in PAYMENTS.items() if path.endswith(".py")})
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    source.texts.update(PAYMENTS)
    build_index(place_in(folder), source, embedder, annotator=annotator, max_segments=9)
    snapshot = open_index(place_in(folder), embedder)
    assert 2 == len(snapshot.segments)
    return snapshot, Gate(snapshot, embedder, lambda: load_background(embedder, home), how)


def _judged(snapshot: Snapshot, gate: Gate, text: str, *, is_prompt: bool = True) -> Verdict:
    asked = gate.ask(text, is_prompt=is_prompt)
    query = asked.vectors[0] if len(asked.texts) else np.zeros(snapshot.manifest.dim, np.float32)
    leg, closest = snapshot.dense_with_pieces(query, asked.vectors, 10)
    return gate.judge(asked, closest, leg.top)


def _single_pieces() -> dict[int, str]:
    """Number and text of the calibration prompts that are one piece, whose two scores the parts of a verdict tell."""
    found: dict[int, str] = {}
    for number, prompt in enumerate(prompt for prompt in shipped_prompts() if not prompt.is_bank):
        cleaned = clean(prompt.text)
        if len(searched_pieces(prompt.text)) == 1:
            found[number] = cleaned.text
    return found


@pytest.mark.parametrize("model", ["hashing", "static"])
@pytest.mark.parametrize(
    "how",
    [
        SETTINGS,
        replace(SETTINGS, null=False),
        ALL_OFF,
        replace(SETTINGS, words=0.1, hinge=0.5),
    ],
    ids=["all", "no null", "raw", "records"],
)
def test_prompts_of_the_background_get_the_scores_they_were_calibrated_with(
    tmp_path: Path,
    static_embedder: Embedder,
    static_home: Path,
    hashing_home: Path,
    model: str,
    how: GateConfig,
) -> None:
    """The path of a prompt and the path of the calibration are one statistic: otherwise the bars mean nothing."""
    embedder, home = (static_embedder, static_home) if model == "static" else (HashingEmbedder(), hashing_home)
    snapshot, gate = _shop(tmp_path, embedder, home, how)
    evidence, talk = background_scores(load_background(embedder, home), snapshot.background.figures(), how)
    found = {number: _judged(snapshot, gate, text) for number, text in _single_pieces().items()}

    known = [number for number in found if found[number].parts]
    sums = [sum(found[number].parts.values()) for number in known]
    without = [sum(v for k, v in found[number].parts.items() if k not in ("chat", "probe")) for number in known]

    assert len(known) > 50
    np.testing.assert_allclose(talk[known], sums, atol=1e-4)
    np.testing.assert_allclose(evidence[known], without, atol=1e-4)


def test_fewer_pieces_are_calibrated_with_fewer_pieces(tmp_path: Path, hashing_home: Path) -> None:
    """With `pieces = 0` prompts are judged as a whole: so is the background, or its bars lie too high for them."""
    how = replace(SETTINGS, pieces=0)
    snapshot, gate = _shop(tmp_path, HashingEmbedder(), hashing_home, how)
    evidence, _ = background_scores(
        load_background(HashingEmbedder(), hashing_home), snapshot.background.figures(), how
    )
    held = [prompt for prompt in shipped_prompts() if not prompt.is_bank]
    numbers = [number for number, prompt in enumerate(held) if prompt.kind == "report"]

    found = [_judged(snapshot, gate, clean(held[number].text).text).parts for number in numbers]

    without = [sum(value for name, value in parts.items() if name not in ("chat", "probe")) for parts in found]
    np.testing.assert_allclose(evidence[numbers], without, atol=1e-4)


@pytest.fixture(scope="module")
def shop_gate(
    tmp_path_factory: pytest.TempPathFactory, static_embedder: Embedder, static_home: Path
) -> tuple[Snapshot, Gate]:
    """The payments project with the shipped model."""
    return _shop(tmp_path_factory.mktemp("shop"), static_embedder, static_home, SETTINGS)


@examples(40)
@given(st.text(max_size=200) | st.lists(st.sampled_from(["retry", "the", "payment.", "Zorbl_x", "?"])).map(" ".join))
def test_the_parts_add_up_to_the_score(shop_gate: tuple[Snapshot, Gate], text: str) -> None:
    """For any text: all parts for talk, those without chat and probe for tasks; and it is open exactly above the bar."""
    found = _judged(*shop_gate, text)

    if found.score is None:
        assert not found.parts
        assert not found.is_open
        return
    left_out = ("chat", "probe") if found.bar == "tasks" else ()
    expected = sum(value for part, value in found.parts.items() if part not in left_out)
    assert pytest.approx(expected, abs=1e-9) == found.score
    assert (found.score > (found.threshold or 0)) == found.is_open


def test_a_request_opens_and_talk_does_not(shop_gate: tuple[Snapshot, Gate]) -> None:
    """What the project is about reaches both bars; small talk of the same length does not."""
    request = "Morning! After a timeout our payment request is sent again, could you have a look at the retry loop?"
    talk = "Morning! What a weekend, we went to the lake and the children swam until it was dark, how was yours?"

    assert [True, False] == [_judged(*shop_gate, text).is_open for text in (request, talk)]


def test_pieces_are_embedded_and_counted_as_set(tmp_path: Path, static_embedder: Embedder) -> None:
    """`ask` gives the whole and at most so many pieces as set, with a null factor each, and the words as typed."""
    text = "Please rewrite the retry loop of the client. The load balancer drops a request, and the vault key is old."
    everything = gate_pieces(text, MAX_PIECES)
    world = make_world([])
    snapshot = snapshot_of(tmp_path, world)
    asked = [
        Gate(snapshot, static_embedder, lambda: world.background, replace(SETTINGS, pieces=n)).ask(text)
        for n in (0, 1, 12)
    ]

    assert [everything[:1], everything[:2], everything] == [one.texts for one in asked]
    assert len(everything) > 2
    assert {20} == {one.n_words for one in asked}
    vectors, lengths = static_embedder.embed_queries(everything)
    assert lengths is not None
    np.testing.assert_allclose(vectors, asked[2].vectors, atol=1e-6)
    np.testing.assert_allclose(lengths / np.sqrt(lengths**2 + 1), asked[2].null, atol=1e-6)


def test_a_model_without_lengths_damps_nothing(tmp_path: Path) -> None:
    """Its null factors are 1."""
    world = make_world([])
    gate = Gate(snapshot_of(tmp_path, world), HashingEmbedder(), lambda: world.background, SETTINGS)

    asked = gate.ask("rewrite the retry loop, then the parser of headers")

    assert len(asked.texts) > 1
    assert [1.0] * len(asked.texts) == asked.null.tolist()


def test_null_can_be_switched_off(tmp_path: Path, static_embedder: Embedder, static_home: Path) -> None:
    """The cosine is not damped then; the probe, which was trained on damped vectors, stays as it was."""
    text = "After a timeout our payment request is sent again, could you have a look at the retry loop?"
    found: list[Verdict] = []
    for is_on in (True, False):
        folder = tmp_path / str(is_on)
        folder.mkdir()
        found.append(
            _judged(*_shop(folder, static_embedder, static_home, replace(SETTINGS, null=is_on, pieces=0)), text)
        )
    damped, plain = (verdict.parts for verdict in found)

    assert damped["null"] < 0 == plain["null"]
    assert {**damped, "null": 0} == pytest.approx(dict(plain))


def test_a_text_without_content_has_no_piece(hashing_background: Background, tmp_path: Path) -> None:
    """Words of grammar alone leave nothing to compare."""
    gate = Gate(snapshot_of(tmp_path, make_world([])), HashingEmbedder(), lambda: hashing_background, SETTINGS)

    asked = gate.ask("could you please do it for me?")

    assert ((), (0, 64), (0,)) == (asked.texts, asked.vectors.shape, asked.null.shape)


# --- what a prompt names, and what it lacks ----------------------------------------------------------------------


def _parts(tmp_path: Path, text: str, *, is_prompt: bool = True, **weights: float) -> dict[str, float]:
    """The parts of the verdict on a prompt over the payments project."""
    embedder = HashingEmbedder()
    annotator = GateAnnotator(embedder, tmp_path)
    build_index(place_in(tmp_path), ListSource(dict(PAYMENTS)), embedder, annotator=annotator)
    snapshot = open_index(place_in(tmp_path), embedder)
    gate = Gate(snapshot, embedder, lambda: load_background(embedder, tmp_path), replace(ALL_OFF, **weights))
    return dict(_judged(snapshot, gate, text, is_prompt=is_prompt).parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PaymentClient", 1),
        ("the payment client", 1),
        ("InvoiceClient", -1),
        ("boil kettle", -1),
        ("fix memory leak", -1),
        ("where is the InvoiceClient", 0),
        ("how does authentication work?", 0),
        ("how does the payment client retry?", 0),
    ],
)
def test_a_short_prompt_opens_by_what_it_names(tmp_path: Path, text: str, expected: int) -> None:
    """Only a very short one, of two words or below twenty characters, is silent when it names nothing here."""
    assert expected == _parts(tmp_path, text, alone=1)["alone"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how do I quuxla the payment client", -0.5),
        ("how does it quuxla the payment client?", 0),
        ("how do I retry the payment client?", 0),
        ("how do I quuxla the payment client quuxlb quuxlc quuxld", -1.5),
        ("You are a quuxla. How do quuxlb, quuxlc, quuxld, quuxle and quuxlf retry?", -2.5),
        ("You are a quuxla. How does the payment retry?", -0.5),
        ("You are a quuxla developer. How does the payment retry?", 0),
    ],
)
def test_words_that_are_not_here_count_where_something_else_may_be_meant(
    tmp_path: Path, text: str, expected: float
) -> None:
    """Each by its rarity at large, three at most, in questions how to do something and behind a role."""
    assert pytest.approx(expected) == _parts(tmp_path, text, lacking=0.5)["lacking"]


@pytest.mark.parametrize("text", ["boil kettle", "PaymentClient", "how do I quuxla the payment client"])
def test_a_search_is_judged_by_its_meaning_alone(tmp_path: Path, text: str) -> None:
    """Whoever searches has said that it is about the project, in however few words."""
    found = _parts(tmp_path, text, is_prompt=False, alone=1, lacking=0.5)

    assert (0, 0) == (found["alone"], found["lacking"])
