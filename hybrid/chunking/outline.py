"""Arranges definitions as a tree of line ranges, each with the comments and decorators above it; `code` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.types import Definition

_MAX_DEPTH = 32


class OutlineNode(Struct):
    """A definition as a range of lines; the root has no definition.

    Attributes:
        start: First line, leading comments and decorators included.
        end: Last line, inclusive.
        definition: What the range shows.
        children: In order, disjoint, inside the range.
    """

    start: int
    end: int
    definition: Definition | None = None
    children: list[OutlineNode] = field(default_factory=list["OutlineNode"])


def outline(definitions: Sequence[Definition], leads: Mapping[int, int], n_lines: int) -> OutlineNode:
    """The tree of a file's definitions.

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
    """The first of the comment and decorator lines right above a line, or the line itself."""
    while line - 1 in leads and leads[line - 1] < line:
        line = leads[line - 1]
    return line
