"""A LESSONS.md as a value: its lines, and the entries found there.

It reads our form and the older one, and what people make of them by hand, in time linear in the length. A change gives
a new document and touches only the lines that it must; whatever is no entry, field or quoted line is kept as it is:
`document.text` gives back the text that was parsed. `store` reads and writes the file. Functions that change lines go
by the places that were found; those about one entry take its lines alone, the heading first.
"""

from __future__ import annotations

import io
import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.lessons.counters import counts_in
from hybrid.records.lessons.types import AI, AI_MARK, MAX_NUMBER, PREFIXES, Draft, Level, number_of, stars_form
from hybrid.records.types import LessonsError, UnknownLessonError, superseding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.lessons.counters import Counters, Counts
    from hybrid.records.lessons.types import LessonEdit


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r" {0,3}<!--")
_ANY_HEADING = re.compile(r"\ufeff? {0,3}(#{1,6})(?:[ \t]|$)")
_BLANK = " \t\r\n\ufeff"


def _split_lines(text: str) -> list[str]:
    """Return lines with their ends; only LF ends a line, as for an editor. Joined, they are the text."""
    return io.StringIO(text, newline="\n").readlines()


def _body_of(line: str) -> str:
    """Return the line without its end (LF or CRLF)."""
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line


def _end_of(line: str) -> str:
    """Return the end of the line; empty for a last line without one."""
    return line[len(_body_of(line)) :]


def _line_end_of(lines: Sequence[str]) -> str:
    """Return the line end of a file: that of its first line."""
    return (_end_of(lines[0]) if lines else "") or "\n"


def _is_blank(line: str) -> bool:
    """Return whether a line holds nothing but white space (or a byte order mark)."""
    return not line.strip(_BLANK)


def _heading_level(line: str) -> int:
    """Return the level of a heading with number signs, 1 to 6; 0 for any other line."""
    found = _ANY_HEADING.match(_body_of(line))
    return len(found.group(1)) if found else 0


def _hidden_lines(lines: Sequence[str]) -> tuple[bytearray, list[tuple[int, str]]]:
    """Mark the lines of fenced code blocks and of comments over several lines, their marks included.

    A fence or comment that nothing closes hides nothing: half a file would be gone through one slip.

    Returns:
        One byte a line, not 0 where it is hidden; and the marks that nothing closes, as (index, mark).
    """
    hidden = bytearray(len(lines))
    unclosed: list[tuple[int, str]] = []
    # How long a fence of this kind is known to have no end in what follows; a comment counts as a fence of length 1.
    endless: dict[str, int] = {}
    number = 0
    while number < len(lines):
        opened = _opened(lines[number])
        if opened is None:
            number += 1
            continue
        mark, length = opened
        end = None if endless.get(mark, length + 1) <= length else _end(lines, number, mark, length)
        if end is None:
            endless[mark] = min(length, endless.get(mark, length))
            unclosed.append((number, mark * length))
            number += 1
            continue
        hidden[number : end + 1] = b"\x01" * (end + 1 - number)
        number = end + 1
    return hidden, unclosed


def _opened(line: str) -> tuple[str, int] | None:
    """Return the mark with which a line opens a code block or a comment, and its length; None for any other line."""
    start = line.lstrip(" \ufeff")[:4]
    if start.startswith(("```", "~~~")):
        found = _FENCE.match(_body_of(line.lstrip("\ufeff")))
        if found and not (found.group(1)[0] == "`" and "`" in found.group(2)):
            return found.group(1)[0], len(found.group(1))
    elif start == "<!--" and _COMMENT.match(line.lstrip("\ufeff")):
        return "<!--", 1
    return None


def _end(lines: Sequence[str], begin: int, mark: str, length: int) -> int | None:
    """Return the index of the line that closes the block which line `begin` opens; None when none does."""
    if mark == "<!--":
        inside = lines[begin].split("<!--", 1)[1]
        if "-->" in inside:
            return begin
        return next((number for number in range(begin + 1, len(lines)) if "-->" in lines[number]), None)
    for number in range(begin + 1, len(lines)):
        if mark not in lines[number]:
            continue
        found = _FENCE.match(_body_of(lines[number]))
        if found and found.group(1)[0] == mark and len(found.group(1)) >= length and _is_blank(found.group(2)):
            return number
    return None


# --- entries and fields -------------------------------------------------------------------------------------

