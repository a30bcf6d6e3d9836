"""Cuts documents with headings into sections; `chunker` calls it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.chunking.textlines import Contents, TextLines
from hybrid.types import Chunk, Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hybrid.types import ChunkLimits


class Heading(Struct, frozen=True):
    """A heading.

    Attributes:
        title: Without marks.
        level: 1 is the highest.
        start_line: First line of the heading, 1-based (the line above an overlined title).
        end_line: Last line of the heading, its underline included.
    """

    title: str
    level: int
    start_line: int
    end_line: int


_MAX_HEADING_CHARS = 400
"""Characters of a heading at most: titles are searched for links and anchors in time proportional to their square."""


def headings_of(lines: Sequence[str], language: str) -> list[Heading]:
    """Return the headings of a text in order; empty for a language without headings."""
    finder = _FINDERS.get(language)
    return [] if finder is None else list(finder(lines))


# --- Markdown ------------------------------------------------------------------------------------------------

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)]|<|#{1,6}(?:\s|$)|`{3}|~{3})")


def _markdown(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield ATX and setext headings outside of front matter, fenced code and comments."""
    fence = ""
    in_comment = False
    for number in range(_front_matter_end(lines) + 1, len(lines) + 1):
        line = lines[number - 1]
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
        elif opened := _FENCE.match(line):
            is_inline = opened.group(1)[0] == "`" and "`" in opened.group(2)
            fence = "" if is_inline else opened.group(1)
        elif len(line) > _MAX_HEADING_CHARS:
            continue
        elif heading := _ATX.match(line):
            yield Heading(_plain(heading.group(2) or ""), len(heading.group(1)), number, number)
        elif number > 1 and (heading := _SETEXT.match(line)) and _is_title(lines[number - 2]):
            yield Heading(_plain(lines[number - 2]), 1 if heading.group(1)[0] == "=" else 2, number - 1, number)


def _is_title(line: str) -> bool:
    """Return whether a line may be the title above an underline: short, and the text of a paragraph."""
    return len(line) <= _MAX_HEADING_CHARS and not _NOT_PARAGRAPH.match(line)


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the line that closes YAML or TOML front matter, 0 when there is none."""
    mark = lines[0].rstrip() if lines else ""
    if mark not in ("---", "+++"):
        return 0
    return next((number for number, line in enumerate(lines[1:], start=2) if line.rstrip() == mark), 0)


def _closes(line: str, fence: str) -> bool:
    """Return whether a line closes a fence: the same mark, at least as often, and nothing else."""
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


_LINK = re.compile(r"!?\[([^\]]{0,100})\](?:\([^)]{0,100}\)|\[[^\]]{0,100}\])")
_ANCHOR = re.compile(r"\{#[^{}]*\}\s*$|<[^<>]+>")


def _plain(title: str) -> str:
    """Return a title without links, anchors, code marks and emphasis."""
    title = _ANCHOR.sub("", _LINK.sub(r"\1", title))
    return " ".join(title.replace("`", "").replace("**", "").strip(" \t*").split())


# --- reStructuredText ----------------------------------------------------------------------------------------

_RST_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{1,}[ \t]*$")


def _rst(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield underlined titles, with or without an overline; the first style to appear has level 1, the next one 2."""
    styles: list[str] = []
    taken = 0
    for number in range(2, len(lines) + 1):
        mark = lines[number - 1].rstrip()
        title = lines[number - 2].rstrip()
        if number - 1 <= taken or not _RST_LINE.match(mark) or not _is_rst_title(title, mark):
            continue
        overline = lines[number - 3].rstrip() if number >= 3 else ""
        is_overlined = overline == mark
        if not is_overlined and (title[0].isspace() or (overline and number - 2 > taken and not overline.isspace())):
            continue
        style = mark[0] * (2 if is_overlined else 1)
        if style not in styles:
            styles.append(style)
        taken = number
        start = number - 2 if is_overlined else number - 1
        yield Heading(_plain(title), styles.index(style) + 1, start, number)


def _is_rst_title(title: str, mark: str) -> bool:
    """Return whether a line may be a title: no marks itself, and underlined by as many marks, or by four."""
    return (
        len(title) <= _MAX_HEADING_CHARS
        and bool(title.strip())
        and not _RST_LINE.match(title)
        and len(mark) >= min(len(title.strip()), 4)
    )


# --- others --------------------------------------------------------------------------------------------------

_LATEX = re.compile(r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{(.*?)\}")
_LATEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}


