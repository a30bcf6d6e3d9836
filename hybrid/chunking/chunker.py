"""Cuts a document into chunks by the method that fits it; the index and the CLI call it.

Source text is cut along its definitions. One with its leading comments and decorators stays whole up to `max_chars`; a
longer one is opened into its head, its members and what lies between; neighbours in one scope are merged up to
`merge_chars`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.chunking.definitions import parse
from hybrid.chunking.grammars import grammars_version
from hybrid.chunking.languages import MARKUP
from hybrid.chunking.nodes import join_scope
from hybrid.chunking.prose import prose_chunks
from hybrid.chunking.textlines import Contents, TextLines
from hybrid.types import Chunk, Chunked, Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.chunking.definitions import Parsed
    from hybrid.types import ChunkLimits, Document


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


CHUNKER_VERSION = "4"
"""Version of our own rules, raised whenever the same text would give other chunks."""

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
    parsed = parse(document.text, document.language)
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
