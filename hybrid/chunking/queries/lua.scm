(function_declaration) @function
(assignment_statement (variable_list . name: (_)) (expression_list . value: (function_definition))) @function
(field name: (_) value: (function_definition)) @method
(chunk (assignment_statement) @variable)
(chunk (variable_declaration (assignment_statement) @variable))
(chunk (variable_declaration (assignment_statement (expression_list
  (table_constructor (field name: (identifier)) @property)))))
(function_definition) @opaque
(comment) @comment