# Groups: before the id, the id, between id and title, the stars of the older form with what follows them, the title.
_HEADING = re.compile(
    r"(\ufeff? {0,3}#{2,6}[ \t]*\[)([LlSs][0-9]{3,9})(\][ \t]*)"
    r"((?:\[(?:[-*+]{1,5}[|/][-*+]{1,5}|[-*+]{5})\][ \t]*)?)(.*)",
    re.DOTALL,
)
_ALMOST_HEADING = re.compile(
    r"\ufeff?[ \t]*#{1,6}[ \t]*"
    r"(?:\[[ \t]*[LlSs][ \t]*(?:[0-9]+|[0-9]{2}\w{1,20})[ \t]*\]|[LSls][0-9]{3,}\b)"
)
_RESERVED = re.compile(r"\ufeff? {0,3}#{1,6}[ \t]*\[([LlSs][0-9]{3,9})\]")
_FIELD_LINE = re.compile(r"[ \t]*(?:[-+][ \t]*|\*[ \t]+)?(?=\*\*)")
_FIELD = re.compile(r"\*\*[ \t]{0,3}([A-Za-z][A-Za-z_-]{0,30})[ \t]{0,3}(?:\*\*[ \t]{0,3}:|:[ \t]{0,3}\*\*)")
_QUOTE = re.compile(r" {0,3}>[ \t]?")
_ID = re.compile(r"[LlSs][0-9]{3,9}(?![0-9A-Za-z])")
_NO = ("no", "false", "none", "never", "-", "")
_RULES = frozenset("-*_= \t")


class Field(Struct, frozen=True):
    """A field of an entry.

    Attributes:
        name: The name in lower case.
        value: The text after the name, without the white space and the bar around it.
        line: Index of the line in the lines of the entry or the file.
        start: Offset in the line where the name begins, stars included.
        value_start: Offset of the value.
        value_end: Offset after the value.
    """

    name: str
    value: str
    line: int
    start: int
    value_start: int
    value_end: int


class LessonEntry(Struct, frozen=True):
    """An entry of the file, with the places of its parts.

    Attributes:
        id: In upper case.
        title: Without the stars of the older form and the mark of an agent.
        fields: All fields, known or not, in order.
        quoted: Indexes of the lines that hold the content.
        content: The text of these lines, without the quote marks and outer blank lines.
        heading: Index of the line of the heading.
        end: Index after the last line of the entry.
        is_ai_marked: True if the title ends with the mark of an agent.
    """

    id: str
    title: str
    fields: tuple[Field, ...]
    quoted: tuple[int, ...]
    content: str
    heading: int
    end: int
    is_ai_marked: bool

    def value(self, name: str) -> str:
        """Return the first value under this name (in lower case) that is not empty; empty without one."""
        return next((field.value for field in self.fields if field.name == name and field.value), "")

    def field(self, name: str) -> Field | None:
        """Return the first field of this name that is not empty, else the first of this name; None without one."""
        named = [field for field in self.fields if field.name == name]
        return next((field for field in named if field.value), named[0] if named else None)

    @property
    def source(self) -> str:
        """`ai` for a lesson of an agent, else the value of the field `source` in lower case."""
        said = self.value("source").replace(AI_MARK, "").strip().lower()
        return AI if self.is_ai_marked else said

    @property
    def superseded(self) -> str:
        """An id, `deleted`, other text of the field, or the word behind "Superseded by" in the title; else empty."""
        said = self.value("superseded").strip(" \t`[]\"'")
        said = said or superseding(self.title)
        if said.lower() in _NO:
            return ""
        found = _ID.match(said)
        return found.group().upper() if found else said.lower()

    @property
    def triggers(self) -> tuple[str, ...]:
        """The parts of the field `triggers` between its commas, without the empty ones."""
        parts = (part.strip(" \t`\"'") for part in self.value("triggers").split(","))
        return tuple(part for part in parts if part)

    @property
    def is_promotable(self) -> bool:
        """False if the field `promotable` says no."""
        return self.value("promotable").lower() not in _NO[:4]

    @property
    def has_counters(self) -> bool:
        """True if the entry is in the older form, which has fields for `uses` and `velocity`."""
        return any(field.name in ("uses", "velocity") for field in self.fields)


