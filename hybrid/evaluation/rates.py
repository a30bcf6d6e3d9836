"""Measures of a yes-or-no decision over a score: AUC, rates at a threshold, thresholds at a rate; plain arithmetic.

`gate` calls it. A score of −∞ stands for a prompt that was silenced before it was compared; it never opens.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


FALSE_RATES = (0.01, 0.02, 0.05)


class Rates(Struct, frozen=True):
    """What a threshold does.

    Attributes:
        threshold: Scores from here on open; ∞ opens for nothing.
        true_rate: Share of the wanted that open, in [0, 1]; NaN without any.
        false_rate: Share of the unwanted that open, in [0, 1]; NaN without any.
    """

    threshold: float
    true_rate: float
    false_rate: float


def auc(wanted: Sequence[float], unwanted: Sequence[float]) -> float:
    """Probability that a random wanted score is above a random unwanted one; equal scores count one half.

    NaN when either is empty.

    Source: Mann, Whitney (1947); midranks for ties.
    """
    if not wanted or not unwanted:
        return math.nan
    ordered = sorted([(score, True) for score in wanted] + [(score, False) for score in unwanted])
    rank_sum, at = 0.0, 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        rank_sum += sum(is_wanted for _, is_wanted in ordered[at:end]) * (at + 1 + end) / 2
        at = end
    n_wanted = len(wanted)
    return (rank_sum - n_wanted * (n_wanted + 1) / 2) / (n_wanted * len(unwanted))


def open_rate(scores: Sequence[float], threshold: float) -> float:
    """Share of the scores that reach the threshold; −∞ never does. NaN for no scores."""
    return sum(-math.inf < score >= threshold for score in scores) / len(scores) if scores else math.nan


def rates_at(threshold: float, wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """Both rates at a threshold."""
    return Rates(threshold, open_rate(wanted, threshold), open_rate(unwanted, threshold))


def at_false_rate(limit: float, wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """The lowest observed score whose false rate is at most `limit`, with its rates; ∞ when even the top is too low."""
    return next((rates for rates in _sweep(wanted, unwanted) if rates.false_rate <= limit), _NEVER)


def best_rates(wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """The observed score with the largest true rate − false rate (Youden's J); the highest of equal ones."""
    return max(
        _sweep(wanted, unwanted),
        key=lambda rates: (rates.true_rate - rates.false_rate, rates.threshold),
        default=_NEVER,
    )


def usual_rates(wanted: Sequence[float], unwanted: Sequence[float]) -> list[tuple[str, Rates]]:
    """The thresholds for each of `FALSE_RATES` and the best one, by name, with what each does."""
    rows = [(f"{rate:.0%} false", at_false_rate(rate, wanted, unwanted)) for rate in FALSE_RATES]
    return [*rows, ("largest true - false", best_rates(wanted, unwanted))]


_NEVER = Rates(math.inf, 0.0, 0.0)


def _sweep(wanted: Sequence[float], unwanted: Sequence[float]) -> list[Rates]:
    """The rates at every finite score, ascending; the rate of nothing counts as 0."""
    ordered, others = sorted(wanted), sorted(unwanted)
    thresholds = sorted({score for score in (*ordered, *others) if math.isfinite(score)})
    return [Rates(threshold, share_from(ordered, threshold), share_from(others, threshold)) for threshold in thresholds]


def share_from(ordered: Sequence[float], threshold: float) -> float:
    """Share of ascending scores that reach a threshold; 0 for no scores."""
    return 1 - bisect_left(ordered, threshold) / len(ordered) if ordered else 0.0


def finite(value: float) -> float | None:
    """The value as JSON can hold it: None instead of an infinity or NaN."""
    return value if math.isfinite(value) else None


class Spread(Struct, frozen=True):
    """How far values lie apart.

    Attributes:
        mean: Of all.
        low: The 5 % quantile.
        high: The 95 % quantile.
    """

    mean: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Mean and quantiles, linear between neighbours; NaN without any value."""
    if not values:
        return Spread(math.nan, math.nan, math.nan)
    ordered = sorted(values)
    return Spread(sum(ordered) / len(ordered), _quantile(ordered, 0.05), _quantile(ordered, 0.95))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
