"""Which records may be given in a project: not withdrawn, and not another project's; pure but for a memory of its work.

What is withdrawn in one folder is withdrawn in all: a decision that was copied into a project and retracted there is
not given from the personal folder either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from hybrid.records.lore.attribution import attributed, mentions_of
from hybrid.records.lore.forms import (
    anti_pattern_record,
    decision_record,
    handoff_record,
    meaning,
    pattern_record,
    texts_in,
)
from hybrid.records.lore.times import seconds_of
from hybrid.records.lore.values import Decision, Handoff
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hybrid.records.lore.attribution import Attribution, ProjectNames
    from hybrid.records.lore.values import AntiPattern, Lore, Pattern
    from hybrid.records.types import Record

_Withdrawable = TypeVar("_Withdrawable", "Pattern", "AntiPattern")


_BATCH = 100
"""Records that are looked through for secrets at once; most batches hold none."""


class _Made(Struct, frozen=True):
    """What was found out about a value; it is kept so that its id is not used anew. Another project's has no record."""

    value: Decision | Handoff
    whose: Attribution
    seconds: float
    record: Record | None


class Maker:
    """Makes the records of one project, and makes none twice: values that were seen before are looked up.

    Not for several threads at a time.
    """

    def __init__(self, project: ProjectNames) -> None:
        self._project = project
        self._made: dict[int, _Made] = {}

    def records(self, lores: Sequence[Lore]) -> tuple[Record, ...]:
        """The records of one or more folders that may be given in the project; of an id the first folder's.

        Args:
            lores: What the folders hold, the project's own first.

        Returns:
            Patterns and anti-patterns of any project in the order of their files; this project's decisions, the
            newest first, and its latest handoff; then, marked, what names no project: decisions and a handoff.
        """
        decisions = _active(lores)
        handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
        made = self._look_at([*decisions, *handoffs])
        records = [*_patterns(lores, self._project), *_anti_patterns(lores, self._project)]
        for whose in ("this", "none"):
            of_it = [one for one in made if one.whose == whose]
            newest = sorted(of_it, key=lambda one: -one.seconds)
            latest = [one for one in newest if isinstance(one.value, Handoff)][:1]
            shown = [one for one in newest if isinstance(one.value, Decision)] + latest
            records += [one.record for one in shown if one.record]
        return tuple({record.key: record for record in reversed(records)}.values())[::-1]

    def _look_at(self, values: Sequence[Decision | Handoff]) -> list[_Made]:
        new = [value for value in values if id(value) not in self._made]
        for at in range(0, len(new), _BATCH):
            batch = new[at : at + _BATCH]
            together = "\n".join(texts_in(value.fields) for value in batch)
            hide = _as_it_is if redact(together) is together else redact
            self._made |= {id(value): self._make(value, hide) for value in batch}
        self._made = {id(value): self._made[id(value)] for value in values}
        return list(self._made.values())

    def _make(self, value: Decision | Handoff, hide: Callable[[str], str]) -> _Made:
        whose = attributed(mentions_of(value.fields), self._project)
        if whose == "other":
            return _Made(value, whose, 0.0, None)
        name = (self._project.name or self._project.key) if whose == "this" else ""
        is_decision = isinstance(value, Decision)
        record = decision_record(value, name, hide) if is_decision else handoff_record(value, name, hide)
        return _Made(value, whose, seconds_of(value.created_at), record)


def _as_it_is(text: str) -> str:
    return text


def eligible_records(lores: Sequence[Lore], project: ProjectNames) -> tuple[Record, ...]:
    """As `Maker.records`, once."""
    return Maker(project).records(lores)


def whose_is(value: Decision | Handoff, project: ProjectNames) -> Attribution:
    """Whose a decision or handoff is."""
    return attributed(mentions_of(value.fields), project)


def latest_handoff(lores: Sequence[Lore], project: ProjectNames) -> Handoff | None:
    """The latest handoff of this project, else the latest that names none."""
    handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
    for whose in ("this", "none"):
        found = [one for one in handoffs if whose_is(one, project) == whose]
        if found:
            return max(found, key=lambda one: seconds_of(one.created_at))
    return None


def _active(lores: Sequence[Lore]) -> list[Decision]:
    """Decisions that say something and are withdrawn in no folder; those of later lines first."""
    all_decisions = [decision for lore in lores for decision in reversed(lore.decisions)]
    gone = {decision.id for decision in all_decisions if not decision.is_active}
    found: dict[str, Decision] = {}
    for decision in all_decisions:
        if decision.id not in gone and meaning(decision.decision):
            found.setdefault(decision.id, decision)
    return list(found.values())


def _patterns(lores: Sequence[Lore], project: ProjectNames) -> list[Record]:
    values = _kept(pattern for lore in lores for pattern in lore.patterns)
    return [
        pattern_record(one, is_foreign=_is_foreign(one, project))
        for one in values
        if meaning(one.solution) or meaning(one.problem)
    ]


def _anti_patterns(lores: Sequence[Lore], project: ProjectNames) -> list[Record]:
    values = _kept(anti for lore in lores for anti in lore.anti_patterns)
    return [
        anti_pattern_record(one, is_foreign=_is_foreign(one, project))
        for one in values
        if meaning(one.symptom) or meaning(one.fix) or meaning(one.risk)
    ]


def _kept(values: Iterable[_Withdrawable]) -> list[_Withdrawable]:
    """The first of each id, the newest by custom; none of an id that is withdrawn anywhere."""
    all_values = list(values)
    gone = {value.id for value in all_values if value.is_deprecated}
    first: dict[str, _Withdrawable] = {}
    for value in all_values:
        if value.id not in gone and meaning(value.name):
            first.setdefault(value.id, value)
    return list(first.values())


def _is_foreign(value: Pattern | AntiPattern, project: ProjectNames) -> bool:
    return bool(value.project) and attributed(mentions_of(value.fields), project) != "this"
