"""The memory's rows in the forms that are given out: as a record of the one index, as a line of the list, in full."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from hybrid.base.text import cut_at_word, one_line
from hybrid.records.memory.types import Observation, SessionSummary
from hybrid.records.types import Record
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.memory.types import MemoryKind, Row, Summarised

_LETTERS: dict[MemoryKind, str] = {"observation": "o", "summary": "s"}
_KINDS: dict[str, MemoryKind] = {letter: kind for kind, letter in _LETTERS.items()}

_CHARS_OF_TOKEN = 4
"""Characters that are about one token of a language model."""

_SUMMARY_PARTS = ("investigated", "learned", "completed", "next_steps", "notes")
_SHOWN_PARTS = ("learned", "completed", "next_steps")
_MOST_TITLE_CHARS = 100
_MOST_BODY_CHARS = 280
"""The most characters of a narrative in an injection, whose budget has room for three rows or four."""
_MOST_PART_CHARS = 180
"""The most characters of one part of a summary in an injection, which has three parts."""
_MOST_FILES = 5
_MOST_FACTS = 3
"""The most facts that are shown of a row that somebody wrote down."""


def kind_of(row: Row) -> MemoryKind:
    """Return the kind of a row."""
    return "observation" if isinstance(row, Observation) else "summary"


def row_name(kind: MemoryKind, number: int) -> str:
    """Return the id of a row among all rows of the memory: `o42` for an observation, `s7` for a summary."""
    return f"{_LETTERS[kind]}{number}"


def name_of(row: Row) -> str:
    """Return the id of a row among all rows of the memory, `o42` or `s7`."""
    return row_name(kind_of(row), row.id)


def parse_name(name: str) -> tuple[MemoryKind, int] | None:
    """Return the kind and the number of `o42`, `s7`, `42` or `#42`; None when it is no such name."""
    text = name.strip().removeprefix("#").lower()
    kind = _KINDS.get(text[:1], "observation")
    digits = text[1:] if text[:1] in _KINDS else text
    return (kind, int(digits)) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else None


def title_of(row: Row) -> str:
    """Return the title of a row on one line: of a summary its request, else what was completed."""
    text = row.told.title if isinstance(row, Observation) else row.told.request or row.told.completed
    return cut_at_word(one_line(text), _MOST_TITLE_CHARS)


def type_of(row: Row) -> str:
    """Return the type of an observation, `bugfix` for example, or `summary`."""
    return row.told.type if isinstance(row, Observation) else "summary"


def record_of(row: Row, *, here: str = "") -> Record:
    """Return a row as the engine indexes, ranks and shows it.

    Args:
        row: A row of the memory.
        here: Key of the present project; a row of another one is marked with its project. Empty to mark nothing.
    """
    created = moment_text(row.created_ms)
    foreign = f" [from: {row.owner.project}]" if here and row.owner.key != here else ""
    return Record(
        kind=kind_of(row),
        id=name_of(row),
        name=title_of(row),
        text="\n".join(searched_lines(row)),
        shown=f"#{shown_number(row)} {created[:10]} {type_of(row)} {title_of(row)}{foreign}".rstrip(),
        lines=body_lines(row),
        created_at=created,
        project=row.owner.project,
    )


def shown_number(row: Row) -> str:
    """Return the number of a row for `hybrid memory show`: `42` for an observation, `s7` for a summary."""
    return str(row.id) if isinstance(row, Observation) else name_of(row)


def searched_lines(row: Row) -> list[str]:
    """Return the lines of a row that are searched besides its title."""
    if isinstance(row, Observation):
        found = [row.told.subtitle, row.told.narrative, *row.told.facts, " ".join(row.told.files)]
    else:
        found = astuple(row.told)
    return [line for line in found if line.strip()]


def body_lines(row: Row) -> tuple[str, ...]:
    """Return the lines below the title in the frame: few, since the rest is found by the number."""
    if isinstance(row, SessionSummary):
        parts = _labelled_parts(row.told, _SHOWN_PARTS)
        return tuple(f"{label}: {_shortened(text, _MOST_PART_CHARS)}" for label, text in parts)
    # The facts of a note written by hand add to it; the facts of an observed use repeat its narrative.
    facts = () if row.discovery_tokens else row.told.facts
    lines = [_shortened(row.told.narrative or row.told.subtitle), *map(_shortened, facts[:_MOST_FACTS])]
    if row.told.files_modified:
        lines.append(f"Changed: {', '.join(row.told.files_modified[:_MOST_FILES])}")
    return tuple(line for line in lines if line)


def _shortened(text: str, most: int = _MOST_BODY_CHARS) -> str:
    """Return a text on one line of at most `most` characters; of a longer one the beginning.

    It is cut after a sentence or a `;` if that keeps half of the characters, else before a word, with `…`.
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    end = max(line.rfind(mark, 0, most) for mark in (". ", "; ", "! ", "? "))
    if end >= most // 2:
        return line[: end + 1]
    return cut_at_word(line, most)


def index_line(row: Row, *, here: str | None = None) -> str:
    """Return a line `#42 2026-02-14 10:31 bugfix Fix auth timeout [from: other] (~120 tokens)`, in local time.

    Args:
        row: A row of the memory.
        here: Key of the present project: rows of others are marked. Empty outside of any project, where each row is
            marked with its project. None marks none.
    """
    label = "from" if here else "project"
    foreign = f" [{label}: {row.owner.project}]" if here is not None and row.owner.key != here else ""
    size = amount(max(sum(map(len, full_lines(row))) // _CHARS_OF_TOKEN, 1), "token")
    title = title_of(row) or "(no title)"
    return f"#{shown_number(row)} {moment_text(row.created_ms)} {type_of(row)} {title}{foreign} (~{size})"


def full_lines(row: Row) -> list[str]:
    """Return all lines of a row: title, narrative, facts, concepts and files, or the parts of a summary."""
    if isinstance(row, SessionSummary):
        return [title_of(row), *(f"{label}: {text}" for label, text in _labelled_parts(row.told, _SUMMARY_PARTS))]
    told = row.told
    lines = [told.title, told.subtitle, told.narrative, *(f"- {fact}" for fact in told.facts)]
    read = [path for path in told.files_read if path not in told.files_modified]
    labelled = (("Concepts", told.concepts), ("Changed", told.files_modified), ("Read", read))
    lines += [f"{label}: {', '.join(values)}" for label, values in labelled if values]
    return [line for line in lines if line.strip()]


def _labelled_parts(told: Summarised, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the label and the text of each of these parts of a summary that is not blank."""
    parts = [(name.replace("_", " ").capitalize(), getattr(told, name)) for name in names]
    return [(label, text) for label, text in parts if text.strip()]


def moment_text(created_ms: int) -> str:
    """Return a time in the form `2026-02-14 10:31`, in local time."""
    return datetime.fromtimestamp(created_ms / 1000).strftime("%Y-%m-%d %H:%M")
