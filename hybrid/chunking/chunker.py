"""Cuts a document into chunks by the method that fits it; the index and the CLI call it.

Source text is cut along its definitions. One with its leading comments and decorators stays whole up to `max_chars`; a
longer one is opened into its head, its members and what lies between; neighbours in one scope are merged up to
`merge_chars`. Documents with headings are cut into their sections, the rest at blank lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.chunking.definitions import parse
from hybrid.chunking.grammars import grammars_version, join_scope
from hybrid.chunking.languages import MARKUP
from hybrid.types import Chunk, Chunked, Definition, LineSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hybrid.chunking.definitions import Parsed
    from hybrid.types import ChunkLimits, Document


_LEVEL_COST = 300
"""Characters that a piece may miss the wished size by, for a border one level higher."""
_BLANK_BONUS = 150
"""Characters that a piece may miss the wished size by, for a border behind a blank line."""
_BLANK_LEVEL = 8
_ANY_LEVEL = 20
"""Levels that count for a line without a border, after a blank line and elsewhere: statements are cut last."""
_SLACK = 1.25
"""Times the wished size up to which a range stays whole, or its rest would be a scrap."""
_LEAST_SHARE = 0.3
"""Share of the wished size that every piece has at least."""


class TextLines:
    """Lines of a text, numbered from 1. Only a line feed ends a line, as tree-sitter counts them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._ends = [0, *accumulate(map((1).__add__, map(len, self.lines)))]
        self._is_blank = [not line for line in map(str.strip, self.lines)]

    def __len__(self) -> int:
        return len(self.lines)

    def size(self, start: int, end: int) -> int:
        """Return the number of characters from line `start` to line `end` inclusive, line ends counted."""
        return self._ends[end] - self._ends[start - 1]

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return the range without blank lines at its ends; its start lies behind its end when nothing is left."""
        while start <= end and self._is_blank[start - 1]:
            start += 1
        while end > start and self._is_blank[end - 1]:
            end -= 1
        return start, end

    def cut(self, start: int, end: int, limits: ChunkLimits, borders: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """Yield first and last line of a range's pieces: near `cut_chars`, not above `max_chars` but for a single line.

        Args:
            start: First line.
            end: Last line, inclusive.
            limits: Sizes to aim at.
            borders: Lines where a statement starts → nesting level. Shallow ones are preferred, then blank lines.
        """
        while self.size(start, end) > limits.cut_chars * _SLACK:
            border = self._best_border(start, end, limits, borders)
            yield start, border - 1
            start = border
            if start > end:
                return
        yield start, end

    def _best_border(self, start: int, end: int, limits: ChunkLimits, borders: Mapping[int, int]) -> int:
        """Return the first line of the next piece, in (start, end + 1]."""
        best, best_cost = start + 1, float("inf")
        ends, is_blank, before = self._ends, self._is_blank, self._ends[start - 1]
        # Of the lines that may begin the next piece, those that leave enough before them, and not too much.
        first = bisect_left(ends, before + limits.cut_chars * _LEAST_SHARE, start) + 1
        last = bisect_right(ends, before + limits.max_chars, start, end)
        for line in range(first, last + 1):
            if is_blank[line - 1]:
                continue
            size = ends[line - 1] - before
            after_blank = is_blank[line - 2]
            level = borders.get(line, _BLANK_LEVEL if after_blank else _ANY_LEVEL)
            cost = _LEVEL_COST * level + abs(size - limits.cut_chars) - _BLANK_BONUS * after_blank
            if cost <= best_cost:
                best, best_cost = line, cost
        if best_cost == float("inf"):
            return self._forced_border(start, end, limits)
        return best

    def _forced_border(self, start: int, end: int, limits: ChunkLimits) -> int:
        """Return the first line of the next piece when no line lies at a good size: the first one that does not fit."""
        line = start
        while line < end and self.size(start, line + 1) <= limits.max_chars:
            line += 1
        return line + 1


class Contents:
    """Definitions and comments of a document, found by line.

    Args:
        definitions: The definitions, sorted by start line.
        comments: The comments, sorted by start line.
    """

    def __init__(self, definitions: Sequence[Definition], comments: Sequence[LineSpan]) -> None:
        self._definitions = tuple(definitions)
        self._comments = comments
        self._starts = [definition.start_line for definition in definitions]
        self._comment_ends = list(accumulate((comment.end_line for comment in comments), max))

    def within(self, start: int, end: int) -> tuple[tuple[Definition, ...], tuple[LineSpan, ...]]:
        """Return definitions that start on lines `start` to `end` inclusive, and the parts of comments there."""
        definitions = self._definitions[bisect_left(self._starts, start) : bisect_left(self._starts, end + 1)]
        comments: list[LineSpan] = []
        for position in range(bisect_left(self._comment_ends, start), len(self._comments)):
            comment = self._comments[position]
            if comment.start_line > end:
                break
            if comment.end_line >= start:
                comments.append(LineSpan(max(comment.start_line, start), min(comment.end_line, end)))
        return definitions, tuple(comments)


# --- headings ------------------------------------------------------------------------------------------------


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


# --- sections ------------------------------------------------------------------------------------------------

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


# --- source text ---------------------------------------------------------------------------------------------

_MAX_DEPTH = 32
"""Levels of nested definitions that are opened at most, so that the recursion over them stays small."""


class OutlineNode(Struct):
    """A definition as a range of lines; the root has no definition.

    Attributes:
        start: First line, leading comments and decorators included.
        end: Last line, inclusive.
        definition: The definition that the range holds; None for the root.
        children: Nodes of the definitions inside, in order and disjoint.
    """

    start: int
    end: int
    definition: Definition | None = None
    children: list[OutlineNode] = field(default_factory=list["OutlineNode"])


def outline(definitions: Sequence[Definition], leads: Mapping[int, int], n_lines: int) -> OutlineNode:
    """Return the tree of a file's definitions.

    Values on a single line are left to what surrounds them. Ranges of siblings never overlap: a definition that
    begins on a line of the one before it gets the lines behind that one.

    Args:
        definitions: Sorted by (start_line, −end_line).
        leads: Last line → first line of comments, decorators and attributes.
        n_lines: Lines of the file.
    """
    root = OutlineNode(1, n_lines)
    firsts: dict[int, int] = {}  # Many definitions may stand on one line, below thousands of lines of comment.
    stack = [root]
    for definition in definitions:
        if definition.is_value and definition.start_line == definition.end_line:
            continue
        while len(stack) > 1 and stack[-1].end < definition.end_line:
            stack.pop()
        above = stack[-1]
        if len(stack) > _MAX_DEPTH or definition.end_line > n_lines:
            continue
        floor = above.children[-1].end + 1 if above.children else above.start
        if above.definition is not None:
            floor = max(floor, above.definition.start_line)
        line = definition.start_line
        if line not in firsts:
            firsts[line] = _lead(line, leads)
        start = max(firsts[line], floor)
        if start > definition.end_line or (start, definition.end_line) == (above.start, above.end):
            continue
        node = OutlineNode(start, definition.end_line, definition)
        above.children.append(node)
        stack.append(node)
    return root


def _lead(line: int, leads: Mapping[int, int]) -> int:
    """Return the first line of the comments and decorators right above a line, or the line itself without any."""
    while line - 1 in leads and leads[line - 1] < line:
        line = leads[line - 1]
    return line


_TINY_CHARS = 60
"""Characters of a unit below which it says nothing alone: a closing bracket, a lone import."""


class _Unit(Struct, frozen=True):
    """A range of lines that is not cut any further.

    Attributes:
        start: First line.
        end: Last line, inclusive.
        owner: The opened definition that the unit is a part of, None at top level; units of one owner may be merged.
        shown: The definition that the unit shows, None for plain lines and for several definitions.
        is_mixed: True when the unit holds several definitions and thus shows none of them.
    """

    start: int
    end: int
    owner: Definition | None
    shown: Definition | None
    is_mixed: bool = False


def code_chunks(text: str, parsed: Parsed, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Return chunks of a parsed text: in order, disjoint, together every line that is not blank."""
    lines = TextLines(text)
    root = outline(parsed.definitions, parsed.leads, len(lines))
    units = [unit for unit in _units(root, None, lines, limits, parsed) if unit.start <= unit.end]
    contents = Contents(parsed.definitions, parsed.comments)
    return tuple(_chunk(unit, contents) for unit in _merge(units, lines, limits))


