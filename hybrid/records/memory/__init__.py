"""Memory: what happened in earlier sessions, as observations and summaries in one database."""
