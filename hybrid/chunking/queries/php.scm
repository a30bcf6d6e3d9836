(namespace_definition) @namespace
(class_declaration) @class
(interface_declaration) @interface
(trait_declaration) @trait
(enum_declaration) @enum
(enum_case) @enum_member
(function_definition) @function
(method_declaration) @method
(const_element) @constant
(property_element) @field
(function_call_expression function: (name) @_f arguments: (arguments . (argument (string) @constant))
  (#eq? @_f "define"))
(assignment_expression left: (variable_name) right: [(arrow_function) (anonymous_function)]) @function
(program (expression_statement (assignment_expression left: (variable_name)) @variable))
(object_creation_expression (declaration_list) @body)
(anonymous_class) @body
(anonymous_function) @opaque
(arrow_function) @opaque
(attribute_list) @attribute
(comment) @comment
