(program (list . (symbol) @_d (#match? @_d "^define")) @function)
(comment) @comment
(block_comment) @comment
