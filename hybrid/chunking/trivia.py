"""Comments, decorators and attributes of a text as spans of lines; `definitions` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hybrid.chunking.heads import last_line
from hybrid.types import LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

_BLANK = b" \t\f\r\n"
_MAX_BLANK = 1000
"""White space on a line beside a comment that is looked through; a line of minified text has thousands of comments."""


class Trivia(Struct, frozen=True):
    """What stands around definitions.

    Attributes:
        comments: In order; neighbours of whole lines are joined.
        leads: Last line → first line of every whole-line comment, decorator or attribute.
        attribute_ends: Start byte → end byte of decorators and attributes.
    """

    comments: tuple[LineSpan, ...]
    leads: Mapping[int, int]
    attribute_ends: Mapping[int, int]

    def after_attributes(self, source: bytes, start: int) -> int:
        """The byte where a definition begins that starts with attributes at the given byte."""
        while start in self.attribute_ends:
            start = self.attribute_ends[start]
            while start < len(source) and source[start] in _BLANK:
                start += 1
        return start


def trivia_of(source: bytes, captures: Mapping[str, Sequence[Node]]) -> Trivia:
    """Comments and leads of a text from the captures `comment`, `attribute` and `outer`."""
    # Comments are the most of all captures: each is asked for its places once.
    places = [_place(node) for node in captures.get("comment", ())]
    places.sort(key=lambda place: (place.start, -place.end))
    attributes = captures.get("attribute", ())
    leads: dict[int, int] = {}
    spans: list[tuple[LineSpan, bool]] = []
    for place in places:
        span = LineSpan(place.first_line, place.last_line)
        is_whole = _fills_lines(place, source)
        spans.append((span, is_whole))
        if is_whole:
            leads[span.end_line] = span.start_line
    for node in attributes:
        if _fills_lines(_place(node), source):
            leads[last_line(node)] = node.start_point[0] + 1
    leads.update(_outer_leads(captures.get("outer", ())))
    return Trivia(
        comments=tuple(_joined(spans)),
        leads=leads,
        attribute_ends={node.start_byte: node.end_byte for node in attributes},
    )


def _outer_leads(nodes: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """Lines of a wrapper that lie before its last child: `template <typename T>` above a function."""
    for node in nodes:
        first = node.start_point[0]
        inner = node.named_children[-1].start_point[0] if node.named_child_count else first
        if inner > first:
            yield inner, first + 1


class _Place(NamedTuple):
    """Where a node stands: bytes, and lines from 1; `column` is that of its first byte, from 0."""

    start: int
    end: int
    column: int
    first_line: int
    last_line: int


def _place(node: Node) -> _Place:
    row, column = node.start_point
    end_row, end_column = node.end_point
    last_line = end_row if end_column == 0 and end_row > row else end_row + 1
    return _Place(node.start_byte, node.end_byte, column, row + 1, last_line)


def _fills_lines(place: _Place, source: bytes) -> bool:
    """True when nothing but white space stands before and after a node on its lines."""
    start, end = place.start, place.end
    if place.column > _MAX_BLANK or (place.column and source[start - place.column : start].strip()):
        return False
    if source[end - 1 : end] == b"\n" or source[end : end + 1] == b"\n":
        return True
    before, line_end, _ = source[end : end + _MAX_BLANK].partition(b"\n")
    return not before.strip() and bool(line_end or end + _MAX_BLANK >= len(source))


def _joined(spans: Sequence[tuple[LineSpan, bool]]) -> Iterator[LineSpan]:
    """Spans in order; those of whole lines that touch become one, those inside another are dropped."""
    pending: LineSpan | None = None
    pending_whole = False
    for span, is_whole in spans:
        if pending is not None and span.end_line <= pending.end_line:
            continue
        if pending is not None and is_whole and pending_whole and span.start_line <= pending.end_line + 1:
            pending = LineSpan(pending.start_line, span.end_line)
            continue
        if pending is not None:
            yield pending
        pending, pending_whole = span, is_whole
    if pending is not None:
        yield pending
