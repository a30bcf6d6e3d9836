"""Names in the languages that get a few rules; `names.table` says which handler reads which node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.chunking.names.common import Named, clean, first_name, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node


def erlang_function(node: Node) -> Sequence[Named]:
    """The function a clause belongs to."""
    found = re.match(r"'?([\w@]+)'?\s*\(", text_of(node))
    return [Named(found.group(1), kind="function")] if found else []


def lisp_form(node: Node) -> Sequence[Named]:
    """The second element of a list, or the first of it when it is a list: `(define (f x) …)`."""
    second = node.named_children[1] if node.named_child_count > 1 else None
    if second is not None and second.type in ("list", "list_lit", "meta_lit") and second.named_child_count:
        second = second.named_children[0]
    return [Named(text_of(second))]


def css_rule(node: Node) -> Sequence[Named]:
    """The selectors of a rule, on one line."""
    selectors = node.named_children[0] if node.named_child_count else None
    return [Named(" ".join(text_of(selectors).split()))]


def hcl_block(node: Node) -> Sequence[Named]:
    """Type and labels of a block joined by dots: `resource.aws_instance.web`."""
    head = text_of(node).split("{", 1)[0].replace('"', " ")
    return [Named(".".join(head.split()))]


def toml_name(node: Node) -> Sequence[Named]:
    """The key of a pair or a table."""
    first = node.named_children[0] if node.named_child_count else None
    return [Named(clean(text_of(first)))]


def r_assignment(node: Node) -> Sequence[Named]:
    """The target of an assignment; other operators define nothing."""
    operator = text_of(node.child_by_field_name("operator"))
    return [Named(text_of(node.child_by_field_name("lhs")))] if operator in ("<-", "=", "<<-") else []


def julia_function(node: Node) -> Sequence[Named]:
    """The name behind the keyword, without its module."""
    found = re.match(r"(?:function|macro|const|struct|mutable struct|abstract type)?\s*([\w.!@]+)", text_of(node)[:200])
    return [Named(found.group(1).rsplit(".", 1)[-1])] if found else []


def make_rule(node: Node) -> Sequence[Named]:
    """The first target; special targets and computed ones are none."""
    target = text_of(node).split(":", 1)[0].strip()
    return [] if target.startswith(".") or "$" in target else [Named(target.split(" ")[0])]


def ocaml_binding(node: Node) -> Sequence[Named]:
    """What a `let` or `val` binds."""
    return [Named(text_of(node.child_by_field_name("pattern") or node.child_by_field_name("name") or first_name(node)))]


def objc_method(node: Node) -> Sequence[Named]:
    """The first part of a selector."""
    return [Named(text_of(next((child for child in node.named_children if child.type == "identifier"), None)))]
