"""Reads the lines of a LESSONS.md: which are hidden, which entries and fields they hold, and where each part stands.

It reads our form and the older one, and what people make of them by hand, in time linear in the length. It changes
nothing; `document` does, by the places found here.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.lessons.types import AI, AI_MARK, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r" {0,3}<!--")
_ANY_HEADING = re.compile(r"\ufeff? {0,3}(#{1,6})(?:[ \t]|$)")
_BLANK = " \t\r\n\ufeff"


def split_lines(text: str) -> list[str]:
    """Return lines with their ends; only LF ends a line, as for an editor. Joined, they are the text."""
    return io.StringIO(text, newline="\n").readlines()


def body_of(line: str) -> str:
    """Return the line without its end (LF or CRLF)."""
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line


def end_of(line: str) -> str:
    """Return the end of the line; empty for a last line without one."""
    return line[len(body_of(line)) :]


def line_end_of(lines: Sequence[str]) -> str:
    """Return the line end of a file: that of its first line."""
    return (end_of(lines[0]) if lines else "") or "\n"


def is_blank(line: str) -> bool:
    """Return whether a line holds nothing but white space (or a byte order mark)."""
    return not line.strip(_BLANK)


def heading_level(line: str) -> int:
    """Return the level of a heading with number signs, 1 to 6; 0 for any other line."""
    found = _ANY_HEADING.match(body_of(line))
    return len(found.group(1)) if found else 0


def hidden_lines(lines: Sequence[str]) -> tuple[bytearray, list[tuple[int, str]]]:
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
        found = _FENCE.match(body_of(line.lstrip("\ufeff")))
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
        found = _FENCE.match(body_of(lines[number]))
        if found and found.group(1)[0] == mark and len(found.group(1)) >= length and is_blank(found.group(2)):
            return number
    return None


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
        """An id, `deleted`, whatever else somebody wrote there, or empty while the lesson is active."""
        said = self.value("superseded").strip(" \t`[]\"'")
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


def read_heading(line: str) -> re.Match[str] | None:
    """Return the parts of an entry's heading: before the id, id, after it, stars, title; None for other lines."""
    return _HEADING.match(body_of(line)) if "#" in line[:12] else None


_Start = tuple[int, int, "re.Match[str] | None"]
"""A heading outside of hidden lines: its index, its level, and its parts if it is that of an entry."""


def find_entries(lines: Sequence[str], hidden: bytearray) -> tuple[list[LessonEntry], list[tuple[int, str]]]:
    """Return all entries in order, and (index, message) for each line that looks like an entry and is none."""
    entries: list[LessonEntry] = []
    problems: list[tuple[int, str]] = []
    starts: list[_Start] = []
    for number, line in enumerate(lines):
        if "#" in line[:12] and not hidden[number]:
            level, found = heading_level(line), read_heading(line)
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


def entry_of(part: Sequence[str]) -> LessonEntry:
    """Return the entry whose lines are `part`, the heading first; its indexes count from the heading."""
    hidden, _ = hidden_lines(part)
    found = read_heading(part[0])
    assert found is not None
    return _entry(part, hidden, 0, len(part), found)


def reserved_number(lines: Sequence[str], hidden: bytearray, entries: Sequence[LessonEntry], letter: str) -> int:
    """Return the largest number of an id with this letter that a heading or a supersession names; 0 without one.

    What stands in a quote, a code block or a comment is somebody's text, and reserves nothing.
    """
    shown = (line for line, is_hidden in zip(lines, hidden, strict=True) if not is_hidden and "#" in line[:5])
    named = [found.group(1).upper() for line in shown if (found := _RESERVED.match(line))]
    named += [entry.superseded for entry in entries if _ID.fullmatch(entry.superseded)]
    return max((number_of(lesson_id) for lesson_id in named if lesson_id[0] == letter), default=0)


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
        if hidden[number] or is_blank(line):
            continue
        if line.lstrip(" ")[:1] == ">" and _QUOTE.match(line):
            quoted.append(number)
        elif "**" in line and (in_line := _fields(body_of(line), number)):
            fields += in_line
        elif not (set(body_of(line)) <= _RULES or line.lstrip().startswith(("<!--", "#"))):
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
    text = body_of(line).rstrip()
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
