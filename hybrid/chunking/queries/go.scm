(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @struct
(type_spec type: (interface_type)) @interface
(type_spec) @type
(type_alias) @type
(const_spec) @constant
(var_spec value: (expression_list . (func_literal) .)) @function
(var_spec) @variable
(field_declaration) @field
(method_elem) @method
(func_literal) @opaque
(comment) @comment
