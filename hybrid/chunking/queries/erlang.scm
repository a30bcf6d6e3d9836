(module_attribute) @module
(fun_decl) @join
(record_decl) @struct
(type_alias) @type
(pp_define) @macro
(comment) @comment
