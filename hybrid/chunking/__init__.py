"""Cuts documents into chunks: code along definitions, prose along headings, the rest at blank lines; see `chunker`."""
