(class_declaration) @class
(record_declaration) @class
(interface_declaration) @interface
(annotation_type_declaration) @interface
(enum_declaration) @enum
(enum_constant) @enum_member
(method_declaration) @method
(annotation_type_element_declaration) @method
(constructor_declaration) @constructor
(compact_constructor_declaration) @constructor
(field_declaration (variable_declarator) @field)
(constant_declaration (variable_declarator) @constant)
(record_declaration parameters: (formal_parameters (formal_parameter) @field))
(module_declaration) @module
(object_creation_expression (class_body) @body)
(static_initializer) @opaque
(lambda_expression) @opaque
(marker_annotation) @attribute
(annotation) @attribute
(line_comment) @comment
(block_comment) @comment
