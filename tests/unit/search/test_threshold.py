from __future__ import annotations

from typing import Any

import pytest

from hybrid.search.scores import Threshold, Verdict, compare, fixed_threshold
from hybrid.types import EmbedderInfo
from tests.support.cases import Case, cases

MODEL = EmbedderInfo("m", 8, "00" * 32, 0, 0.38, 0.15)
UNMEASURED = EmbedderInfo("n", 8, "00" * 32, 0, None, None)


@cases("gate/open.txt")
def test_when_the_gate_is_open(case: Case) -> None:
    """The gate opens when the top cosine reaches the threshold, never without a vector or a threshold."""
    top_cosine, threshold = case.given()
    found = compare(top_cosine, Threshold(threshold, "config"))

    assert (case.json(), top_cosine, threshold, "config", top_cosine) == (
        found.is_open,
        found.top_cosine,
        found.threshold,
        found.source,
        found.score,
    )


def test_no_part_counts_beside_a_fixed_threshold() -> None:
    """The raw top cosine alone is compared: no bar is named, and nothing was added to the score."""

    assert Verdict(True, 0.5, 0.25, "flag", score=0.5, bar="", parts={}) == compare(0.5, Threshold(0.25, "flag"))


@pytest.mark.parametrize(
    ("top_cosine", "threshold", "margin"),
    [(0.75, 0.5, 0.25), (0.25, 0.5, -0.25), (None, 0.5, None), (0.5, None, None)],
)
def test_the_margin(top_cosine: float | None, threshold: float | None, margin: float | None) -> None:
    """The margin is how far the gate was open, or how much it missed by; None when nothing was compared."""

    assert margin == compare(top_cosine, Threshold(threshold, "config")).margin


@pytest.mark.parametrize(
    ("setting", "origin", "expected"),
    [
        (0.99, "flag", Threshold(0.99, "flag")),
        (0.99, "default", Threshold(0.99, "config")),
        (0.99, "/home/a/config.toml", Threshold(0.99, "config")),
        (0.99, "HYBRID_HOOKS_GATE_THRESHOLD", Threshold(0.99, "config")),
        (0.0, "flag", Threshold(0.0, "flag")),
        ("auto", "default", Threshold(0.38, "auto", 0.15)),
    ],
)
def test_what_fixes_the_threshold(setting: Any, origin: str, expected: Threshold) -> None:
    """A number, 0 too, overrules the model and says where it came from; `auto` is what was measured for the model."""
    assert expected == fixed_threshold(setting, origin=origin, model=MODEL)


def test_a_model_that_nobody_measured_keeps_the_gate_closed() -> None:
    """Without any threshold nothing is injected, however high the cosine."""
    threshold = fixed_threshold("auto", origin="default", model=UNMEASURED)

    assert Verdict(False, 1.0, None, "auto", score=1.0) == compare(1.0, threshold)
