"""How a name is read from a syntax node, language by language; `table` is the entry."""
