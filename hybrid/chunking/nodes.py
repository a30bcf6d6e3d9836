"""Reads lines, heads, comments and borders of statements off syntax nodes; `definitions` calls it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hybrid.types import LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node


# --- Definitions ---------------------------------------------------------------------------------------------------

_MAX_HEAD_CHARS = 200
_MAX_HEAD_BYTES = 600
_MAX_SCOPE_CHARS = 400
"""Characters of a scope that are kept, from its end, since it is stored with every definition inside."""
_MODIFIERS = re.compile(rb"[\w\s*&<>,?\[\]@.:-]*")
_LINE_END = ord("\n")
_BODY_MARKS = (" do", " then", "=>")


def join_scope(outer: str, inner: str) -> str:
    """Join scope names by dots; either may be empty; `::` and backslashes in `inner` become dots.

    Of a long scope only the last 400 characters are returned.
    """
    inner = inner.replace("::", ".").replace("\\", ".")
    return (f"{outer}.{inner}" if outer and inner else outer or inner)[-_MAX_SCOPE_CHARS:]


def last_line(node: Node) -> int:
    """Return the last line of a node, from 1; one that ends with its line break does not reach into the next line."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


def line_at(source: bytes, node: Node, begin: int) -> int:
    """Return the line, from 1, of a byte inside a node; for a byte before the node, that of its start."""
    start = node.start_byte
    return node.start_point[0] + 1 + (source.count(b"\n", start, begin) if begin > start else 0)


def head_of(node: Node, source: bytes, begin: int) -> str:
    """Return the head of a definition on one line, at most 200 characters: modifiers, name, parameters, result.

    Args:
        node: The definition.
        source: The whole text.
        begin: Byte where the definition itself begins, behind attributes.
    """
    # Not further back than a head is long: the line of minified text is the whole text.
    nearest = max(0, begin - _MAX_HEAD_BYTES)
    line_start = source.rfind(b"\n", nearest, begin) + 1 or nearest
    if (line_start == 0 or source[line_start - 1] == _LINE_END) and _MODIFIERS.fullmatch(source, line_start, begin):
        begin = line_start
    body = _body_of(node)
    end = node.end_byte if body is None or body.start_byte <= begin else body.start_byte
    text = source[begin : min(end, begin + _MAX_HEAD_BYTES)].decode("utf-8", "replace")
    if body is None:
        text = _first_lines(text)
    return _without_body_mark(" ".join(text.split())[:_MAX_HEAD_CHARS])


def _body_of(node: Node) -> Node | None:
    """Return the body of a definition or of the function that is its value; None without one."""
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value")
    return None if value is None else value.child_by_field_name("body")


def _without_body_mark(head: str) -> str:
    """Return a head without what only opens its body: a brace, a colon, an arrow, `do`."""
    length = -1
    while length != len(head):
        length = len(head)
        head = head.rstrip(" {:=;,\\")
        for mark in _BODY_MARKS:
            head = head.removesuffix(mark)
    return head


def _first_lines(text: str) -> str:
    """Return the first line, and those after it until its round brackets are closed."""
    lines = text.split("\n")
    depth = 0
    for count, line in enumerate(lines, start=1):
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return " ".join(lines[:count])
    return text


# --- Comments, decorators and attributes ---------------------------------------------------------------------------

_BLANK = b" \t\f\r\n"
_MAX_BLANK = 1000
"""Bytes of white space beside a comment that are looked through; a minified line may hold thousands of comments."""


class Trivia(Struct, frozen=True):
    """Comments, decorators and attributes around definitions.

    Attributes:
        comments: Lines of the comments, in order; neighbours of whole lines are joined.
        leads: Last line → first line of every whole-line comment, decorator or attribute.
        attribute_ends: Start byte → end byte of decorators and attributes.
    """

    comments: tuple[LineSpan, ...]
    leads: Mapping[int, int]
    attribute_ends: Mapping[int, int]

    def after_attributes(self, source: bytes, start: int) -> int:
        """Return the byte where a definition itself begins, behind the attributes that begin at `start`, if any."""
        while start in self.attribute_ends:
            start = self.attribute_ends[start]
            while start < len(source) and source[start] in _BLANK:
                start += 1
        return start


