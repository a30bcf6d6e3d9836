(class_declaration (modifiers (class_modifier "enum"))) @enum
(class_declaration "interface") @interface
(class_declaration "class") @class
(object_declaration) @object
(companion_object) @object
(function_declaration) @function
(secondary_constructor) @constructor
(type_alias) @type
(property_declaration (modifiers (property_modifier "const"))) @constant
(property_declaration (lambda_literal)) @function
(property_declaration) @property
(class_parameter "val") @property
(class_parameter "var") @property
(enum_entry) @enum_member
(object_literal (class_body) @body)
(anonymous_initializer) @opaque
(anonymous_function) @opaque
(lambda_literal) @opaque
(getter) @opaque
(setter) @opaque
(annotation) @attribute
(line_comment) @comment
(block_comment) @comment
