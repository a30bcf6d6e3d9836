"""Finds the names that a captured syntax node defines; `definitions` calls it.

Most grammars put the name into a field `name`; the handlers are for the node types that do not.
"""

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
"""A name that stands for that of the enclosing definition: an Elixir struct is called like its module."""


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
    """Return the source text of a node; empty for None."""
    text = None if node is None else node.text
    return "" if text is None else text.decode("utf-8", "replace")


def clean(name: str) -> str:
    """Return a name on one line, without quotes and the marks of private names and symbols."""
    name = " ".join(name.split())
    if name[:1] in _QUOTES and name[-1:] == name[:1]:
        name = name[1:-1]
    return name.lstrip("#:")


def field_text(node: Node, name: str) -> str:
    """Return the source text of a field of a node; empty without the field."""
    return text_of(node.child_by_field_name(name))


def first_child(node: Node | None) -> Node | None:
    """Return the first named child of a node; None without one, and for None."""
    return node.named_children[0] if node is not None and node.named_child_count else None


def child_of(node: Node, node_type: str) -> Node | None:
    """Return the first named child of a type; None without one."""
    return next((child for child in node.named_children if child.type == node_type), None)


def first_name(node: Node) -> Node | None:
    """Return the first child whose type is that of a name; None without one."""
    return next((child for child in node.named_children if _NAME_TYPE.search(child.type)), None)


def fixed(name: str) -> Handler:
    """Return a handler that gives this name for every node."""
    return lambda _node: [Named(name)]


def field_named(name: str) -> Handler:
    """Return a handler that reads the name from the given field."""
    return lambda node: [Named(clean(field_text(node, name)))]


def field_as_is(name: str, before: str = "") -> Handler:
    """Return a handler that gives the text of the given field as it is written, behind what stands before it."""
    return lambda node: [Named(before + field_text(node, name))]


def all_names(node: Node) -> Sequence[Named]:
    """Return the names of one declaration (`a, b = 1, 2`): the first one spans all of it, others only themselves."""
    names = node.children_by_field_name("name")
    return [Named(clean(text_of(name)), node=name if position else None) for position, name in enumerate(names)]


def dotted(text: str, separators: str = r"::|[.:]") -> tuple[str, str]:
    """Return the owner, joined by dots, and the last part of a qualified name: `("Shape", "area")` of `Shape::area`."""
    parts = [part for part in re.split(separators, text) if part]
    return ".".join(parts[:-1]), parts[-1] if parts else ""


# --- Kotlin, C#, Haskell -------------------------------------------------------------------------------------------


def kotlin_property(node: Node) -> Sequence[Named]:
    """Return the variable of a property; none for a destructuring."""
    variable = child_of(node, "variable_declaration")
    return [] if variable is None else [Named(clean(text_of(first_name(variable))))]


def kotlin_companion(node: Node) -> Sequence[Named]:
    """Return the name of a companion object, which is `Companion` unless written."""
    return [Named(field_text(node, "name") or "Companion")]


def csharp_operator(node: Node) -> Sequence[Named]:
    """Return the name of an operator: `operator +`, or `operator int` of a conversion."""
    operator = node.child_by_field_name("operator")
    return [Named("operator " + text_of(operator or node.child_by_field_name("type")))]


def haskell_names(node: Node) -> Sequence[Named]:
    """Return the names of a signature, a clause or a binding, with the kind as far as this node shows it."""
    kind = "function" if node.type == "function" else haskell_kind(node)
    names = node.child_by_field_name("names")
    if names is not None:
        return [Named(clean(text_of(name)), kind=kind) for name in names.named_children]
    name = node.child_by_field_name("name")
    if name is None:
        infix = child_of(node, "infix")
        name = None if infix is None else infix.child_by_field_name("operator")
    return [Named(clean(text_of(name)).strip("()`"), kind=kind)]


def haskell_kind(node: Node) -> str:
    """Return `function` for the signature of a function (its type has an arrow), else `constant`."""
    return "function" if node.type == "signature" and "->" in field_text(node, "type") else "constant"


