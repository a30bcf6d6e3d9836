"""Stores of what a project learned and decided, as their users see them: lessons and lore; memory follows."""
