"""Cuts documents with headings into sections; `chunker` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.chunking.contents import Contents
from hybrid.chunking.headings import Heading, headings_of
from hybrid.chunking.textlines import TextLines
from hybrid.types import Chunk, Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.types import ChunkLimits

_MAX_TITLE_CHARS = 200
_MAX_SCOPE_CHARS = 400


class _Section(Struct, frozen=True):
    """Lines under one heading, without its subsections.

    Attributes:
        start: First line.
        end: Last line, inclusive.
        title: Of the heading; empty before the first one.
        path: Titles of the headings above it, outermost first.
        level: Of the heading, 0 before the first one.
    """

    start: int
    end: int
    title: str = ""
    path: tuple[str, ...] = ()
    level: int = 0


def prose_chunks(text: str, language: str, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Sections as chunks: in order, disjoint, together every line that is not blank; empty when there is no heading.

    A section above `max_chars` is cut at blank lines; small neighbours under one parent merge up to `merge_chars`.
    """
    lines = TextLines(text)
    headings = headings_of(lines.lines, language)
    if not headings:
        return ()
    sections = list(_sections(headings, len(lines)))
    contents = Contents(_definitions(headings, sections, len(lines)), ())
    chunks: list[Chunk] = []
    for section in _merged(sections, lines, limits):
        chunks += _section_chunks(section, lines, limits, contents)
    return tuple(chunks)


def _sections(headings: Sequence[Heading], n_lines: int) -> Iterator[_Section]:
    """What stands before the first heading, then one section for each heading."""
    if headings[0].start_line > 1:
        yield _Section(1, headings[0].start_line - 1)
    above: list[Heading] = []
    for position, heading in enumerate(headings):
        while above and above[-1].level >= heading.level:
            above.pop()
        end = headings[position + 1].start_line - 1 if position + 1 < len(headings) else n_lines
        path = tuple(parent.title for parent in above)
        yield _Section(heading.start_line, end, heading.title, path, heading.level)
        above.append(heading)


def _merged(sections: Sequence[_Section], lines: TextLines, limits: ChunkLimits) -> Iterator[_Section]:
    """Sections with small ones joined to the one before: siblings, and children that follow their parent's head."""
    pending: _Section | None = None
    for section in sections:
        if pending is None:
            pending = section
        elif _belongs(pending, section) and lines.size(pending.start, section.end) <= limits.merge_chars:
            pending = replace(pending, end=section.end)
        else:
            yield pending
            pending = section
    if pending is not None:
        yield pending


def _belongs(before: _Section, section: _Section) -> bool:
    """True for siblings and for a child of the section before it."""
    return section.path in (before.path, (*before.path, before.title))


def _section_chunks(section: _Section, lines: TextLines, limits: ChunkLimits, contents: Contents) -> Iterator[Chunk]:
    pieces = [(section.start, section.end)]
    if lines.size(section.start, section.end) > limits.max_chars:
        pieces = list(lines.cut(section.start, section.end, limits, {}))
    for first, last in pieces:
        start, end = lines.trimmed(first, last)
        if start <= end:
            yield Chunk(
                start,
                end,
                name=section.title[:_MAX_TITLE_CHARS],
                kind="section",
                signature=section.title[:_MAX_TITLE_CHARS],
                scope=_scope(section),
                definitions=contents.within(start, end)[0],
            )


def _definitions(headings: Sequence[Heading], sections: Sequence[_Section], n_lines: int) -> list[Definition]:
    """Headings as definitions; each reaches to the next heading of its own or a higher level."""
    found: list[Definition] = []
    ends = _ends(headings, n_lines)
    for heading, section, end_line in zip(headings, sections[-len(headings) :], ends, strict=True):
        if not heading.title:
            continue
        found.append(
            Definition(
                name=heading.title[:_MAX_TITLE_CHARS],
                kind="heading",
                start_line=heading.start_line,
                end_line=end_line,
                signature=heading.title[:_MAX_TITLE_CHARS],
                scope=_scope(section),
                depth=len(section.path),
                is_value=False,
            )
        )
    return found


def _ends(headings: Sequence[Heading], n_lines: int) -> list[int]:
    """The last line of each heading's part: it reaches to the next heading of its own or a higher level."""
    ends = [n_lines] * len(headings)
    open_headings: list[int] = []
    for position, heading in enumerate(headings):
        while open_headings and headings[open_headings[-1]].level >= heading.level:
            ends[open_headings.pop()] = heading.start_line - 1
        open_headings.append(position)
    return ends


def _scope(section: _Section) -> str:
    """The titles above a section, the outermost first; of a long one the end."""
    return " > ".join(section.path)[-_MAX_SCOPE_CHARS:]
