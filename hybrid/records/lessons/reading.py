"""Puts a file of lessons and its counters together to what everyone else sees: lessons, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.lessons.counters import counts_in
from hybrid.records.lessons.types import CATEGORIES, PREFIXES, Lesson, Level
from hybrid.records.types import Problem, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hybrid.records.lessons.counters import Counters, Counts
    from hybrid.records.lessons.document import LessonsDocument
    from hybrid.records.lessons.parsing import LessonEntry

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_COUNT = re.compile(r"[0-9]+")
_VELOCITY = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_SHOWN_CHARS = 40


class LessonsChange(Struct, frozen=True):
    """The document and the counters after a change, to be written in this order."""

    document: LessonsDocument
    counters: Counters


class Lessons(Struct, frozen=True):
    """The lessons of a store at one moment.

    Attributes:
        lessons: In the order of the file, superseded ones and tombstones included.
        problems: Places in the files that could not be read as they were meant.
    """

    lessons: tuple[Lesson, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def active(self) -> tuple[Lesson, ...]:
        """The lessons that are neither superseded nor deleted, in their order."""
        return tuple(lesson for lesson in self.lessons if lesson.is_active)

    def named(self, lesson_id: str) -> tuple[Lesson, ...]:
        """Return the lessons with this id, superseded ones too; there may be two after branches were merged."""
        return tuple(lesson for lesson in self.lessons if lesson.id == lesson_id)


def lessons_of(
    document: LessonsDocument, counters: Counters, *, file: Path, level: Level, is_inline_first: bool
) -> Lessons:
    """Return the lessons of a document with their counters.

    Args:
        document: The parsed file.
        counters: The counters beside the file.
        file: Path of the LESSONS.md, for problems.
        level: Entries of the other level are left out and reported as a problem: their ids belong to another store.
        is_inline_first: True if counters in the LESSONS.md count before those beside it.
    """
    lessons: list[Lesson] = []
    problems = [Problem(str(file), line, message) for line, message in document.problems]
    for entry in document.entries:
        if entry.id[0] != PREFIXES[level]:
            message = f"{entry.id} does not belong here: ids of this file begin with {PREFIXES[level]}"
            problems.append(Problem(str(file), entry.heading + 1, f"{message}; `hybrid lessons import` sorts them"))
            continue
        inline = counts_of(entry)
        lessons.append(lesson_of(entry, counters.counts(entry.id, inline, is_inline_first=is_inline_first)))
        category = entry.value("category").lower()
        if category and category not in CATEGORIES:
            message = f"{entry.id} has the category {category!r}; there are {', '.join(CATEGORIES)}"
            problems.append(Problem(str(file), entry.heading + 1, message))
        problems += [Problem(str(file), line, message) for line, message in _wrong_values(entry)]
    return Lessons(tuple(lessons), tuple(sorted(problems, key=lambda problem: problem.line)))


def lesson_of(entry: LessonEntry, counts: Counts) -> Lesson:
    """Return the lesson of an entry and its counters; bytes that are no UTF-8 become U+FFFD."""
    return Lesson(
        id=entry.id,
        title=well_formed(entry.title),
        content=well_formed(entry.content),
        category=well_formed(entry.value("category").lower()),
        type=well_formed(entry.value("type").lower()),
        source=well_formed(entry.source),
        triggers=tuple(map(well_formed, entry.triggers)),
        superseded=well_formed(entry.superseded),
        is_promotable=entry.is_promotable,
        uses=counts.uses,
        velocity=counts.velocity,
        learned=well_formed(entry.value("learned")),
        last=well_formed(counts.last),
        injections=counts.injections,
        citations=counts.citations,
        line=entry.heading + 1,
    )


def counts_of(entry: LessonEntry) -> Counts | None:
    """Return the counters in an entry of the older form; None in ours."""
    if not entry.has_counters:
        return None
    return counts_in({name: entry.value(name) for name in ("uses", "velocity", "last")})


def _wrong_values(entry: LessonEntry) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, message) for each date or counter of an entry that has a wrong form."""
    for field in entry.fields:
        form = _FORMS.get(field.name)
        if form is not None and field.value and not form[0](field.value):
            shown = well_formed(field.value[:_SHOWN_CHARS])
            yield field.line + 1, f"{entry.id} has {field.name.capitalize()} {shown!r}; write {form[1]}"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return DATE.fullmatch(text) is not None


_FORMS: dict[str, tuple[Callable[[str], object], str]] = {
    "learned": (_is_date, "a date as 2026-02-14"),
    "last": (_is_date, "a date as 2026-02-14"),
    "uses": (_COUNT.fullmatch, "a whole number from 0"),
    "velocity": (_VELOCITY.fullmatch, "a number from 0, as 1.5"),
}
"""Name of a field → whether a value has its form, and the form in words."""
