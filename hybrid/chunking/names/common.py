"""What the naming handlers of all languages share: the value they give and how they read text from nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    Handler = Callable[[Node], Sequence["Named"]]

_NAME_TYPE = re.compile(
    r"identifier$|_name$|^(?:name|constant|word|variable|constructor|sym_lit|object_reference|enum_value)$"
)
_QUOTES = "\"'`"


OF_PARENT = "\0"
"""Stands for the name of the enclosing definition: the struct of an Elixir module is called like the module."""


class Named(NamedTuple):
    """One name that a node defines.

    Attributes:
        name: As written, without sigils and quotes.
        scope: Owner written before it (`Shape` of `Shape::area`), joined by dots.
        kind: Replaces the kind of the capture unless empty.
        node: The part that defines this name when the whole node defines several; None for the whole node.
    """

    name: str
    scope: str = ""
    kind: str = ""
    node: Node | None = None


def text_of(node: Node | None) -> str:
    """The source text of a node; empty for None."""
    text = None if node is None else node.text
    return "" if text is None else text.decode("utf-8", "replace")


def clean(name: str) -> str:
    """A name on one line, without quotes and the marks of private names and symbols."""
    name = " ".join(name.split())
    if name[:1] in _QUOTES and name[-1:] == name[:1]:
        name = name[1:-1]
    return name.lstrip("#:")


def first_name(node: Node) -> Node | None:
    """The first child that looks like a name."""
    return next((child for child in node.named_children if _NAME_TYPE.search(child.type)), None)


def fixed(name: str) -> Callable[[Node], Sequence[Named]]:
    """A handler that gives one and the same name."""
    return lambda _node: [Named(name)]


def field_named(name: str) -> Callable[[Node], Sequence[Named]]:
    """A handler that reads the name from the given field."""
    return lambda node: [Named(clean(text_of(node.child_by_field_name(name))))]


def all_names(node: Node) -> Sequence[Named]:
    """Several names in one declaration (`a, b = 1, 2`): the first stands for the whole, the others for themselves."""
    names = node.children_by_field_name("name")
    return [Named(clean(text_of(name)), node=name if position else None) for position, name in enumerate(names)]


def dotted(text: str, separators: str = r"::|[.:]") -> tuple[str, str]:
    """Owner and last part of a qualified name: ``("Shape", "area")`` of ``Shape::area``."""
    parts = [part for part in re.split(separators, text) if part]
    return ".".join(parts[:-1]), parts[-1] if parts else ""
