"""Names in Go, Rust, C, C++, Objective-C, Zig and Swift; `names.table` says which handler reads which node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.chunking.names.common import Named, all_names, clean, dotted, first_name, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node


def go_field(node: Node) -> Sequence[Named]:
    """Names of struct fields; an embedded type is called like itself."""
    named = all_names(node)
    if named:
        return named
    embedded = text_of(node.child_by_field_name("type")).split("[")[0]
    return [Named(embedded.lstrip("*").rsplit(".", 1)[-1])]


def go_method(node: Node) -> Sequence[Named]:
    """A method with its receiver type as owner."""
    receiver = re.search(r"(\w+)\s*(?:\[[^()]*\])?\s*\)$", text_of(node.child_by_field_name("receiver")))
    return [Named(text_of(node.child_by_field_name("name")), receiver.group(1) if receiver else "")]


def rust_impl(node: Node) -> Sequence[Named]:
    """The type that an `impl` is for, without its path and parameters."""
    written = re.split(r"[<\s]", text_of(node.child_by_field_name("type")).lstrip("&"))[0]
    return [Named(written.rsplit("::", 1)[-1])]


_DECLARATORS = frozenset(
    {"pointer_declarator", "reference_declarator", "array_declarator", "init_declarator", "parenthesized_declarator",
     "function_declarator", "attributed_declarator", "abstract_function_declarator", "block_pointer_declarator"}
)  # fmt: skip


_OPERATOR = re.compile(r"(?:^|::)\s*(operator\b.*)$")


def _unwrap(declarator: Node) -> tuple[Node, bool]:
    """The innermost declared name, and whether it names a function rather than a pointer to one."""
    is_function = False
    while declarator.type in _DECLARATORS:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in reversed(declarator.named_children) if "comment" not in child.type), None)
        if inner is None:
            break
        if declarator.type == "function_declarator":
            is_function = inner.type != "parenthesized_declarator"
        declarator = inner
    return declarator, is_function


def _c_name(declarator: Node, kind: str = "", whole: Node | None = None) -> Named:
    inner, is_function = _unwrap(declarator)
    text = re.sub(r"<[^<>]*>(?=::)", "", " ".join(text_of(inner).split()))
    if inner.type == "operator_cast":
        text = text.split("(")[0].strip()
    operator = _OPERATOR.search(text)
    scope, name = dotted(text if operator is None else text[: operator.start(1)], "::")
    if operator is not None:
        scope, name = ".".join(part for part in (scope, name) if part), operator.group(1)
    if is_function:
        return Named(name, scope, "method" if scope else kind or "function", whole)
    if _is_lambda(declarator):
        return Named(name, scope, "function", whole)
    return Named(name, scope, "", whole)


def _is_lambda(declarator: Node) -> bool:
    value = declarator.child_by_field_name("value")
    return value is not None and value.type == "lambda_expression"


def c_declaration(node: Node) -> Sequence[Named]:
    """Variables and prototypes of a declaration; those behind an inline struct body stand for themselves."""
    declarators = node.children_by_field_name("declarator")
    type_node = node.child_by_field_name("type")
    has_body = type_node is not None and type_node.child_by_field_name("body") is not None
    return [
        _c_name(declarator, whole=declarator if position or has_body else None)
        for position, declarator in enumerate(declarators)
    ]


def c_function(node: Node) -> Sequence[Named]:
    """A function with its owner, if it is defined outside of its class."""
    declarator = node.child_by_field_name("declarator")
    return [] if declarator is None else [_c_name(declarator)]


def c_type(node: Node) -> Sequence[Named]:
    """The name that a typedef introduces."""
    declarators = node.children_by_field_name("declarator")
    return [Named(text_of(_unwrap(declarator)[0])) for declarator in declarators[:1]]


def c_declarator(node: Node) -> Sequence[Named]:
    """The name inside a declarator."""
    return [Named(text_of(_unwrap(node)[0]))]


def swift_property(node: Node) -> Sequence[Named]:
    """Names of a property declaration; patterns have none."""
    patterns = [name for name in node.children_by_field_name("name") if name.type == "pattern"]
    named: list[Named] = []
    for position, pattern in enumerate(patterns):
        bound = pattern.child_by_field_name("bound_identifier")
        named.append(Named(clean(text_of(bound)), node=pattern if position else None))
    return named


def swift_function(node: Node) -> Sequence[Named]:
    """The name of a function or the operator it defines."""
    name = node.child_by_field_name("name")
    if name is not None and name.type == "simple_identifier":
        return [Named(clean(text_of(name)))]
    operator = re.match(r"[^(]*?\bfunc\s+([^\s(<\w]+|\w+)", text_of(node))
    return [Named(operator.group(1))] if operator else []


def swift_type(node: Node) -> Sequence[Named]:
    """The type that is declared or extended, without parameters."""
    return [Named(re.split(r"[<\s]", text_of(node.child_by_field_name("name")))[0])]


_ZIG_ALIAS = re.compile(r"=\s*(?:@import\b|@This\(\)|@cImport\b)")


def zig_variable(node: Node) -> Sequence[Named]:
    """The declared name; imports and aliases (`const mem = std.mem`) name what another file defines."""
    name = text_of(first_name(node))
    value = node.named_children[-1] if node.named_child_count > 1 else None
    if value is not None and value.type == "field_expression" and text_of(value).endswith("." + name):
        return []
    if (
        value is not None
        and value.type in ("builtin_function", "field_expression")
        and _ZIG_ALIAS.search(text_of(node))
    ):
        return []
    return [Named(name)]


def zig_test(node: Node) -> Sequence[Named]:
    """The text that names a test."""
    name = node.named_children[0] if node.named_child_count else None
    return [Named(clean(text_of(name)))] if name is not None and name.type != "block" else []
