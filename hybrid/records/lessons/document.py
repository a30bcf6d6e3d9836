"""A LESSONS.md as a value: every line of it, and the entries found there; changes give a new document.

Whatever is no entry, field or quoted line is kept as it is: `document.text` gives back the text that was parsed, and a
change touches only the lines that it must. The store reads and writes the files.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.errors import LessonsError, UnknownLessonError
from hybrid.records.lessons import editing
from hybrid.records.lessons.entries import Entry, find_entries, reserved_numbers
from hybrid.records.lessons.lesson import MAX_NUMBER, PREFIXES, number_of
from hybrid.records.lessons.lines import hidden_lines, is_blank, split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.records.lessons.editing import Counted, NewEntry
    from hybrid.records.lessons.lesson import Edit, Level

_TITLES: dict[Level, str] = {"project": "Project Level", "system": "System Level"}

_HELP = """\
# LESSONS.md - {title}

> Short rules learned the hard way; an agent gets those that fit its task, and cites one it applies as [{example}].
> Add one here by hand, with `hybrid lessons add`, or in a prompt: `LESSON: category: title - content`.
> Categories: pattern, correction, decision, gotcha, preference.
> Write `Superseded: deleted` instead of removing an entry: ids are never used twice.

## Active Lessons
"""


class LessonsDocument(Struct, frozen=True):
    """A parsed LESSONS.md.

    Attributes:
        lines: All of its lines, with their ends.
        hidden: One byte a line, not 0 within code blocks and comments.
        entries: In the order of the file; two may have one id.
        problems: What looks like an entry and is none, or is wrong in one, as (line from 1, message).
    """

    lines: tuple[str, ...]
    hidden: bytearray
    entries: tuple[Entry, ...]
    problems: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The whole file; of a document that was only parsed exactly what was parsed."""
        return "".join(self.lines)

    @property
    def has_counters(self) -> bool:
        """Return whether an entry is in the older form."""
        return any(entry.has_counters for entry in self.entries)

    def largest_number(self, level: Level) -> int:
        """The largest number of an id of this level that the file knows, tombstones included; 0 without.

        Numbers above `MAX_NUMBER` do not count.
        """
        return reserved_numbers(self.lines, self.hidden, self.entries)[PREFIXES[level]]

    def only(self, lesson_id: str) -> Entry:
        """The one entry with this id.

        Raises:
            UnknownLessonError: There is none, or more than one.
        """
        found = [entry for entry in self.entries if entry.id == lesson_id]
        if not found:
            raise UnknownLessonError(f"there is no lesson {lesson_id}; `hybrid lessons list` shows all")
        if len(found) > 1:
            raise UnknownLessonError(
                f"{len(found)} lessons have the id {lesson_id}; `hybrid lessons renumber {lesson_id}` gives the newer "
                "one an id of its own"
            )
        return found[0]

    def with_added(self, new: Sequence[NewEntry], *, level: Level) -> LessonsDocument:
        """The document with new entries at the end of its active lessons; a section for them is made when missing.

        Raises:
            LessonsError: Something in the file hides what is added to it, an open comment for example.
        """
        lines = self.lines
        if all(map(is_blank, lines)):
            gap = "\n" if self.text not in ("", "\ufeff") and not self.text.endswith("\n") else ""
            fresh = parse(self.text + gap + new_file_text(level))
            return fresh.with_added(new, level=level)
        first = self.entries[0].heading if self.entries else None
        changed = parse("".join(editing.added(lines, self.hidden, first, new)))
        return self._checked(changed, [entry.id for entry in new])

    def with_edit(self, lesson_id: str, edit: Edit) -> LessonsDocument:
        """The document with one entry changed.

        Raises:
            UnknownLessonError: See `only`.
            LessonsError: See `with_added`.
        """
        self.only(lesson_id)
        return self._checked(self._with({lesson_id: lambda part: editing.edited(part, edit)}), [])

    def with_superseded(self, lesson_id: str, by: str) -> LessonsDocument:
        """The document with an entry marked as superseded by an id, or `deleted`.

        Raises:
            UnknownLessonError: See `only`.
        """
        self.only(lesson_id)
        return self._with({lesson_id: lambda part: editing.with_field(part, "Superseded", by)})

    def with_new_id(self, entry: Entry, lesson_id: str) -> LessonsDocument:
        """The document with another id in the heading of one of its entries."""
        part = editing.renumbered(self.lines[entry.heading : entry.end], lesson_id)
        return parse("".join([*self.lines[: entry.heading], *part, *self.lines[entry.end :]]))

    def with_counters(self, counted: Mapping[str, Counted]) -> LessonsDocument:
        """The document with the counters of entries in the older form rewritten, stars included."""
        ids = {entry.id for entry in self.entries if entry.has_counters} & counted.keys()
        return self._with({name: partial(editing.with_counters, counts=counted[name]) for name in sorted(ids)})

    def without_counters(self) -> LessonsDocument:
        """The document in our form: no counters, no stars."""
        return self._with({entry.id: editing.without_counters for entry in self.entries if entry.has_counters})

    def _with(self, changes: Mapping[str, Callable[[Sequence[str]], list[str]]]) -> LessonsDocument:
        """The document with the lines of some entries changed; all others stay."""
        lines = list(self.lines)
        for entry in reversed(self.entries):  # From the last to the first: the places of those before stay true.
            if entry.id in changes:
                lines[entry.heading : entry.end] = changes[entry.id](lines[entry.heading : entry.end])
        return parse("".join(lines))

    def _checked(self, after: LessonsDocument, added: Sequence[str]) -> LessonsDocument:
        """A changed document, if every entry is still read."""
        if [entry.id for entry in after.entries if entry.id not in added] == [
            entry.id for entry in self.entries if entry.id not in added
        ] and all(any(entry.id == lesson_id for entry in after.entries) for lesson_id in added):
            return after
        place = next((f"line {line}: {message}" for line, message in self.problems if "never closed" in message), "")
        raise LessonsError(
            "the change would hide lessons from being read, so nothing was written; look for a comment or code block "
            f"that is not closed{f' ({place})' if place else ''}"
        )


