"""A quiet, local context engine for coding agents; import from the modules that define things."""

__version__ = "0.2.0"
