(module_definition) @module
(function_definition) @function
(macro_definition) @macro
(struct_definition) @struct
(abstract_definition) @type
(assignment . (call_expression)) @function
(source_file (const_statement (assignment) @constant))
(module_definition (const_statement (assignment) @constant))
(module_definition (block (const_statement (assignment) @constant)))
(line_comment) @comment
(block_comment) @comment
