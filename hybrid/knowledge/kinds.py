"""The collections of a project and the kinds of hits in each."""

from __future__ import annotations

from hybrid.types import FILE_KINDS

KINDS_OF = {
    "files": FILE_KINDS,
    "lessons": ("lesson",),
    "lore": ("pattern", "anti-pattern", "decision", "handoff"),
    "memory": ("observation", "summary"),
}
"""Collection → the kinds of hits in it."""
