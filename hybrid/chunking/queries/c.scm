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
