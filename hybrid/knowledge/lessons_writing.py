"""Writes captured lessons into their stores, each store in one step, and says what became of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.records.errors import LessonsBusyError
from hybrid.records.lessons import texts
from hybrid.records.lessons.types import Draft, Lesson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from hybrid.knowledge.lesson_files import Stores
    from hybrid.records.lessons.messages import Captured
    from hybrid.records.lessons.store import LessonStore

NOT_RECORDED = "LESSON NOT RECORDED"


class Learned(Struct, frozen=True):
    """What was written down.

    Attributes:
        notices: A line for the user about each lesson.
        lessons: Those that are new.
        is_busy: Some could not be written since another process was writing: they may be tried again.
    """

    notices: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    is_busy: bool = False


NOTHING = Learned()


def write_down(stores: Stores, found: Sequence[Captured], today: date) -> Learned:
    """Add what was captured, unless nearly the same is in either store; a failure is told to the user.

    Args:
        stores: Each waits for its lock once, however much there is to write.
        found: In order; so are the notices.
        today: Learned then.
    """
    told: dict[int, tuple[str, Lesson | None]] = {}
    is_busy = False
    for level, store, other in (("project", stores.project, stores.system), ("system", stores.system, stores.project)):
        mine = [(number, one) for number, one in enumerate(found) if one.level == level]
        if store is not None and mine:
            try:
                told.update(_added(store, mine, _active(other), today))
            except LessonsBusyError as error:
                is_busy = True
                told.update({number: (f"{NOT_RECORDED} YET: {one.title} ({error})", None) for number, one in mine})
        for number, one in mine if store is None else ():
            told[number] = f"{NOT_RECORDED}: {one.title} (no project here; `SYSTEM LESSON:` is for all projects)", None
    outcomes = [told[number] for number in sorted(told)]
    lessons = tuple(lesson for _, lesson in outcomes if lesson is not None)
    return Learned(tuple(notice for notice, _ in outcomes), lessons, is_busy)


def _added(
    store: LessonStore, found: Sequence[tuple[int, Captured]], others: Sequence[Lesson], today: date
) -> dict[int, tuple[str, Lesson | None]]:
    """Number of each captured lesson → the line about it, and the lesson if it is new.

    Raises:
        LessonsBusyError: Another process is writing; nothing was written.
    """
    from hybrid.records.lessons.writing import Offer  # Most prompts hold no lesson.

    told: dict[int, tuple[str, Lesson | None]] = {}
    offers: dict[int, Offer] = {}
    for number, one in found:
        try:
            offers[number] = Offer(texts.checked(_draft(one)), learned=today.isoformat())
        except HybridError as error:
            told[number] = f"{NOT_RECORDED}: {one.title} ({error})", None
    if not offers:
        return told
    try:
        adopted = store.adopt(list(offers.values()), today=today, others=others)
        written = {lesson.id: lesson for lesson in store.read().lessons}
    except LessonsBusyError:
        raise
    except (HybridError, OSError) as error:
        titles = {number: offer.draft.title for number, offer in offers.items()}
        return told | {number: (f"{NOT_RECORDED}: {title} ({error})", None) for number, title in titles.items()}
    for number, one in zip(offers, adopted, strict=True):
        lesson = written.get(one.lesson_id or "")
        if lesson is not None:
            told[number] = f"LESSON RECORDED: [{lesson.id}] {lesson.title}", lesson
        elif one.duplicate_of is not None:
            told[number] = f"LESSON KNOWN ALREADY: [{one.duplicate_of.id}] {one.duplicate_of.title}", None
    return told


def _draft(one: Captured) -> Draft:
    return Draft(
        one.title, one.content, category=one.category, type=one.type, source=one.source, is_promotable=one.is_promotable
    )


def _active(store: LessonStore | None) -> Sequence[Lesson]:
    """Its active lessons; none of a file that cannot be read: that one is told where it matters."""
    if store is not None:
        with contextlib.suppress(HybridError, OSError):
            return store.read().active
    return ()
