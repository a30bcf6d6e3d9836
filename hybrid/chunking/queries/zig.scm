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