def parse(text: str) -> LessonsDocument:
    """Read a LESSONS.md; nothing makes it fail.

    Args:
        text: Decoded with `surrogateescape`, line ends as they are.
    """
    lines = split_lines(text)
    hidden, unclosed = hidden_lines(lines)
    entries, problems = find_entries(lines, hidden)
    problems += [
        (number, f"{mark} is never closed, so it is read as if it were not there") for number, mark in unclosed
    ]
    problems += _conflicts(lines)
    problems += _problems_of(entries)
    numbered = sorted((number + 1, message) for number, message in problems)
    return LessonsDocument(tuple(lines), hidden, tuple(entries), tuple(numbered))


def new_file_text(level: Level) -> str:
    """What a new LESSONS.md holds before its first entry."""
    return _HELP.format(title=_TITLES[level], example=f"{PREFIXES[level]}001")


def _conflicts(lines: Sequence[str]) -> list[tuple[int, str]]:
    marks = ("<<<<<<< ", ">>>>>>> ")
    message = "mark of a merge that was not finished; the lessons of both sides are read"
    return [(number, message) for number, line in enumerate(lines) if line.startswith(marks)]


def _problems_of(entries: Sequence[Entry]) -> list[tuple[int, str]]:
    seen: dict[str, int] = {}
    problems: list[tuple[int, str]] = []
    for entry in entries:
        first = seen.setdefault(entry.id, entry.heading)
        if first != entry.heading:
            message = f"{entry.id} is also the id of line {first + 1}; `hybrid lessons renumber {entry.id}` parts them"
            problems.append((entry.heading, message))
        if not number_of(entry.id):
            message = f"{entry.id} has no number from 1 to {MAX_NUMBER:,}; give it one that no other lesson has"
            problems.append((entry.heading, message))
        if not entry.content and not entry.superseded:
            problems.append((entry.heading, f"lesson {entry.id} has no content; write it below as `> text`"))
    return problems
