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
(lambda_expression) @opaque
(anonymous_method_expression) @opaque
(accessor_declaration body: (_)) @opaque
(attribute_list) @attribute
(comment) @comment
