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
(export_statement "default" value: [(arrow_function) (function_expression !name)]) @function
(export_statement "default" value: (call_expression arguments: (arguments [(arrow_function) (function_expression !name)]))) @function
(export_statement "default" value: (class !name)) @class
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression) right: (class)) @class
(arrow_function) @opaque
(function_expression) @opaque
(class_static_block) @opaque
(class) @body
(comment) @comment
(html_comment) @comment
(decorator) @attribute
