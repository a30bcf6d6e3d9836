"""A LESSONS.md as a value: every line of it, and the entries found there; changes give a new document.

Whatever is no entry, field or quoted line is kept as it is: `document.text` gives back the text that was parsed, and a
change touches only the lines that it must. `files` reads and writes the file. The functions below the class change
lines by the places that `parsing` found; those about one entry take its lines alone, the heading first.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.errors import LessonsError, UnknownLessonError
from hybrid.records.lessons.parsing import (
    LessonEntry,
    body_of,
    end_of,
    entry_of,
    find_entries,
    heading_level,
    hidden_lines,
    is_blank,
    line_end_of,
    read_heading,
    reserved_number,
    split_lines,
)
from hybrid.records.lessons.types import AI, AI_MARK, MAX_NUMBER, PREFIXES, Draft, number_of, stars_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.lessons.counters import Counts
    from hybrid.records.lessons.types import LessonEdit, Level


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
        lines: All lines of the file, with their ends.
        hidden: One byte a line, not 0 within code blocks and comments.
        entries: The lessons of the file in its order; two may have one id.
        problems: Mistakes as (line from 1, message): a line that is almost an entry, or a wrong part of an entry.
    """

    lines: tuple[str, ...]
    hidden: bytearray
    entries: tuple[LessonEntry, ...]
    problems: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The text of the whole file; of an unchanged document exactly the text that was parsed."""
        return "".join(self.lines)

    @property
    def has_counters(self) -> bool:
        """True if at least one entry is in the older form, which holds counters."""
        return any(entry.has_counters for entry in self.entries)

    def largest_number(self, level: Level) -> int:
        """Return the largest number of an id of this level that the file names, tombstones included; 0 without.

        Numbers above `MAX_NUMBER` do not count.
        """
        return reserved_number(self.lines, self.hidden, self.entries, PREFIXES[level])

    def only(self, lesson_id: str) -> LessonEntry:
        """Return the one entry with this id.

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
        """Return the document with new entries at the end of its active lessons, in a new section when there is none.

        Raises:
            LessonsError: Something in the file, an open comment for example, would hide a lesson.
        """
        lines = self.lines
        if all(map(is_blank, lines)):
            gap = "\n" if self.text not in ("", "\ufeff") and not self.text.endswith("\n") else ""
            fresh = parse(self.text + gap + _HELP.format(title=_TITLES[level], example=f"{PREFIXES[level]}001"))
            return fresh.with_added(new, level=level)
        first = self.entries[0].heading if self.entries else None
        changed = parse("".join(added(lines, self.hidden, first, new)))
        return self._checked(changed, [entry.id for entry in new])

    def with_edit(self, lesson_id: str, edit: LessonEdit) -> LessonsDocument:
        """Return the document with one entry changed.

        Raises:
            UnknownLessonError: See `only`.
            LessonsError: See `with_added`.
        """
        self.only(lesson_id)
        return self._checked(self._with({lesson_id: lambda part: edited(part, edit)}), [])

    def with_superseded(self, lesson_id: str, by: str) -> LessonsDocument:
        """Return the document with an entry marked as superseded; `by` is the id of another lesson or `deleted`.

        Raises:
            UnknownLessonError: See `only`.
        """
        self.only(lesson_id)
        return self._with({lesson_id: lambda part: with_field(part, "Superseded", by)})

    def with_new_id(self, entry: LessonEntry, lesson_id: str) -> LessonsDocument:
        """Return the document with another id in the heading of one of its entries."""
        lines = list(self.lines)
        lines[entry.heading] = _with_part(lines[entry.heading], 2, lesson_id)
        return parse("".join(lines))

    def with_counters(self, counted: Mapping[str, Counts]) -> LessonsDocument:
        """Return the document with the counters of entries in the older form rewritten, stars included."""
        ids = {entry.id for entry in self.entries if entry.has_counters} & counted.keys()
        return self._with({name: partial(with_counters, counts=counted[name]) for name in sorted(ids)})

    def without_counters(self) -> LessonsDocument:
        """Return the document in our form: no counters, no stars."""
        return self._with({entry.id: without_counters for entry in self.entries if entry.has_counters})

    def _with(self, changes: Mapping[str, Callable[[Sequence[str]], list[str]]]) -> LessonsDocument:
        """Return the document with the lines of some entries changed; all others stay."""
        lines = list(self.lines)
        for entry in reversed(self.entries):  # From the last to the first: the places of those before stay true.
            if entry.id in changes:
                lines[entry.heading : entry.end] = changes[entry.id](lines[entry.heading : entry.end])
        return parse("".join(lines))

    def _checked(self, after: LessonsDocument, added: Sequence[str]) -> LessonsDocument:
        """Return a changed document; raise LessonsError when an old entry, or one of those added, is not read in it."""
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
    problems += [
        (number, "mark of a merge that was not finished; the lessons of both sides are read")
        for number, line in enumerate(lines)
        if line.startswith(("<<<<<<< ", ">>>>>>> "))
    ]
    problems += _problems_of(entries)
    numbered = sorted((number + 1, message) for number, message in problems)
    return LessonsDocument(tuple(lines), hidden, tuple(entries), tuple(numbered))


