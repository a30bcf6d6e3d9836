"""Is the product alive? Last success, last error, failures in a row and latency, read from the event log."""

from __future__ import annotations

import math
from itertools import takewhile

TYPE_CHECKING = False  # `typing` costs a status line four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PROMPT = "UserPromptSubmit"

_SAMPLE = 200
"""Prompts that percentiles are taken of."""

CITED = "lessons cite"
"""Event of a person, who counts a use of lessons."""

_NO_DECISION = frozenset({"Stop", "SessionEnd", "PreCompact", CITED})
"""Events that are noted only: nothing was decided, so they prove neither health nor the end of a failure."""


def is_decision(event: dict[str, Any]) -> bool:
    """Did an agent get an answer, silence included, to something that can have one?"""
    return not event.get("error") and event.get("event") not in _NO_DECISION


def is_prompt(event: dict[str, Any]) -> bool:
    """Is it the answer to what a person typed? Lines of the first versions name no event: they had no other."""
    return is_decision(event) and event.get("event") in (None, PROMPT) and not event.get("is_report")


def health(newest_first: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The `health` part of the status: a success is any decision that was made, silence included.

    Args:
        newest_first: Events of one project, newest first.

    Returns:
        `last_success` and `last_error` (time, or an object with time and message; None when there was none),
        `consecutive_failures`, and `latency_ms` with p50 and p95 of the last 200 prompts (None before the first).
    """
    events = [event for event in newest_first if event.get("error") or is_decision(event)]
    decisions = [event for event in events if not event.get("error")]
    failures = [event for event in events if event.get("error")]
    prompts = [event for event in decisions if is_prompt(event)]
    latencies = sorted(
        float(event["latency_ms"]) for event in prompts[:_SAMPLE] if isinstance(event.get("latency_ms"), (int, float))
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
