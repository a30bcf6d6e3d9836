"""Names in Kotlin, C# and Haskell; `names.table` says which handler reads which node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.chunking.names.common import Named, clean, first_name, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node


def kotlin_property(node: Node) -> Sequence[Named]:
    """The variable of a property; none for a destructuring."""
    variable = next((child for child in node.named_children if child.type == "variable_declaration"), None)
    return [] if variable is None else [Named(clean(text_of(first_name(variable))))]


def kotlin_companion(node: Node) -> Sequence[Named]:
    """The name of a companion object, which is `Companion` unless written."""
    return [Named(text_of(node.child_by_field_name("name")) or "Companion")]


def csharp_operator(node: Node) -> Sequence[Named]:
    """`operator +`, or `operator int` of a conversion."""
    operator = node.child_by_field_name("operator")
    return [Named("operator " + text_of(operator or node.child_by_field_name("type")))]


def csharp_destructor(node: Node) -> Sequence[Named]:
    """`~Store`."""
    return [Named("~" + text_of(node.child_by_field_name("name")))]


def haskell_names(node: Node) -> Sequence[Named]:
    """Names of a signature, a clause or a binding; the kind says whether it is a function as far as this node shows."""
    kind = "function" if node.type == "function" else haskell_kind(node)
    names = node.child_by_field_name("names")
    if names is not None:
        return [Named(clean(text_of(name)), kind=kind) for name in names.named_children]
    name = node.child_by_field_name("name")
    if name is None:
        infix = next((child for child in node.named_children if child.type == "infix"), None)
        name = None if infix is None else infix.child_by_field_name("operator")
    return [Named(clean(text_of(name)).strip("()`"), kind=kind)]


def haskell_kind(node: Node) -> str:
    """`function` for the signature of one, else `constant`."""
    return "function" if node.type == "signature" and "->" in text_of(node.child_by_field_name("type")) else "constant"


def haskell_instance(node: Node) -> Sequence[Named]:
    """The class of an instance."""
    return [Named(text_of(node.child_by_field_name("name")))]


def haskell_header(node: Node) -> Sequence[Named]:
    """The module a file declares."""
    return [Named(text_of(node.child_by_field_name("module")))]


def haskell_constructor(node: Node) -> Sequence[Named]:
    """A constructor of a data type, plain or with fields."""
    inner = node.child_by_field_name("constructor") or node
    return [Named(text_of(inner.child_by_field_name("name")))]
