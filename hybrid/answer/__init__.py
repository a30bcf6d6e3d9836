"""Answers one event of an agent with a text or with silence: decides, selects, packs and notes."""