def _problems_of(entries: Sequence[LessonEntry]) -> list[tuple[int, str]]:
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


_SECTION = re.compile(r"\ufeff? {0,3}#{1,3}[ \t]+active[ \t]+lessons[ \t#:]*", re.IGNORECASE)
_NEW_SECTION = "## Active Lessons"


class NewEntry(Struct, frozen=True):
    """A lesson to be added to the file.

    Attributes:
        id: The id of the lesson, used by no other, in upper case.
        draft: Its text, in the form of the file (`texts.checked`).
        learned: ISO date.
        counted: Counters for an entry in the older form; None for our form, which has none.
    """

    id: str
    draft: Draft
    learned: str
    counted: Counts | None = None


def added(lines: Sequence[str], hidden: bytearray, first: int | None, new: Iterable[NewEntry]) -> list[str]:
    """Return lines of a file with entries added at the end of its active lessons.

    Args:
        lines: All of the file; not empty.
        hidden: See `parsing.hidden_lines`.
        first: Index of the heading of the first entry; None without entries.
        new: The entries to add.
    """
    eol = line_end_of(lines)
    written = [line for entry in new for line in ["", *entry_lines(entry)]][1:]
    section = _section(lines, hidden)
    if section is not None:
        return _inserted(lines, _section_end(lines, hidden, section), written, eol)
    if first is not None and not any(heading_level(line) == 2 for line in lines[:first]):
        lines = _inserted(lines, first, [_NEW_SECTION], eol)
        return _inserted(lines, _last_text(lines, len(lines)), written, eol)
    return _inserted(lines, _last_text(lines, len(lines)), [_NEW_SECTION, "", *written], eol)


def entry_lines(new: NewEntry) -> list[str]:
    """Return the lines of a new entry, without line ends."""
    counts, draft = new.counted, new.draft
    stars = f"{stars_form(counts.uses, counts.velocity)} " if counts else ""
    mark = f" {AI_MARK}" if counts and draft.source == AI else ""
    fields = [
        ("Uses", str(counts.uses) if counts else ""),
        ("Velocity", velocity_form(counts.velocity) if counts else ""),
        ("Learned", new.learned),
        ("Last", (counts.last or new.learned) if counts else ""),
        ("Category", draft.category),
        ("Type", draft.type),
        ("Source", draft.source),
        ("Promotable", "" if draft.is_promotable else "no"),
        ("Triggers", ", ".join(draft.triggers)),
    ]
    said = " | ".join(f"**{name}**: {value}" for name, value in fields if value)
    return [f"### [{new.id}] {stars}{draft.title}{mark}", *([f"- {said}"] if said else []), *_quoted(draft.content)]


def edited(part: Sequence[str], edit: LessonEdit) -> list[str]:
    """Return the lines of an entry after an edit."""
    changed, entry = list(part), entry_of(part)
    if edit.content is not None and edit.content != entry.content:
        changed = _with_content(changed, edit.content)
    if edit.title is not None and edit.title != entry.title:
        changed[0] = _with_title(changed[0], edit.title, is_marked=entry.is_ai_marked)
    if edit.category is not None:
        changed = with_field(changed, "Category", edit.category)
    if edit.type is not None:
        changed = with_field(changed, "Type", edit.type)
    if edit.triggers is not None and edit.triggers != entry.triggers:
        changed = with_field(changed, "Triggers", ", ".join(edit.triggers))
    if edit.is_promotable is not None and edit.is_promotable != entry.is_promotable:
        changed = with_field(changed, "Promotable", "" if edit.is_promotable else "no")
    return changed


def with_field(part: Sequence[str], name: str, value: str) -> list[str]:
    """Return the lines of an entry with a field set, or without it for an empty value.

    A field that the entry lacks comes last on its first line of fields; without such a line, on a new one below the
    heading.
    """
    changed, entry = list(part), entry_of(part)
    field = entry.field(name.lower())
    if field is not None and value:
        line = changed[field.line]
        gap = "" if line[: field.value_start].endswith((" ", "\t")) else " "
        # A field without a value stands right before the bar of the next one.
        after = line[field.value_end :]
        after = f" {after}" if after.startswith("|") else after
        changed[field.line] = f"{line[: field.value_start]}{gap}{value}{after}"
    elif field is not None:
        return with_field(_without_field(changed, name.lower()), name, "")
    elif value and entry.fields:
        line = changed[entry.fields[0].line]
        text = body_of(line).rstrip(" \t\r|")
        # White space at the end of the line stays; a bar that stood there parts the new field.
        space = body_of(line)[len(body_of(line).rstrip()) :]
        changed[entry.fields[0].line] = f"{text} | **{name}**: {value}{space}{end_of(line)}"
    elif value:
        eol = line_end_of(changed)
        changed[0] = body_of(changed[0]) + eol
        changed.insert(1, f"- **{name}**: {value}{eol}")
    return changed


