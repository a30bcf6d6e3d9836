"""Is the product alive? Last success, last error, failures in a row and latency, read from the event log."""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAMPLE = 200
"""Events that percentiles are taken of."""


def health(newest_first: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The `health` part of the status: a success is any decision that was made, silence included.

    Args:
        newest_first: Events of one project, newest first.

    Returns:
        `last_success` and `last_error` (time, or an object with time and message; None when there was none),
        `consecutive_failures`, and `latency_ms` with p50 and p95 of the last 200 decisions (None before the first).
    """
    events = list(newest_first)
    decisions = [event for event in events if not event.get("error")]
    failures = [event for event in events if event.get("error")]
    latencies = sorted(
        float(event["latency_ms"]) for event in decisions[:_SAMPLE] if isinstance(event.get("latency_ms"), (int, float))
    )
    return {
        "last_success": decisions[0].get("at") if decisions else None,
        "last_error": {"at": failures[0].get("at"), "message": failures[0].get("error")} if failures else None,
        "consecutive_failures": sum(1 for _ in takewhile(lambda event: event.get("error"), events)),
        "latency_ms": {"p50": percentile(latencies, 0.5), "p95": percentile(latencies, 0.95)},
    }


def percentile(ordered: list[float], share: float) -> float | None:
    """The smallest of ascending values that a share of them does not exceed (nearest rank); None without values."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
