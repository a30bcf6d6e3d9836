"""Parses JSON with comments and trailing commas into values that know their place in the text; `edit` changes it there.

Why not a library: `json` forgets positions, and the JSON grammar that reads code repairs what is broken, which is the
opposite of refusing a file, and calls a trailing comma an error.
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


class Item(Struct, frozen=True):
    """A member of an object or an element of an array.

    Attributes:
        key: Decoded; empty in an array.
        start: Of the key, or of the element.
        node: The value.
        comma: Position of the comma after it, or None.
    """

    key: str
    start: int
    node: Node
    comma: int | None


class Node(Struct, frozen=True):
    """A value in the text.

    Attributes:
        start: Position of its first character.
        end: Position after its last one.
        value: As `json` would give it.
        items: Of an object or array, in order.
        kind: `object`, `array` or `atom`.
    """

    start: int
    end: int
    value: Any
    items: tuple[Item, ...] = ()
    kind: str = "atom"

    def member(self, key: str) -> Item | None:
        """The last member of that name, which is the one that counts."""
        return next((item for item in reversed(self.items) if item.key == key), None)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value read from JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value read from JSON is an array."""
    return isinstance(value, list)


def parse(text: str) -> Node:
    """The one value of a text; a byte order mark is passed over.

    Raises:
        JsoncError: It is no JSON, even with comments and trailing commas allowed.
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
        """The position after space and comments."""
        text = self._text
        while at < len(text):
            found = _SPACE.match(text, at) or _LINE_COMMENT.match(text, at) or _BLOCK_COMMENT.match(text, at)
            if not found:
                break
            at = found.end()
        return at

    def value(self, at: int, depth: int) -> Node:
        """The value that begins here."""
        if depth > _MAX_DEPTH:
            raise self.problem(at, "nested too deeply")
        first = self._text[at : at + 1]
        if first == "{":
            return self._container(at, depth, close="}")
        if first == "[":
            return self._container(at, depth, close="]")
        found = _STRING.match(self._text, at) or _ATOM.match(self._text, at)
        if not found:
            raise self.problem(at, "a value is missing or misspelt")
        try:
            return Node(at, found.end(), json.loads(found.group()))
        except ValueError as error:  # Python refuses to read a number of thousands of digits.
            raise self.problem(at, "a number is too long") from error

    def problem(self, at: int, what: str) -> JsoncError:
        """An error that names the line."""
        return JsoncError(f"line {self._text.count(chr(10), 0, at) + 1}: {what}")

    def _container(self, start: int, depth: int, *, close: str) -> Node:
        items: list[Item] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != close:
            if items and items[-1].comma is None:
                raise self.problem(at, f"a comma or {close} is missing")
            items.append(self._item(at, depth, has_key=close == "}"))
            last = items[-1]
            at = self.skip(last.node.end if last.comma is None else last.comma + 1)
        if close == "}":
            return Node(start, at + 1, {item.key: item.node.value for item in items}, tuple(items), "object")
        return Node(start, at + 1, [item.node.value for item in items], tuple(items), "array")

    def _item(self, start: int, depth: int, *, has_key: bool) -> Item:
        key, at = "", start
        if has_key:
            found = _STRING.match(self._text, start)
            if not found:
                raise self.problem(start, "the name of a member is missing")
            key, at = json.loads(found.group()), self.skip(found.end())
            if self._text[at : at + 1] != ":":
                raise self.problem(at, "a colon is missing")
            at = self.skip(at + 1)
        node = self.value(at, depth + 1)
        after = self.skip(node.end)
        return Item(key, start, node, after if self._text[after : after + 1] == "," else None)
