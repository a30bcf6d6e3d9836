"""The lessons of one file: read with their counters, added, changed, counted, faded.

The engine reads them on every prompt, hook events count, commands and captures change them. `files` sees to it that
nobody's write is lost: not another process's, and not that of a person who has the file in an editor.

A method that changes a file imports what does it: a prompt only reads, and pays for every import.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.errors import LessonsError, UnknownLessonError
from hybrid.records.lessons import files
from hybrid.records.lessons.counters import parse_counters
from hybrid.records.lessons.files import Content, Storage
from hybrid.records.lessons.reading import Lessons, LessonsChange, lessons_of
from hybrid.records.lessons.types import DELETED, PREFIXES, number_of
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from hybrid.base.stamps import Stamp
    from hybrid.records.lessons.counters import Counters
    from hybrid.records.lessons.document import LessonsDocument
    from hybrid.records.lessons.types import Draft, Lesson, LessonEdit, Level
    from hybrid.records.lessons.writing import Adoption, CitingMessage, Elsewhere, Offer

_LOCK_S = 10.0


class AddOutcome(Struct, frozen=True):
    """The outcome of adding a draft.

    Attributes:
        lesson: The lesson as it was written; None when nothing was.
        duplicate_of: The active lesson that says nearly the same; None when the draft was written.
    """

    lesson: Lesson | None
    duplicate_of: Lesson | None = None


class LessonStore:
    """The lessons of one LESSONS.md and the counters beside it; nothing is read or made before the first call.

    Every change may raise `LessonsBusyError` (another process holds the lock) and `LessonsFileError` (a file cannot be
    read or written).

    Args:
        file: The LESSONS.md; it need not exist. A project's may be a link within the folder above its own.
        counters: The file of counters; its folder also holds the lock.
        level: `project` or `system`; it gives the first letter of the ids.
        keeps_inline: Counters of the older form stay in the LESSONS.md (it belongs to another tool, too).
        lock_s: How long a change waits for another process, in seconds.
    """

    def __init__(
        self, file: Path, counters: Path, *, level: Level, keeps_inline: bool, lock_s: float = _LOCK_S
    ) -> None:
        self.file = file
        self.counters = counters
        self.level: Level = level
        self.keeps_inline = keeps_inline
        self._storage = Storage(file, counters, level=level, keeps_inline=keeps_inline, lock_s=lock_s)
        self._read: tuple[Content, Lessons] | None = None

    def stamps(self) -> tuple[Stamp | None, ...]:
        """Return the stamps of the files that are read; a change within the clock's grain may not show."""
        return self._storage.stamps()

    def read(self) -> Lessons:
        """Return all lessons as they are now; only what changed since the last call is parsed again.

        Raises:
            LessonsFileError: The file is too long or cannot be read; malformed content never raises.
        """
        content = self._storage.content()
        if self._read and self._read[0] == content:
            return self._read[1]
        lessons = self._lessons(content)
        self._read = (content, lessons)
        return lessons

    def find(self, lesson_id: str) -> Lesson:
        """Return the lesson with this id, even if it is superseded.

        Raises:
            UnknownLessonError: No lesson, or more than one, has it.
            LessonsFileError: See `read`.
        """
        found = self.read().named(lesson_id)
        if len(found) == 1:
            return found[0]
        self._storage.values(self._storage.content())[0].only(lesson_id)
        raise UnknownLessonError(f"there is no lesson {lesson_id} in {self.file}; `hybrid lessons list` shows all")

    def add(self, draft: Draft, *, today: date, is_forced: bool = False) -> AddOutcome:
        """Write a new lesson with the next free id, unless an active one says nearly the same.

        Args:
            draft: Cleaned, shortened and freed of secrets before it is stored.
            today: The day when the lesson was learned.
            is_forced: Write it even if another lesson says nearly the same.

        Raises:
            LessonsError: The draft cannot be a lesson, or the file cannot be read or written.
        """
        from hybrid.records.lessons import writing

        adopted = self.adopt([writing.Offer(draft, learned=today.isoformat())], today=today, is_forced=is_forced)[0]
        if adopted.lesson_id is None:
            return AddOutcome(None, adopted.duplicate_of)
        return AddOutcome(self.find(adopted.lesson_id))

    def adopt(
        self,
        offers: Sequence[Offer],
        *,
        today: date,
        is_forced: bool = False,
        is_dry: bool = False,
        elsewhere: Elsewhere | None = None,
    ) -> list[Adoption]:
        """Write several lessons as one step, and return the outcome for each offer, in order.

        An offer keeps the id that it wants where that is free, and its counters. Near duplicates are not written.

        Args:
            offers: The lessons.
            today: The date of learning where an offer has none.
            is_forced: Write near duplicates too.
            is_dry: Write nothing; return what would be done.
            elsewhere: Lessons and ids that are known beside this store; None for nothing.

        Raises:
            LessonsError: See `add`.
        """
        from hybrid.records.lessons import texts, writing

        elsewhere = elsewhere or writing.Elsewhere()
        kept_free = [name for name in elsewhere.ids if name[:1] == PREFIXES[self.level]]
        offers = [replace(offer, draft=texts.checked(offer.draft)) for offer in offers]
        done: list[Adoption] = []

        def change(document: LessonsDocument, counters: Counters) -> LessonsChange:
            known = self._of(document, counters).lessons
            used = self._highest(document, counters)
            highest = max([used, *map(number_of, kept_free)])
            counters = counters.with_numbers(kept_free) if highest > used else counters
            # Into an empty file everything comes as it was, also what was counted here while another file was read.
            numbers = writing.IdNumbers(self.level, highest, used if known else 0)
            done[:] = writing.plan(offers, known, numbers, is_forced=is_forced, others=elsewhere.lessons)
            taken = [adopted for adopted in done if adopted.lesson_id is not None]
            if not taken:
                return LessonsChange(document, counters)
            is_inline = self.keeps_inline and document.has_counters
            new = [writing.new_entry(adopted, today=today, is_inline=is_inline) for adopted in taken]
            counts = {entry.id: adopted.offer.counts for entry, adopted in zip(new, taken, strict=True)}
            kept = {name: writing.with_known(count, counters.counts(name)) for name, count in counts.items() if count}
            after = counters.with_counts(kept, is_partial=is_inline).with_numbers(counts)
            return LessonsChange(document.with_added(new, level=self.level), after)

        if is_dry:
            change(*self._storage.values(self._storage.content()))
        else:
            self._storage.change(change)
        return done

    def edit(self, lesson_id: str, edit: LessonEdit) -> Lesson:
        """Change the parts of a lesson that an edit names, and return the lesson; all other lines of the file stay.

        Raises:
            UnknownLessonError: No lesson, or more than one, has the id.
            LessonsError: A value cannot stand in a lesson, or the file cannot be read or written.
        """
        from hybrid.records.lessons import texts

        edit = texts.checked_edit(edit)
        self._storage.change(lambda document, counters: LessonsChange(document.with_edit(lesson_id, edit), counters))
        return self.find(lesson_id)

    def supersede(self, old: str, new: str) -> Lesson:
        """Mark a lesson as replaced by another, and return it as marked; it is not given out any more.

        Args:
            old: Id of the lesson that is replaced.
            new: Id of the lesson in its place: an active one here, or any of the other level, which is not checked.

        Raises:
            UnknownLessonError: No lesson here, or more than one, has the id `old` or `new`.
            LessonsError: Both ids are the same, or `new` is superseded itself.
        """

        def change(document: LessonsDocument, counters: Counters) -> LessonsChange:
            if old == new:
                raise LessonsError(f"{old} cannot supersede itself; name another lesson")
            if new[0] == PREFIXES[self.level] and (by := document.only(new).superseded):
                raise LessonsError(f"{new} is superseded itself ({by}); name an active lesson")
            return LessonsChange(document.with_superseded(old, new), counters)

        self._storage.change(change)
        return self.find(old)

    def delete(self, lesson_id: str) -> Lesson:
        """Mark a lesson as deleted, and return it as marked; it is never given out again, and no other gets its id.

        Raises:
            UnknownLessonError: No lesson, or more than one, has the id.
        """
        self._storage.change(
            lambda document, counters: LessonsChange(document.with_superseded(lesson_id, DELETED), counters)
        )
        return self.find(lesson_id)

    def renumber(self, lesson_id: str) -> tuple[str, ...]:
        """Give new ids to all lessons with this id but the one that was learned first.

        Returns:
            The new ids; empty when the id is unique.
        """
        from hybrid.records.lessons import writing

        fresh: list[str] = []

        def change(document: LessonsDocument, counters: Counters) -> LessonsChange:
            entries = sorted(
                (entry for entry in document.entries if entry.id == lesson_id),
                key=lambda entry: (entry.value("learned") or "9999", entry.heading),
            )
            highest = self._highest(document, counters)
            fresh[:] = [writing.new_id(self.level, highest + number) for number in range(1, len(entries))]
            for entry, name in zip(entries[1:], fresh, strict=True):
                document = document.with_new_id(entry, name)  # As many lines as before: other places stay true.
            return LessonsChange(document, counters.with_numbers(fresh) if fresh else counters)

        self._storage.change(change)
        return tuple(fresh)

    def cite(self, ids: Iterable[str], today: date, *, message: str = "") -> tuple[str, ...]:
        """Count that an agent cited lessons in one message, and return the ids that count; see `cite_messages`.

        A message whose name (`message`) was counted before counts nothing; one without a name always counts.
        """
        from hybrid.records.lessons.writing import CitingMessage

        return self.cite_messages([CitingMessage(tuple(ids), message)], today)

    def cite_messages(self, said: Sequence[CitingMessage], today: date) -> tuple[str, ...]:
        """Count that an agent cited lessons: uses, velocity and citations grow by one, and the last use is today.

        Args:
            said: Messages of the agent, counted as one step; messages that were counted before count nothing,
                and neither do unknown and superseded ids.
            today: The day.

        Returns:
            The ids that were counted, each as often as it counts.
        """
        from hybrid.records.lessons.writing import cited_often, counting

        cited: dict[str, int] = {}

        def change(document: LessonsDocument, counters: Counters) -> LessonsChange:
            cited.clear()
            active = {lesson.id for lesson in self._of(document, counters).active}
            found, marks = counting(said, counters.messages, active)
            cited.update(found)
            if tuple(marks) != counters.messages:
                counters = counters.with_messages(marks)
            return cited_often(document, counters, cited, today, keeps_inline=self.keeps_inline)

        if any(one.ids for one in said):
            self._storage.change(change)
        return tuple(name for name, n in cited.items() for _ in range(n))

    def note_injected(self, ids: Iterable[str]) -> None:
        """Count that lessons were given to an agent; unknown ids and those of the other level count nothing."""
        from hybrid.records.lessons.writing import given

        names = [name for name in dict.fromkeys(ids) if name[:1] == PREFIXES[self.level]]
        if names:
            self._storage.change(
                lambda document, counters: given(document, counters, names, keeps_inline=self.keeps_inline)
            )

    def decay(self, today: date, *, is_forced: bool = False) -> tuple[str, ...] | None:
        """Let the counters of all lessons fade, at most every seven days; missed weeks count as one.

        The first look at a store with lessons only begins the week, by noting the day beside the file: one that was
        taken over from another tool, or from another machine, keeps its stars until a week later.

        Args:
            today: The day.
            is_forced: Let them fade now, whenever they did last.

        Returns:
            The ids whose counters changed; None when nothing faded, since the week is not over or only began.
        """
        from hybrid.records.lessons.writing import decayed

        step = partial(decayed, today=today, keeps_inline=self.keeps_inline, is_forced=is_forced)
        faded: tuple[str, ...] | None = None

        def change(document: LessonsDocument, counters: Counters) -> LessonsChange:
            nonlocal faded
            changed, faded = step(document, counters)
            return changed

        document, counters = self._storage.values(self._storage.content())
        if step(document, counters)[0].counters is not counters:  # Usually it is: a session's start locks nothing.
            self._storage.change(change)
        return faded

    def promote(self, lesson_id: str, to: LessonStore, today: date) -> Lesson:
        """Copy a lesson to another store, mark it here as superseded by the copy, and return the copy.

        Where `to` has an active lesson that says nearly the same, that one takes the place of the copy.

        Raises:
            UnknownLessonError: No lesson, or more than one, has the id.
            LessonsError: The lesson is not active, must not be promoted, or a file cannot be written.
        """
        from hybrid.records.lessons import writing

        lesson = self.find(lesson_id)
        if not lesson.is_active:
            raise LessonsError(f"{lesson_id} is superseded ({lesson.superseded}); only an active lesson is promoted")
        if not lesson.is_promotable:
            raise LessonsError(
                f"{lesson_id} says `Promotable: no`; `hybrid lessons edit {lesson_id} --promotable yes` lifts that"
            )
        adopted = to.adopt([writing.offer_of(lesson)], today=today)[0]
        there = adopted.lesson_id or (adopted.duplicate_of.id if adopted.duplicate_of else "")
        try:
            self.supersede(lesson_id, there)
        except (LessonsError, OSError):
            if adopted.lesson_id:  # Or every project would be given it twice.
                to.delete(adopted.lesson_id)
            raise
        return to.find(there)

    def _highest(self, document: LessonsDocument, counters: Counters) -> int:
        """Return the largest number that an id of this store ever had; 0 without."""
        return max(document.largest_number(self.level), counters.largest_number(PREFIXES[self.level]))

    def _lessons(self, content: Content) -> Lessons:
        beside = parse_counters(content.beside)
        said = ["is damaged; the next change sets it aside and counts anew"] if beside.is_damaged else beside.wrong
        extra = tuple(Problem(str(self.counters), 0, message) for message in said)
        if not files.is_text(content.data):
            unread = Problem(str(self.file), 0, "is no UTF-8 text, so it is not read; save it as UTF-8")
            return Lessons((), (unread, *extra))
        found = self._of(*self._storage.values(content))
        return replace(found, problems=(*found.problems, *extra))

    def _of(self, document: LessonsDocument, counters: Counters) -> Lessons:
        return lessons_of(document, counters, file=self.file, level=self.level, is_inline_first=self.keeps_inline)
