"""The lessons of one file: read with their counters, added, changed, counted, faded.

The engine reads them on every prompt, hook events count, commands and captures change them. A LESSONS.md and the
counters beside it are read together, and changed as one step. No link leads out of where they belong, and nobody's
write is lost, not another process's and not that of a person who has the file in an editor: a change holds the lock,
reads both files anew, and replaces the LESSONS.md only if it still holds what was read.

A method that changes a file imports what does it: a prompt only reads, and pays for every import.
"""

from __future__ import annotations

import contextlib
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked, read_regular, write_atomic
from hybrid.base.stamps import Stamp, stamp_of
from hybrid.project.find import FOLDER_NAME
from hybrid.records.lessons.counters import Counters, parse_counters, save_counters
from hybrid.records.lessons.document import LessonsChange, LessonsDocument, counts_of, parse
from hybrid.records.lessons.types import (
    CATEGORIES,
    DELETED,
    PREFIXES,
    Lesson,
    checked,
    checked_edit,
    is_date,
    number_of,
)
from hybrid.records.types import (
    LessonsBusyError,
    LessonsError,
    LessonsFileError,
    Problem,
    UnknownLessonError,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from hybrid.records.lessons.counters import Counts
    from hybrid.records.lessons.document import LessonEntry
    from hybrid.records.lessons.types import Draft, LessonEdit, Level
    from hybrid.records.lessons.writing import Adoption, CitingMessage, Elsewhere, Offer


MAX_BYTES = 5_000_000
"""The most bytes of a LESSONS.md that is read; nobody writes more rules by hand."""

_MAX_COUNTER_BYTES = 16_000_000

_COMMITTED_RIGHTS = 0o644

_NOT_TEXT = (b"\xff\xfe", b"\xfe\xff")


_COUNT = re.compile(r"[0-9]+")
_VELOCITY = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_SHOWN_CHARS = 40


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


def _wrong_values(entry: LessonEntry) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, message) for each date or counter of an entry that has a wrong form."""
    for field in entry.fields:
        form = _FORMS.get(field.name)
        if form is not None and field.value and not form[0](field.value):
            shown = well_formed(field.value[:_SHOWN_CHARS])
            yield field.line + 1, f"{entry.id} has {field.name.capitalize()} {shown!r}; write {form[1]}"


_FORMS: dict[str, tuple[Callable[[str], object], str]] = {
    "learned": (is_date, "a date as 2026-02-14"),
    "last": (is_date, "a date as 2026-02-14"),
    "uses": (_COUNT.fullmatch, "a whole number from 0"),
    "velocity": (_VELOCITY.fullmatch, "a number from 0, as 1.5"),
}
"""Name of a field → whether a value has its form, and the form in words."""


class LessonChangedError(Exception):
    """Another writer changed the file after it was read; the caller reads it again."""


def read_bytes(target: Path, limit_bytes: int = MAX_BYTES) -> bytes:
    """Return all of a file; empty when it is missing.

    Raises:
        LessonsFileError: The file is longer than the limit, not readable, a link, or not a regular file.
    """
    try:
        data = read_regular(target, limit_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be read ({error.strerror}): check what stands there") from error
    if len(data) > limit_bytes:
        raise LessonsFileError(
            f"{target} is longer than {limit_bytes // 1_000_000} MB: no lessons are read; shorten it"
        )
    return data


def read_counters(path: Path) -> bytes | None:
    """Return the bytes of a file of counters: empty when missing, None when it is a link, too long or not readable."""
    try:
        return read_bytes(path, _MAX_COUNTER_BYTES)
    except LessonsFileError:
        return None


def is_text(data: bytes) -> bool:
    """Return False for UTF-16 and for bytes with a zero among them: such a file is neither read nor written."""
    return not data.startswith(_NOT_TEXT) and b"\x00" not in data


def decoded(data: bytes) -> str:
    """Return the text of a file; bytes that are no UTF-8 become lone surrogates, which `encoded` turns back."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of a text that `decoded` gave."""
    return text.encode("utf-8", "surrogateescape")


def replace_bytes(target: Path, data: bytes, *, before: bytes, is_committed: bool) -> None:
    """Replace a file as one step, if it still holds the bytes that were read; its access rights stay.

    Args:
        target: The real path, after all links.
        data: The new content.
        before: The bytes that were read.
        is_committed: A new file gets the ordinary rights of a working tree, not those of a private file.

    Raises:
        LessonChangedError: The file holds other bytes now.
        LessonsFileError: The file cannot be written; the old file is untouched.
    """

    def check() -> None:
        if read_bytes(target) != before:
            raise LessonChangedError

    try:
        if is_committed and not before:  # Other users may read it, if the umask lets them.
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _COMMITTED_RIGHTS))
        write_atomic(target, data, before_replace=check)
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be written ({error.strerror}): check rights and space") from error


