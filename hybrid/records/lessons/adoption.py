"""Decides which of offered lessons a store takes, and under which ids: new ones, imported ones, promoted ones. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.errors import LessonsError
from hybrid.records.lessons.counters import Counts
from hybrid.records.lessons.editing import Counted, NewEntry
from hybrid.records.lessons.lesson import CATEGORIES, MAX_NUMBER, PREFIXES, TYPES, Draft, Lesson, number_of
from hybrid.records.lessons.scoring import jaccard, said_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from hybrid.records.lessons.lesson import Level

LIKENESS = 0.8
"""Share of common words above which two lessons are one."""


class Offer(Struct, frozen=True):
    """A lesson that a store may take.

    Attributes:
        draft: In the form of the file.
        wanted: Id that it has elsewhere and keeps where it is free; empty for none.
        learned: ISO date, empty when unknown.
        counts: Counters that it brings; None for none.
    """

    draft: Draft
    wanted: str = ""
    learned: str = ""
    counts: Counts | None = None


class Adopted(Struct, frozen=True):
    """What becomes of an offer: an id, or the lesson that it nearly is."""

    offer: Offer
    lesson_id: str | None
    duplicate_of: Lesson | None = None


def plan(
    offers: Sequence[Offer],
    known: Sequence[Lesson],
    *,
    level: Level,
    highest: int,
    used: int,
    is_forced: bool,
    others: Sequence[Lesson] = (),
) -> list[Adopted]:
    """An id for each offer that is no near duplicate of an active lesson, or of an offer before it.

    Args:
        offers: In order.
        known: All lessons of the store, superseded ones included.
        level: It gives the first letter of the ids.
        highest: The largest number that was ever used; new ids have numbers above it.
        used: The largest number that an offer cannot keep.
        is_forced: Duplicates get an id too.
        others: Lessons of another store, which an offer may resemble as well.

    Raises:
        LessonsError: There is no id left.
    """
    words = [(said_words(lesson.title, lesson.content), lesson) for lesson in (*known, *others) if lesson.is_active]
    gone = {(lesson.title, lesson.content): lesson for lesson in known if not lesson.is_active}
    taken: set[str] = set()
    wanted = [_number(offer.wanted, level) for offer in offers]
    highest = max([highest, *wanted])
    plans: list[Adopted] = []
    for offer, number in zip(offers, wanted, strict=True):
        mine = said_words(offer.draft.title, offer.draft.content)
        twin = None if is_forced else next((other for theirs, other in words if _is_alike(mine, theirs)), None)
        if twin is None and offer.wanted:  # What was deleted here does not come back with the next import.
            twin = gone.get((offer.draft.title, offer.draft.content))
        if twin is not None:
            plans.append(Adopted(offer, None, twin))
            continue
        if number <= used or offer.wanted in taken:  # What was ever used names another lesson in somebody's notes.
            highest += 1
            lesson_id = new_id(level, highest)
        else:
            lesson_id = offer.wanted
        taken.add(lesson_id)
        plans.append(Adopted(offer, lesson_id))
        words.append((mine, Lesson(lesson_id, offer.draft.title, offer.draft.content)))
    return plans


def new_id(level: Level, number: int) -> str:
    """The id of a level with a number.

    Raises:
        LessonsError: It is above `MAX_NUMBER`.
    """
    if number > MAX_NUMBER:
        raise LessonsError(f"no id is left: {PREFIXES[level]}{MAX_NUMBER} is used; begin a new LESSONS.md")
    return f"{PREFIXES[level]}{number:03d}"


def new_entry(adopted: Adopted, *, today: date, is_inline: bool) -> NewEntry:
    """How an adopted offer is written.

    Args:
        adopted: With an id.
        today: Learned then, if the offer does not say.
        is_inline: Counters go into the entry, in the older form.
    """
    offer = adopted.offer
    counts = offer.counts or Counts()
    counted = Counted(counts.uses, counts.velocity, counts.last) if is_inline else None
    learned = offer.learned or today.isoformat()
    return NewEntry(adopted.lesson_id or "", offer.draft, learned, counted)


def with_known(counts: Counts, known: Counts) -> Counts:
    """Counters that an offer brings, with what was counted here already under its id: the file was read in place."""
    return replace(
        counts,
        injections=max(counts.injections, known.injections),
        citations=max(counts.citations, known.citations),
    )


def offer_of(lesson: Lesson) -> Offer:
    """A lesson of one store as an offer to another, with its counters and without its id."""
    draft = Draft(
        title=lesson.title,
        content=lesson.content,
        category=lesson.category if lesson.category in CATEGORIES else "correction",
        type=lesson.type if lesson.type in TYPES else "",
        source=lesson.source,
        triggers=lesson.triggers,
        is_promotable=lesson.is_promotable,
    )
    counts = Counts(lesson.uses, lesson.velocity, lesson.last, lesson.injections, lesson.citations)
    return Offer(draft, learned=lesson.learned, counts=counts)


def _is_alike(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return jaccard(mine, theirs) > LIKENESS


def _number(lesson_id: str, level: Level) -> int:
    return number_of(lesson_id) if lesson_id[:1] == PREFIXES[level] else 0