def _units(
    node: OutlineNode, owner: Definition | None, lines: TextLines, limits: ChunkLimits, parsed: Parsed
) -> Iterator[_Unit]:
    """Yield the units of a node in order; a node that is small enough is one unit, others are opened."""
    definition = node.definition
    if definition is not None and lines.size(node.start, node.end) <= limits.max_chars:
        yield _Unit(*lines.trimmed(node.start, node.end), owner, definition)
        return
    position = node.start
    for child in [*node.children, None]:
        gap_end = child.start - 1 if child is not None else node.end
        if position <= gap_end:
            for start, end in lines.cut(position, gap_end, limits, parsed.borders):
                is_shown = start == node.start or not node.children
                yield _Unit(*lines.trimmed(start, end), definition, definition if is_shown else None)
        if child is not None:
            yield from _units(child, definition, lines, limits, parsed)
            position = child.end + 1


def _merge(units: Sequence[_Unit], lines: TextLines, limits: ChunkLimits) -> list[_Unit]:
    """Merge neighbours in one scope while they fit; a line or two that would stand alone join what is before them."""
    merged: list[_Unit] = []
    for unit in units:
        if merged and _fits(merged[-1], unit, lines, limits):
            merged[-1] = _joined(merged[-1], unit)
        else:
            merged.append(unit)
    return merged


