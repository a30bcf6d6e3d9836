(class_declaration declaration_kind: "class") @class
(class_declaration declaration_kind: "actor") @class
(class_declaration declaration_kind: "struct") @struct
(class_declaration declaration_kind: "enum") @enum
(class_declaration declaration_kind: "extension") @extension
(protocol_declaration) @protocol
(function_declaration) @function
(protocol_function_declaration) @method
(init_declaration) @constructor
(deinit_declaration) @method
(subscript_declaration) @method
(property_declaration value: (lambda_literal)) @function
(source_file (property_declaration (value_binding_pattern "let")) @constant)
(property_declaration) @property
(protocol_property_declaration) @property
(enum_entry) @enum_member
(typealias_declaration) @type
(associatedtype_declaration) @type
(macro_declaration) @macro
(lambda_literal) @opaque
(computed_property) @opaque
(attribute) @attribute
(comment) @comment
(multiline_comment) @comment
