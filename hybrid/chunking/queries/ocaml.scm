(let_binding pattern: (value_name) (parameter)) @function
(let_binding pattern: (value_name) body: (fun_expression)) @function
(let_binding pattern: (value_name) body: (function_expression)) @function
(compilation_unit (value_definition (let_binding pattern: (value_name)) @constant))
(structure (value_definition (let_binding pattern: (value_name)) @constant))
(value_specification) @function
(external) @function
(type_binding) @type
(module_binding) @module
(module_type_definition) @interface
(exception_definition) @type
(class_binding) @class
(method_definition) @method
(constructor_declaration) @enum_member
(field_declaration) @field
(comment) @comment
