; inherits: javascript
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
(enum_body name: (_) @enum_member)
(enum_assignment) @enum_member
(internal_module) @namespace
(module) @module
(function_signature) @function
(method_signature) @method
(abstract_method_signature) @method
(interface_body (property_signature) @property)
(type_alias_declaration value: (object_type (property_signature) @property))
(public_field_definition value: [(arrow_function) (function_expression)]) @method
(public_field_definition) @field
(variable_declarator value: (as_expression (object (pair) @property)))
(variable_declarator value: (satisfies_expression (object (pair) @property)))
(ambient_declaration (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant))
(ambient_declaration (lexical_declaration kind: "let" (variable_declarator name: (identifier)) @variable))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier)) @variable))
(internal_module body: (statement_block (lexical_declaration (variable_declarator name: (identifier)) @constant)))
