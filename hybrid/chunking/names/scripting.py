"""Names in JavaScript, PHP, Ruby, Lua and Elixir; `names.table` says which handler reads which node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.chunking.names.common import OF_PARENT, Named, clean, dotted, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_EXPORTS = re.compile(r"^(?:module\.exports|exports|this|window|globalThis|self)(?:\.|$)")


def js_member(node: Node) -> Sequence[Named]:
    """Owner and name of `Owner.prototype.name = …` and `exports.name = …`; computed members have none."""
    written = text_of(node.child_by_field_name("left"))
    if "(" in written or "[" in written:
        return []
    scope, name = dotted(_EXPORTS.sub("", written), r"\.")
    owner = re.sub(r"(?:^|\.)prototype$", "", scope)
    return [Named(name.lstrip("#"), owner, "method" if owner != scope else "")]


def lua_assignment(node: Node) -> Sequence[Named]:
    """The first variable of an assignment."""
    variables = node.named_children[0] if node.named_child_count else None
    names = [] if variables is None else variables.children_by_field_name("name")
    return [named for name in names[:1] for named in lua_name(name)]


def lua_function(node: Node) -> Sequence[Named]:
    """`new` with owner `M` for `function M.new`."""
    name = node.child_by_field_name("name")
    return [] if name is None else lua_name(name)


def lua_name(name: Node) -> Sequence[Named]:
    """A plain or dotted name; behind a colon stands a method."""
    scope, last = dotted(text_of(name))
    return [Named(last, scope, "method" if name.type == "method_index_expression" else "")]


def php_variable(node: Node) -> Sequence[Named]:
    """The assigned variable, without its dollar sign."""
    return [Named(text_of(node.child_by_field_name("left")).lstrip("$"))]


def ruby_call(node: Node) -> Sequence[Named]:
    """The first argument of `attr_reader`, `define_method` and the like."""
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    return [Named(clean(text_of(first)))]


def ruby_scoped(node: Node) -> Sequence[Named]:
    """`Error` with owner `Shop` for `class Shop::Error`."""
    scope, name = dotted(text_of(node.child_by_field_name("name")), "::")
    return [Named(name, scope)]


def elixir_call(node: Node) -> Sequence[Named]:
    """The name behind `def`, `defmodule` and the like; a struct has the name of its module and is found there."""
    word = text_of(node.child_by_field_name("target"))
    if word in ("defstruct", "defexception"):
        return [Named(OF_PARENT)]
    arguments = next((child for child in node.named_children if child.type == "arguments"), None)
    head = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    while head is not None and head.type == "binary_operator":
        head = head.child_by_field_name("left")
    if head is not None and head.type == "call":
        head = head.child_by_field_name("target")
    return [Named(clean(text_of(head)))]


_ELIXIR_TYPES = frozenset({"type", "typep", "opaque", "callback", "macrocallback"})
_ELIXIR_RESERVED = frozenset(
    "after_compile before_compile behaviour compile deprecated derive describetag dialyzer doc enforce_keys"
    " external_resource impl moduledoc moduletag on_load optional_callbacks since spec tag typedoc".split()
)


def elixir_attribute(node: Node) -> Sequence[Named]:
    """A type, or a module attribute that is not one of the language's own."""
    found = re.match(r"@(\w+)\s+(\w+)?", text_of(node))
    if found is None or found.group(1) in _ELIXIR_RESERVED:
        return []
    return [Named((found.group(2) if found.group(1) in _ELIXIR_TYPES else found.group(1)) or "")]