def _read_heading(line: str) -> re.Match[str] | None:
    """Return the parts of an entry's heading: before the id, id, after it, stars, title; None for other lines."""
    return _HEADING.match(_body_of(line)) if "#" in line[:12] else None


_Start = tuple[int, int, "re.Match[str] | None"]
"""A heading outside of hidden lines: its index, its level, and its parts if it is that of an entry."""


def _find_entries(lines: Sequence[str], hidden: bytearray) -> tuple[list[LessonEntry], list[tuple[int, str]]]:
    """Return all entries in order, and (index, message) for each line that looks like an entry and is none."""
    entries: list[LessonEntry] = []
    problems: list[tuple[int, str]] = []
    starts: list[_Start] = []
    for number, line in enumerate(lines):
        if "#" in line[:12] and not hidden[number]:
            level, found = _heading_level(line), _read_heading(line)
            if level or found:
                starts.append((number, level or 3, found))
            if found is None and _ALMOST_HEADING.match(line):
                problems.append((number, "looks like a lesson, but its heading is not `### [L001] Title`"))
    for place, (number, _, found) in enumerate(starts):
        if found is None:
            continue
        entry = _entry(lines, hidden, number, _entry_end(lines, starts, place), found)
        if entry.title:
            entries.append(entry)
        else:
            problems.append((number, f"lesson {entry.id} has no title, so it is not read"))
    return entries, sorted(problems)


def _entry_of(part: Sequence[str]) -> LessonEntry:
    """Return the entry whose lines are `part`, the heading first; its indexes count from the heading."""
    hidden, _ = _hidden_lines(part)
    found = _read_heading(part[0])
    assert found is not None
    return _entry(part, hidden, 0, len(part), found)


def _entry_end(lines: Sequence[str], starts: Sequence[_Start], place: int) -> int:
    """Return the index of the next entry, or of the next heading whose level is not below that of this entry."""
    for after in range(place + 1, len(starts)):
        number, level, found = starts[after]
        if found or level <= starts[place][1]:
            return number
    return len(lines)


def _entry(lines: Sequence[str], hidden: bytearray, begin: int, end: int, found: re.Match[str]) -> LessonEntry:
    fields: list[Field] = []
    quoted: list[int] = []
    plain: list[int] = []
    for number in range(begin + 1, end):
        line = lines[number]
        if hidden[number] or _is_blank(line):
            continue
        if line.lstrip(" ")[:1] == ">" and _QUOTE.match(line):
            quoted.append(number)
        elif "**" in line and (in_line := _fields(_body_of(line), number)):
            fields += in_line
        elif not (set(_body_of(line)) <= _RULES or line.lstrip().startswith(("<!--", "#"))):
            plain.append(number)
    title = found.group(5).strip()
    is_marked = title.endswith(AI_MARK)
    # Content that somebody wrote without quote marks is content all the same; beside quotes it is a remark.
    places = tuple(quoted or plain)
    return LessonEntry(
        id=found.group(2).upper(),
        title=title.removesuffix(AI_MARK).strip(),
        fields=tuple(fields),
        quoted=places,
        content="\n".join(_unquoted(lines[number]) for number in places).strip("\n"),
        heading=begin,
        end=end,
        is_ai_marked=is_marked,
    )


def _unquoted(line: str) -> str:
    text = _body_of(line).rstrip()
    found = _QUOTE.match(text)
    return text[found.end() :] if found else text.strip()


def _fields(text: str, number: int) -> list[Field]:
    """Return the fields of a line; none when it does not begin with one."""
    start = _FIELD_LINE.match(text)
    if start is None or not _FIELD.match(text, start.end()):
        return []
    found = list(_FIELD.finditer(text, start.end()))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [_field(text, number, match, end) for match, end in zip(found, ends, strict=True)]


def _field(text: str, number: int, found: re.Match[str], end: int) -> Field:
    raw = text[found.end() : end]
    value_start = found.end() + len(raw) - len(raw.lstrip(" \t"))
    value = _without_bar(text[value_start:end])
    return Field(found.group(1).lower(), value, number, found.start(), value_start, value_start + len(value))


def _without_bar(text: str) -> str:
    """Return a value without the bar that parts it from the next field (a regular expression would be quadratic)."""
    value = text.rstrip(" \t\r")
    return value[:-1].rstrip(" \t\r") if value.endswith("|") else value


