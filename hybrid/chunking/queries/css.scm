(rule_set) @object
(keyframes_statement) @object
(mixin_statement) @function
(function_statement) @function
(stylesheet (declaration) @variable)
(comment) @comment
(js_comment) @comment
