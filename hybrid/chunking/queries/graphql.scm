(object_type_definition) @class
(interface_type_definition) @interface
(input_object_type_definition) @struct
(enum_type_definition) @enum
(enum_value_definition) @enum_member
(union_type_definition) @union
(scalar_type_definition) @type
(directive_definition) @macro
(field_definition) @field
(input_fields_definition (input_value_definition) @field)
(operation_definition) @function
(fragment_definition) @function
(comment) @comment
(description) @comment
