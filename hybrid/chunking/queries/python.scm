(function_definition) @function
(class_definition superclasses: (argument_list [(identifier) (attribute)] @_e)
  (#match? @_e "^(enum[.])?(Enum|IntEnum|StrEnum|Flag|IntFlag)$")) @enum
(class_definition) @class
(type_alias_statement) @type
(expression_statement (assignment left: (identifier) right: (lambda)) @function)
(expression_statement (assignment left: (identifier)) @variable)
(expression_statement (assignment left: (pattern_list (identifier) @variable)))
(lambda) @opaque
(comment) @comment
(expression_statement . (string) @comment .)
(decorator) @attribute