def haskell_constructor(node: Node) -> Sequence[Named]:
    """Return a constructor of a data type, plain or with fields."""
    return [Named(field_text(node.child_by_field_name("constructor") or node, "name"))]


# --- JavaScript, Lua, PHP, Ruby, Elixir ----------------------------------------------------------------------------

_EXPORTS = re.compile(r"^(?:module\.exports|exports|this|window|globalThis|self)(?:\.|$)")


def js_member(node: Node) -> Sequence[Named]:
    """Return the name that is assigned to, with its owner as in `Owner.prototype.name = …`; none for computed members.

    `exports`, `module.exports`, `this`, `window` and the like are no owner; a member of `prototype` is a method.
    """
    written = field_text(node, "left")
    if "(" in written or "[" in written:
        return []
    scope, name = dotted(_EXPORTS.sub("", written), r"\.")
    owner = re.sub(r"(?:^|\.)prototype$", "", scope)
    return [Named(name.lstrip("#"), owner, "method" if owner != scope else "")]


def lua_assignment(node: Node) -> Sequence[Named]:
    """Return the first variable of an assignment, with its owner; none without a variable."""
    variables = first_child(node)
    names = [] if variables is None else variables.children_by_field_name("name")
    return [named for name in names[:1] for named in lua_name(name)]


def lua_function(node: Node) -> Sequence[Named]:
    """Return `new` with owner `M` for `function M.new`."""
    name = node.child_by_field_name("name")
    return [] if name is None else lua_name(name)


def lua_name(name: Node) -> Sequence[Named]:
    """Return a plain or dotted name with its owner; behind a colon (`M:new`) it is a method."""
    scope, last = dotted(text_of(name))
    return [Named(last, scope, "method" if name.type == "method_index_expression" else "")]


def php_variable(node: Node) -> Sequence[Named]:
    """Return the assigned variable, without its dollar sign."""
    return [Named(field_text(node, "left").lstrip("$"))]


def ruby_call(node: Node) -> Sequence[Named]:
    """Return the first argument of `attr_reader`, `define_method` and the like."""
    return [Named(clean(text_of(first_child(node.child_by_field_name("arguments")))))]


def ruby_scoped(node: Node) -> Sequence[Named]:
    """Return `Error` with owner `Shop` for `class Shop::Error`."""
    scope, name = dotted(field_text(node, "name"), "::")
    return [Named(name, scope)]


def elixir_call(node: Node) -> Sequence[Named]:
    """Return the name behind `def`, `defmodule` and the like; a struct has the name of its module."""
    if field_text(node, "target") in ("defstruct", "defexception"):
        return [Named(OF_PARENT)]
    head = first_child(child_of(node, "arguments"))
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
    """Return the name of a type or module attribute; none for an attribute of the language's own, such as `@doc`."""
    match = re.match(r"@(\w+)\s+(\w+)?", text_of(node))
    if match is None or match.group(1) in _ELIXIR_RESERVED:
        return []
    return [Named((match.group(2) if match.group(1) in _ELIXIR_TYPES else match.group(1)) or "")]


# --- Go, Rust, C, C++, Objective-C, Swift, Zig ---------------------------------------------------------------------


def go_field(node: Node) -> Sequence[Named]:
    """Return the names of struct fields; a field that embeds a type has the name of the type."""
    named = all_names(node)
    if named:
        return named
    embedded = field_text(node, "type").split("[")[0]
    return [Named(embedded.lstrip("*").rsplit(".", 1)[-1])]


def go_method(node: Node) -> Sequence[Named]:
    """Return a method with its receiver type as owner."""
    receiver = re.search(r"\b(\w+)\s*(?:\[[^()\[\]]*\]\s*)?\)$", field_text(node, "receiver"))
    return [Named(field_text(node, "name"), receiver.group(1) if receiver else "")]


_REFERENCE = re.compile(r"^(?:[&*(\[\s]|'\w+\s|(?:mut|const|dyn)\s)+")


