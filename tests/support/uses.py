"""Uses of tools as cases write them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Use(NamedTuple):
    """A tool, what it was given, what it answered, and its error."""

    tool: str
    given: Any
    answer: Any
    error: str


def use_of(text: str) -> Use:
    """Return the use that a case writes: the tool with its arguments, or `$` and a command; below it its output.

    An answer that is JSON is read as such. The lines of an error begin with `! `.
    """
    first, *lines = text.split("\n")
    tool, _, given = first.partition(" ")
    error = "\n".join(line[2:] for line in lines if line.startswith("! "))
    output = "\n".join(line for line in lines if not line.startswith("! "))
    if tool == "$":
        return Use("Bash", {"command": given, "description": "Try it"}, {"stdout": output}, error)
    try:
        return Use(tool, json.loads(given), json.loads(output), error)
    except ValueError:
        return Use(tool, json.loads(given), output, error)
