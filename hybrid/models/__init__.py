"""Embedding models, which turn text into unit vectors, and the reading of the shipped folder `models/`."""
