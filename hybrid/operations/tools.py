"""The lists of a server of MCP, made from the table: tools with JSON schemas, resources, prompts; its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from hybrid.operations.asking import rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INSTRUCTIONS = (
    "hybrid knows this project: its code and documents, its lessons, decisions and handoffs, and what earlier sessions "
    "did. Before you look for where something is done, `search`. Before you change a file, `related` names what "
    "changes with it and what tests it. `recall` tells what was done before, `lessons` what was learned. Write down "
    "what the next session must know with `remember` and `decide`."
)

RECORD = "hybrid://record/{ref}"
"""Template of the address of any record."""


class Tool(NamedTuple):
    """A tool; see `asking.Operation` and `asking.ForAgents`."""

    name: str
    title: str
    about: str
    is_writing: bool
    input_schema: dict[str, Any]


def schema_of(of: type[Struct], takes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of arguments, none of which is an object: of those that are named, or of all.

    Without the title and description of the type, which no agent needs, and without fields that only code gives. Words
    that are enumerated say that they are text.
    """
    (root,), parts = msgspec.json.schema_components([of], ref_template="{name}")
    own = parts[root["$ref"]]
    given = {name: one for name, one in own["properties"].items() if "description" in one}
    fields = {name: _typed(given[name]) for name in takes or given}
    return {key: value for key, value in own.items() if key not in ("title", "description")} | {"properties": fields}


def _typed(field: dict[str, Any]) -> dict[str, Any]:
    found = dict(field)
    if "enum" in found:
        found["type"] = "string"
    if "items" in found:
        found["items"] = _typed(found["items"])
    return found


_TOLD = [(row, row.for_agents) for row in sorted(rows(), key=lambda row: row.is_writing) if row.for_agents]
_LISTED = {told.address: (row.name, told.title, told.about) for row, told in _TOLD if told.address}

TOOLS = tuple(
    Tool(row.agents_name, told.title, told.about, row.is_writing, schema_of(row.arguments, told.takes))
    for row, told in _TOLD
    if not told.address
)
"""In the order in which they are listed: first those that write nothing."""

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}

RESOURCES = {address: told for address, told in _LISTED.items() if "://" in address}
"""Address → operation, title, description."""

PROMPTS = {name: told for name, told in _LISTED.items() if "://" not in name}
"""Name → operation, title, description."""
