"""Records with their status as `hybrid lore` lists, searches and shows them, withdrawn ones too when asked; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.records.lore.eligible import eligible_records, whose_is
from hybrid.records.lore.forms import (
    anti_pattern_record,
    decision_record,
    handoff_record,
    kind_of,
    pattern_record,
)
from hybrid.records.lore.values import AntiPattern, Decision, Pattern, text_of
from hybrid.records.scoring import LessonScorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.lore.attribution import ProjectNames
    from hybrid.records.lore.values import AnyLore, Lore
    from hybrid.records.types import Record


class Listed(Struct, frozen=True):
    """A record, what it was read as, and its status: active, deprecated, superseded, retracted or abandoned."""

    record: Record
    value: AnyLore
    status: str

    def as_json(self) -> dict[str, Any]:
        """Stable keys; absent values are None."""
        record = self.record
        return {
            "id": record.id,
            "kind": record.kind,
            "name": record.name or None,
            "text": "\n".join(record.lines),
            "status": self.status,
            "created_at": record.created_at or None,
            "project": record.project or None,
        }


def listed(lores: Sequence[Lore], project: ProjectNames, *, is_all: bool = False) -> list[Listed]:
    """The records that may be given in a project, in the order of `eligible.Maker.records`.

    Args:
        lores: What the folders hold.
        project: Its names.
        is_all: Everything: withdrawn records, those of other projects and every handoff, folder by folder.
    """
    if is_all:
        return [Listed(_record(value, project), value, status_of(value)) for value in _values(lores)]
    values: dict[str, AnyLore] = {}
    for value in _values(lores):
        values.setdefault(f"{kind_of(value)}:{value.id}", value)
    return [Listed(record, values[record.key], "active") for record in eligible_records(lores, project)]


def best_matches(query: str, records: Sequence[Listed], *, top_k: int) -> list[Listed]:
    """Records that hold a word of the query, the best first by BM25."""
    scorer = LessonScorer([_Scorable(one) for one in records])
    return [hit.lesson.listed for hit in scorer.best(query, top_k=top_k)]


def status_of(value: AnyLore) -> str:
    """What has become of a record."""
    if isinstance(value, (Pattern, AntiPattern)):
        return "deprecated" if value.is_deprecated else "active"
    if not isinstance(value, Decision) or value.is_active:
        return "active"
    if value.status != "active":
        return value.status
    return "superseded" if text_of(value.fields.get("superseded_by")) else value.outcome


class _Scorable:
    """A record as the scorer of lessons takes it."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        self.id = listed.record.key
        self.title = listed.record.name
        self.content = listed.record.text
        self.triggers: Sequence[str] = ()
        self.uses = 0


def _values(lores: Sequence[Lore]) -> list[AnyLore]:
    return [
        value
        for lore in lores
        for value in (*lore.patterns, *lore.anti_patterns, *reversed(lore.decisions), *lore.handoffs)
    ]


def _record(value: AnyLore, project: ProjectNames) -> Record:
    if isinstance(value, Pattern):
        return pattern_record(value)
    if isinstance(value, AntiPattern):
        return anti_pattern_record(value)
    own = (project.name or project.key) if whose_is(value, project) == "this" else ""
    name = value.project or own
    return decision_record(value, name) if isinstance(value, Decision) else handoff_record(value, name)
