"""Ledgers of agent sessions, which say what each was given already, and pauses."""
