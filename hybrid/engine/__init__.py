"""Wires the parts into what the product does: index a project, search it, decide an injection, tell how it is."""
