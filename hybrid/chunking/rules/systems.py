"""Definition queries of C, C++, Objective-C, Rust, Go, Zig and Swift; data only."""

C = """
(function_definition) @function
(declaration) @variable
(struct_specifier name: (_) body: (_)) @struct
(union_specifier name: (_) body: (_)) @union
(enum_specifier name: (_) body: (_)) @enum
(type_definition type: (struct_specifier !name body: (_))) @struct
(type_definition type: (union_specifier !name body: (_))) @union
(type_definition type: (enum_specifier !name body: (_))) @enum
(type_definition type: (struct_specifier name: (_) body: (_)) declarator: (_) @type)
(type_definition type: (union_specifier name: (_) body: (_)) declarator: (_) @type)
(type_definition type: (enum_specifier name: (_) body: (_)) declarator: (_) @type)
(type_definition type: [(struct_specifier !body) (union_specifier !body) (enum_specifier !body)]) @type
(type_definition type: [(primitive_type) (sized_type_specifier) (type_identifier) (macro_type_specifier)]) @type
(enumerator) @enum_member
(field_declaration) @field
(preproc_function_def) @macro
(preproc_def) @macro_value
(comment) @comment
"""

CPP = (
    C
    + """
(class_specifier name: (_) body: (_)) @class
(declaration (type_qualifier) @_q (#any-of? @_q "constexpr" "constinit")) @constant
(field_declaration (type_qualifier) @_s (#any-of? @_s "constexpr" "constinit")) @constant
(type_definition type: [(qualified_identifier) (template_type)]) @type
(namespace_definition) @namespace
(namespace_alias_definition) @type
(alias_declaration) @type
(concept_definition) @type
(lambda_expression) @opaque
(template_declaration) @outer
(attribute_declaration) @attribute
"""
)

OBJC = (
    C
    + """
(class_interface) @class
(class_implementation) @class
(category_interface) @extension
(category_implementation) @extension
(protocol_declaration) @protocol
(method_declaration) @method
(method_definition) @method
(property_declaration) @property
"""
)

RUST = """
(function_item) @function
(function_signature_item) @function
(struct_item) @struct
(enum_item) @enum
(union_item) @union
(trait_item) @trait
(impl_item) @impl
(mod_item body: (_)) @module
(type_item) @type
(associated_type) @type
(const_item) @constant
(static_item) @variable
(macro_definition) @macro
(field_declaration) @field
(enum_variant) @enum_member
(source_file (macro_invocation (token_tree)) @wrapper)
(source_file (expression_statement (macro_invocation (token_tree)) @wrapper))
(declaration_list (macro_invocation (token_tree)) @wrapper)
(declaration_list (expression_statement (macro_invocation (token_tree)) @wrapper))
(attribute_item) @attribute
(line_comment) @comment
(block_comment) @comment
"""

GO = """
(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @struct
(type_spec type: (interface_type)) @interface
(type_spec) @type
(type_alias) @type
(const_spec) @constant
(var_spec value: (expression_list . (func_literal) .)) @function
(var_spec) @variable
(field_declaration) @field
(method_elem) @method
(func_literal) @opaque
(comment) @comment
"""

ZIG = """
(function_declaration) @function
(variable_declaration (struct_declaration)) @struct
(variable_declaration (opaque_declaration)) @struct
(variable_declaration (enum_declaration)) @enum
(variable_declaration (union_declaration)) @union
(variable_declaration (error_set_declaration)) @type
(variable_declaration "const") @constant
(variable_declaration "var") @variable
(container_field) @field
(test_declaration) @function
(struct_declaration) @body
(enum_declaration) @body
(union_declaration) @body
(opaque_declaration) @body
(comment) @comment
"""

SWIFT = """
(class_declaration declaration_kind: "class") @class
(class_declaration declaration_kind: "actor") @class
(class_declaration declaration_kind: "struct") @struct
(class_declaration declaration_kind: "enum") @enum
(class_declaration declaration_kind: "extension") @extension
(protocol_declaration) @protocol
(function_declaration) @function
(protocol_function_declaration) @method
(init_declaration) @constructor
(deinit_declaration) @method
(subscript_declaration) @method
(property_declaration value: (lambda_literal)) @function
(source_file (property_declaration (value_binding_pattern "let")) @constant)
(property_declaration) @property
(protocol_property_declaration) @property
(enum_entry) @enum_member
(typealias_declaration) @type
(associatedtype_declaration) @type
(macro_declaration) @macro
(lambda_literal) @opaque
(computed_property) @opaque
(attribute) @attribute
(comment) @comment
(multiline_comment) @comment
"""
