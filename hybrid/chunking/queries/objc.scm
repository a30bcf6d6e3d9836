; inherits: c
(class_interface) @class
(class_implementation) @class
(category_interface) @extension
(category_implementation) @extension
(protocol_declaration) @protocol
(method_declaration) @method
(method_definition) @method
(property_declaration) @property
