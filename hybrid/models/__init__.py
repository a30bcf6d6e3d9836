"""Embedding models: text to unit vectors; code that reads the folder `models/`."""
