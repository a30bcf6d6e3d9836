(function_definition) @function
(declaration_command "readonly" (variable_assignment) @constant)
(declaration_command (variable_assignment) @variable)
(program (variable_assignment) @variable)
(if_statement (variable_assignment) @variable)
(else_clause (variable_assignment) @variable)
(list (variable_assignment) @variable)
(comment) @comment
