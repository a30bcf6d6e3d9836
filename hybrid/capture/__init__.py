"""Reads from events and transcripts what is worth keeping."""