def rust_impl(node: Node) -> Sequence[Named]:
    """Return the type that an `impl` is for, without its path and parameters and without what makes it a reference."""
    written = re.split(r"[<\s,;)\]]", _REFERENCE.sub("", field_text(node, "type")))[0]
    return [Named(written.rsplit("::", 1)[-1])]


_DECLARATORS = frozenset(
    {"pointer_declarator", "reference_declarator", "array_declarator", "init_declarator", "parenthesized_declarator",
     "function_declarator", "attributed_declarator", "abstract_function_declarator", "block_pointer_declarator"}
)  # fmt: skip


_OPERATOR = re.compile(r"(?:^|::)\s*(operator\b.*)$")


def _unwrap(declarator: Node) -> tuple[Node, bool]:
    """Return the innermost declared name, and whether it names a function rather than a pointer to one."""
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


def _c_name(declarator: Node, whole: Node | None = None) -> Named:
    """Return the name that a declarator declares, with its owner; a `method` if it has one, a `function` if it is one.

    Args:
        declarator: A declarator, with or without what it is initialised with.
        whole: The part that the name spans; None for all of the declaration.
    """
    inner, is_function = _unwrap(declarator)
    text = re.sub(r"<[^<>]*>(?=::)", "", " ".join(text_of(inner).split()))
    if inner.type == "operator_cast":
        text = text.split("(")[0].strip()
    operator = _OPERATOR.search(text)
    scope, name = dotted(text if operator is None else text[: operator.start(1)], "::")
    if operator is not None:
        scope, name = ".".join(part for part in (scope, name) if part), operator.group(1)
    if is_function:
        return Named(name, scope, "method" if scope else "function", whole)
    value = declarator.child_by_field_name("value")
    is_lambda = value is not None and value.type == "lambda_expression"
    return Named(name, scope, "function" if is_lambda else "", whole)


def c_declaration(node: Node) -> Sequence[Named]:
    """Return the variables and prototypes of a declaration; behind an inline struct body each spans only itself."""
    declarators = node.children_by_field_name("declarator")
    type_node = node.child_by_field_name("type")
    has_body = type_node is not None and type_node.child_by_field_name("body") is not None
    return [
        _c_name(declarator, declarator if position or has_body else None)
        for position, declarator in enumerate(declarators)
    ]


_TEST = re.compile(r"[A-Z0-9_]+\(\s*(?!void\b)(\w+)\s*(?:,\s*(\w+)\s*)?\)")