def with_counters(part: Sequence[str], counts: Counts) -> list[str]:
    """Return an entry in the older form with its counters rewritten, stars included."""
    changed = list(part)
    for name, value in (
        ("Uses", str(counts.uses)),
        ("Velocity", velocity_form(counts.velocity)),
        ("Last", counts.last),
    ):
        if value and entry_of(changed).value(name.lower()) != value:
            changed = with_field(changed, name, value)
    changed[0] = _with_part(changed[0], 4, f"{stars_form(counts.uses, counts.velocity)} ")
    return changed


def without_counters(part: Sequence[str]) -> list[str]:
    """Return an entry without counters and stars, in our form."""
    changed = list(part)
    for name in ("Uses", "Velocity", "Last"):
        changed = with_field(changed, name, "")
    changed[0] = _with_part(changed[0], 4, "")
    return changed


def velocity_form(velocity: float) -> str:
    """Return a velocity as the older form writes it, with two decimals at most: `1.5`, `0.01`, `0`."""
    return f"{velocity:.2f}".rstrip("0").rstrip(".")


def _with_part(heading: str, group: int, text: str) -> str:
    """Return the heading of an entry with one of the groups that `read_heading` finds replaced."""
    found = read_heading(heading)
    assert found is not None
    return heading[: found.start(group)] + text + heading[found.end(group) :]


def _with_title(heading: str, title: str, *, is_marked: bool) -> str:
    found = read_heading(heading)
    assert found is not None
    kept = found.group(5)
    space = kept[len(kept.rstrip()) :]
    gap = "" if heading[: found.start(5)].endswith((" ", "\t")) else " "
    mark = f" {AI_MARK}" if is_marked else ""
    return f"{heading[: found.start(5)]}{gap}{title}{mark}{space}{heading[found.end(5) :]}"


def _with_content(part: list[str], content: str) -> list[str]:
    """Return an entry with its content replaced; without old content the new one stands below the fields or heading."""
    entry, eol = entry_of(part), line_end_of(part)
    quoted = [f"{line}{eol}" for line in _quoted(content)]
    gone = set(entry.quoted)
    place = entry.quoted[0] if entry.quoted else max((field.line for field in entry.fields), default=0) + 1
    before = [line for number, line in enumerate(part[:place]) if number not in gone]
    after = [line for number, line in enumerate(part[place:], place) if number not in gone]
    before[-1] = body_of(before[-1]) + (end_of(before[-1]) or eol)
    return [*before, *quoted, *after]


def _without_field(part: list[str], name: str) -> list[str]:
    """Return an entry without a field and the bar beside it; a line that held no other field is deleted."""
    entry = entry_of(part)
    field = entry.field(name)
    assert field is not None
    on_line = [other for other in entry.fields if other.line == field.line]
    if len(on_line) == 1:
        return [*part[: field.line], *part[field.line + 1 :]]
    line, place = part[field.line], on_line.index(field)
    if place + 1 < len(on_line):
        line = line[: field.start] + line[on_line[place + 1].start :]
    else:
        line = line[: on_line[place - 1].value_end] + line[field.value_end :]
    return [*part[: field.line], line, *part[field.line + 1 :]]


def _quoted(content: str) -> list[str]:
    return [f"> {line}" if line else ">" for line in content.split("\n")] if content else []


def _section(lines: Sequence[str], hidden: bytearray) -> int | None:
    """Return the index of the heading `Active lessons`; None without one."""
    found = (number for number, line in enumerate(lines) if "#" in line[:8] and _SECTION.fullmatch(body_of(line)))
    return next((number for number in found if not hidden[number]), None)


def _section_end(lines: Sequence[str], hidden: bytearray, section: int) -> int:
    """Return the index after the last line of a section that is not blank."""
    level = heading_level(lines[section])
    end = len(lines)
    for number in range(section + 1, len(lines)):
        is_other = "#" in lines[number][:8] and not hidden[number] and 0 < heading_level(lines[number]) <= level
        if is_other and not read_heading(lines[number]):
            end = number
            break
    return max(_last_text(lines, end), section + 1)


def _last_text(lines: Sequence[str], end: int) -> int:
    """Return the index after the last line that is not blank among those before `end`; 0 when all are blank."""
    return next((number for number in range(end, 0, -1) if not is_blank(lines[number - 1])), 0)


def _inserted(lines: Sequence[str], at: int, new: Sequence[str], eol: str) -> list[str]:
    """Return lines with new ones put in at an index, with a blank line before and after them."""
    before, after = list(lines[:at]), list(lines[at:])
    if before and not end_of(before[-1]):
        before[-1] += eol
    if before and not is_blank(before[-1]):
        before.append(eol)
    block = [f"{line}{eol}" for line in new]
    if after and not is_blank(after[0]):
        block.append(eol)
    return [*before, *block, *after]
