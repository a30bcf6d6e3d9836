(block) @object
(body (attribute) @property)
(comment) @comment
