"""Tells whether a new record says nearly what a recent one of its kind says already; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.records.lessons.scoring import jaccard, tokens
from hybrid.records.lore.times import seconds_of
from hybrid.records.lore.values import AntiPattern, Decision, Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.lore.values import AnyLore, Lore

LOOKED_AT = 20
NEAR = 0.8
"""Share of common words above which two records say the same."""


@dataclass(frozen=True, slots=True)
class Near:
    """A record that says nearly the same; `likeness` in 0 to 1."""

    record: AnyLore
    likeness: float


def near_duplicate(text: str, recorded: Sequence[AnyLore]) -> Near | None:
    """The record most like a text, when it is nearly the same.

    Args:
        text: As `said` makes it.
        recorded: Of one kind, see `latest`.

    Returns:
        The nearest with a likeness above 0.8; of equally near ones the first.
    """
    words = frozenset(tokens(text))
    near = [Near(one, jaccard(words, frozenset(tokens(said(one))))) for one in recorded]
    return max((one for one in near if one.likeness > NEAR), key=lambda one: one.likeness, default=None)


def latest(lore: Lore, of: type[AnyLore]) -> Sequence[AnyLore]:
    """The last twenty records of a kind in a folder, the newest first: by line for decisions, by time for others."""
    if of is Decision:
        return [*reversed(lore.decisions[-LOOKED_AT:])]
    every = [one for one in (*lore.patterns, *lore.anti_patterns, *lore.handoffs) if isinstance(one, of)]
    return sorted(every, key=lambda one: -seconds_of(one.created_at))[:LOOKED_AT]


def said(record: AnyLore) -> str:
    """What a record says: the texts that make it another one when they change."""
    if isinstance(record, Pattern):
        return "\n".join((record.name, record.context, record.problem, record.solution))
    if isinstance(record, AntiPattern):
        return "\n".join((record.name, record.symptom, record.risk, record.fix))
    if isinstance(record, Decision):
        return f"{record.decision}\n{record.rationale}"
    return "\n".join((record.message, *record.next_steps, *record.blockers, *record.questions))
