(binary_operator lhs: (identifier) rhs: (function_definition)) @function
(program (binary_operator lhs: (identifier)) @variable)
(function_definition) @opaque
(comment) @comment
