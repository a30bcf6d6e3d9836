"""Counts what people said of decisions: did the gate speak when it was wanted? `hybrid eval gate --marks` calls it.

What is compared is the margin, score − threshold of the corpus: thresholds of corpora differ, margins can be counted
together. Marks are no random sample, people mark what they notice: rates tell of the marked decisions and of no others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.rates import Rates, auc, finite, usual_rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.feedback.marks import Mark

FEWEST = 10
"""Marks of either kind from which on a rate is given: below, one mark moves it by more than ten points."""


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
    """What marks say of the gate.

    Attributes:
        decisions: Of the gate and the rules before it.
        n_left_out: Marks of other decisions: session starts, pauses, projects without an index.
    """

    decisions: tuple[MarkedDecision, ...]
    n_left_out: int

    @property
    def wanted(self) -> list[MarkedDecision]:
        """Those where context was wanted."""
        return [decision for decision in self.decisions if decision.is_wanted]

    @property
    def unwanted(self) -> list[MarkedDecision]:
        """Those where it was not."""
        return [decision for decision in self.decisions if not decision.is_wanted]

    @property
    def is_enough(self) -> bool:
        """Are there enough marks of both kinds for a rate?"""
        return min(len(self.wanted), len(self.unwanted)) >= FEWEST

    @property
    def margins(self) -> tuple[list[float], list[float]]:
        """Margins of the wanted and of the unwanted."""
        return [decision.margin for decision in self.wanted], [decision.margin for decision in self.unwanted]

    def sweep(self) -> list[tuple[str, Rates]]:
        """The shifts of all thresholds for the usual false rates and the best one; a threshold here is a shift."""
        return usual_rates(*self.margins)

    def as_json(self) -> dict[str, Any]:
        """Stable keys; rates, AUC and shifts are None or empty when there are too few marks."""
        wanted, unwanted = self.wanted, self.unwanted
        return {
            "n_wanted": len(wanted),
            "n_unwanted": len(unwanted),
            "n_left_out": self.n_left_out,
            "injected_wanted": _n_injected(wanted),
            "injected_unwanted": _n_injected(unwanted),
            "is_enough": self.is_enough,
            "true_rate": _n_injected(wanted) / len(wanted) if self.is_enough else None,
            "false_rate": _n_injected(unwanted) / len(unwanted) if self.is_enough else None,
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
    """Take the decisions of the gate, and of the prompt rules, out of marks."""
    decisions = [
        MarkedDecision(mark.is_good, mark.is_injected, margin)
        for mark in marks
        if (margin := _margin(mark.event)) is not None
    ]
    return MarkedReport(tuple(decisions), len(marks) - len(decisions))


def _margin(event: Mapping[str, Any]) -> float | None:
    """Score − threshold of a decision; None when no gate compared anything.

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


def _n_injected(decisions: Sequence[MarkedDecision]) -> int:
    return sum(decision.is_injected for decision in decisions)
