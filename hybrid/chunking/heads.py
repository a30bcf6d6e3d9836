"""Lines, scopes and one-line heads of definitions, read from their syntax nodes; `definitions` calls it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_CHARS = 200
_MAX_BYTES = 600
_MAX_SCOPE_CHARS = 400
"""Of a scope its end is kept: it stands in every definition inside, so a long one would be stored many times."""
_MODIFIERS = re.compile(rb"[\w\s*&<>,?\[\]@.:-]*")
_LINE_END = ord("\n")
_BODY_MARKS = (" do", " then", "=>")


def join_scope(outer: str, inner: str) -> str:
    """Scope names joined by dots; either may be empty; `::` and backslashes between names become dots too."""
    inner = inner.replace("::", ".").replace("\\", ".")
    return (f"{outer}.{inner}" if outer and inner else outer or inner)[-_MAX_SCOPE_CHARS:]


def last_line(node: Node) -> int:
    """The last line of a node, 1-based; a node that ends with its line break does not reach into the next line."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


def line_at(source: bytes, node: Node, begin: int) -> int:
    """The 1-based line of a byte inside a node, at or after its start."""
    start = node.start_byte
    return node.start_point[0] + 1 + (source.count(b"\n", start, begin) if begin > start else 0)


def head_of(node: Node, source: bytes, begin: int) -> str:
    """The head of a definition on one line, at most 200 characters: modifiers, name, parameters, result.

    Args:
        node: The definition.
        source: The whole text.
        begin: Byte where the definition itself begins, behind attributes.
    """
    # Not further back than a head is long: the line of minified text is the whole text.
    nearest = max(0, begin - _MAX_BYTES)
    line_start = source.rfind(b"\n", nearest, begin) + 1 or nearest
    if (line_start == 0 or source[line_start - 1] == _LINE_END) and _MODIFIERS.fullmatch(source, line_start, begin):
        begin = line_start
    body = _body_of(node)
    end = node.end_byte if body is None or body.start_byte <= begin else body.start_byte
    text = source[begin : min(end, begin + _MAX_BYTES)].decode("utf-8", "replace")
    if body is None:
        text = _first_lines(text)
    return _without_body_mark(" ".join(text.split())[:_MAX_CHARS])


def _body_of(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value")
    return None if value is None else value.child_by_field_name("body")


def _without_body_mark(head: str) -> str:
    """A head without what only opens its body: a brace, a colon, an arrow, `do`."""
    length = -1
    while length != len(head):
        length = len(head)
        head = head.rstrip(" {:=;,\\")
        for mark in _BODY_MARKS:
            head = head.removesuffix(mark)
    return head


def _first_lines(text: str) -> str:
    """The first line, and those after it until its round brackets are closed."""
    lines = text.split("\n")
    depth = 0
    for count, line in enumerate(lines, start=1):
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return " ".join(lines[:count])
    return text
