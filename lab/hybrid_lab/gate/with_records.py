"""The effect of records beside the code on the decisions of the gate: the same prompts with and without them.

`hybrid eval gate --records` calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid_lab.gate.prompts import Variant
from hybrid_lab.records.setup import ALONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_lab.gate.prompts import Asked, GateReport

WITH_RECORDS = Variant("with records", ALONE, has_records=True)

_LESSONS = frozenset({"lesson"})
_LORE = frozenset({"pattern", "anti-pattern", "decision", "handoff"})


class RecordsGateRow(Struct, frozen=True):
    """The decisions on the prompts of one kind.

    Attributes:
        is_wanted: Whether they deserve context of the code.
        kind: Of the prompts; `all` for all strict ones.
        is_strict: Counted in the false rate.
        n: Prompts × repositories.
        without: How many got something from the files alone.
        with_records: How many got something from files and records.
        lessons: How many got a lesson.
        lore: How many got lore.
        prompts: Different prompts among them: the records are the same in every repository.
        prompts_given: How many of these got a record in any repository.
    """

    is_wanted: bool
    kind: str
    is_strict: bool
    n: int
    without: int
    with_records: int
    lessons: int
    lore: int
    prompts: int
    prompts_given: int

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "is_wanted": self.is_wanted,
            "kind": self.kind,
            "is_strict": self.is_strict,
            "n": self.n,
            "without": self.without,
            "with": self.with_records,
            "lessons": self.lessons,
            "lore": self.lore,
            "prompts": self.prompts,
            "prompts_given": self.prompts_given,
            "without_rate": self.without / self.n,
            "with_rate": self.with_records / self.n,
        }


def compare_records(without: GateReport, with_records: GateReport) -> list[RecordsGateRow]:
    """A row for all strict prompts that deserve nothing and for each of their kinds, then the same of the wanted.

    Args:
        without: Decisions of the files alone.
        with_records: Of the same prompts in the same order.
    """
    pairs = list(zip(without.asked, with_records.asked, strict=True))
    rows: list[RecordsGateRow] = []
    for is_wanted in (False, True):
        chosen = [pair for pair in pairs if pair[0].prompt.is_wanted is is_wanted]
        strict = [pair for pair in chosen if pair[0].prompt.is_strict]
        rows += [_row("all", strict)] if strict else []
        groups: dict[tuple[bool, str], list[tuple[Asked, Asked]]] = {}
        for pair in chosen:
            groups.setdefault((not pair[0].prompt.is_strict, pair[0].prompt.kind), []).append(pair)
        rows += [_row(key[1], groups[key]) for key in sorted(groups)]
    return rows


def _row(kind: str, pairs: Sequence[tuple[Asked, Asked]]) -> RecordsGateRow:
    first = pairs[0][0].prompt
    return RecordsGateRow(
        is_wanted=first.is_wanted,
        kind=kind,
        is_strict=first.is_strict,
        n=len(pairs),
        without=sum(one.is_injected for one, _ in pairs),
        with_records=sum(other.is_injected for _, other in pairs),
        lessons=sum(not _LESSONS.isdisjoint(other.given) for _, other in pairs),
        lore=sum(not _LORE.isdisjoint(other.given) for _, other in pairs),
        prompts=len({one.prompt.id for one, _ in pairs}),
        prompts_given=len({one.prompt.id for _, one in pairs if not (_LESSONS | _LORE).isdisjoint(one.given)}),
    )
