"""Reads patches into pairs of old and new text: those of `apply_patch`, unified diffs and a client's own hunks."""

from __future__ import annotations

from typing import Any, cast

PATCH_BEGIN = "*** Begin Patch"
_MAX_HUNKS = 20
_MARKS = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}


def patched(text: str) -> list[tuple[str, str, str, bool]]:
    """File, old text, new text and whether it is a new file, of each hunk of an `apply_patch` text, at most 20.

    Text without a patch gives nothing. A deleted file has no texts.
    """
    if PATCH_BEGIN not in text:
        return []
    found: list[tuple[str, str, str, bool]] = []
    path, is_new, lines = "", False, list[str]()
    for line in [*text[text.index(PATCH_BEGIN) :].splitlines(), "*** End Patch"]:
        mark = next((mark for mark in _MARKS if line.startswith(mark)), "")
        if mark or line.startswith(("@@", "*** End Patch")):
            if path and lines:
                found.append((path, *sides(lines), is_new))
            lines = []
        if mark:
            path, is_new = line[len(mark) :].strip(), _MARKS[mark] == "add"
            if _MARKS[mark] == "delete":
                found.append((path, "", "", False))
        elif line.startswith("*** Move to: "):
            found.append((line[len("*** Move to: ") :].strip(), "", "", True))
        elif line.startswith("*** End Patch"):
            break
        elif not line.startswith("*** "):
            lines += (
                [" " + line[2:].strip()] if line.startswith("@@") and line.strip("@ ") else [line] * (line[:2] != "@@")
            )
    return found[:_MAX_HUNKS]


def hunks(value: object) -> list[tuple[str, str]]:
    """Old and new text of each hunk of a `structuredPatch`, at most 20."""
    if not isinstance(value, list):
        return []
    found: list[tuple[str, str]] = []
    for hunk in cast("list[object]", value)[:_MAX_HUNKS]:
        lines = cast("dict[str, Any]", hunk).get("lines") if isinstance(hunk, dict) else None
        if isinstance(lines, list):
            found.append(sides([line for line in cast("list[object]", lines) if isinstance(line, str)]))
    return found


def sides(lines: list[str]) -> tuple[str, str]:
    """The old and the new text of the lines of a hunk, each with its mark."""
    old = [line[1:] for line in lines if line[:1] in (" ", "-", "")]
    new = [line[1:] for line in lines if line[:1] in (" ", "+", "")]
    return "\n".join(old), "\n".join(new)


def first_change(old: str, new: str) -> int:
    """Offset in the old text of the first line that the new one does not have there."""
    offset = 0
    theirs = new.split("\n")
    for number, line in enumerate(old.split("\n")):
        if number >= len(theirs) or line != theirs[number]:
            break
        offset += len(line) + 1
    return min(offset, len(old))
