"""Definition queries of Java, Kotlin, Scala, C# and Haskell; data only."""

JAVA = """
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
"""

KOTLIN = """
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
"""

SCALA = """
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
"""

CSHARP = """
(namespace_declaration) @namespace
(file_scoped_namespace_declaration) @namespace
(class_declaration) @class
(record_declaration "struct") @struct
(record_declaration) @class
(struct_declaration) @struct
(interface_declaration) @interface
(enum_declaration) @enum
(enum_member_declaration) @enum_member
(delegate_declaration) @type
(method_declaration) @method
(constructor_declaration) @constructor
(destructor_declaration) @method
(operator_declaration) @method
(conversion_operator_declaration) @method
(indexer_declaration) @property
(property_declaration) @property
(event_declaration) @event
(event_field_declaration (variable_declaration (variable_declarator) @event))
(field_declaration (modifier "const") (variable_declaration (variable_declarator) @constant))
(field_declaration (variable_declaration (variable_declarator) @field))
(record_declaration (parameter_list (parameter) @property))
(local_function_statement) @function
(attribute_list) @attribute
(comment) @comment
"""

HASKELL = """
(header) @module
(data_type) @type
(newtype) @type
(type_synomym) @type
(type_synonym) @type
(type_family) @type
(data_family) @type
(class) @class
(instance) @impl
(data_constructor) @enum_member
(gadt_constructor) @enum_member
(field name: (field_name) @field)
(signature) @join
(function) @join
(bind) @join
(comment) @comment
(haddock) @comment
"""
