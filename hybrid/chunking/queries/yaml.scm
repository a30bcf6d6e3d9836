(stream (document (block_node (block_mapping (block_mapping_pair) @property))))
(comment) @comment