# --- the document -------------------------------------------------------------------------------------------

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
        """Return the largest number of an id of this level that a heading or a supersession names; 0 without.

        Numbers above `MAX_NUMBER` do not count. What stands in a quote, a code block or a comment is somebody's text,
        and reserves nothing.
        """
        shown = (
            line for line, is_hidden in zip(self.lines, self.hidden, strict=True) if not is_hidden and "#" in line[:5]
        )
        named = [found.group(1).upper() for line in shown if (found := _RESERVED.match(line))]
        named += [entry.superseded for entry in self.entries if _ID.fullmatch(entry.superseded)]
        return max((number_of(lesson_id) for lesson_id in named if lesson_id[0] == PREFIXES[level]), default=0)

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
        if all(map(_is_blank, lines)):
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
        return self._with({lesson_id: lambda part: _with_field(part, "Superseded", by)})

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
    lines = _split_lines(text)
    hidden, unclosed = _hidden_lines(lines)
    entries, problems = _find_entries(lines, hidden)
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


# --- changes of lines ---------------------------------------------------------------------------------------

_SECTION = re.compile(r"\ufeff? {0,3}#{1,3}[ \t]+active[ \t]+lessons[ \t#:]*", re.IGNORECASE)
_NEW_SECTION = "## Active Lessons"


class NewEntry(Struct, frozen=True):
    """A lesson to be added to the file.

    Attributes:
        id: The id of the lesson, used by no other, in upper case.
        draft: Its text, in the form of the file (`types.checked`).
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
        hidden: See `_hidden_lines`.
        first: Index of the heading of the first entry; None without entries.
        new: The entries to add.
    """
    eol = _line_end_of(lines)
    written = [line for entry in new for line in ["", *entry_lines(entry)]][1:]
    section = _section(lines, hidden)
    if section is not None:
        return _inserted(lines, _section_end(lines, hidden, section), written, eol)
    if first is not None and not any(_heading_level(line) == 2 for line in lines[:first]):
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
        ("Velocity", _velocity_form(counts.velocity) if counts else ""),
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
    changed, entry = list(part), _entry_of(part)
    if edit.content is not None and edit.content != entry.content:
        changed = _with_content(changed, edit.content)
    if edit.title is not None and edit.title != entry.title:
        changed[0] = _with_title(changed[0], edit.title, is_marked=entry.is_ai_marked)
    if edit.category is not None:
        changed = _with_field(changed, "Category", edit.category)
    if edit.type is not None:
        changed = _with_field(changed, "Type", edit.type)
    if edit.triggers is not None and edit.triggers != entry.triggers:
        changed = _with_field(changed, "Triggers", ", ".join(edit.triggers))
    if edit.is_promotable is not None and edit.is_promotable != entry.is_promotable:
        changed = _with_field(changed, "Promotable", "" if edit.is_promotable else "no")
    return changed


def _with_field(part: Sequence[str], name: str, value: str) -> list[str]:
    """Return the lines of an entry with a field set, or without it for an empty value.

    A field that the entry lacks comes last on its first line of fields; without such a line, on a new one below the
    heading.
    """
    changed, entry = list(part), _entry_of(part)
    field = entry.field(name.lower())
    if field is not None and value:
        line = changed[field.line]
        gap = "" if line[: field.value_start].endswith((" ", "\t")) else " "
        # A field without a value stands right before the bar of the next one.
        after = line[field.value_end :]
        after = f" {after}" if after.startswith("|") else after
        changed[field.line] = f"{line[: field.value_start]}{gap}{value}{after}"
    elif field is not None:
        return _with_field(_without_field(changed, name.lower()), name, "")
    elif value and entry.fields:
        line = changed[entry.fields[0].line]
        text = _body_of(line).rstrip(" \t\r|")
        # White space at the end of the line stays; a bar that stood there parts the new field.
        space = _body_of(line)[len(_body_of(line).rstrip()) :]
        changed[entry.fields[0].line] = f"{text} | **{name}**: {value}{space}{_end_of(line)}"
    elif value:
        eol = _line_end_of(changed)
        changed[0] = _body_of(changed[0]) + eol
        changed.insert(1, f"- **{name}**: {value}{eol}")
    return changed