_LOCK_S = 10.0
_TRIES = 20
_THEIRS = "stats.json"
"""Name of the file in which later versions of the other tool keep counters; it is read, never written."""


class Content(Struct, frozen=True):
    """The bytes of the files at one moment; None for counters that cannot be read.

    Attributes:
        data: The LESSONS.md.
        beside: Our file of counters.
        theirs: The file of counters of the other tool that the LESSONS.md is shared with; empty when it is ours alone.
    """

    data: bytes
    beside: bytes | None
    theirs: bytes | None = b""


class LessonFiles:
    """A LESSONS.md and the counters beside it.

    Args:
        file: The LESSONS.md; it need not exist.
        counters: The file of counters; its folder also holds the lock.
        level: `project` refuses a link that leads out of the tree, `system` does not.
        keeps_inline: Counters of the older form stay in the LESSONS.md.
        lock_s: How long a change waits for another process, in seconds.
    """

    def __init__(
        self, file: Path, counters: Path, *, level: Level, keeps_inline: bool, lock_s: float = _LOCK_S
    ) -> None:
        self.file = file
        self.counters = counters
        self.level: Level = level
        self.keeps_inline = keeps_inline
        self._theirs = file.with_name(_THEIRS)
        self._tree = file.parent.parent if level == "project" else None
        self._is_committed = level == "project" and file.parent.name == FOLDER_NAME
        self._lock_s = lock_s
        self._parsed: tuple[bytes, LessonsDocument] | None = None

    def stamps(self) -> tuple[Stamp | None, ...]:
        """Return the stamps of the LESSONS.md and of each file of counters that is read; None for a missing one.

        A change within the clock's grain may not show.
        """
        read = [self.file, self.counters, *([self._theirs] if self.keeps_inline else [])]
        return tuple(stamp_of(path, follows_links=True) for path in read)

    def content(self) -> Content:
        """Return the bytes of the LESSONS.md and of the files of counters as they are now.

        Raises:
            LessonsFileError: The LESSONS.md is too long, cannot be read, or leads out of the tree.
        """
        theirs = read_counters(self._theirs) if self.keeps_inline else b""
        return Content(read_bytes(self._target()), read_counters(self.counters), theirs)

    def values(self, content: Content) -> tuple[LessonsDocument, Counters]:
        """Return the bytes as values; the last document is kept parsed.

        The uses that the other tool counted stand only at lessons whose uses are not counted in our file.
        """
        if self._parsed is None or self._parsed[0] != content.data:
            self._parsed = (content.data, parse(decoded(content.data)))
        counters = parse_counters(content.beside)
        return self._parsed[1], counters.seeded(parse_counters(content.theirs)) if content.theirs else counters

    def change(self, step: Callable[[LessonsDocument, Counters], LessonsChange]) -> None:
        """Read both files, apply a step to them and write the outcome; start again when somebody writes in between.

        Raises:
            LessonsBusyError: Another process holds the lock, or the file changes all the time.
            LessonsFileError: A file cannot be read or written.
        """
        with self._held():
            for _ in range(_TRIES):
                with contextlib.suppress(LessonChangedError):
                    self._attempt(step)
                    return
        raise LessonsBusyError(f"{self.file} changes all the time; try again when nobody writes it")

    def _attempt(self, step: Callable[[LessonsDocument, Counters], LessonsChange]) -> None:
        from hybrid.records.lessons.writing import moved

        content = self.content()
        if not is_text(content.data):
            raise LessonsFileError(f"{self.file} is no UTF-8 text, so nothing was written; save it as UTF-8 first")
        document, found = self.values(content)
        counters = found if self.keeps_inline else moved(document, found)
        changed = step(document, counters)
        after = changed.document
        is_written = after is not document and after.text != document.text
        if is_written:
            if counters is not found:
                # First beside, then out of the file: a process that is killed between the two has lost nothing.
                self._save(counters, durable=True)
                counters = replace(counters, is_damaged=False)
                changed = replace(changed, counters=replace(changed.counters, is_damaged=False))
                after = after.without_counters()
            data = encoded(after.text)
            replace_bytes(self._target(), data, before=content.data, is_committed=self._is_committed)
            self._parsed = (data, after)
        if changed.counters != counters:
            try:
                self._save(changed.counters, durable=False)
            except LessonsFileError:
                # The file for people is written, so the change stands; a disk that is full costs counts, no lesson.
                if not is_written:
                    raise

    def _target(self) -> Path:
        """Return the real path of the LESSONS.md, after all links; this path is read and written.

        Raises:
            LessonsFileError: The path leads out of the tree, into `.git`, or to a file that is no Markdown.
        """
        real = self.file.resolve()
        if self._tree is None:
            return real
        root = self._tree.resolve()
        is_inside = real.is_relative_to(root) and ".git" not in real.relative_to(root).parts
        if not is_inside or real.suffix.lower() != ".md":
            raise LessonsFileError(
                f"{self.file} is a link to {real}, which is no Markdown file of the project: replace the link"
            )
        return real

    def _save(self, counters: Counters, *, durable: bool) -> None:
        try:
            save_counters(self.counters, counters, durable=durable)
        except OSError as error:
            message = f"{self.counters} cannot be written ({error.strerror}): check rights and space"
            raise LessonsFileError(message) from error

    @contextlib.contextmanager
    def _held(self) -> Generator[None]:
        lock = self.counters.with_name(f"{self.counters.name}.lock")
        with locked(lock, self._lock_s) as is_held:
            if not is_held:
                raise LessonsBusyError(f"{lock} cannot be locked: is its folder writable, is another process writing?")
            yield