def _fits(before: _Unit, unit: _Unit, lines: TextLines, limits: ChunkLimits) -> bool:
    """Return whether a unit is to join the one before it: they are of one scope and short, or one is tiny."""
    together = lines.size(before.start, unit.end)
    if before.owner is unit.owner and together <= limits.merge_chars:
        return True
    is_tiny = lines.size(unit.start, unit.end) < _TINY_CHARS and unit.shown is None and not unit.is_mixed
    is_mere_head = before.shown is None or before.shown is before.owner
    was_tiny = lines.size(before.start, before.end) < _TINY_CHARS and is_mere_head and not before.is_mixed
    return (is_tiny or (was_tiny and before.owner is unit.owner)) and together <= limits.max_chars


def _joined(before: _Unit, unit: _Unit) -> _Unit:
    """Join two units: the result shows the opened definition whose head comes first, else the only one they show."""
    is_head = before.shown is not None and before.shown is before.owner
    is_mixed = not is_head and (
        before.is_mixed
        or unit.is_mixed
        or (before.shown is not None and unit.shown is not None and before.shown is not unit.shown)
    )
    shown = None if is_mixed else before.shown or unit.shown
    return _Unit(before.start, unit.end, before.owner, shown, is_mixed)


def _chunk(unit: _Unit, contents: Contents) -> Chunk:
    """Return the chunk of a unit, with what is defined and said in it."""
    definitions, comments = contents.within(unit.start, unit.end)
    shown = unit.shown
    if shown is None:
        scope = "" if unit.owner is None else join_scope(unit.owner.scope, unit.owner.name)
        return Chunk(unit.start, unit.end, scope=scope, definitions=definitions, comments=comments)
    return Chunk(
        unit.start,
        unit.end,
        name=shown.name,
        kind=shown.kind,
        signature=shown.signature,
        scope=shown.scope,
        definitions=definitions,
        comments=comments,
    )


CHUNKER_VERSION = "7"
"""Version of our own rules, raised whenever the same text would give other chunks or literals."""

_WITHOUT_DEFINITIONS = frozenset(
    {"batch", "dockerfile", "dtd", "embedded_template", "gitignore", "gotmpl", "heex", "ini", "jinja2",
     "markdown_inline", "properties", "text", "xml"}
)  # fmt: skip


# More chunks or definitions than this, and one more for so many characters of the text, no ordinary source has: such a
# text is data, or made to be slow, and is cut at blank lines.
_LEAST = 200
_CHUNK_CHARS = 60
_DEFINITION_CHARS = 12


def chunker_version() -> str:
    """Return the version under which texts are chunked: that of our own rules and that of the grammars."""
    return f"{CHUNKER_VERSION}+grammars-{grammars_version()}"


def chunk_document(document: Document, limits: ChunkLimits) -> Chunked:
    """Cut a document into chunks: in order, disjoint, together every line that is not blank.

    Documents with headings are cut at them, source text along its definitions, the rest at blank lines. A grammar
    that is missing or gives up is named in `fallback`; the text is then cut at blank lines, and so is one of more
    headings or definitions than any ordinary text has. The work is bounded by the length. Never raises for a text.
    """
    is_markup = document.language in MARKUP
    if is_markup and (sections := prose_chunks(document.text, document.language, limits)):
        return _bounded(document, Chunked(sections, "headings"), limits)
    if is_markup or document.language in _WITHOUT_DEFINITIONS:
        return Chunked(line_chunks(document.text, limits), "lines")
    parsed = parse(document.text, document.language, document.path)
    if parsed.failure:
        return Chunked(line_chunks(document.text, limits), "lines", parsed.failure)
    return _bounded(document, Chunked(code_chunks(document.text, parsed, limits), "definitions"), limits)


def _bounded(document: Document, chunked: Chunked, limits: ChunkLimits) -> Chunked:
    """Return the chunks as they are; if they hold too many pieces for a text of this length, `line_chunks` instead."""
    length = len(document.text)
    n_definitions = sum(len(chunk.definitions) for chunk in chunked.chunks)
    if len(chunked.chunks) > _LEAST + length // _CHUNK_CHARS or n_definitions > _LEAST + length // _DEFINITION_CHARS:
        return Chunked(line_chunks(document.text, limits), "lines", "too_many")
    return chunked


def line_chunks(text: str, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Return chunks near `cut_chars`, cut at blank lines where there are any; together every line that is not blank."""
    lines = TextLines(text)
    pieces = (lines.trimmed(start, end) for start, end in lines.cut(1, len(lines), limits, {}))
    return tuple(Chunk(start, end) for start, end in pieces if start <= end)
