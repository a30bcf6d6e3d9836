"""Keeps what is stored in order: builds and cleans indexes, accepts records, forgets projects."""