class AddOutcome(Struct, frozen=True):
    """The outcome of adding a draft.

    Attributes:
        lesson: The lesson as it was written; None when nothing was.
        duplicate_of: The active lesson that says nearly the same; None when the draft was written.
    """

    lesson: Lesson | None
    duplicate_of: Lesson | None = None


class LessonStore(LessonFiles):
    """The lessons of one LESSONS.md and the counters beside it; nothing is read or made before the first call.

    Every change may raise `LessonsBusyError` (another process holds the lock) and `LessonsFileError` (a file cannot be
    read or written).
    """

    _read: tuple[Content, Lessons] | None = None

    def read(self) -> Lessons:
        """Return all lessons as they are now; only what changed since the last call is parsed again.

        Raises:
            LessonsFileError: The file is too long or cannot be read; malformed content never raises.
        """
        content = self.content()
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
        self.values(self.content())[0].only(lesson_id)
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
        from hybrid.records.lessons import writing

        elsewhere = elsewhere or writing.Elsewhere()
        kept_free = [name for name in elsewhere.ids if name[:1] == PREFIXES[self.level]]
        offers = [replace(offer, draft=checked(offer.draft)) for offer in offers]
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
            change(*self.values(self.content()))
        else:
            self.change(change)
        return done

    def edit(self, lesson_id: str, edit: LessonEdit) -> Lesson:
        """Change the parts of a lesson that an edit names, and return the lesson; all other lines of the file stay.

        Raises:
            UnknownLessonError: No lesson, or more than one, has the id.
            LessonsError: A value cannot stand in a lesson, or the file cannot be read or written.
        """
        edit = checked_edit(edit)
        self.change(lambda document, counters: LessonsChange(document.with_edit(lesson_id, edit), counters))
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

        self.change(change)
        return self.find(old)

    def delete(self, lesson_id: str) -> Lesson:
        """Mark a lesson as deleted, and return it as marked; it is never given out again, and no other gets its id.

        Raises:
            UnknownLessonError: No lesson, or more than one, has the id.
        """
        self.change(lambda document, counters: LessonsChange(document.with_superseded(lesson_id, DELETED), counters))
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

        self.change(change)
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
            self.change(change)
        return tuple(name for name, n in cited.items() for _ in range(n))

    def note_injected(self, ids: Iterable[str]) -> None:
        """Count that lessons were given to an agent; unknown ids and those of the other level count nothing."""
        from hybrid.records.lessons.writing import given

        names = [name for name in dict.fromkeys(ids) if name[:1] == PREFIXES[self.level]]
        if names:
            self.change(lambda document, counters: given(document, counters, names, keeps_inline=self.keeps_inline))

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

        document, counters = self.values(self.content())
        if step(document, counters)[0].counters is not counters:  # Usually it is: a session's start locks nothing.
            self.change(change)
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
        if not is_text(content.data):
            unread = Problem(str(self.file), 0, "is no UTF-8 text, so it is not read; save it as UTF-8")
            return Lessons((), (unread, *extra))
        found = self._of(*self.values(content))
        return replace(found, problems=(*found.problems, *extra))

    def _of(self, document: LessonsDocument, counters: Counters) -> Lessons:
        return lessons_of(document, counters, file=self.file, level=self.level, is_inline_first=self.keeps_inline)
