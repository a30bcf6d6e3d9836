(class_definition) @class
(object_definition) @object
(package_object) @object
(trait_definition) @trait
(enum_definition) @enum
(simple_enum_case) @enum_member
(full_enum_case) @enum_member
(function_definition) @function
(function_declaration) @function
(val_definition value: (lambda_expression)) @function
(val_definition) @field
(var_definition) @field
(val_declaration) @field
(var_declaration) @field
(given_definition) @field
(type_definition) @type
(class_definition "case" class_parameters: (class_parameters (class_parameter) @field))
(class_parameter "val") @field
(class_parameter "var") @field
(instance_expression (template_body) @body)
(block) @opaque
(indented_block) @opaque
(lambda_expression) @opaque
(annotation) @attribute
(comment) @comment
(block_comment) @comment
