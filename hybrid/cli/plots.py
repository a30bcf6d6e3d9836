"""Plots of letters for a terminal: how long hooks took, and how far from its bar the gate found each prompt.

A row is a range of values, its bar as long as it holds events. Where the locale names another charset than UTF-8, the
bars are of `#`.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from hybrid.log.events import compared_in, is_prompt, percentile
from hybrid.render.numbers import LOWEST_BAR, amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TIMES_MS = (0, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Borders of the ranges of times: each about twice the one before, as times differ."""
_STEP = 0.05
_MOST_STEPS = 10
"""Steps on either side of the bar; what lies further off is in the last range."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_BAR, _WIDEST = 4, 100
"""Columns of the longest bar on a narrow terminal, and of a whole line on a wide one."""


class Range(Struct, frozen=True):
    """The events in a range of values.

    Attributes:
        low: The least value; None without one.
        high: Values are smaller; None without one.
        count: Number of events.
        good: How many of them were marked as good.
        noise: How many of them were marked as noise.
    """

    low: float | None
    high: float | None
    count: int
    good: int = 0
    noise: int = 0


class Plots(Struct, frozen=True):
    """The two plots of some events.

    Attributes:
        n_timed: Number of prompts with a time.
        p50_ms: Their median; None without any.
        p95_ms: 95 of 100 took no longer; None without any.
        latency: Ascending, without empty ranges at the ends.
        n_gated: Number of prompts that a gate compared with a bar.
        n_open: How many of them it let through.
        gate: By score − bar, ascending, without empty ranges at the ends; one border is 0.
    """

    n_timed: int
    p50_ms: float | None
    p95_ms: float | None
    latency: tuple[Range, ...]
    n_gated: int
    n_open: int
    gate: tuple[Range, ...]

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return to_builtins(self)


def plots_of(events: Iterable[Mapping[str, Any]], marks: Mapping[str, str]) -> Plots:
    """Return the plots of some events; those that answer no prompt are left out.

    Args:
        events: Of the log, in any order.
        marks: Id of an event → `good` or `noise`.
    """
    prompts = [dict(event) for event in events if is_prompt(dict(event))]
    times = sorted(float(one["latency_ms"]) for one in prompts if isinstance(one.get("latency_ms"), (int, float)))
    margins = [(margin, marks.get(str(one.get("id")), "")) for one in prompts if (margin := _margin(one)) is not None]
    return Plots(
        len(times),
        percentile(times, 0.5),
        percentile(times, 0.95),
        _trimmed(_latency_ranges(times)),
        len(margins),
        sum(margin > 0 for margin, _ in margins),
        _trimmed(_gate_ranges(margins)),
    )


def _margin(event: Mapping[str, Any]) -> float | None:
    """Return how far the score lies above the bar; None when no gate compared, or its bar keeps nothing out."""
    score, threshold = compared_in(event)
    if not isinstance(score, (int, float)) or not isinstance(threshold, (int, float)) or threshold <= LOWEST_BAR:
        return None
    return score - threshold


def _latency_ranges(times: Sequence[float]) -> list[Range]:
    borders = [*_TIMES_MS, math.inf]
    counts = Counter(max(at for at, low in enumerate(_TIMES_MS) if low <= max(time, 0)) for time in times)
    return [Range(low, _finite(borders[at + 1]), counts[at]) for at, low in enumerate(_TIMES_MS)]


def _gate_ranges(margins: Sequence[tuple[float, str]]) -> list[Range]:
    counts: Counter[tuple[int, str]] = Counter()
    for margin, mark in margins:
        # A score that equals its bar does not open: it belongs below.
        step = math.ceil(margin / _STEP) - 1
        counts[max(-_MOST_STEPS - 1, min(step, _MOST_STEPS)), mark] += 1
    found: list[Range] = []
    for step in range(-_MOST_STEPS - 1, _MOST_STEPS + 1):
        low = None if step < -_MOST_STEPS else round(step * _STEP, 2) + 0.0
        high = None if step == _MOST_STEPS else round((step + 1) * _STEP, 2) + 0.0
        of_mark = [counts[step, mark] for mark in ("", "good", "noise")]
        found.append(Range(low, high, sum(of_mark), of_mark[1], of_mark[2]))
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _trimmed(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Return the ranges from the first to the last with an event."""
    held = [at for at, one in enumerate(ranges) if one.count]
    return tuple(ranges[held[0] : held[-1] + 1]) if held else ()


