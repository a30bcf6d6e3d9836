(document (object (pair) @property))
(comment) @comment
