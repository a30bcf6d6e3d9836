; inherits: c
(class_specifier name: (_) body: (_)) @class
(declaration (type_qualifier) @_q (#any-of? @_q "constexpr" "constinit")) @constant
(field_declaration (type_qualifier) @_s (#any-of? @_s "constexpr" "constinit")) @constant
(type_definition type: [(qualified_identifier) (template_type)]) @type
(namespace_definition) @namespace
(namespace_alias_definition) @type
(alias_declaration) @type
(concept_definition) @type
(lambda_expression) @opaque
(template_declaration) @outer
(attribute_declaration) @attribute
