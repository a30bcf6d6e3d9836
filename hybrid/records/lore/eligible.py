"""The records of lore that a project may be given or lists: neither withdrawn nor another project's.

Pure but for a memory of its work. What is withdrawn in one folder is withdrawn in all: a decision that was copied into
a project and retracted there is not given from the personal folder either.

A name of a project counts as a whole word: `flow` is not in `workflow`, `flow-cli` or `flow.py`. In a path each part is
a word, so `/workspace/lineage/journal/lib/store.sh` speaks of `lineage`. Case does not count.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from hybrid.records.lore.showing import decision_record, handoff_record, learned_record, meaning, texts_in
from hybrid.records.lore.types import (
    AntiPattern,
    Decision,
    Handoff,
    Pattern,
    projects_of,
    seconds_of,
    text_of,
    texts_of,
)
from hybrid.records.scoring import LessonScorer
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.lore.types import AnyLore, Lore
    from hybrid.records.types import Record


Attribution = Literal["this", "other", "none"]

_BETWEEN_WORDS = re.compile(r"[^\w.\-]+")


class ProjectNames(Struct, frozen=True, dict=True):
    """The names of a project, and those of the other projects that are known here.

    Attributes:
        name: The name of the project; empty outside of any, where every record that names a project is another one's.
        key: The key of the project.
        others: Names and keys of all other projects of the registry; one that this project has too is dropped.
    """

    name: str
    key: str = ""
    others: tuple[str, ...] = ()

    @property
    def distinct(self) -> str:
        """The name of the project; its key if another project, such as a stranger's clone, has the same name."""
        others = {words_of(text) for text in self.others}
        return self.key if words_of(self.name) in others else self.name

    @cached_property
    def own_words(self) -> frozenset[str]:
        """The name and the key of the project, each as `words_of` gives it."""
        return frozenset(words for text in (self.name, self.key) if (words := words_of(text)))

    @cached_property
    def other_words(self) -> frozenset[str]:
        """The names and keys of the other projects as `words_of` gives them, without those of this project."""
        return frozenset(words for text in self.others if (words := words_of(text))) - self.own_words


def attributed(fields: Mapping[str, object], project: ProjectNames) -> Attribution:
    """Return `this`, `other` or `none`: a record with these keys is this project's, another one's, or nobody's.

    What stands in its `project` or `context.project` decides alone when it is there (see `types.projects_of`): a name
    that the registry does not know, or something that is no name, makes it another project's too, since it was
    attributed on purpose, and giving it away would be the graver mistake. Of several names one of this project is
    enough. Else its entities and tags speak: one that names this project is this one's, whatever else it names; one
    that names another known project is that one's; one that names neither is unattributed.
    """
    named = projects_of(fields)
    if named:
        return "this" if any(_names_one(words_of(name), project.own_words) for name in named) else "other"
    texts = [*texts_of(fields.get("entities")), *texts_of(fields.get("tags"))]
    mentioned = "/".join(map(words_of, texts))
    if _names_one(mentioned, project.own_words):
        return "this"
    return "other" if _names_one(mentioned, project.other_words) else "none"


def words_of(text: str) -> str:
    """Return a text as words: white space is one space, every other run between words one `/`; lower case.

    Dots and dashes belong to a word, as in `next.js` and `lore-client`, except at the end of a sentence.
    """
    spaced = _BETWEEN_WORDS.sub(lambda run: " " if run.group().isspace() else "/", text.casefold())
    return re.sub(r"(?<![.\-])[.\-]+(?=[ /]|$)", "", spaced).strip(" /")


def project_names(name: str, key: str, registry: Iterable[tuple[str, str]]) -> ProjectNames:
    """Return the names of a project and of all others.

    Args:
        name: The name of this project; empty when there is none.
        key: The key of this project.
        registry: Key and name of every known project, this one among them or not.
    """
    others = [text for other, called in registry if other != key for text in (called, other) if text]
    return ProjectNames(name, key, tuple(others))


def _names_one(words: str, names: frozenset[str]) -> bool:
    """Return whether one of some names stands, whole, in a text; both in the form of `words_of`."""
    if not names.isdisjoint(re.split("[ /]", words)):
        return True
    several = (name for name in names if " " in name or "/" in name)
    return any(re.search(rf"(?<![^ /]){re.escape(name)}(?![^ /])", words) for name in several)


_Withdrawable = TypeVar("_Withdrawable", bound=Pattern | AntiPattern | Decision)


_BATCH = 100
"""Number of records that are searched for secrets at once; most such batches hold none."""


class _Made(Struct, frozen=True):
    """A value with its record, None for another project's; the value is kept so that its `id()` is not used anew."""

    value: Decision | Handoff
    whose: Attribution
    seconds: float
    record: Record | None


