(package_statement) @module
(function_definition) @function
(subroutine_declaration_statement) @function
(method_declaration_statement) @method
(comment) @comment
(pod) @comment
