"""Reads JSON with comments and trailing commas, and changes members in its text, leaving every other byte as it is.

A value knows its place in the text. Why not a library: `json` forgets positions, and the JSON grammar that reads code
repairs what is broken, which is the opposite of refusing a file, and calls a trailing comma an error.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from typing import TypeGuard


_SPACE = re.compile(r"[ \t\r\n]+")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_ATOM = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)", re.ASCII)
_MAX_DEPTH = 100


class JsoncError(ValueError):
    """The text is no JSON; the message names the line."""


class JsonItem(Struct, frozen=True):
    """A member of an object or an element of an array.

    Attributes:
        key: Decoded; empty in an array.
        start: Position of the key, or of the element.
        node: The value.
        comma: Position of the comma after it, or None.
    """

    key: str
    start: int
    node: JsonNode
    comma: int | None


class JsonNode(Struct, frozen=True):
    """A value in the text.

    Attributes:
        start: Position of its first character.
        end: Position after its last one.
        value: The value, as `json` would give it.
        items: Members or elements of an object or array, in order.
    """

    start: int
    end: int
    value: Any
    items: tuple[JsonItem, ...] = ()

    def member(self, key: str) -> JsonItem | None:
        """Return the last member of that name, which is the one that counts."""
        return next((item for item in reversed(self.items) if item.key == key), None)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value read from JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value read from JSON is an array."""
    return isinstance(value, list)


def parse(text: str) -> JsonNode:
    """Return the one value of a text; a byte order mark is passed over.

    Raises:
        JsoncError: The text is no JSON, even with comments and trailing commas allowed.
    """
    parser = _Parser(text)
    root = parser.value(parser.skip(1 if text.startswith("\ufeff") else 0), 0)
    if parser.skip(root.end) != len(text):
        raise parser.problem(parser.skip(root.end), "more text after the end")
    return root


class _Parser:
    """Recursive descent; every method takes a position and leaves the text alone."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        """Return the first position from this one on that is neither in white space nor in a comment."""
        text = self._text
        while at < len(text):
            match = _SPACE.match(text, at) or _LINE_COMMENT.match(text, at) or _BLOCK_COMMENT.match(text, at)
            if not match:
                break
            at = match.end()
        return at

    def value(self, at: int, depth: int) -> JsonNode:
        """Return the value that begins at a position; raises the error of a text that is no JSON."""
        if depth > _MAX_DEPTH:
            raise self.problem(at, "nested too deeply")
        first = self._text[at : at + 1]
        if first == "{":
            return self._container(at, depth, close="}")
        if first == "[":
            return self._container(at, depth, close="]")
        match = _STRING.match(self._text, at) or _ATOM.match(self._text, at)
        if not match:
            raise self.problem(at, "a value is missing or misspelt")
        try:
            return JsonNode(at, match.end(), json.loads(match.group()))
        except ValueError as error:  # Python refuses to read a number of thousands of digits.
            raise self.problem(at, "a number is too long") from error

    def problem(self, at: int, what: str) -> JsoncError:
        """Return an error that names the line."""
        return JsoncError(f"line {self._text.count(chr(10), 0, at) + 1}: {what}")

    def _container(self, start: int, depth: int, *, close: str) -> JsonNode:
        items: list[JsonItem] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != close:
            if items and items[-1].comma is None:
                raise self.problem(at, f"a comma or {close} is missing")
            items.append(self._item(at, depth, has_key=close == "}"))
            last = items[-1]
            at = self.skip(last.node.end if last.comma is None else last.comma + 1)
        if close == "}":
            return JsonNode(start, at + 1, {item.key: item.node.value for item in items}, tuple(items))
        return JsonNode(start, at + 1, [item.node.value for item in items], tuple(items))

    def _item(self, start: int, depth: int, *, has_key: bool) -> JsonItem:
        key, at = "", start
        if has_key:
            match = _STRING.match(self._text, start)
            if not match:
                raise self.problem(start, "the name of a member is missing")
            key, at = json.loads(match.group()), self.skip(match.end())
            if self._text[at : at + 1] != ":":
                raise self.problem(at, "a colon is missing")
            at = self.skip(at + 1)
        node = self.value(at, depth + 1)
        after = self.skip(node.end)
        return JsonItem(key, start, node, after if self._text[after : after + 1] == "," else None)


# --- changes of a text ------------------------------------------------------------------------------------


_LINE_COMMENT_LAST = re.compile(r"//[^\r\n]*\Z")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_INDENT = re.compile(r"\n([ \t]*)\Z")


def append_value(text: str, container: JsonNode, value: Any, *, key: str | None = None) -> str:
    """Add a value at the end of an object or array, indented as its neighbours are.

    Args:
        text: The whole text.
        container: An object or array in it.
        value: The value to add.
        key: The key of the value, in an object.
    """
    newline = _newline(text)
    close = container.end - 1
    at = close - _space_before(text, close)
    is_flat = bool(container.items) and "\n" not in text[container.start : container.items[-1].node.end]
    indent = _line_indent(text, container.start) + _unit(text)
    if container.items and not is_flat:
        begins_line = _INDENT.search(text[: container.items[-1].start])
        indent = (begins_line and begins_line[1]) or indent
    shown = _key_and_value(text, key, value, None if is_flat else indent)
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


def replace_value(text: str, item: JsonItem, value: Any) -> str:
    """Give a member or element another value, in its place."""
    is_flat = "\n" not in text[item.node.start : item.node.end]
    shown = _key_and_value(text, None, value, None if is_flat else _line_indent(text, item.start))
    return text[: item.node.start] + shown + text[item.node.end :]


def remove_item(text: str, container: JsonNode, item: JsonItem) -> str:
    """Take a member or element out, with its comma; comments around it stay."""
    index = container.items.index(item)
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


def _key_and_value(text: str, key: str | None, value: Any, indent: str | None) -> str:
    """Return a value as JSON, after its key in an object.

    Args:
        text: The text whose line ends and step of indentation are used.
        key: None in an array.
        value: The value to show.
        indent: Indent of the line on which the value begins; None for a value that stays on one line.
    """
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if indent is None:
        return name + json.dumps(value, ensure_ascii=False)
    body = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return name + body.replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _space_before(text: str, at: int) -> int:
    """Return the length of the space that ends at a position."""
    return at - len(text[:at].rstrip(" \t\r\n"))


def _line_indent(text: str, at: int) -> str:
    """Return the white space with which the line of a position begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of indentation: that of the first line that has any, else two spaces."""
    match = re.search(r"\n([ \t]+)\"", text)
    return match.group(1) if match else "  "
