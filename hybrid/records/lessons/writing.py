"""The changes of a store as pure functions: offers that become lessons, citations, injections and decay.

Each takes a document and its counters and gives new ones; `store` imports this module when it changes something, and
writes the outcome.

A client tells of a message of its agent with its event, its transcript, or both. A message of a transcript has an id,
one that came with an event only its text. The event's last message is often in the transcript already, or comes there a
moment later; it counts once all the same, and two messages with one text count twice.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.lessons.counters import Counters, Counts
from hybrid.records.lessons.document import LessonsChange, NewEntry, counts_of
from hybrid.records.lessons.types import CATEGORIES, MAX_NUMBER, PREFIXES, TYPES, Draft, Lesson, number_of
from hybrid.records.scoring import jaccard, said_words
from hybrid.records.types import LessonsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hybrid.records.lessons.document import LessonsDocument
    from hybrid.records.lessons.types import Level


LIKENESS = 0.8
"""Share of common words, 0 to 1, above which two lessons count as the same."""


class Offer(Struct, frozen=True):
    """A lesson that a store may take.

    Attributes:
        draft: The text, in the form of the file.
        wanted: The id that the lesson has elsewhere, and keeps if it is free here; empty for none.
        learned: ISO date, empty when unknown.
        counts: The counters of the lesson elsewhere; None for none.
    """

    draft: Draft
    wanted: str = ""
    learned: str = ""
    counts: Counts | None = None


class Adoption(Struct, frozen=True):
    """The outcome for an offer: the id that it gets, or None and the lesson that says nearly the same."""

    offer: Offer
    lesson_id: str | None
    duplicate_of: Lesson | None = None


class Elsewhere(Struct, frozen=True):
    """The lessons and ids that are known beside a store that takes offers.

    Attributes:
        lessons: Lessons of another store; an offer that says nearly the same as an active one of them is a duplicate.
        ids: Ids of lessons elsewhere: no new lesson gets one, though an offer may keep its own.
    """

    lessons: tuple[Lesson, ...] = ()
    ids: tuple[str, ...] = ()


class IdNumbers(Struct, frozen=True):
    """The numbers of the ids of a store.

    Attributes:
        level: `project` or `system`; it gives the first letter of the ids.
        highest: The largest number that was ever used; new ids have numbers above it.
        used: The largest number that an offer cannot keep.
    """

    level: Level
    highest: int
    used: int


def plan(
    offers: Sequence[Offer],
    known: Sequence[Lesson],
    numbers: IdNumbers,
    *,
    is_forced: bool,
    others: Sequence[Lesson] = (),
) -> list[Adoption]:
    """Return the outcome for each offer: an id, or the active lesson or earlier offer that says nearly the same.

    An offer with a wanted id that repeats a superseded lesson of the store word for word gets no id either.

    Args:
        offers: In order.
        known: All lessons of the store, superseded ones included.
        numbers: The numbers of the ids of the store.
        is_forced: Duplicates get an id too.
        others: Lessons of another store, which an offer may resemble as well.

    Raises:
        LessonsError: There is no id left.
    """
    words = [(said_words(lesson.title, lesson.content), lesson) for lesson in (*known, *others) if lesson.is_active]
    gone = {(lesson.title, lesson.content): lesson for lesson in known if not lesson.is_active}
    taken: set[str] = set()
    wanted = [_number(offer.wanted, numbers.level) for offer in offers]
    highest = max([numbers.highest, *wanted])
    plans: list[Adoption] = []
    for offer, number in zip(offers, wanted, strict=True):
        mine = said_words(offer.draft.title, offer.draft.content)
        twin = None if is_forced else next((other for theirs, other in words if jaccard(mine, theirs) > LIKENESS), None)
        if twin is None and offer.wanted:  # What was deleted here does not come back with the next import.
            twin = gone.get((offer.draft.title, offer.draft.content))
        if twin is not None:
            plans.append(Adoption(offer, None, twin))
            continue
        # What was ever used names another lesson in somebody's notes.
        if number <= numbers.used or offer.wanted in taken:
            highest += 1
            lesson_id = new_id(numbers.level, highest)
        else:
            lesson_id = offer.wanted
        taken.add(lesson_id)
        plans.append(Adoption(offer, lesson_id))
        words.append((mine, Lesson(lesson_id, offer.draft.title, offer.draft.content)))
    return plans


def new_id(level: Level, number: int) -> str:
    """Return the id of a level with a number.

    Raises:
        LessonsError: The number is above `MAX_NUMBER`.
    """
    if number > MAX_NUMBER:
        raise LessonsError(f"no id is left: {PREFIXES[level]}{MAX_NUMBER} is used; begin a new LESSONS.md")
    return f"{PREFIXES[level]}{number:03d}"


def new_entry(adopted: Adoption, *, today: date, is_inline: bool) -> NewEntry:
    """Return the entry that is written for an adopted offer.

    Args:
        adopted: An offer that got an id.
        today: The date of learning if the offer has none.
        is_inline: Counters go into the entry, in the older form.
    """
    offer = adopted.offer
    counts = (offer.counts or Counts()) if is_inline else None
    return NewEntry(adopted.lesson_id or "", offer.draft, offer.learned or today.isoformat(), counts)


def with_known(counts: Counts, known: Counts) -> Counts:
    """Return the counters of an offer, with the larger of both for injections and citations, which `known` may have."""
    return replace(
        counts,
        injections=max(counts.injections, known.injections),
        citations=max(counts.citations, known.citations),
    )


def offer_of(lesson: Lesson) -> Offer:
    """Return a lesson of one store as an offer to another, with its counters and without its id."""
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


def _number(lesson_id: str, level: Level) -> int:
    return number_of(lesson_id) if lesson_id[:1] == PREFIXES[level] else 0


DECAY_DAYS = 7


def counted(
    document: LessonsDocument,
    counters: Counters,
    step: Callable[[str, Counts], Counts],
    ids: Iterable[str],
    *,
    keeps_inline: bool,
) -> LessonsChange:
    """Return both files after a step was applied to the counters of some lessons.

    Args:
        document: The file of lessons.
        counters: The counters beside the document.
        step: Id and counters of a lesson → its next counters.
        ids: The ids of the lessons.
        keeps_inline: Counters of the older form are rewritten in the document; only the others stand beside it.
    """
    inline = _inline(document)
    after = {name: step(name, counters.counts(name, inline.get(name), is_inline_first=keeps_inline)) for name in ids}
    here = {name for name in after if keeps_inline and name in inline}
    whole = {name: counts for name, counts in after.items() if name not in here}
    partly = {name: counts for name, counts in after.items() if name in here}
    return LessonsChange(
        document.with_counters(partly) if partly else document,
        counters.with_counts(whole).with_counts(partly, is_partial=True),
    )


def cited_often(
    document: LessonsDocument, counters: Counters, cited: Mapping[str, int], today: date, *, keeps_inline: bool
) -> LessonsChange:
    """Return both files after lessons were cited; `cited` says how often each."""

    def step(name: str, counts: Counts) -> Counts:
        for _ in range(cited[name]):
            counts = counts.cited(today.isoformat())
        return counts

    return counted(document, counters, step, cited, keeps_inline=keeps_inline)


def given(document: LessonsDocument, counters: Counters, ids: Sequence[str], *, keeps_inline: bool) -> LessonsChange:
    """Return both files, the document unchanged, after lessons were given once more; unknown ids count nothing."""
    known = {entry.id for entry in document.entries}

    def step(_: str, counts: Counts) -> Counts:
        return replace(counts, injections=counts.injections + 1)

    changed = counted(document, counters, step, [name for name in ids if name in known], keeps_inline=keeps_inline)
    return replace(changed, document=document)


def decayed(
    document: LessonsDocument, counters: Counters, today: date, *, keeps_inline: bool, is_forced: bool
) -> tuple[LessonsChange, tuple[str, ...] | None]:
    """Return both files after a decay, and the ids whose counters changed; None for the ids when nothing fades yet.

    Counters of lessons that are not in this document, but in that of another working tree, decay too. Where lessons
    have no day of a decay yet, today is noted only: a file of another tool or machine keeps its stars for the first
    week. Within a week of the noted day the counters come back as they are, the same object.

    Args:
        document: The file of lessons.
        counters: The counters beside the document.
        today: The day of the decay.
        keeps_inline: See `counted`.
        is_forced: Let them fade now, whenever they did last.
    """
    after = counters.with_decay(today.isoformat())
    if not is_forced and not counters.decayed_on:
        return LessonsChange(document, after if document.entries else counters), None
    if not is_forced and not _is_week_over(counters.decayed_on, today):
        return LessonsChange(document, counters), None
    inline = _inline(document)
    ids = dict.fromkeys([*(entry.id for entry in document.entries), *counters.ids])
    before = {name: counters.counts(name, inline.get(name), is_inline_first=keeps_inline) for name in ids}
    faded = tuple(name for name, counts in before.items() if counts.decayed() != counts)
    return counted(document, after, lambda _, counts: counts.decayed(), faded, keeps_inline=keeps_inline), faded


def _is_week_over(noted: str, today: date) -> bool:
    """Return whether a decay is due after the day that was noted; a day that is no date or lies ahead makes it due."""
    try:
        days = (today - date.fromisoformat(noted)).days
    except ValueError:
        return True
    return not 0 <= days < DECAY_DAYS  # A date to come is a slip of a clock: it must not stop the decay for years.


def moved(document: LessonsDocument, counters: Counters) -> Counters:
    """Return the counters with those of the document added for lessons whose uses are not counted beside it yet.

    The same object comes back when the document holds no counters.
    """
    if not document.has_counters:
        return counters
    inline = _inline(document)
    return counters.with_counts(
        {name: counters.counts(name, counts) for name, counts in inline.items() if not counters.has(name)}
    )


def _inline(document: LessonsDocument) -> dict[str, Counts]:
    """Return id → counters that stand in the document; of two entries with one id those with more uses."""
    found: dict[str, Counts] = {}
    for entry in document.entries:
        counts = counts_of(entry)
        if counts is not None and (entry.id not in found or counts.uses > found[entry.id].uses):
            found[entry.id] = counts
    return found


_AWAITED = "?"
"""Prefix of the mark of a text that was counted from an event and was not found in the transcript yet."""


class CitingMessage(Struct, frozen=True):
    """A message that cites lessons.

    Attributes:
        ids: Ids of the lessons, in any order; each counts once.
        message: Mark of the message in the transcript; empty for a message that came with an event alone.
        texts: Marks of its text, or of the parts of it that came. A message without any mark always counts.
    """

    ids: tuple[str, ...]
    message: str = ""
    texts: tuple[str, ...] = ()


def counting(
    said: Iterable[CitingMessage], marks: Iterable[str], known: Collection[str]
) -> tuple[dict[str, int], list[str]]:
    """Return id → number of messages that newly cite the lesson, and the marks of all messages counted so far.

    Args:
        said: Messages in order.
        marks: The marks that were returned last time.
        known: Ids of the lessons that can be cited.
    """
    counted: dict[str, int] = {}
    after = dict.fromkeys(marks)
    for one in said:
        ids = [name for name in dict.fromkeys(one.ids) if name in known]
        if ids and _is_new(one, after):
            for name in ids:
                counted[name] = counted.get(name, 0) + 1
    return counted, list(after)


def _is_new(one: CitingMessage, marks: dict[str, None]) -> bool:
    """Return whether a message was not counted yet, and add its marks to `marks`."""
    if not one.message:
        awaited = [f"{_AWAITED}{text}" for text in one.texts]
        if any(mark in marks for mark in (*one.texts, *awaited)):
            return False
        marks.update(dict.fromkeys(awaited))
        return True
    if one.message in marks:
        return False
    awaited = [mark for text in one.texts if (mark := f"{_AWAITED}{text}") in marks]
    for mark in awaited:
        del marks[mark]
    marks.update(dict.fromkeys((one.message, *one.texts)))
    return not awaited
