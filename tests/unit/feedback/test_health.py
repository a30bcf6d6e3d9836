from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.feedback.events import health, percentile


def _done(at: str, latency_ms: Any = 10.0) -> dict[str, Any]:
    return {"at": at, "reason": "gate", "latency_ms": latency_ms}


def _failed(at: str) -> dict[str, Any]:
    return {"at": at, "reason": "error", "error": f"failed at {at}"}


def test_before_the_first_event() -> None:
    """Without events every value is absent and no failure is counted."""

    assert {
        "last_success": None,
        "last_error": None,
        "consecutive_failures": 0,
        "latency_ms": {"p50": None, "p95": None},
    } == health([])


def test_success_after_a_failure() -> None:
    """The last error stays known after a success, but no failure is counted."""
    found = health([_done("t3"), _failed("t2"), _failed("t1"), _done("t0")])

    assert ("t3", {"at": "t2", "message": "failed at t2"}, 0) == (
        found["last_success"],
        found["last_error"],
        found["consecutive_failures"],
    )


def test_failures_in_a_row() -> None:
    """Failures since the last decision are counted."""
    found = health(iter([_failed("t4"), _failed("t3"), _done("t2"), _failed("t1")]))

    assert ("t2", 2) == (found["last_success"], found["consecutive_failures"])


def test_silence_is_a_success() -> None:
    """A decision to stay silent is a success, and its latency counts."""
    found = health([_done("t1", 8.0)])

    assert ("t1", {"p50": 8.0, "p95": 8.0}) == (found["last_success"], found["latency_ms"])


def test_latencies_that_are_missing_are_left_out() -> None:
    """Events without a latency, or with something else in its place, do not count into the percentiles."""
    found = health([_done("t3", None), _done("t2", "fast"), _done("t1", 4), {"at": "t0"}])

    assert {"p50": 4.0, "p95": 4.0} == found["latency_ms"]


def test_only_the_last_200_decisions_are_sampled() -> None:
    """Latencies of long ago do not count."""
    found = health([_done("new", 1.0)] * 200 + [_done("old", 1000.0)] * 500)

    assert {"p50": 1.0, "p95": 1.0} == found["latency_ms"]


def test_events_that_are_only_noted_prove_nothing() -> None:
    """The end of a turn or of a session is neither a success nor the end of a failure."""
    stop = {"at": "t9", "event": "Stop", "reason": "recorded", "latency_ms": 1.0}

    found = health([stop, _failed("t8"), stop, _failed("t7"), _done("t6"), stop])

    assert ("t6", 2) == (found["last_success"], found["consecutive_failures"])


def test_latency_is_that_of_prompts() -> None:
    """Starts of sessions and reports of subagents are successes, but what a person waits for is the prompt."""
    start = {"at": "t3", "event": "SessionStart", "reason": "injected", "latency_ms": 900.0}
    prompt = {"at": "t2", "event": "UserPromptSubmit", "reason": "gate", "latency_ms": 7.0}

    found = health([start, prompt])

    assert ("t3", {"p50": 7.0, "p95": 7.0}) == (found["last_success"], found["latency_ms"])


@pytest.mark.parametrize(
    ("n_values", "share", "expected"),
    [
        (0, 0.5, None),
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (4, 0.5, 2),
        (20, 0.95, 19),
        (100, 0.95, 95),
        (200, 0.95, 190),
        (10, 1.0, 10),
        (10, 0.0, 1),
    ],
)
def test_percentile_by_nearest_rank(n_values: int, share: float, expected: float | None) -> None:
    """Of the values 1, 2, 3, … the percentile is the one of rank ⌈share · n⌉."""

    assert expected == percentile([float(value) for value in range(1, n_values + 1)], share)


@given(st.lists(st.floats(0, 1e6), min_size=1).map(sorted), st.floats(0, 1), st.floats(0, 1))
def test_percentiles_are_values_and_do_not_fall(values: list[float], first: float, second: float) -> None:
    """A percentile is one of the values, and a greater share never gives a smaller one."""
    low, high = sorted((first, second))

    assert percentile(values, low) in values
    assert (percentile(values, low) or 0.0) <= (percentile(values, high) or 0.0)