# --- drawing ----------------------------------------------------------------------------------------------


def is_utf8(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a terminal shows blocks: unless the locale that is set names another charset than UTF-8."""
    name = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "utf-8"
    return "utf" in name.lower()


def lines_of(plots: Plots, *, width: int, is_ascii: bool) -> list[str]:
    """Return both plots as lines; none for a plot without an event.

    Args:
        plots: The plots.
        width: Columns of the terminal; the title of a plot takes about 55.
        is_ascii: Draw with ASCII alone.
    """
    lines: list[str] = []
    if plots.latency:
        lines.append(f"Time of {amount(plots.n_timed, 'prompt')}: p50 {plots.p50_ms:.0f} ms, p95 {plots.p95_ms:.0f} ms")
        labels = [_times(one) for one in plots.latency]
        lines += _rows(plots.latency, labels, width, is_ascii=is_ascii)
    if plots.gate:
        share = f"{plots.n_open} ({plots.n_open / plots.n_gated:.0%}) above it"
        lines += ["", f"Gate: score minus bar of {amount(plots.n_gated, 'prompt')}, {share}"]
        above = [one for one in reversed(plots.gate) if one.low is not None and one.low >= 0]
        below = list(reversed(plots.gate))[len(above) :]
        rows = _rows([*above, *below], [_margins(one) for one in (*above, *below)], width, is_ascii=is_ascii)
        lines += [*rows[: len(above)], _bar_line(width, is_ascii=is_ascii), *rows[len(above) :]]
    return [line.replace("–", "-").replace("−", "-") if is_ascii else line for line in lines[not plots.latency :]]


def _times(one: Range) -> str:
    return f"from {one.low:.0f} ms" if one.high is None else f"{one.low:.0f}–{one.high:.0f} ms"


def _margins(one: Range) -> str:
    low, high = (None if value is None else _signed(value) for value in (one.low, one.high))
    if low is None:
        return f"to {high}"
    return f"over {low}" if high is None else f"{low} to {high}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−") if value else "0"


def _bar_line(width: int, *, is_ascii: bool) -> str:
    """Return the line between prompts that open the gate and others."""
    text = "the bar: silent below"
    dash = "-" if is_ascii else "─"
    return f"{dash * 3} {text} {dash * (min(width, _WIDEST) - len(text) - 5)}"


def _rows(ranges: Sequence[Range], labels: Sequence[str], width: int, *, is_ascii: bool) -> list[str]:
    """Return a line for each range: its label, a bar, the count, and marks."""
    most = max((one.count for one in ranges), default=0)
    notes = [f"{one.count:,}{_marked(one)}" for one in ranges]
    label_size = max(map(len, labels), default=0)
    longest = max(min(width, _WIDEST) - label_size - max(map(len, notes), default=0) - 4, _LEAST_BAR)
    drawn = [_bar(one.count / max(most, 1) * longest, is_ascii=is_ascii) for one in ranges]
    return [
        f"{label:>{label_size}}  {bar}{' ' if bar else ''}{note}"
        for label, bar, note in zip(labels, drawn, notes, strict=True)
    ]


def _marked(one: Range) -> str:
    told = [f"{n} {word}" for n, word in ((one.good, "good"), (one.noise, "noise")) if n]
    return f" ({', '.join(told)})" if told else ""


def _bar(length: float, *, is_ascii: bool) -> str:
    """Return a bar of some columns; what is more than nothing is seen."""
    if is_ascii:
        return "#" * (max(round(length), 1) if length else 0)
    eighths = max(round(length * 8), 1) if length else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
