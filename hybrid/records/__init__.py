"""Stores of what a project learned, decided and did, one folder a kind: lessons, lore and memory."""
