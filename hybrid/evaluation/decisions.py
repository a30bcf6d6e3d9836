"""Measures of yes-or-no decisions over a score, and of the decisions of the gate that people marked.

AUC, rates at a threshold and thresholds at a rate are plain arithmetic. A score of −∞ stands for a prompt that was
silenced before it was compared; it never opens. `hybrid eval gate --marks` and the plots call this module.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.log.marks import Mark


FALSE_RATES = (0.01, 0.02, 0.05)


class Rates(Struct, frozen=True):
    """The shares of prompts that a threshold lets through.

    Attributes:
        threshold: Scores from here on open; ∞ opens for nothing.
        true_rate: Share of the wanted that open, in [0, 1]; NaN without any.
        false_rate: Share of the unwanted that open, in [0, 1]; NaN without any.
    """

    threshold: float
    true_rate: float
    false_rate: float


def auc(wanted: Sequence[float], unwanted: Sequence[float]) -> float:
    """Return the probability that a random wanted score is above a random unwanted one; equal scores count one half.

    NaN when either is empty.

    Source: Mann, Whitney (1947).
    """
    if not wanted or not unwanted:
        return math.nan
    others = sorted(unwanted)
    n_half_wins = sum(bisect_left(others, score) + bisect_right(others, score) for score in wanted)
    return n_half_wins / 2 / (len(wanted) * len(others))


def open_rate(scores: Sequence[float], threshold: float) -> float:
    """Return the share of the scores that reach the threshold; −∞ never does. NaN for no scores."""
    return sum(-math.inf < score >= threshold for score in scores) / len(scores) if scores else math.nan


def rates_at(threshold: float, wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """Return both rates at a threshold."""
    return Rates(threshold, open_rate(wanted, threshold), open_rate(unwanted, threshold))


def at_false_rate(limit: float, wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """Return the rates of the lowest score whose false rate is at most `limit`; threshold ∞ when no score's is."""
    return next((rates for rates in sweep_rates(wanted, unwanted) if rates.false_rate <= limit), _NEVER)


def best_rates(wanted: Sequence[float], unwanted: Sequence[float]) -> Rates:
    """Return the rates of the score with the largest true rate − false rate (Youden's J), the highest of equal ones."""
    return max(
        sweep_rates(wanted, unwanted),
        key=lambda rates: (rates.true_rate - rates.false_rate, rates.threshold),
        default=_NEVER,
    )


def usual_rates(wanted: Sequence[float], unwanted: Sequence[float]) -> list[tuple[str, Rates]]:
    """Return (name, rates) of the thresholds for each of `FALSE_RATES`, and of the one with the best rates."""
    rows = [(f"{rate:.0%} false", at_false_rate(rate, wanted, unwanted)) for rate in FALSE_RATES]
    return [*rows, ("largest true - false", best_rates(wanted, unwanted))]


_NEVER = Rates(math.inf, 0.0, 0.0)


def sweep_rates(wanted: Sequence[float], unwanted: Sequence[float]) -> list[Rates]:
    """Return the rates at every finite score, ascending by score; a rate over no scores is 0."""
    ordered, others = sorted(wanted), sorted(unwanted)
    thresholds = sorted({score for score in (*ordered, *others) if math.isfinite(score)})
    return [Rates(score, _share_from(ordered, score), _share_from(others, score)) for score in thresholds]


def _share_from(ordered: Sequence[float], threshold: float) -> float:
    """Return the share of ascending scores that reach a threshold; 0 for no scores."""
    return 1 - bisect_left(ordered, threshold) / len(ordered) if ordered else 0.0


def finite(value: float) -> float | None:
    """Return the value as JSON can hold it: None instead of an infinity or NaN."""
    return value if math.isfinite(value) else None


