"""Shows scores, their bars, counts and times, in commands and in the line that debugs a hook."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a status line four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOWEST_BAR = -2.0
"""Highest bar that keeps nothing out: it lies below every score that compares a vector."""


def number(value: float, digits: int = 2) -> str:
    """Return a number with that many decimals, never −0."""
    shown = f"{value:.{digits}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


def bar(value: float, digits: int = 2) -> str:
    """Return a bar; `always` for one that keeps nothing out."""
    return "always" if value <= LOWEST_BAR else number(value, digits)


def compared(score: float, threshold: float) -> tuple[str, str]:
    """Return a score and its bar with two decimals, or with four where two would read the same."""
    digits = 2 if number(score) != number(threshold) else 4
    return number(score, digits), bar(threshold, digits)


def amount(n: int, one: str, many: str = "") -> str:
    """Return a count and its noun: `1 chunk`, `1,200 chunks`.

    Args:
        n: The count.
        one: The noun for one of them.
        many: For any other number; without it `one` with an s.
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def local_time(at: object) -> str:
    """Return a time in ISO 8601 as people read it, `2026-02-14 10:31:05` in local time; no time is unchanged."""
    from datetime import datetime

    text = str(at)
    try:
        # Python 3.10 reads no Z.
        return f"{datetime.fromisoformat(text.replace('Z', '+00:00')).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return text


def evidence_line(pieces: Mapping[str, float]) -> str:
    """Return the evidence for a file, strongest piece first, equal ones by name; what gave nothing is left out."""
    # Pieces of one value differ in the last bits from run to run; what reads the same must stand in one order.
    shown = sorted((-round(abs(value), 2), name) for name, value in pieces.items() if abs(value) >= 0.005)
    parts = ", ".join(f"{name} {number(pieces[name])}" for _, name in shown)
    return f"evidence {number(sum(pieces.values()))}: {parts}" if parts else "evidence 0"


def build_in_words(progress: Mapping[str, Any]) -> str:
    """Return in words how far a build is, and about how long it still takes; of the JSON form of a `Holder`."""
    steps = {"scan": "finds files", "read": "reads and embeds", "write": "writes", "merge": "merges segments of"}
    files = f" {progress['done']:,} of {progress['total']:,} files" if progress["total"] else ""
    share = f", {progress['share']:.0%} done" if progress["share"] else ""
    left_s = progress["seconds_left"]
    left = f", about {duration(left_s)} left" if left_s is not None else ""
    return f"process {progress['pid']} {steps.get(progress['step'], 'begins')}{files}{share}{left}"


def duration(seconds: float) -> str:
    """Return some seconds in words: `40 s`, `12 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
