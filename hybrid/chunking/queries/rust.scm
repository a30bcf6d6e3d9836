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
