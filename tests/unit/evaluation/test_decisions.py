"""Rates of a threshold, and the decisions of the gate that people marked."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.cli.main import run
from hybrid.evaluation.decisions import (
    FEWEST,
    MarkedDecision,
    Rates,
    at_false_rate,
    auc,
    best_rates,
    evaluate_marks,
    open_rate,
    rates_at,
    spread,
)
from hybrid.log.marks import Mark, add_mark

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


WANTED = [0.9, 0.6, 0.4, -math.inf]
UNWANTED = [0.5, 0.4, 0.2, 0.1, -math.inf]


@pytest.mark.parametrize(
    ("wanted", "unwanted", "expected"),
    [
        pytest.param([0.9, 0.8], [0.1, 0.2], 1.0, id="apart"),
        pytest.param([0.1], [0.9], 0.0, id="upside down"),
        pytest.param([0.5], [0.5], 0.5, id="tie"),
        pytest.param([0.9, 0.3], [0.5, 0.1], 0.75, id="one pair swapped"),
        pytest.param([-math.inf, 0.9], [-math.inf, -math.inf], 0.75, id="silenced ones tie"),
        pytest.param(WANTED, UNWANTED, (5 + 5 + 3.5 + 0.5) / 20, id="hand-worked"),
        pytest.param([], [0.1], math.nan, id="no pair to count"),
    ],
)
def test_auc_is_the_share_of_pairs_in_order(wanted: list[float], unwanted: list[float], expected: float) -> None:
    """Of all pairs of a wanted and an unwanted score, those in order count one and ties one half."""
    assert expected == pytest.approx(auc(wanted, unwanted), nan_ok=True)


def test_a_silenced_score_never_opens() -> None:
    """Even the lowest threshold does not open for what a rule silenced; a score that equals the threshold opens."""
    assert 0.75 == open_rate(WANTED, -1.0)
    assert 0.75 == open_rate(WANTED, -math.inf)
    assert Rates(0.4, 0.75, 0.4) == rates_at(0.4, WANTED, UNWANTED)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0.0, Rates(0.6, 0.5, 0.0)),
        (0.2, Rates(0.5, 0.5, 0.2)),
        (0.4, Rates(0.4, 0.75, 0.4)),
        (1.0, Rates(0.1, 0.75, 0.8)),
    ],
    ids=["none", "one in five", "two in five", "all"],
)
def test_the_lowest_threshold_within_a_false_rate(limit: float, expected: Rates) -> None:
    """The threshold is an observed score, as low as the false rate allows."""
    found = at_false_rate(limit, WANTED, UNWANTED)

    assert (expected.threshold, expected.true_rate) == (found.threshold, found.true_rate)
    assert expected.false_rate == pytest.approx(found.false_rate)


def test_the_best_threshold_has_the_largest_difference() -> None:
    """True rate minus false rate is 0.5 at 0.6, and less elsewhere; with silenced prompts alone there is none."""
    found = best_rates(WANTED, UNWANTED)

    assert (0.6, 0.5, 0.0) == (found.threshold, found.true_rate, found.false_rate)
    assert math.inf == best_rates([-math.inf], []).threshold
    assert Rates(math.inf, 0.0, 0.0) == at_false_rate(0.5, [0.1], [0.9])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], (0.5, 0.5, 0.5)),
        ([1.0, 0.0], (0.5, 0.05, 0.95)),
        ([float(n) for n in range(20, -1, -1)], (10.0, 1.0, 19.0)),
        ([], (math.nan, math.nan, math.nan)),
    ],
    ids=["one", "two", "twenty-one", "none"],
)
def test_a_spread_has_mean_and_quantiles(values: list[float], expected: tuple[float, float, float]) -> None:
    """The quantiles lie between neighbours, in whatever order the values come."""
    found = spread(values)

    assert expected == pytest.approx((found.mean, found.low, found.high), nan_ok=True)


SCORES = st.lists(st.floats(-1, 1) | st.just(-math.inf), min_size=1, max_size=30)


@given(SCORES, SCORES, st.floats(0, 1))
def test_a_false_rate_is_never_exceeded(wanted: list[float], unwanted: list[float], limit: float) -> None:
    """Counting again at the threshold that was found gives rates within the limit, and the same ones."""
    found = at_false_rate(limit, wanted, unwanted)
    again = rates_at(found.threshold, wanted, unwanted)

    assert found.false_rate <= limit
    assert (found.true_rate, found.false_rate) == pytest.approx((again.true_rate, again.false_rate))


@given(SCORES, SCORES)
def test_auc_of_swapped_classes_adds_to_one(wanted: list[float], unwanted: list[float]) -> None:
    """What is above for one is below for the other."""

    assert auc(wanted, unwanted) + auc(unwanted, wanted) == pytest.approx(1)


def _mark(margin: float, *, is_good: bool, threshold: float = 0.3, **event: Any) -> Mark:
    """A mark of a decision whose score lies so far above its threshold, with the raw top cosine far away from it."""
    reason = "injected" if margin >= 0 else "gate"
    numbers = {"reason": reason, "score": threshold + margin, "threshold": threshold, "top_cosine": 0.9}
    return Mark(is_good, "2026-11-22T10:00:00+00:00", "", {"id": "1"} | numbers | event)


def _many(goods: Sequence[float], noises: Sequence[float]) -> list[Mark]:
    good = [_mark(margin, is_good=True) for margin in goods]
    return good + [_mark(margin, is_good=False, threshold=0.1) for margin in noises]


GOODS = [0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, -0.05, -0.1]
NOISES = [0.07, *[-0.01 * n for n in range(6, 15)]]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"reason": "injected", "score": 0.5, "threshold": 0.25, "top_cosine": 0.9}, 0.25),
        ({"reason": "injected", "threshold": 0.25, "top_cosine": 0.5}, 0.25),
        ({"reason": "gate", "score": None, "threshold": 0.25, "top_cosine": 0.125}, -0.125),
        ({"reason": "gate", "gate": {"score": 0.5, "threshold": 0.25}, "threshold": 0.9}, 0.25),
        ({"reason": "same_topic", "score": 0.5, "threshold": 0.25}, 0.25),
        ({"reason": "gate", "threshold": 0.25, "top_cosine": None}, -math.inf),
        ({"reason": "prompt", "detail": "session_turn", "threshold": None}, -math.inf),
    ],
    ids=["score", "first versions", "raw", "nested", "open and silent", "no vector", "rule"],
)
def test_the_margin_is_how_far_the_score_is_above_the_threshold(event: dict[str, Any], expected: float) -> None:
    """What rules silence and what has no vector lies below every margin; without a score the raw cosine was it."""
    report = evaluate_marks([Mark(True, "", "", {"id": "1"} | event)])

    assert (MarkedDecision(True, event["reason"] == "injected", expected),) == report.decisions
    assert 0 == report.n_left_out


@pytest.mark.parametrize(
    "event",
    [
        {"reason": "oriented", "event": "SessionStart"},
        {"reason": "no_index", "threshold": None},
        {"reason": "gate", "top_cosine": 0.4, "threshold": None},
        {"reason": "gate", "top_cosine": 0.4, "threshold": "high"},
        {"reason": "gate", "top_cosine": 0.4, "threshold": math.nan},
    ],
    ids=["start", "no index", "no threshold", "text", "nan"],
)
def test_what_no_gate_decided_is_left_out(event: dict[str, Any]) -> None:
    """A mark of anything else is counted apart and moves no rate."""
    report = evaluate_marks([Mark(True, "", "", {"id": "1"} | event)])

    assert ((), 1) == (report.decisions, report.n_left_out)


def test_rates_of_marked_decisions() -> None:
    """Hand-worked: spoke for 8 of 10 wanted and 1 of 10 unwanted; moved up by 0.1 it would keep 6 and lose the false one."""
    form = evaluate_marks(_many(GOODS, NOISES)).as_json()

    assert (10, 10, 8, 1) == tuple(
        form[key] for key in ("n_wanted", "n_unwanted", "injected_wanted", "injected_unwanted")
    )
    assert (True, 0.8, 0.1) == (form["is_enough"], form["true_rate"], form["false_rate"])
    # 6 above all noises, 2 above nine of them, −0.05 above all below 0, −0.1 above −0.11 to −0.14 and equal to −0.10.
    assert (6 * 10 + 2 * 9 + 9 + 4.5) / 100 == pytest.approx(form["auc"])
    rows = {at["label"]: (round(at["shift"], 6), at["true_rate"], at["false_rate"]) for at in form["at"]}
    assert ["1% false", "2% false", "5% false", "largest true - false"] == list(rows)
    assert {(0.1, 0.6, 0.0)} == {rows[f"{limit}% false"] for limit in (1, 2, 5)}
    assert (-0.05, 0.9, 0.1) == pytest.approx(rows["largest true - false"])


@pytest.mark.parametrize(
    ("n_good", "n_noise", "is_enough"),
    [(FEWEST, FEWEST, True), (FEWEST - 1, FEWEST, False), (100, FEWEST - 1, False), (0, 0, False)],
)
def test_few_marks_give_no_rate(n_good: int, n_noise: int, is_enough: bool) -> None:
    """Below ten of either kind there are counts and nothing that looks like a measurement."""
    form = evaluate_marks(_many([0.1] * n_good, [0.2] * n_noise)).as_json()

    assert (n_good, n_noise, n_good, n_noise) == tuple(
        form[key] for key in ("n_wanted", "n_unwanted", "injected_wanted", "injected_unwanted")
    )
    assert is_enough == form["is_enough"] == (form["auc"] is not None) == (form["true_rate"] is not None)
    assert is_enough == bool(form["at"])


def test_the_json_of_marks_holds_no_infinity() -> None:
    """When no shift keeps all noise out it is null: standard JSON knows no infinity."""
    silenced = [_mark(-0.1, is_good=True, reason="prompt") for _ in range(10)]
    form = evaluate_marks([*silenced, *_many([], [0.2] * 10)]).as_json()

    assert form == json.loads(json.dumps(form, allow_nan=False))
    assert (None, 0.0, 0.0) == tuple(form["at"][0][key] for key in ("shift", "true_rate", "false_rate"))


def _write(home: Path, marks: Sequence[Mark]) -> None:
    for number, mark in enumerate(marks):
        add_mark(home / "log", dict(mark.event) | {"id": f"{number:010x}"}, is_good=mark.is_good)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `$HYBRID_HOME` of the command."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "user"))
    return tmp_path / "user"


def test_gate_of_marks_prints_counts_and_rates(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`hybrid eval gate --marks` needs no judged file and no repository."""
    _write(home, [*_many(GOODS, NOISES), _mark(0.0, is_good=True, threshold=math.nan, reason="oriented")])

    code = run(["eval", "gate", "--marks"], started_s=0.0)

    shown = capsys.readouterr().out
    assert 0 == code
    for part in (
        "marks: 10 good, 10 noise\n",
        "  1 more are of decisions that no gate made",
        "  spoke when wanted 8 of 10\n  spoke when not wanted 1 of 10\n",
        "  injected when wanted 80.0%, when not wanted 10.0%\n",
        "  AUC of the margin, score - threshold: 0.9150\n",
        "\n  1% false              +0.1000  60.0%   0.0%\n",
        "\n  largest true - false  -0.0500  90.0%  10.0%\n",
    ):
        assert part in shown