def with_counters(part: Sequence[str], counts: Counts) -> list[str]:
    """Return an entry in the older form with its counters rewritten, stars included."""
    changed = list(part)
    for name, value in (
        ("Uses", str(counts.uses)),
        ("Velocity", _velocity_form(counts.velocity)),
        ("Last", counts.last),
    ):
        if value and _entry_of(changed).value(name.lower()) != value:
            changed = _with_field(changed, name, value)
    changed[0] = _with_part(changed[0], 4, f"{stars_form(counts.uses, counts.velocity)} ")
    return changed


def without_counters(part: Sequence[str]) -> list[str]:
    """Return an entry without counters and stars, in our form."""
    changed = list(part)
    for name in ("Uses", "Velocity", "Last"):
        changed = _with_field(changed, name, "")
    changed[0] = _with_part(changed[0], 4, "")
    return changed


def _velocity_form(velocity: float) -> str:
    """Return a velocity as the older form writes it, with two decimals at most: `1.5`, `0.01`, `0`."""
    return f"{velocity:.2f}".rstrip("0").rstrip(".")


def _with_part(heading: str, group: int, text: str) -> str:
    """Return the heading of an entry with one of the groups that `_read_heading` finds replaced."""
    found = _read_heading(heading)
    assert found is not None
    return heading[: found.start(group)] + text + heading[found.end(group) :]


def _with_title(heading: str, title: str, *, is_marked: bool) -> str:
    found = _read_heading(heading)
    assert found is not None
    kept = found.group(5)
    space = kept[len(kept.rstrip()) :]
    gap = "" if heading[: found.start(5)].endswith((" ", "\t")) else " "
    mark = f" {AI_MARK}" if is_marked else ""
    return f"{heading[: found.start(5)]}{gap}{title}{mark}{space}{heading[found.end(5) :]}"


def _with_content(part: list[str], content: str) -> list[str]:
    """Return an entry with its content replaced; without old content the new one stands below the fields or heading."""
    entry, eol = _entry_of(part), _line_end_of(part)
    quoted = [f"{line}{eol}" for line in _quoted(content)]
    gone = set(entry.quoted)
    place = entry.quoted[0] if entry.quoted else max((field.line for field in entry.fields), default=0) + 1
    before = [line for number, line in enumerate(part[:place]) if number not in gone]
    after = [line for number, line in enumerate(part[place:], place) if number not in gone]
    before[-1] = _body_of(before[-1]) + (_end_of(before[-1]) or eol)
    return [*before, *quoted, *after]


def _without_field(part: list[str], name: str) -> list[str]:
    """Return an entry without a field and the bar beside it; a line that held no other field is deleted."""
    entry = _entry_of(part)
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
    found = (number for number, line in enumerate(lines) if "#" in line[:8] and _SECTION.fullmatch(_body_of(line)))
    return next((number for number in found if not hidden[number]), None)


def _section_end(lines: Sequence[str], hidden: bytearray, section: int) -> int:
    """Return the index after the last line of a section that is not blank."""
    level = _heading_level(lines[section])
    end = len(lines)
    for number in range(section + 1, len(lines)):
        is_other = "#" in lines[number][:8] and not hidden[number] and 0 < _heading_level(lines[number]) <= level
        if is_other and not _read_heading(lines[number]):
            end = number
            break
    return max(_last_text(lines, end), section + 1)


def _last_text(lines: Sequence[str], end: int) -> int:
    """Return the index after the last line that is not blank among those before `end`; 0 when all are blank."""
    return next((number for number in range(end, 0, -1) if not _is_blank(lines[number - 1])), 0)


def _inserted(lines: Sequence[str], at: int, new: Sequence[str], eol: str) -> list[str]:
    """Return lines with new ones put in at an index, with a blank line before and after them."""
    before, after = list(lines[:at]), list(lines[at:])
    if before and not _end_of(before[-1]):
        before[-1] += eol
    if before and not _is_blank(before[-1]):
        before.append(eol)
    block = [f"{line}{eol}" for line in new]
    if after and not _is_blank(after[0]):
        block.append(eol)
    return [*before, *block, *after]


class LessonsChange(Struct, frozen=True):
    """The document and the counters after a change, to be written in this order."""

    document: LessonsDocument
    counters: Counters


def counts_of(entry: LessonEntry) -> Counts | None:
    """Return the counters in an entry of the older form; None in ours."""
    if not entry.has_counters:
        return None
    return counts_in({name: entry.value(name) for name in ("uses", "velocity", "last")})
