from __future__ import annotations

import pytest

from hybrid.retrieval.gate import Threshold, threshold_for, verdict
from hybrid.types import EmbedderInfo, Verdict

MODEL = EmbedderInfo("m", 8, "00" * 32, 0, 0.38, 0.15)
UNMEASURED = EmbedderInfo("n", 8, "00" * 32, 0, None, None)
CALIBRATION = {"threshold": 0.42, "calibrated_at": "2026-01-02T03:04:05+00:00", "expected_false_open_rate": 0.1}


@pytest.mark.parametrize(
    ("top_cosine", "threshold", "is_open"),
    [
        (0.98, 0.99, False),
        (0.99, 0.99, True),
        (0.0, 0.0, True),
        (0.2, 0.0, True),
        (-0.1, 0.0, False),
        (0.37, 0.38, False),
        (0.38, 0.38, True),
        (-0.5, -1.0, True),
        (None, 0.0, False),
        (None, -1.0, False),
        (0.9, None, False),
        (None, None, False),
    ],
)
def test_when_the_gate_is_open(top_cosine: float | None, threshold: float | None, is_open: bool) -> None:
    """The gate opens when the top cosine reaches the threshold, never without a vector or a threshold."""

    assert Verdict(is_open, top_cosine, threshold, "config") == verdict(top_cosine, Threshold(threshold, "config"))


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ("flag", "flag"),
        ("default", "config"),
        ("/home/a/config.toml", "config"),
        ("HYBRID_HOOKS_GATE_THRESHOLD", "config"),
    ],
)
def test_a_number_fixes_the_threshold(origin: str, source: str) -> None:
    """A number overrules model and calibration, and says whether it came from the command line."""

    assert Threshold(0.99, source) == threshold_for(0.99, origin=origin, model=MODEL, calibration=CALIBRATION)


def test_zero_is_a_number() -> None:
    """The threshold 0.0 is a choice, not the absence of one."""

    assert Threshold(0.0, "flag") == threshold_for(0.0, origin="flag", model=MODEL, calibration={})


def test_auto_is_the_models_default() -> None:
    """Without a calibration `auto` is what was measured for the model, with its expected rate."""

    assert Threshold(0.38, "auto", None, 0.15) == threshold_for("auto", origin="default", model=MODEL, calibration={})


def test_auto_prefers_the_calibration_of_the_corpus() -> None:
    """A calibration takes the model's place, with its time and rate."""

    assert Threshold(0.42, "auto", "2026-01-02T03:04:05+00:00", 0.1) == threshold_for(
        "auto", origin="default", model=MODEL, calibration=CALIBRATION
    )


@pytest.mark.parametrize(
    "calibration",
    [{"threshold": None}, {"threshold": "0.4"}, {"threshold": True}, {"expected_false_open_rate": 0.1}],
    ids=["none", "text", "bool", "missing"],
)
def test_a_calibration_without_a_number_is_left_alone(calibration: dict[str, object]) -> None:
    """A calibration that holds no number does not decide."""

    assert Threshold(0.38, "auto", None, 0.15) == threshold_for(
        "auto", origin="default", model=MODEL, calibration=calibration
    )


def test_other_fields_of_a_calibration_may_be_missing() -> None:
    """A calibrated threshold counts without its time and rate."""

    assert Threshold(0.42, "auto") == threshold_for(
        "auto", origin="default", model=MODEL, calibration={"threshold": 0.42}
    )


def test_a_model_that_nobody_measured_keeps_the_gate_closed() -> None:
    """Without any threshold nothing is injected, however high the cosine."""
    threshold = threshold_for("auto", origin="default", model=UNMEASURED, calibration={})

    assert Verdict(False, 1.0, None, "auto") == verdict(1.0, threshold)
