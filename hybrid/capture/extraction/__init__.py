"""Tells what uses of tools did, without a model: deterministic, pure and cheap. Begin at `extract`."""
