"""Projects: which one a folder belongs to, what it is called, whether it is trusted, and where its files lie."""
