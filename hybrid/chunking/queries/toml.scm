(table) @object
(table_array_element) @object
(document (pair) @property)
(table (pair) @property)
(table_array_element (pair) @property)
(comment) @comment