class RecordMaker:
    """Makes the records of one project, and makes none twice: values that were seen before are looked up.

    Not for several threads at a time.
    """

    def __init__(self, project: ProjectNames) -> None:
        self._project = project
        self._made: dict[int, _Made] = {}
        self._lores: list[Lore] = []
        self._records: tuple[Record, ...] = ()

    def records(self, lores: Sequence[Lore]) -> tuple[Record, ...]:
        """Return the records of one or more folders that may be given in the project; of an id the first folder's.

        Args:
            lores: The content of the folders, the project's own first.

        Returns:
            Patterns and anti-patterns of any project in the order of their files; this project's decisions, the
            newest first, and its latest handoff; then, marked, what names no project: decisions and a handoff.
            The same tuple as before for the same folders, all of them the same objects.
        """
        if not self._lores or any(one is not other for one, other in zip(self._lores, lores, strict=True)):
            self._lores, self._records = list(lores), self._new_records(lores)
        return self._records

    def _new_records(self, lores: Sequence[Lore]) -> tuple[Record, ...]:
        decisions = _active_decisions(lores)
        handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
        made = self._look_at([*decisions, *handoffs])
        records = _learned_records(lores, self._project)
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
        whose = attributed(value.fields, self._project)
        if whose == "other":
            return _Made(value, whose, 0.0, None)
        name = (self._project.name or self._project.key) if whose == "this" else ""
        is_decision = isinstance(value, Decision)
        record = decision_record(value, name, hide) if is_decision else handoff_record(value, name, hide)
        return _Made(value, whose, seconds_of(value.created_at), record)


def _as_it_is(text: str) -> str:
    return text


def latest_handoff(lores: Sequence[Lore], project: ProjectNames) -> Handoff | None:
    """Return the latest handoff of this project, else the latest that names no project; None without either."""
    handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
    for whose in ("this", "none"):
        found = [one for one in handoffs if attributed(one.fields, project) == whose]
        if found:
            return max(found, key=lambda one: seconds_of(one.created_at))
    return None


def _active_decisions(lores: Sequence[Lore]) -> list[Decision]:
    """Return the decisions with a text that are withdrawn in no folder, later lines first; one for each id."""
    return _kept((one for lore in lores for one in reversed(lore.decisions)), lambda one: one.decision)


def _learned_records(lores: Sequence[Lore], project: ProjectNames) -> list[Record]:
    """Return the records of patterns, then of anti-patterns, that say something; those of other projects are marked."""
    patterns = _kept((one for lore in lores for one in lore.patterns), lambda one: one.name)
    anti_patterns = _kept((one for lore in lores for one in lore.anti_patterns), lambda one: one.name)
    telling = [
        *(one for one in patterns if meaning(one.solution) or meaning(one.problem)),
        *(one for one in anti_patterns if meaning(one.symptom) or meaning(one.fix) or meaning(one.risk)),
    ]
    return [
        learned_record(one, is_foreign=bool(one.project) and attributed(one.fields, project) != "this")
        for one in telling
    ]


def _kept(values: Iterable[_Withdrawable], title: Callable[[_Withdrawable], str]) -> list[_Withdrawable]:
    """Return the first value of each id that has a title, the newest by custom; none of an id withdrawn anywhere."""
    all_values = list(values)
    gone = {value.id for value in all_values if not value.is_active}
    first: dict[str, _Withdrawable] = {}
    for value in all_values:
        if value.id not in gone and meaning(title(value)):
            first.setdefault(value.id, value)
    return list(first.values())


class Listed(Struct, frozen=True):
    """A record, the value it was made of, and its status: active, deprecated, superseded, retracted or abandoned."""

    record: Record
    value: AnyLore
    status: str

    def as_json(self) -> dict[str, Any]:
        """Return the record as an object for JSON output, with stable keys; absent values are None."""
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
    """Return the records that may be given in a project, in the order of `RecordMaker.records`.

    Args:
        lores: The content of the folders.
        project: The names of the project.
        is_all: True for all records, folder by folder: also withdrawn ones, other projects' and every handoff.
    """
    if is_all:
        return [Listed(_record(value, project), value, status_of(value)) for value in _values(lores)]
    values: dict[str, AnyLore] = {}
    for value in _values(lores):
        values.setdefault(f"{value.kind}:{value.id}", value)
    return [Listed(record, values[record.key], "active") for record in RecordMaker(project).records(lores)]


def best_matches(query: str, records: Sequence[Listed], *, top_k: int) -> list[Listed]:
    """Return the best `top_k` of the records that hold a word of the query, the best first by BM25."""
    scorer = LessonScorer([_Scorable(one) for one in records])
    return [hit.lesson.listed for hit in scorer.best(query, top_k=top_k)]


def status_of(value: AnyLore) -> str:
    """Return the status of a record: active, deprecated, superseded, retracted or abandoned."""
    if isinstance(value, Handoff) or value.is_active:
        return "active"
    if not isinstance(value, Decision):
        return "deprecated"
    if value.status != "active":
        return value.status
    return "superseded" if text_of(value.fields.get("superseded_by")) else value.outcome


class _Scorable:
    """A record in the form that the scorer of lessons takes."""

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
    if isinstance(value, (Pattern, AntiPattern)):
        return learned_record(value)
    own = (project.name or project.key) if attributed(value.fields, project) == "this" else ""
    name = value.project or own
    return decision_record(value, name) if isinstance(value, Decision) else handoff_record(value, name)