class Spread(Struct, frozen=True):
    """Mean and quantiles of values.

    Attributes:
        mean: Mean of all values.
        low: The 5 % quantile.
        high: The 95 % quantile.
    """

    mean: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and quantiles, linear between neighbours; NaN without any value."""
    if not values:
        return Spread(math.nan, math.nan, math.nan)
    ordered = sorted(values)
    return Spread(sum(ordered) / len(ordered), _quantile(ordered, 0.05), _quantile(ordered, 0.95))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


# --- marked decisions -------------------------------------------------------------------------------------


FEWEST = 10
"""Number of marks of either kind from which on rates are given: below, one mark moves them by more than ten points."""


class MarkedDecision(Struct, frozen=True):
    """One decision of the gate that a person judged.

    Attributes:
        is_wanted: Context was wanted.
        is_injected: The agent got a text.
        margin: Score − threshold; 0 and more opened. −∞ when a rule silenced the prompt or it has no vector.
    """

    is_wanted: bool
    is_injected: bool
    margin: float


class MarkedReport(Struct, frozen=True):
    """The marked decisions of the gate, and their figures.

    Attributes:
        decisions: The decisions of the gate and of the rules before it.
        n_left_out: Marks of other decisions: session starts, pauses, projects without an index.
    """

    decisions: tuple[MarkedDecision, ...]
    n_left_out: int

    @property
    def wanted(self) -> list[MarkedDecision]:
        """The decisions where context was wanted."""
        return [decision for decision in self.decisions if decision.is_wanted]

    @property
    def unwanted(self) -> list[MarkedDecision]:
        """The decisions where no context was wanted."""
        return [decision for decision in self.decisions if not decision.is_wanted]

    @property
    def is_enough(self) -> bool:
        """Return whether there are enough marks of both kinds for a rate."""
        return min(len(self.wanted), len(self.unwanted)) >= FEWEST

    @property
    def margins(self) -> tuple[list[float], list[float]]:
        """Score − threshold of the wanted decisions, and of the unwanted ones."""
        return [decision.margin for decision in self.wanted], [decision.margin for decision in self.unwanted]

    def sweep(self) -> list[tuple[str, Rates]]:
        """(name, rates) of the shifts of all thresholds that give the usual false rates or the best rates."""
        return usual_rates(*self.margins)

    def as_json(self) -> dict[str, Any]:
        """Return the report under stable keys; rates, AUC and shifts are None or empty when there are too few marks."""
        n_wanted, n_unwanted = len(self.wanted), len(self.unwanted)
        n_right, n_wrong = (sum(one.is_injected for one in group) for group in (self.wanted, self.unwanted))
        return {
            "n_wanted": n_wanted,
            "n_unwanted": n_unwanted,
            "n_left_out": self.n_left_out,
            "injected_wanted": n_right,
            "injected_unwanted": n_wrong,
            "is_enough": self.is_enough,
            "true_rate": n_right / n_wanted if self.is_enough else None,
            "false_rate": n_wrong / n_unwanted if self.is_enough else None,
            "auc": auc(*self.margins) if self.is_enough else None,
            "at": [
                {
                    "label": label,
                    "shift": finite(rates.threshold),
                    "true_rate": rates.true_rate,
                    "false_rate": rates.false_rate,
                }
                for label, rates in (self.sweep() if self.is_enough else ())
            ],
        }


def evaluate_marks(marks: Sequence[Mark]) -> MarkedReport:
    """Return a report on the marked decisions of the gate and the prompt rules; the other marks are only counted."""
    decisions = [
        MarkedDecision(mark.is_good, mark.is_injected, margin)
        for mark in marks
        if (margin := _margin(mark.event)) is not None
    ]
    return MarkedReport(tuple(decisions), len(marks) - len(decisions))


def _margin(event: Mapping[str, Any]) -> float | None:
    """Return score − threshold of a decision; −∞ when a rule silenced it; None when no gate compared anything.

    Events of the first versions have no score: the raw top cosine was it.
    """
    if event.get("reason") == "prompt":
        return -math.inf
    gate = event["gate"] if isinstance(event.get("gate"), dict) else event
    threshold = _number(gate.get("threshold"))
    if threshold is None:
        return None
    score = _number(gate.get("score"))
    score = _number(gate.get("top_cosine")) if score is None else score
    return -math.inf if score is None else score - threshold


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