def c_function(node: Node) -> Sequence[Named]:
    """Return a function with its owner, if it is defined outside of its class; of a test the name that it is given."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return []
    named = _c_name(declarator)
    is_test = "TEST" in named.name and node.child_by_field_name("type") is None
    test = _TEST.fullmatch(text_of(declarator)) if is_test else None
    return [named if test is None else Named(test[2] or test[1], test[1] if test[2] else "", "function")]


def c_type(node: Node) -> Sequence[Named]:
    """Return the name that a typedef introduces."""
    declarators = node.children_by_field_name("declarator")
    return [Named(text_of(_unwrap(declarator)[0])) for declarator in declarators[:1]]


def c_declarator(node: Node) -> Sequence[Named]:
    """Return the name inside a declarator."""
    return [Named(text_of(_unwrap(node)[0]))]


def swift_property(node: Node) -> Sequence[Named]:
    """Return the names of a property declaration; that of a pattern without a single name is empty."""
    patterns = [name for name in node.children_by_field_name("name") if name.type == "pattern"]
    return [
        Named(clean(field_text(pattern, "bound_identifier")), node=pattern if position else None)
        for position, pattern in enumerate(patterns)
    ]


def swift_function(node: Node) -> Sequence[Named]:
    """Return the name of a function or the operator it defines."""
    name = node.child_by_field_name("name")
    if name is not None and name.type == "simple_identifier":
        return [Named(clean(text_of(name)))]
    operator = re.match(r"[^(]*?\bfunc\s+([^\s(<\w]+|\w+)", text_of(node))
    return [Named(operator.group(1))] if operator else []


def swift_type(node: Node) -> Sequence[Named]:
    """Return the type that is declared or extended, without parameters."""
    return [Named(re.split(r"[<\s]", field_text(node, "name"))[0])]


_ZIG_ALIAS = re.compile(r"=\s*(?:@import\b|@This\(\)|@cImport\b)")


def zig_variable(node: Node) -> Sequence[Named]:
    """Return the declared name; none for imports and aliases (`const mem = std.mem`), which others define."""
    name = text_of(first_name(node))
    value = node.named_children[-1] if node.named_child_count > 1 else None
    if value is None or value.type not in ("builtin_function", "field_expression"):
        return [Named(name)]
    is_alias = value.type == "field_expression" and text_of(value).endswith("." + name)
    return [] if is_alias or _ZIG_ALIAS.search(text_of(node)) else [Named(name)]


def zig_test(node: Node) -> Sequence[Named]:
    """Return the text that names a test."""
    name = first_child(node)
    return [Named(clean(text_of(name)))] if name is not None and name.type != "block" else []


# --- Languages with a rule or two ----------------------------------------------------------------------------------


def erlang_function(node: Node) -> Sequence[Named]:
    """Return the name of the function that a clause belongs to; nothing when it has none."""
    match = re.match(r"'?([\w@]+)'?\s*\(", text_of(node))
    return [Named(match.group(1), kind="function")] if match else []


def lisp_form(node: Node) -> Sequence[Named]:
    """Return the second element of a list, or the first of it when it is a list: `(define (f x) …)`."""
    second = node.named_children[1] if node.named_child_count > 1 else None
    if second is not None and second.type in ("list", "list_lit", "meta_lit"):
        second = first_child(second) or second
    return [Named(text_of(second))]


def css_rule(node: Node) -> Sequence[Named]:
    """Return the selectors of a rule, on one line."""
    return [Named(" ".join(text_of(first_child(node)).split()))]


def hcl_block(node: Node) -> Sequence[Named]:
    """Return the type and labels of a block joined by dots: `resource.aws_instance.web`."""
    head = text_of(node).split("{", 1)[0].replace('"', " ")
    return [Named(".".join(head.split()))]


def toml_name(node: Node) -> Sequence[Named]:
    """Return the key of a pair or a table."""
    return [Named(clean(text_of(first_child(node))))]


def r_assignment(node: Node) -> Sequence[Named]:
    """Return the target of an assignment; other operators define nothing."""
    return [Named(field_text(node, "lhs"))] if field_text(node, "operator") in ("<-", "=", "<<-") else []


def julia_function(node: Node) -> Sequence[Named]:
    """Return the name behind the keyword, without its module."""
    match = re.match(r"(?:function|macro|const|struct|mutable struct|abstract type)?\s*([\w.!@]+)", text_of(node)[:200])
    return [Named(match.group(1).rsplit(".", 1)[-1])] if match else []


def make_rule(node: Node) -> Sequence[Named]:
    """Return the first target; special targets and computed ones are none."""
    target = text_of(node).split(":", 1)[0].strip()
    return [] if target.startswith(".") or "$" in target else [Named(target.split(" ")[0])]


def ocaml_binding(node: Node) -> Sequence[Named]:
    """Return the name that a `let` or `val` binds."""
    return [Named(text_of(node.child_by_field_name("pattern") or node.child_by_field_name("name") or first_name(node)))]


def objc_method(node: Node) -> Sequence[Named]:
    """Return the first part of a selector."""
    return [Named(text_of(child_of(node, "identifier")))]


# --- All languages -------------------------------------------------------------------------------------------------

_MAX_NAME_CHARS = 120
"""Characters of a name at most; a longer one is an expression that stands where names stand."""
_KEYWORDS = frozenset("case catch do else for if return switch while".split())
_WITH_KEYWORDS = frozenset({"c", "cpp", "objc", "csharp", "java"})
_C_DECLARATORS = "type_identifier pointer_declarator array_declarator function_declarator"


def names_of(node: Node, language: str) -> Sequence[Named]:
    """Return the names that a node defines, in order; empty when it has none of its own (an anonymous struct)."""
    handler = _HANDLERS.get((language, node.type))
    if handler is not None:
        return [named for named in handler(node) if _is_name(named.name, language)]
    name = clean(field_text(node, "name") or text_of(first_name(node) if node.named_child_count else node))
    name = name.lstrip("$") if language == "php" else name
    return [Named(name)] if _is_name(name, language) else []


def _is_name(name: str, language: str) -> bool:
    """Return whether something has a name, and not a keyword that the parser took for one, as of `else if`."""
    return 0 < len(name) <= _MAX_NAME_CHARS and not (name in _KEYWORDS and language in _WITH_KEYWORDS)


def _for(languages: str, node_types: str, handler: Handler) -> dict[tuple[str, str], Handler]:
    return {(language, node_type): handler for language in languages.split() for node_type in node_types.split()}


_HANDLERS: dict[tuple[str, str], Handler] = {
    **_for("python ruby starlark", "assignment", field_named("left")),
    **_for("javascript typescript tsx", "pair", field_named("key")),
    **_for("javascript typescript tsx", "export_statement", fixed("default")),
    **_for("javascript", "field_definition", field_named("property")),
    **_for("javascript typescript tsx", "assignment_expression", js_member),
    **_for("go", "field_declaration", go_field),
    **_for("go", "const_spec var_spec", all_names),
    **_for("go", "method_declaration", go_method),
    **_for("rust", "impl_item", rust_impl),
    **_for("c cpp objc", "declaration field_declaration", c_declaration),
    **_for("c cpp objc", "function_definition", c_function),
    **_for("c cpp objc", "type_definition", c_type),
    **_for("c cpp objc", _C_DECLARATORS, c_declarator),
    **_for("objc", "method_declaration method_definition", objc_method),
    **_for("lua", "assignment_statement", lua_assignment),
    **_for("lua", "function_declaration", lua_function),
    **_for("ruby", "call", ruby_call),
    **_for("ruby", "class module", ruby_scoped),
    **_for("php", "assignment_expression", php_variable),
    **_for("kotlin", "property_declaration", kotlin_property),
    **_for("kotlin", "companion_object", kotlin_companion),
    **_for("kotlin", "secondary_constructor", fixed("constructor")),
    **_for("kotlin", "type_alias", field_named("type")),
    **_for("swift", "property_declaration protocol_property_declaration", swift_property),
    **_for("swift", "function_declaration", swift_function),
    **_for("swift", "class_declaration", swift_type),
    **_for("swift", "enum_entry", all_names),
    **_for("swift", "init_declaration", fixed("init")),
    **_for("swift", "deinit_declaration", fixed("deinit")),
    **_for("swift", "subscript_declaration", fixed("subscript")),
    **_for("scala", "val_definition var_definition", field_named("pattern")),
    **_for("csharp", "operator_declaration conversion_operator_declaration", csharp_operator),
    **_for("csharp", "destructor_declaration", field_as_is("name", before="~")),
    **_for("csharp", "indexer_declaration", fixed("this")),
    **_for("elixir", "call", elixir_call),
    **_for("elixir", "unary_operator", elixir_attribute),
    **_for("erlang", "fun_decl", erlang_function),
    **_for("haskell", "signature function bind", haskell_names),
    **_for("haskell", "instance class", field_as_is("name")),
    **_for("haskell", "header", field_as_is("module")),
    **_for("haskell", "data_constructor", haskell_constructor),
    **_for("zig", "variable_declaration", zig_variable),
    **_for("zig", "test_declaration", zig_test),
    **_for("clojure scheme racket", "list list_lit", lisp_form),
    **_for("css scss", "rule_set", css_rule),
    **_for("hcl", "block", hcl_block),
    **_for("toml", "table table_array_element pair", toml_name),
    **_for("json json5 jsonc yaml", "pair block_mapping_pair", field_named("key")),
    **_for("r", "binary_operator", r_assignment),
    **_for(
        "julia",
        "function_definition macro_definition struct_definition assignment abstract_definition",
        julia_function,
    ),
    **_for("make", "rule", make_rule),
    **_for("ocaml", "let_binding value_specification", ocaml_binding),
}
