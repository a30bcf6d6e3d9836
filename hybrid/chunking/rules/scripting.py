"""Definition queries of Python, JavaScript, TypeScript, PHP, Ruby, Lua, Bash and Elixir; data only."""

PYTHON = """
(function_definition) @function
(class_definition superclasses: (argument_list [(identifier) (attribute)] @_e)
  (#match? @_e "^(enum[.])?(Enum|IntEnum|StrEnum|Flag|IntFlag)$")) @enum
(class_definition) @class
(type_alias_statement) @type
(expression_statement (assignment left: (identifier) right: (lambda)) @function)
(expression_statement (assignment left: (identifier)) @variable)
(expression_statement (assignment left: (pattern_list (identifier) @variable)))
(lambda) @opaque
(comment) @comment
(expression_statement . (string) @comment .)
(decorator) @attribute
"""

JAVASCRIPT = """
(function_declaration) @function
(generator_function_declaration) @function
(function_expression name: (identifier)) @function
(class_declaration) @class
(method_definition) @method
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) value: (class)) @class
(field_definition value: [(arrow_function) (function_expression)]) @method
(field_definition) @field
(pair key: [(property_identifier) (string)] value: [(arrow_function) (function_expression)]) @method
(variable_declarator value: (object (pair key: [(property_identifier) (string)]) @property))
(program (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant))
(program (lexical_declaration kind: "let" (variable_declarator name: (identifier)) @variable))
(program (variable_declaration (variable_declarator name: (identifier)) @variable))
(export_statement (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant))
(export_statement (lexical_declaration kind: "let" (variable_declarator name: (identifier)) @variable))
(export_statement (variable_declaration (variable_declarator name: (identifier)) @variable))
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression) right: (class)) @class
(arrow_function) @opaque
(function_expression) @opaque
(class_static_block) @opaque
(class) @body
(comment) @comment
(html_comment) @comment
(decorator) @attribute
"""

TYPESCRIPT = (
    JAVASCRIPT
    + """
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
(enum_body name: (_) @enum_member)
(enum_assignment) @enum_member
(internal_module) @namespace
(module) @module
(function_signature) @function
(method_signature) @method
(abstract_method_signature) @method
(interface_body (property_signature) @property)
(type_alias_declaration value: (object_type (property_signature) @property))
(public_field_definition value: [(arrow_function) (function_expression)]) @method
(public_field_definition) @field
(variable_declarator value: (as_expression (object (pair) @property)))
(variable_declarator value: (satisfies_expression (object (pair) @property)))
(ambient_declaration (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant))
(ambient_declaration (lexical_declaration kind: "let" (variable_declarator name: (identifier)) @variable))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier)) @variable))
(internal_module body: (statement_block (lexical_declaration (variable_declarator name: (identifier)) @constant)))
"""
)

PHP = """
(namespace_definition) @namespace
(class_declaration) @class
(interface_declaration) @interface
(trait_declaration) @trait
(enum_declaration) @enum
(enum_case) @enum_member
(function_definition) @function
(method_declaration) @method
(const_element) @constant
(property_element) @field
(function_call_expression function: (name) @_f arguments: (arguments . (argument (string) @constant))
  (#eq? @_f "define"))
(assignment_expression left: (variable_name) right: [(arrow_function) (anonymous_function)]) @function
(program (expression_statement (assignment_expression left: (variable_name)) @variable))
(object_creation_expression (declaration_list) @body)
(anonymous_class) @body
(anonymous_function) @opaque
(arrow_function) @opaque
(attribute_list) @attribute
(comment) @comment
"""

RUBY = """
(class) @class
(module) @module
(method) @function
(singleton_method) @method
(singleton_class) @body
(assignment left: (constant) right: (call receiver: (constant) @_r)
  (#any-of? @_r "Struct" "Class" "Module" "Data")) @class
(assignment left: (constant)) @constant
(assignment left: (identifier) right: (lambda)) @function
(assignment left: (identifier) right: (call method: (identifier) @_l block: (_))
  (#any-of? @_l "lambda" "proc")) @function
(program (assignment left: (identifier)) @variable)
(call method: (identifier) @_a arguments: (argument_list (simple_symbol) @property)
  (#any-of? @_a "attr_reader" "attr_writer" "attr_accessor"))
(call method: (identifier) @_d arguments: (argument_list . [(simple_symbol) (string)]) block: (_)
  (#eq? @_d "define_method")) @method
(call method: (identifier) @_n arguments: (argument_list . [(simple_symbol) (string)])
  (#eq? @_n "alias_method")) @method
(alias) @method
(lambda) @opaque
(comment) @comment
"""

LUA = """
(function_declaration) @function
(assignment_statement (variable_list . name: (_)) (expression_list . value: (function_definition))) @function
(field name: (_) value: (function_definition)) @method
(chunk (assignment_statement) @variable)
(chunk (variable_declaration (assignment_statement) @variable))
(chunk (variable_declaration (assignment_statement (expression_list
  (table_constructor (field name: (identifier)) @property)))))
(function_definition) @opaque
(comment) @comment
"""

BASH = """
(function_definition) @function
(declaration_command "readonly" (variable_assignment) @constant)
(declaration_command (variable_assignment) @variable)
(program (variable_assignment) @variable)
(if_statement (variable_assignment) @variable)
(else_clause (variable_assignment) @variable)
(list (variable_assignment) @variable)
(comment) @comment
"""

ELIXIR = """
(call target: (identifier) @_m (#eq? @_m "defmodule")) @module
(call target: (identifier) @_p (#eq? @_p "defprotocol")) @protocol
(call target: (identifier) @_i (#eq? @_i "defimpl")) @impl
(call target: (identifier) @_f (#any-of? @_f "def" "defp" "defdelegate" "defn" "defnp")) @function
(call target: (identifier) @_c (#any-of? @_c "defmacro" "defmacrop" "defguard" "defguardp")) @macro
(call target: (identifier) @_s (#any-of? @_s "defstruct" "defexception")) @struct
(do_block (unary_operator operand: (call target: (identifier) @_t
  (#any-of? @_t "type" "typep" "opaque" "callback" "macrocallback"))) @type)
(do_block (unary_operator operator: "@" operand: (call (arguments))) @constant)
(unary_operator operator: "@" operand: (call target: (identifier) @_a
  (#any-of? @_a "doc" "typedoc" "spec" "impl" "deprecated" "since" "tag"))) @attribute
(unary_operator operator: "@" operand: (call target: (identifier) @_o
  (#any-of? @_o "doc" "moduledoc" "typedoc"))) @comment
(call target: (identifier) @_q (do_block) (#any-of? @_q "test" "describe" "quote" "setup")) @opaque
(anonymous_function) @opaque
(comment) @comment
"""
