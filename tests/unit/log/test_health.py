from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.log.events import health, percentile


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


STOP = {"at": "t9", "event": "Stop", "reason": "recorded", "latency_ms": 1.0}
START = {"at": "t3", "event": "SessionStart", "reason": "injected", "latency_ms": 900.0}
PROMPT = {"at": "t2", "event": "UserPromptSubmit", "reason": "gate", "latency_ms": 7.0}


@pytest.mark.parametrize(
    ("events", "last_success", "n_failures", "latency_ms"),
    [
        pytest.param([_done("t3"), _failed("t2"), _failed("t1"), _done("t0")], "t3", 0, 10.0, id="failed before"),
        pytest.param([_failed("t4"), _failed("t3"), _done("t2"), _failed("t1")], "t2", 2, 10.0, id="failed since"),
        pytest.param([_done("t1", 8.0)], "t1", 0, 8.0, id="silence is a success"),
        pytest.param(
            [_done("t3", None), _done("t2", "fast"), _done("t1", 4), {"at": "t0"}], "t3", 0, 4.0, id="missing"
        ),
        pytest.param([_done("new", 1.0)] * 200 + [_done("old", 1000.0)] * 500, "new", 0, 1.0, id="the last 200"),
        pytest.param(
            [STOP, _failed("t8"), STOP, _failed("t7"), _done("t6"), STOP], "t6", 2, 10.0, id="noted proves nothing"
        ),
        pytest.param([START, PROMPT], "t3", 0, 7.0, id="what a person waits for is the prompt"),
    ],
)
def test_what_events_tell(events: list[dict[str, Any]], last_success: str, n_failures: int, latency_ms: float) -> None:
    """Failures since the last decision are counted; latencies are those of the last prompts; the last error stays known."""
    found = health(iter(events))
    failed = next((event for event in events if event.get("reason") == "error"), None)

    assert (last_success, n_failures) == (found["last_success"], found["consecutive_failures"])
    assert {"p50": latency_ms, "p95": latency_ms} == found["latency_ms"]
    assert (failed and {"at": failed["at"], "message": failed["error"]}) == found["last_error"]


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
