(rule) @function
(makefile (variable_assignment) @variable)
(define_directive) @macro
(comment) @comment
