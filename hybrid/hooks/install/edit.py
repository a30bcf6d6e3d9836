"""Adds and removes members and elements in a JSON text, leaving every other byte as it is; `merge` calls it.

Each function takes a text and a node parsed from that very text, and returns the new text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid.hooks.install.jsonc import Item, Node

_LINE_COMMENT_LAST = re.compile(r"//[^\r\n]*\Z")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_INDENT = re.compile(r"\n([ \t]*)\Z")


def append(text: str, container: Node, value: Any, *, key: str | None = None) -> str:
    """Add a value at the end of an object or array, indented as its neighbours are.

    Args:
        text: The whole text.
        container: An object or array in it.
        value: What to add.
        key: Its name, in an object.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    close = container.end - 1
    at = close - _space_before(text, close)
    is_flat = bool(container.items) and "\n" not in text[container.start : container.items[-1].node.end]
    indent = _line_indent(text, container.start) + unit
    if container.items and not is_flat:
        indent = _own_indent(text, container.items[-1].start) or indent
    shown = _shown(value, key=key, indent=indent, unit=unit, newline=newline, is_flat=is_flat)
    needs_line = not is_flat or bool(_LINE_COMMENT_LAST.search(text, 0, at))
    added = (newline + indent if needs_line else " ") + shown
    tail = text[at:]
    last = container.items[-1] if container.items else None
    if last and last.comma is not None:
        added += ","
    if not is_flat and "\n" not in text[at:close]:
        tail = newline + _line_indent(text, container.start) + text[close:]
    if last and last.comma is None:
        return text[: last.node.end] + "," + text[last.node.end : at] + added + tail
    return text[:at] + added + tail


def replace(text: str, item: Item, value: Any) -> str:
    """Give a member or element another value, in its place."""
    newline = "\r\n" if "\r\n" in text else "\n"
    is_flat = "\n" not in text[item.node.start : item.node.end]
    indent = _line_indent(text, item.start)
    shown = _shown(value, key=None, indent=indent, unit=_unit(text), newline=newline, is_flat=is_flat)
    return text[: item.node.start] + shown + text[item.node.end :]


def remove(text: str, container: Node, index: int) -> str:
    """Take a member or element out, with its comma; comments around it stay."""
    item = container.items[index]
    start = item.start - _space_before(text, item.start)
    end = item.node.end
    if len(container.items) == 1 and not text[container.start + 1 : item.start].strip():
        after = end if item.comma is None else item.comma + 1
        if not text[end : container.end - 1].replace(",", "", 1).strip():
            return text[: container.start + 1] + text[container.end - 1 :]
        return text[:start] + text[end : item.comma or end] + text[after:]
    rest = text[end:] if item.comma is None else text[end : item.comma] + text[item.comma + 1 :]
    head = text[:start]
    if _LINE_COMMENT_LAST.search(head) and not _REST_OF_LINE.match(rest):
        # The line that a comment ends must end before what follows now.
        head += text[start : item.start][: text[start : item.start].find("\n") + 1]
    previous = container.items[index - 1].comma if index else None
    if item.comma is None and previous is not None:
        head = head[:previous] + head[previous + 1 :]
    return head + rest


def _shown(value: Any, *, key: str | None, indent: str, unit: str, newline: str, is_flat: bool) -> str:
    """A value as text; short lists of words stay on one line."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if is_flat:
        return name + json.dumps(value, ensure_ascii=False)
    body = json.dumps(value, ensure_ascii=False, indent=unit)
    return name + body.replace("\n", newline + indent)


def _space_before(text: str, at: int) -> int:
    """Length of the space that ends at a position."""
    return at - len(text[:at].rstrip(" \t\r\n"))


def _line_indent(text: str, at: int) -> str:
    """The space that the line of a position begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_indent(text: str, at: int) -> str | None:
    """The space before something that begins its line, or None."""
    found = _INDENT.search(text[:at])
    return found.group(1) if found else None


def _unit(text: str) -> str:
    """One step of indentation: that of the first line that has any, else two spaces."""
    found = re.search(r"\n([ \t]+)\"", text)
    return found.group(1) if found else "  "
