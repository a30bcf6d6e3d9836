"""The resources and prompts of the MCP server, by name; the tools stand in `hybrid.operations.tools`."""

from __future__ import annotations

RESOURCES = {
    "hybrid://orientation": ("orientation", "Orientation", "What this project is, what is open, and what was learned."),
    "hybrid://hot-topics": ("hot_topics", "Hot topics", "The files and symbols that prompts asked for most."),
}
"""Address → operation, title, description."""

RECORD = "hybrid://record/{ref}"
"""Template of the address of any record."""

PROMPTS = {
    "hand-over": ("hand_over", "Hand over", "Write a handoff for the next session from what was done here."),
    "what-did-we-learn": ("learned", "What did we learn?", "Find the lessons of this session and write them down."),
}
"""Name → operation, title, description."""
