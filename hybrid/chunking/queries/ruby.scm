(class) @class
(module) @module
(method) @function
(singleton_method) @method
(singleton_class) @body
(assignment left: (constant) right: (call receiver: (constant) @_r)
  (#any-of? @_r "Struct" "Class" "Module" "Data")) @class
(assignment left: (constant)) @constant
(assignment left: (identifier) right: (lambda)) @function
(assignment left: (identifier) right: (call method: (identifier) @_l block: (_))
  (#any-of? @_l "lambda" "proc")) @function
(program (assignment left: (identifier)) @variable)
(call method: (identifier) @_a arguments: (argument_list (simple_symbol) @property)
  (#any-of? @_a "attr_reader" "attr_writer" "attr_accessor"))
(call method: (identifier) @_d arguments: (argument_list . [(simple_symbol) (string)]) block: (_)
  (#eq? @_d "define_method")) @method
(call method: (identifier) @_n arguments: (argument_list . [(simple_symbol) (string)])
  (#eq? @_n "alias_method")) @method
(alias) @method
(lambda) @opaque
(comment) @comment
