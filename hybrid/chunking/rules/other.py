"""Definition queries of the languages that get a few rules, and the rules for grammars that have none; data only."""

SOLIDITY = """
(contract_declaration) @class
(library_declaration) @class
(interface_declaration) @interface
(struct_declaration) @struct
(struct_member) @field
(enum_declaration) @enum
(enum_value) @enum_member
(function_definition) @function
(modifier_definition) @function
(constructor_definition) @constructor
(event_definition) @event
(error_declaration) @type
(state_variable_declaration) @field
(comment) @comment
"""

DART = """
(class_definition) @class
(class_declaration) @class
(mixin_declaration) @class
(extension_declaration) @extension
(enum_declaration) @enum
(enum_constant) @enum_member
(type_alias) @type
(function_signature) @function
(getter_signature) @function
(setter_signature) @function
(constructor_signature) @constructor
(factory_constructor_signature) @constructor
(function_expression) @opaque
(annotation) @attribute
(comment) @comment
(documentation_comment) @comment
"""

OCAML = """
(let_binding pattern: (value_name) (parameter)) @function
(let_binding pattern: (value_name) body: (fun_expression)) @function
(let_binding pattern: (value_name) body: (function_expression)) @function
(compilation_unit (value_definition (let_binding pattern: (value_name)) @constant))
(structure (value_definition (let_binding pattern: (value_name)) @constant))
(value_specification) @function
(external) @function
(type_binding) @type
(module_binding) @module
(module_type_definition) @interface
(exception_definition) @type
(class_binding) @class
(method_definition) @method
(constructor_declaration) @enum_member
(field_declaration) @field
(comment) @comment
"""

ERLANG = """
(module_attribute) @module
(fun_decl) @join
(record_decl) @struct
(type_alias) @type
(pp_define) @macro
(comment) @comment
"""

JULIA = """
(module_definition) @module
(function_definition) @function
(macro_definition) @macro
(struct_definition) @struct
(abstract_definition) @type
(assignment . (call_expression)) @function
(source_file (const_statement (assignment) @constant))
(module_definition (const_statement (assignment) @constant))
(module_definition (block (const_statement (assignment) @constant)))
(line_comment) @comment
(block_comment) @comment
"""

PERL = """
(package_statement) @module
(function_definition) @function
(subroutine_declaration_statement) @function
(method_declaration_statement) @method
(comment) @comment
(pod) @comment
"""

R = """
(binary_operator lhs: (identifier) rhs: (function_definition)) @function
(program (binary_operator lhs: (identifier)) @variable)
(function_definition) @opaque
(comment) @comment
"""

SQL = """
(create_table) @struct
(create_view) @type
(create_materialized_view) @type
(create_function) @function
(create_procedure) @function
(create_trigger) @function
(create_type) @type
(column_definition) @field
(comment) @comment
(marginalia) @comment
"""

PROTO = """
(message) @struct
(service) @interface
(rpc) @method
(enum) @enum
(enum_field) @enum_member
(field) @field
(map_field) @field
(oneof_field) @field
(comment) @comment
"""

GRAPHQL = """
(object_type_definition) @class
(interface_type_definition) @interface
(input_object_type_definition) @struct
(enum_type_definition) @enum
(enum_value_definition) @enum_member
(union_type_definition) @union
(scalar_type_definition) @type
(directive_definition) @macro
(field_definition) @field
(input_fields_definition (input_value_definition) @field)
(operation_definition) @function
(fragment_definition) @function
(comment) @comment
(description) @comment
"""

HCL = """
(block) @object
(body (attribute) @property)
(comment) @comment
"""

TOML = """
(table) @object
(table_array_element) @object
(document (pair) @property)
(table (pair) @property)
(table_array_element (pair) @property)
(comment) @comment
"""

YAML = """
(stream (document (block_node (block_mapping (block_mapping_pair) @property))))
(comment) @comment
"""

JSON = """
(document (object (pair) @property))
(comment) @comment
"""

CSS = """
(rule_set) @object
(keyframes_statement) @object
(mixin_statement) @function
(function_statement) @function
(stylesheet (declaration) @variable)
(comment) @comment
(js_comment) @comment
"""

MAKE = """
(rule) @function
(makefile (variable_assignment) @variable)
(define_directive) @macro
(comment) @comment
"""

CLOJURE = """
(source (list_lit . (sym_lit) @_d . [(sym_lit) (meta_lit)] (#match? @_d "^(defn-?|defmulti|defmethod)$")) @function)
(source (list_lit . (sym_lit) @_m (#eq? @_m "defmacro")) @macro)
(source (list_lit . (sym_lit) @_v (#match? @_v "^(def|defonce)$")) @constant)
(source (list_lit . (sym_lit) @_t (#match? @_t "^(defprotocol|defrecord|deftype)$")) @type)
(source (list_lit . (sym_lit) @_n (#eq? @_n "ns")) @module)
(comment) @comment
"""

SCHEME = """
(program (list . (symbol) @_d (#match? @_d "^define")) @function)
(comment) @comment
(block_comment) @comment
"""

NODE_KINDS = {
    "function_definition": "function",
    "function_declaration": "function",
    "function_item": "function",
    "function_statement": "function",
    "function_def": "function",
    "method_definition": "method",
    "method_declaration": "method",
    "constructor_declaration": "constructor",
    "constructor_definition": "constructor",
    "subroutine": "function",
    "subroutine_statement": "function",
    "class_definition": "class",
    "class_declaration": "class",
    "class_statement": "class",
    "class_method_definition": "method",
    "class_property_definition": "property",
    "struct_definition": "struct",
    "struct_declaration": "struct",
    "enum_definition": "enum",
    "enum_declaration": "enum",
    "enum_statement": "enum",
    "interface_definition": "interface",
    "interface_declaration": "interface",
    "trait_declaration": "trait",
    "module_definition": "module",
    "module_declaration": "module",
    "namespace_definition": "namespace",
    "namespace_declaration": "namespace",
    "type_definition": "type",
    "type_declaration": "type",
    "type_alias": "type",
    "macro_definition": "macro",
    "macro_def": "macro",
    "field_declaration": "field",
    "recipe": "function",
    "task": "function",
    "comment": "comment",
    "line_comment": "comment",
    "block_comment": "comment",
}
"""Node types that mean the same in every grammar that has them."""
