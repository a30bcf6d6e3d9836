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
