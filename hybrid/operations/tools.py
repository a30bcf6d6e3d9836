"""The lists of a server of MCP: tools with titles, descriptions and JSON schemas; resources and prompts.

The descriptions decide what an agent uses, and every word of them stands in each agent's context: they are short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hybrid.operations.asking import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTRUCTIONS = (
    "hybrid knows this project: its code and documents, its lessons, decisions and handoffs, and what earlier sessions "
    "did. Before you look for where something is done, `search`. Before you change a file, `related` names what "
    "changes with it and what tests it. `recall` tells what was done before, `lessons` what was learned. Write down "
    "what the next session must know with `remember` and `decide`."
)


class Tool(Struct, frozen=True):
    """A tool.

    Attributes:
        name: Name of the operation.
        title: For people.
        about: For agents: when to use it, and what comes back.
    """

    name: str
    title: str
    about: str

    @property
    def is_writing(self) -> bool:
        """True when it changes what hybrid keeps."""
        return OPERATIONS[self.name].is_writing

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return schema_of(OPERATIONS[self.name].arguments)


TOOLS = (
    Tool(
        "search",
        "Search the project",
        "Search code, documents, lessons, decisions and earlier work by meaning and by words together. Use it first to "
        "find where something is done, above all when you do not know its name. Returns the best hits with the lines "
        "that tell most; `read` gives more of one.",
    ),
    Tool(
        "read",
        "Read a hit",
        "Read a hit in full with the code around it, or a lesson, decision or observation by its id. Only indexed "
        "files of this project; secrets are masked.",
    ),
    Tool(
        "context",
        "Context for a task",
        "What hybrid would add to a prompt by itself: the few records that matter for a task, or nothing when nothing "
        "is close. Use it for a subtask in your own words.",
    ),
    Tool(
        "related",
        "What belongs to a file",
        "For a file that you are about to change: the files that changed together with it in earlier commits, and the "
        "tests that probably cover it.",
    ),
    Tool(
        "lessons",
        "Lessons of the project",
        "Rules that this project learned the hard way. With a query those that fit, with an id that one, with neither "
        "the most used. Cite one that you apply as [L001].",
    ),
    Tool(
        "recall",
        "Recall earlier work",
        "What earlier sessions did here: fixes, features, findings, failed attempts. By a question, by files, around a "
        "row, or the newest. Use it before you debug or redo something.",
    ),
    Tool(
        "decide",
        "Write a decision down",
        "Write down a choice that others may ask about, with its reason and what was rejected.",
    ),
    Tool(
        "remember",
        "Remember something",
        "Write down a finding for later sessions, or (kind `lesson`) a rule for work to come. Only what the code and "
        "the commits do not say already.",
    ),
)
"""In the order in which they are listed."""

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}

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


def schema_of(of: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of arguments, none of which is an object.

    Without the title and description of the type, which no agent needs; those of fields stay. Words that are
    enumerated say that they are text.
    """
    (root,), parts = msgspec.json.schema_components([of], ref_template="{name}")
    own = parts[root["$ref"]]
    fields = {name: _typed(field) for name, field in own["properties"].items()}
    return {key: value for key, value in own.items() if key not in ("title", "description")} | {"properties": fields}


def _typed(field: dict[str, Any]) -> dict[str, Any]:
    found = dict(field)
    if "enum" in found:
        found["type"] = "string"
    if "items" in found:
        found["items"] = _typed(found["items"])
    return found
