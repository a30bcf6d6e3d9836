"""Writes docs/reference/mcp.md: the tools, resources and prompts of `hybrid mcp`, from the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.operations.tools import INSTRUCTIONS, PROMPTS, RECORD, RESOURCES, TOOLS
from tests.docs.reference import MADE, said, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hybrid.operations.tools import Tool


def page() -> str:
    """Return the text of the page."""
    lines = [MADE.format("the rows of `hybrid/operations`"), "", *said("mcp").split("\n")[:-1]]
    lines += [*(f"> {line}" if line else "" for line in wrapped(INSTRUCTIONS)), "## Tools", ""]
    for tool in TOOLS:
        lines += _tool(tool)
    rows = [(f"`{uri}`", title, about) for uri, (_, title, about) in RESOURCES.items()]
    rows.append((f"`{RECORD}`", "A record", "A lesson, decision, observation or part of a file by its ref."))
    lines += ["## Resources", "", *table(("address", "title", "holds"), rows)]
    asked = [(f"`{name}`", title, about) for name, (_, title, about) in PROMPTS.items()]
    lines += ["## Prompts", "", *table(("name", "title", "asks for"), asked)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _tool(tool: Tool) -> Iterator[str]:
    """Yield the lines of one tool: what it is for, and its arguments."""
    yield from (f"### {tool.name}", "", *wrapped(tool.about))
    if tool.is_writing:
        yield from wrapped("It writes; `mcp.write = false` takes it away.")
    wanted = tool.input_schema
    rows = [
        (f"`{name}`", _type(field), "" if name in wanted.get("required", []) else _default(field), _about(field))
        for name, field in wanted["properties"].items()
    ]
    yield from table(("argument", "type", "default", "means"), rows)


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    low, high = field.get("minimum"), field.get("maximum")
    return f"{field.get('type', 'any')}{f', {low} to {high}' if low is not None and high is not None else ''}"


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "empty" if value in ("", []) else f"`{value}`"


def _about(field: Mapping[str, Any]) -> str:
    return str(field.get("description", ""))
