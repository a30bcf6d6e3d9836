"""hybrid beside another retriever, on the same files and queries."""
