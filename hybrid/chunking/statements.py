"""Finds lines at which a long definition can be cut without cutting a statement; `definitions` calls it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_LONG_BYTES = 900
_MAX_LEVEL = 40
_MAX_INDENT = 400
_GLUED = ("comment", "decorator", "attribute", "annotation", "modifiers")


def statement_borders(root: Node, source: bytes) -> dict[int, int]:
    """Lines where a part of something long starts → its level in the tree, 0 at the top.

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
    """True for what belongs to the part below it."""
    return any(word in node_type for word in _GLUED)