def test_gate_of_few_marks_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts without a rate, and how many marks are missing."""
    _write(home, _many([0.1, -0.1], [0.2]))

    code = run(["eval", "gate", "--marks"], started_s=0.0)

    assert 0 == code
    assert (
        "marks: 2 good, 1 noise\n  spoke when wanted 1 of 2\n  spoke when not wanted 1 of 1\n"
        "  too few for a rate: at least 10 good and 10 noise are needed; `hybrid mark` makes more\n"
    ) == capsys.readouterr().out


def test_without_marks_nothing_is_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the JSON keeps its keys."""
    code = run(["eval", "gate", "--marks", "--json"], started_s=0.0)

    assert 1 == code
    form = json.loads(capsys.readouterr().out)["marks"]
    assert (0, 0, False) == (form["n_wanted"], form["n_unwanted"], form["is_enough"])
    assert not home.exists()


def test_judged_prompts_and_marks_are_reported_together(
    home: Path, repos: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judged file and the user's marks are two reports of one command."""
    _write(home, _many([0.1], []))
    arguments = ["eval", "gate", str(prompts_file), "--marks", "--repos", str(repos), "--set", "model.name=hashing-64"]

    code = run([*arguments, "--json"], started_s=0.0)

    form = json.loads(capsys.readouterr().out)
    assert (0, ["prompts", "marks"]) == (code, list(form))
    assert (2, 1) == (form["prompts"]["n_wanted"], form["marks"]["n_wanted"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "`hybrid eval gate` needs GATE.jsonl, or --marks for what you judged with `hybrid mark`"),
        (["gate.jsonl"], "GATE.jsonl needs --repos, the folder that holds a folder for each repository"),
        (["--marks", "--run", "out.jsonl"], "--run needs GATE.jsonl, the judged prompts"),
        (["--marks", "--plot", "out.svg"], "--plot needs GATE.jsonl, the judged prompts"),
    ],
    ids=["nothing", "repos", "run", "plot"],
)
def test_what_the_gate_needs_is_named(
    home: Path, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line, before anything is read or built."""
    assert 2 == run(["eval", "gate", *arguments], started_s=0.0)
    assert f"hybrid: {expected}\n" == capsys.readouterr().err
    assert not home.exists()
