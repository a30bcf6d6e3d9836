"""Finds the names that a captured syntax node defines; `definitions` calls it.

Most grammars put the name into a field `name`; the handlers are for the node types that do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.chunking.names import managed, other, scripting, systems
from hybrid.chunking.names.common import Named, all_names, clean, field_named, first_name, fixed, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from hybrid.chunking.names.common import Handler

_MAX_NAME_CHARS = 120
_C_DECLARATORS = "type_identifier pointer_declarator array_declarator function_declarator"


def names_of(node: Node, language: str) -> Sequence[Named]:
    """What a node defines, in order; empty when it has no name of its own (an anonymous struct, a pattern)."""
    handler = _HANDLERS.get((language, node.type))
    if handler is not None:
        return [named for named in handler(node) if 0 < len(named.name) <= _MAX_NAME_CHARS]
    name = text_of(node.child_by_field_name("name"))
    if not name:
        name = text_of(first_name(node)) if node.named_child_count else text_of(node)
    name = clean(name).lstrip("$") if language == "php" else clean(name)
    return [Named(name)] if 0 < len(name) <= _MAX_NAME_CHARS else []


def _for(languages: str, node_types: str, handler: Handler) -> dict[tuple[str, str], Handler]:
    return {(language, node_type): handler for language in languages.split() for node_type in node_types.split()}


_HANDLERS: dict[tuple[str, str], Handler] = {
    **_for("python starlark", "assignment", field_named("left")),
    **_for("javascript typescript tsx", "pair", field_named("key")),
    **_for("javascript", "field_definition", field_named("property")),
    **_for("javascript typescript tsx", "assignment_expression", scripting.js_member),
    **_for("go", "field_declaration", systems.go_field),
    **_for("go", "const_spec var_spec", all_names),
    **_for("go", "method_declaration", systems.go_method),
    **_for("rust", "impl_item", systems.rust_impl),
    **_for("c cpp objc", "declaration field_declaration", systems.c_declaration),
    **_for("c cpp objc", "function_definition", systems.c_function),
    **_for("c cpp objc", "type_definition", systems.c_type),
    **_for("c cpp objc", _C_DECLARATORS, systems.c_declarator),
    **_for("objc", "method_declaration method_definition", other.objc_method),
    **_for("lua", "assignment_statement", scripting.lua_assignment),
    **_for("lua", "function_declaration", scripting.lua_function),
    **_for("ruby", "assignment", field_named("left")),
    **_for("ruby", "call", scripting.ruby_call),
    **_for("ruby", "class module", scripting.ruby_scoped),
    **_for("php", "assignment_expression", scripting.php_variable),
    **_for("kotlin", "property_declaration", managed.kotlin_property),
    **_for("kotlin", "companion_object", managed.kotlin_companion),
    **_for("kotlin", "secondary_constructor", fixed("constructor")),
    **_for("kotlin", "type_alias", field_named("type")),
    **_for("swift", "property_declaration protocol_property_declaration", systems.swift_property),
    **_for("swift", "function_declaration", systems.swift_function),
    **_for("swift", "class_declaration", systems.swift_type),
    **_for("swift", "enum_entry", all_names),
    **_for("swift", "init_declaration", fixed("init")),
    **_for("swift", "deinit_declaration", fixed("deinit")),
    **_for("swift", "subscript_declaration", fixed("subscript")),
    **_for("scala", "val_definition var_definition", field_named("pattern")),
    **_for("csharp", "operator_declaration conversion_operator_declaration", managed.csharp_operator),
    **_for("csharp", "destructor_declaration", managed.csharp_destructor),
    **_for("csharp", "indexer_declaration", fixed("this")),
    **_for("elixir", "call", scripting.elixir_call),
    **_for("elixir", "unary_operator", scripting.elixir_attribute),
    **_for("erlang", "fun_decl", other.erlang_function),
    **_for("haskell", "signature function bind", managed.haskell_names),
    **_for("haskell", "instance class", managed.haskell_instance),
    **_for("haskell", "header", managed.haskell_header),
    **_for("haskell", "data_constructor", managed.haskell_constructor),
    **_for("zig", "variable_declaration", systems.zig_variable),
    **_for("zig", "test_declaration", systems.zig_test),
    **_for("clojure scheme racket", "list list_lit", other.lisp_form),
    **_for("css scss", "rule_set", other.css_rule),
    **_for("hcl", "block", other.hcl_block),
    **_for("toml", "table table_array_element pair", other.toml_name),
    **_for("json json5 jsonc yaml", "pair block_mapping_pair", field_named("key")),
    **_for("r", "binary_operator", other.r_assignment),
    **_for(
        "julia",
        "function_definition macro_definition struct_definition assignment abstract_definition",
        other.julia_function,
    ),
    **_for("make", "rule", other.make_rule),
    **_for("ocaml", "let_binding value_specification", other.ocaml_binding),
}
