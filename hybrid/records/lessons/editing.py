"""Changes in the lines of a LESSONS.md, by the places that `entries` found; `document` calls it.

Every function gives new lines and leaves all that it was not asked to change, byte for byte. Those about one entry
take its lines alone, the heading first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.lessons.entries import entry_of, read_heading
from hybrid.records.lessons.lesson import AI, AI_MARK, Draft, stars_form
from hybrid.records.lessons.lines import body_of, end_of, heading_level, is_blank, line_end_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.records.lessons.lesson import Edit

_SECTION = re.compile(r"\ufeff? {0,3}#{1,3}[ \t]+active[ \t]+lessons[ \t#:]*", re.IGNORECASE)
_NEW_SECTION = "## Active Lessons"


class Counted(Struct, frozen=True):
    """Counters as the older form writes them into the file."""

    uses: int
    velocity: float
    last: str


class NewEntry(Struct, frozen=True):
    """An entry to be written.

    Attributes:
        id: Free, in upper case.
        draft: In the form of the file (`wording.checked`).
        learned: ISO date.
        counted: Written into the file in the older form; None for our form.
    """

    id: str
    draft: Draft
    learned: str
    counted: Counted | None = None


def added(lines: Sequence[str], hidden: bytearray, first: int | None, new: Iterable[NewEntry]) -> list[str]:
    """Lines of a file with entries added at the end of its active lessons.

    Args:
        lines: All of the file; not empty.
        hidden: See `lines.hidden_lines`.
        first: Index of the first entry's heading, None without entries.
        new: The entries.
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
    """An entry as it stands in the file, without line ends."""
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


def edited(part: Sequence[str], edit: Edit) -> list[str]:
    """An entry with what an edit names changed."""
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
    """An entry with a field set, or taken away by an empty value; a new field comes last on the first field line."""
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


def renumbered(part: Sequence[str], lesson_id: str) -> list[str]:
    """An entry with another id in its heading."""
    found = read_heading(part[0])
    assert found is not None
    return [part[0][: found.start(2)] + lesson_id + part[0][found.end(2) :], *part[1:]]


def with_counters(part: Sequence[str], counts: Counted) -> list[str]:
    """An entry in the older form with its counters rewritten, stars included."""
    changed = list(part)
    for name, value in (
        ("Uses", str(counts.uses)),
        ("Velocity", velocity_form(counts.velocity)),
        ("Last", counts.last),
    ):
        if value and entry_of(changed).value(name.lower()) != value:
            changed = with_field(changed, name, value)
    changed[0] = _with_stars(changed[0], f"{stars_form(counts.uses, counts.velocity)} ")
    return changed


def without_counters(part: Sequence[str]) -> list[str]:
    """An entry without counters and stars, in our form."""
    changed = list(part)
    for name in ("Uses", "Velocity", "Last"):
        changed = with_field(changed, name, "")
    changed[0] = _with_stars(changed[0], "")
    return changed


def velocity_form(velocity: float) -> str:
    """Two decimals at most, as the older form has it: `1.5`, `0.01`, `0`."""
    return f"{velocity:.2f}".rstrip("0").rstrip(".")


def _with_stars(heading: str, stars: str) -> str:
    found = read_heading(heading)
    assert found is not None
    return heading[: found.start(4)] + stars + heading[found.end(4) :]


def _with_title(heading: str, title: str, *, is_marked: bool) -> str:
    found = read_heading(heading)
    assert found is not None
    kept = found.group(5)
    space = kept[len(kept.rstrip()) :]
    gap = "" if heading[: found.start(5)].endswith((" ", "\t")) else " "
    mark = f" {AI_MARK}" if is_marked else ""
    return f"{heading[: found.start(5)]}{gap}{title}{mark}{space}{heading[found.end(5) :]}"


def _with_content(part: list[str], content: str) -> list[str]:
    """New quoted lines in the place of the first old one; without one below fields or heading."""
    entry, eol = entry_of(part), line_end_of(part)
    quoted = [f"{line}{eol}" for line in _quoted(content)]
    gone = set(entry.quoted)
    place = entry.quoted[0] if entry.quoted else max((field.line for field in entry.fields), default=0) + 1
    before = [line for number, line in enumerate(part[:place]) if number not in gone]
    after = [line for number, line in enumerate(part[place:], place) if number not in gone]
    before[-1] = body_of(before[-1]) + (end_of(before[-1]) or eol)
    return [*before, *quoted, *after]


def _without_field(part: list[str], name: str) -> list[str]:
    """An entry without a field and the bar beside it; a line of which nothing is left goes."""
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
    """Index of the heading of the active lessons."""
    found = (number for number, line in enumerate(lines) if "#" in line[:8] and _SECTION.fullmatch(body_of(line)))
    return next((number for number in found if not hidden[number]), None)


def _section_end(lines: Sequence[str], hidden: bytearray, section: int) -> int:
    """Index after the last line with text of a section."""
    level = heading_level(lines[section])
    end = len(lines)
    for number in range(section + 1, len(lines)):
        is_other = "#" in lines[number][:8] and not hidden[number] and 0 < heading_level(lines[number]) <= level
        if is_other and not read_heading(lines[number]):
            end = number
            break
    return max(_last_text(lines, end), section + 1)


def _last_text(lines: Sequence[str], end: int) -> int:
    """Index after the last line before an index that is not blank."""
    return next((number for number in range(end, 0, -1) if not is_blank(lines[number - 1])), 0)


def _inserted(lines: Sequence[str], at: int, new: Sequence[str], eol: str) -> list[str]:
    """Lines with a block put in, parted by blank lines from what stands around it."""
    before, after = list(lines[:at]), list(lines[at:])
    if before and not end_of(before[-1]):
        before[-1] += eol
    if before and not is_blank(before[-1]):
        before.append(eol)
    block = [f"{line}{eol}" for line in new]
    if after and not is_blank(after[0]):
        block.append(eol)
    return [*before, *block, *after]
