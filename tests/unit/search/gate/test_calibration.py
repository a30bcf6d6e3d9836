"""The bars are compared with a slow loop over prompts, pieces, segments and chunks, written for these tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.models.registry import Probe
from hybrid.search.gate.background import SILENT, background_scores, calibrate
from tests.support.worlds import (
    DIM,
    N_GENERIC,
    SCALE,
    SETTINGS,
    Held,
    Piece,
    TinyChunk,
    World,
    make_world,
    snapshot_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.constants import GateConfig
    from hybrid.index.backend import BackgroundFigures

TERMS = ("alpha", "beta", "gamma", "delta", "eps_one", "eps_two", "zeta", "eta")
GENERIC = {"alpha": 4_000, "beta": 40, "eps_one": 2}
WEIGHTS = ("chat", "chat_without_probe", "probe", "lexical", "together", "names", "absent", "length")
OFF = replace(SETTINGS, null=False, **dict.fromkeys(WEIGHTS, 0))


# --- the slow loop ---------------------------------------------------------------------------------------------


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _slow_evidence(piece: Piece, chunks: Sequence[TinyChunk], world: World, settings: GateConfig) -> float | None:
    vectors = [[SCALE * value for value in chunk.vector] for chunk in chunks if chunk.vector]
    if not vectors or not any(piece.vector):
        return None
    top = max(_dot(v, piece.vector) for v in vectors)
    gains, n_absent, n_known = [0.0], 0, 0
    for word in piece.words:
        n_here = sum(word in chunk.terms for chunk in chunks)
        n_generic = world.generic.get(word, 0)
        n_absent += n_here == n_generic == 0
        here = (n_here + 0.5) / (len(chunks) + 1)
        elsewhere = (max(n_generic, N_GENERIC / 8_000) + 0.5) / (N_GENERIC + 1)
        if n_here:
            gains.append(min(8.0, math.log(here / elsewhere)))
    for name in piece.names:
        n_known += any(name in chunk.terms for chunk in chunks)
    return (
        (piece.null if settings.null else 1) * top
        + settings.lexical * max(gains)
        + settings.together * min(16, max(_slow_rarity(piece, chunk, world) for chunk in chunks))
        + settings.names * min(2, n_known)
        - settings.absent * min(3, n_absent)
    )


def _slow_rarity(piece: Piece, chunk: TinyChunk, world: World) -> float:
    """The rarities of the words of a piece that a chunk holds, added up."""
    held = [max(world.generic.get(word, 0), N_GENERIC / 8_000) for word in piece.words if word in chunk.terms]
    return sum(min(8.0, math.log(N_GENERIC / n_generic)) for n_generic in held)


def _slow_scores(world: World, chunks: Sequence[TinyChunk], settings: GateConfig) -> tuple[list[float], list[float]]:
    weight = settings.chat if world.background.probe else settings.chat_without_probe
    evidence: list[float] = []
    talk: list[float] = []
    for prompt in world.held:
        found = [(_slow_evidence(piece, chunks, world, settings), piece) for piece in prompt.pieces]
        known = [(value, piece) for value, piece in found if value is not None]
        penalty = settings.length * math.log(max(prompt.n_words, 60) / 60)
        evidence.append(max((value - penalty for value, _ in known), default=SILENT))
        talk.append(
            max((value + settings.probe * p.logit - weight * p.chat - penalty for value, p in known), default=SILENT)
        )
    return evidence, talk


def _slow_bar(scores: Sequence[float], rate: float) -> float:
    """The smallest of the scores that at most a share of them exceeds."""
    allowed = [bar for bar in scores if sum(score > bar for score in scores) <= rate * len(scores)]
    return min(allowed, default=math.inf)


# --- random worlds ---------------------------------------------------------------------------------------------


def _unit(random: np.random.Generator, *, may_be_zero: bool = False) -> list[float]:
    vector = random.normal(size=DIM)
    return [0.0] * DIM if may_be_zero and random.random() < 0.2 else (vector / np.linalg.norm(vector)).tolist()


def _some(random: np.random.Generator, most: int) -> tuple[str, ...]:
    return tuple(random.choice(TERMS, size=random.integers(0, most + 1), replace=False).tolist())


def _random_world(seed: int) -> World:
    random = np.random.default_rng(seed)

    def piece() -> Piece:
        null, chat, logit = random.uniform(0.2, 1), random.uniform(0, 1), random.uniform(-4, 4)
        return Piece(_unit(random, may_be_zero=True), null, chat, logit, _some(random, 5), _some(random, 3))

    held = [
        Held(
            bool(random.random() < 0.5), tuple(piece() for _ in range(random.integers(0, 5))), int(random.integers(200))
        )
        for _ in range(30)
    ]
    probe = Probe(np.ones(DIM, np.float32), 0.0) if seed % 2 else None
    return make_world(held, generic=GENERIC, probe=probe)


def _random_chunks(seed: int, n_chunks: int) -> list[TinyChunk]:
    random = np.random.default_rng(seed)
    rows = [[round(100 * value) for value in _unit(random, may_be_zero=True)] for _ in range(n_chunks)]
    return [TinyChunk(row if any(row) else None, _some(random, 4)) for row in rows]


def _figures(folder: Path, world: World, parts: Sequence[Sequence[TinyChunk]]) -> BackgroundFigures:
    folder.mkdir(exist_ok=True)
    return snapshot_of(folder, world, *parts).background.figures()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        replace(SETTINGS, null=False),
        OFF,
        replace(OFF, chat=0.7, chat_without_probe=0.7),
        replace(OFF, lexical=0.3),
        replace(OFF, together=0.3),
        replace(OFF, names=0.3),
        replace(OFF, absent=0.3),
        replace(OFF, length=0.3),
        replace(OFF, probe=0.3),
    ],
    ids=["all", "no null", "raw", "chat", "lexical", "together", "names", "absent", "length", "probe"],
)
def test_the_scores_are_those_of_the_slow_loop(tmp_path: Path, seed: int, settings: GateConfig) -> None:
    """Evidence, and evidence + talk, of every prompt, with each part alone and with all of them."""
    world, chunks = _random_world(seed), _random_chunks(seed, 10)
    figures = _figures(tmp_path, world, [chunks])
    expected = _slow_scores(world, chunks, settings)

    found = background_scores(world.background, figures, settings)

    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_segments_together_have_the_scores_of_one(tmp_path: Path, seed: int) -> None:
    """The same ten chunks, none of them removed, give the same bars in one segment and in four."""
    world, chunks = _random_world(seed), _random_chunks(seed, 10)
    (tmp_path / "one").mkdir()
    (tmp_path / "four").mkdir()
    one = _figures(tmp_path / "one", world, [chunks])
    four = _figures(tmp_path / "four", world, [chunks[:3], [], chunks[3:4], chunks[4:]])

    found = calibrate(world.background, four, SETTINGS)

    expected = calibrate(world.background, one, SETTINGS)
    assert pytest.approx(expected.talk, abs=1e-6) == found.talk
    assert pytest.approx(expected.tasks, abs=1e-6) == found.tasks


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.03, 0.25, 0.5, 0.99, 1.0])
def test_the_bars_are_observed_scores_that_a_share_exceeds(tmp_path: Path, seed: int, rate: float) -> None:
    """Talk sets the bar of talk, tasks that of tasks; each is the smallest score that no more than the rate exceeds."""
    settings = replace(SETTINGS, max_false_open_rate=rate, max_other_task_rate=1 - rate)
    world, chunks = _random_world(seed), _random_chunks(seed, 10)
    evidence, talk = _slow_scores(world, chunks, settings)
    of_talk = [score for score, prompt in zip(talk, world.held, strict=True) if prompt.is_talk]
    of_tasks = [score for score, prompt in zip(evidence, world.held, strict=True) if not prompt.is_talk]

    found = calibrate(world.background, _figures(tmp_path, world, [chunks]), settings)

    assert pytest.approx(_slow_bar(of_talk, rate), abs=1e-5) == found.talk
    assert pytest.approx(_slow_bar(of_tasks, 1 - rate), abs=1e-5) == found.tasks
    assert (30, rate, 1 - rate) == (found.n_prompts, found.talk_rate, found.task_rate)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.25, 0.5, 1.0])
def test_the_shares_that_pass_both_bars_are_counted_one_by_one(tmp_path: Path, seed: int, rate: float) -> None:
    """Of talk and of tasks, those above the bar of talk and above that of tasks: never more than either bar allows."""
    settings = replace(SETTINGS, max_false_open_rate=rate, max_other_task_rate=0.5)
    world = _random_world(seed)
    figures = _figures(tmp_path, world, [_random_chunks(seed, 10)])
    evidence, talk = (scores.tolist() for scores in background_scores(world.background, figures, settings))

    found = calibrate(world.background, figures, settings)

    passed = [t > found.talk and e > found.tasks for t, e in zip(talk, evidence, strict=True)]
    for is_talk, share, allowed in ((True, found.expected_talk, rate), (False, found.expected_tasks, 0.5)):
        of_kind = [one for one, prompt in zip(passed, world.held, strict=True) if prompt.is_talk == is_talk]
        assert pytest.approx(sum(of_kind) / len(of_kind)) == share
        assert share <= allowed


# --- worked by hand --------------------------------------------------------------------------------------------

AXES = np.eye(DIM).tolist()


def _talk(*vectors: Sequence[float]) -> Held:
    return Held(True, tuple(Piece(vector) for vector in vectors))


def test_a_score_by_hand(tmp_path: Path) -> None:
    """0.9 · 0.8 + 0.05 · ln(0.5 / (2.5 / 16001)) + 0.03 · 8 + 0.2 − 0.07 − 0.3 · ln 2 − 0.5 · 0.4 + 0.1 · 3."""
    probe = Probe(np.ones(DIM, np.float32), 0.0)
    piece = Piece(AXES[0], 0.9, 0.4, 3.0, ("here", "nowhere"), ("here",))
    world = make_world([Held(True, (piece,), 120)], probe=probe)
    figures = _figures(tmp_path, world, [[TinyChunk([80, 60, 0, 0], ("here",)), TinyChunk([0, 0, 0, 100])]])

    evidence, talk = background_scores(world.background, figures, SETTINGS)

    # 1.5 of 3 chunks hold it; 8 is the most that a gain counts.
    expected = 0.9 * 0.8 + 0.05 * min(8, math.log(0.5 / (2.5 / 16_001))) + 0.03 * 8 + 0.2 - 0.07 - 0.3 * math.log(2)
    assert [pytest.approx(expected, abs=1e-6)] == evidence.tolist()
    assert [pytest.approx(expected - 0.5 * 0.4 + 0.1 * 3, abs=1e-6)] == talk.tolist()


def test_the_best_piece_counts_and_a_silenced_prompt_counts_too(tmp_path: Path) -> None:
    """Of four talk prompts one is silenced by a rule: it stands below the others and counts in the rate."""
    world = make_world([_talk([0.6, 0.8, 0, 0], AXES[0]), Held(True, ()), _talk(AXES[1]), _talk([0, 0.6, 0.8, 0])])
    figures = _figures(tmp_path, world, [[TinyChunk([100, 0, 0, 0]), TinyChunk([0, 0, 50, 0])]])
    scores = [1.0, SILENT, 0.0, 0.4]

    bars = [
        calibrate(world.background, figures, replace(OFF, max_false_open_rate=rate)).talk
        for rate in (0, 0.25, 0.5, 0.75)
    ]

    assert pytest.approx(scores) == background_scores(world.background, figures, OFF)[0].tolist()
    assert pytest.approx([1.0, 0.4, 0.0, SILENT]) == bars


def test_equal_scores_are_one_bar(tmp_path: Path) -> None:
    """Where several prompts reach the same score, the bar is that score, which none of them exceeds."""
    world = make_world([_talk(AXES[0]), _talk(AXES[0]), _talk(AXES[0]), _talk(AXES[1])])
    figures = _figures(tmp_path, world, [[TinyChunk([70, 0, 0, 0])]])

    found = calibrate(world.background, figures, replace(OFF, max_false_open_rate=0.5)).talk

    assert pytest.approx(0.7) == found


@pytest.mark.parametrize(
    "parts", [[], [[]], [[TinyChunk(None, ("word",))]]], ids=["no segment", "no chunk", "no vector"]
)
def test_nothing_to_compare_with(tmp_path: Path, parts: list[list[TinyChunk]]) -> None:
    """Without a vector in the corpus every prompt stays below any cosine, whatever words it shares."""
    piece = Piece(AXES[0], words=("word",), names=("word",))
    world = make_world([Held(True, (piece,), 600), Held(False, (piece,), 600)])
    figures = _figures(tmp_path, world, parts)

    found = calibrate(world.background, figures, SETTINGS)

    assert (SILENT, SILENT) == (found.talk, found.tasks)
    assert (0.0, 0.0) == (found.expected_talk, found.expected_tasks)


def test_a_piece_without_a_vector_is_below_any_other(tmp_path: Path) -> None:
    """What the model knows no word of has no cosine; words that occur here do not lift it."""
    world = make_world([Held(True, (Piece([0, 0, 0, 0], words=("word",)),)), _talk(AXES[1])])
    figures = _figures(tmp_path, world, [[TinyChunk([100, 0, 0, 0], ("word",))]])

    _, talk = background_scores(world.background, figures, SETTINGS)

    assert pytest.approx([SILENT, 0.0]) == talk.tolist()


@pytest.mark.parametrize("is_talk", [True, False], ids=["without tasks", "without talk"])
def test_a_background_of_one_kind_lets_no_prompt_pass(tmp_path: Path, is_talk: bool) -> None:
    """A bar that nothing was measured for is infinite, and nothing is expected to pass it."""
    world = make_world([Held(is_talk, (Piece(AXES[0]),)), Held(is_talk, (Piece(AXES[1]),))])
    figures = _figures(tmp_path, world, [[TinyChunk([100, 0, 0, 0])]])
    found = calibrate(world.background, figures, replace(SETTINGS, max_false_open_rate=0.5))

    assert math.inf == (found.tasks if is_talk else found.talk)
    assert (0.0, 0.0) == (found.expected_talk, found.expected_tasks)