def trivia_of(source: bytes, captures: Mapping[str, Sequence[Node]]) -> Trivia:
    """Return comments, leads and attributes of a text from the captures `comment`, `attribute` and `outer`."""
    # Comments are the most of all captures: each is asked for its places once.
    places = sorted(map(_place, captures.get("comment", ())), key=lambda place: (place.start, -place.end))
    spans = [(LineSpan(place.first_line, place.last_line), _fills_lines(place, source)) for place in places]
    leads = {span.end_line: span.start_line for span, is_whole in spans if is_whole}
    attributes = captures.get("attribute", ())
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
    """Yield last and first line of each wrapper's part before its last child: `template <typename T>` of a function."""
    for node in nodes:
        first = node.start_point[0]
        inner = node.named_children[-1].start_point[0] if node.named_child_count else first
        if inner > first:
            yield inner, first + 1


class _Place(NamedTuple):
    """The position of a node: bytes, and lines from 1; `column` is that of its first byte, from 0."""

    start: int
    end: int
    column: int
    first_line: int
    last_line: int


def _place(node: Node) -> _Place:
    """Return the position of a node; its last line is that of `last_line`."""
    row, column = node.start_point
    end_row, end_column = node.end_point
    last_line = end_row if end_column == 0 and end_row > row else end_row + 1
    return _Place(node.start_byte, node.end_byte, column, row + 1, last_line)


def _fills_lines(place: _Place, source: bytes) -> bool:
    """Return whether nothing but white space stands before and after a node on its lines."""
    start, end = place.start, place.end
    if place.column > _MAX_BLANK or (place.column and source[start - place.column : start].strip()):
        return False
    if source[end - 1 : end] == b"\n" or source[end : end + 1] == b"\n":
        return True
    before, line_end, _ = source[end : end + _MAX_BLANK].partition(b"\n")
    return not before.strip() and bool(line_end or end + _MAX_BLANK >= len(source))


def _joined(spans: Sequence[tuple[LineSpan, bool]]) -> list[LineSpan]:
    """Return spans in order; whole lines that touch become one span, and a span inside another is dropped.

    Args:
        spans: Each with whether it is of whole lines; sorted by start, the longer ones first.
    """
    joined: list[LineSpan] = []
    was_whole = False
    for span, is_whole in spans:
        if joined and span.end_line <= joined[-1].end_line:
            continue
        if joined and is_whole and was_whole and span.start_line <= joined[-1].end_line + 1:
            joined[-1] = LineSpan(joined[-1].start_line, span.end_line)
        else:
            joined.append(span)
            was_whole = is_whole
    return joined


# --- Borders of statements -----------------------------------------------------------------------------------------

_LONG_BYTES = 900
"""Bytes of a node up to which it is not looked into: it fits into a chunk, and the cost stays small."""
_MAX_LEVEL = 40
_MAX_INDENT = 400
_GLUED = ("comment", "decorator", "attribute", "annotation", "modifiers")


def statement_borders(root: Node, source: bytes) -> dict[int, int]:
    """Return line → level in the tree, 0 at the top, of the parts of long nodes that start on a line.

    Only nodes longer than 900 bytes are looked into, so that the cost stays small next to the parse. A part right
    below a comment or decorator is no border: they belong together.
    """
    borders: dict[int, int] = {}
    stack = [(root, 0)]
    while stack:
        node, level = stack.pop()
        glued_row = -1
        for child in node.named_children:
            row, column = child.start_point
            start = child.start_byte
            if row != glued_row and column <= _MAX_INDENT and not source[start - column : start].strip():
                borders.setdefault(row + 1, level)
            glued_row = -1
            if _is_glued(child.type):
                end_row, end_column = child.end_point
                glued_row = end_row + (end_column > 0)
            if child.end_byte - start > _LONG_BYTES and level < _MAX_LEVEL:
                stack.append((child, level + 1))
    return borders


@cache
def _is_glued(node_type: str) -> bool:
    """Return True for types of nodes that belong to the part below them, such as comments and decorators."""
    return any(word in node_type for word in _GLUED)