def _latex(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield the commands of sections, one for a line at most."""
    for number, line in enumerate(lines, start=1):
        heading = _LATEX.match(line)
        if heading is not None and len(heading.group(2)) <= _MAX_HEADING_CHARS:
            yield Heading(_plain(heading.group(2)), _LATEX_LEVELS[heading.group(1)], number, number)


def _marked(mark: str, block: str) -> Callable[[Sequence[str]], Iterator[Heading]]:
    """Return a finder of lines that begin with repetitions of a mark, outside of lines between two `block` lines."""
    heading = re.compile(rf"({re.escape(mark)}{{1,6}})[ \t]+(\S.*)$")
    border = re.compile(block, re.IGNORECASE)

    def find(lines: Sequence[str]) -> Iterator[Heading]:
        in_block = False
        for number, line in enumerate(lines, start=1):
            if border.match(line):
                in_block = not in_block
            elif not in_block and len(line) <= _MAX_HEADING_CHARS and (match := heading.match(line)):
                yield Heading(_plain(match.group(2)), len(match.group(1)), number, number)

    return find


_FINDERS: dict[str, Callable[[Sequence[str]], Iterator[Heading]]] = {
    "markdown": _markdown,
    "rst": _rst,
    "latex": _latex,
    "asciidoc": _marked("=", r"(?:-{4,}|\.{4,}|={4,}|`{3,})\s*$"),
    "org": _marked("*", r"\s*#\+(?:begin|end)_"),
    "typst": _marked("=", r"\s*`{3,}"),
}


_MAX_TITLE_CHARS = 200
_MAX_SCOPE_CHARS = 400
"""Characters of a title and of a scope that are kept: they are stored with every section below them."""


class _Section(Struct, frozen=True):
    """Lines under one heading, without its subsections.

    Attributes:
        start: First line.
        end: Last line, inclusive.
        title: Title of the heading; empty before the first one.
        path: Titles of the headings above it, outermost first.
        level: Level of the heading; 0 before the first one.
    """

    start: int
    end: int
    title: str = ""
    path: tuple[str, ...] = ()
    level: int = 0


def prose_chunks(text: str, language: str, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Return sections as chunks: in order, disjoint, together every line that is not blank; empty without a heading.

    A section above `max_chars` is cut at blank lines; small neighbours under one parent merge up to `merge_chars`.
    """
    lines = TextLines(text)
    headings = headings_of(lines.lines, language)
    if not headings:
        return ()
    sections = list(_sections(headings, len(lines)))
    contents = Contents(_definitions(headings, sections, len(lines)), ())
    merged = _merged(sections, lines, limits)
    return tuple(chunk for section in merged for chunk in _section_chunks(section, lines, limits, contents))


def _sections(headings: Sequence[Heading], n_lines: int) -> Iterator[_Section]:
    """Yield the section before the first heading, then one section for each heading."""
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


def _merged(sections: Sequence[_Section], lines: TextLines, limits: ChunkLimits) -> list[_Section]:
    """Return sections, small ones joined to the one before: to a sibling, or to the parent whose head they follow."""
    merged = [sections[0]]
    for section in sections[1:]:
        before = merged[-1]
        is_akin = section.path in (before.path, (*before.path, before.title))
        if is_akin and lines.size(before.start, section.end) <= limits.merge_chars:
            merged[-1] = replace(before, end=section.end)
        else:
            merged.append(section)
    return merged


def _section_chunks(section: _Section, lines: TextLines, limits: ChunkLimits, contents: Contents) -> Iterator[Chunk]:
    """Yield the chunks of a section; a blank piece gives none."""
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
    """Return the headings that have a title as definitions; each reaches to the next one of its or a higher level."""
    rows = zip(headings, sections[-len(headings) :], _ends(headings, n_lines), strict=True)
    return [
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
        for heading, section, end_line in rows
        if heading.title
    ]


def _ends(headings: Sequence[Heading], n_lines: int) -> list[int]:
    """Return the last line of each heading's part: it reaches to the next heading of its own or a higher level."""
    ends = [n_lines] * len(headings)
    open_headings: list[int] = []
    for position, heading in enumerate(headings):
        while open_headings and headings[open_headings[-1]].level >= heading.level:
            ends[open_headings.pop()] = heading.start_line - 1
        open_headings.append(position)
    return ends


def _scope(section: _Section) -> str:
    """Return the titles above a section, joined, the outermost first; of a long scope only the end."""
    return " > ".join(section.path)[-_MAX_SCOPE_CHARS:]
