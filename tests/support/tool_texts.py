"""Reads the texts of tools as an agent does: what can be asked for next, and what was left out."""

from __future__ import annotations

import re

from msgspec import Struct

_HEADER = re.compile(r"\[(?P<kind>[a-z-]+)\] (?P<title>.*)")
_REF = re.compile(r"  ref (?P<named>\S+)|^(?P<place>.+?:\d+-\d+)(?= |$)|^(?P<id>\S+)")
_LINE = re.compile(r" *(\d+)\t(.*)")
_GIVEN = "  (given earlier in this session)"


class Hit(Struct, frozen=True):
    """A hit of `search`: what `read` finds it by, its header, the lines below, and whether the session has it."""

    ref: str
    header: str
    text: str
    is_given: bool


def hits_of(text: str) -> list[Hit]:
    """The hits of an answer of `search`, in its order."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        if _HEADER.match(line):
            found.append((line, []))
        elif found and (line.startswith("  ") or not line):
            found[-1][1].append(line[2:])
    return [Hit(_ref(header), header, "\n".join(lines), header.endswith(_GIVEN)) for header, lines in found]


def _ref(header: str) -> str:
    said = _HEADER.fullmatch(header)
    assert said, header
    ref = next((one for one in _REF.finditer(said["title"]) if one["named"]), None) or _REF.search(said["title"])
    assert ref, header
    return ref["named"] or ref["place"] or ref["id"]


def rows_of(text: str) -> list[str]:
    """The ids of an answer of `recall` or `lessons`, in its order."""
    return re.findall(r"^([osLS]\d+) ", text, re.MULTILINE)


def written(text: str) -> str:
    """The id of what `decide` or `remember` says that it wrote."""
    [found] = re.findall(r"^(?:added )?([A-Za-z]+-?\w+)\b", text)
    return found


def cursor_of(text: str) -> str:
    """The cursor of the next page; empty on the last one."""
    return "".join(re.findall(r'^More: cursor "(\d+)"$', text, re.MULTILINE))


def numbered_of(text: str) -> dict[int, str]:
    """The lines of a file that `read` shows, by their numbers."""
    found = (_LINE.fullmatch(line) for line in text.split("\n"))
    return {int(line[1]): line[2] for line in found if line}


def file_text(text: str) -> str:
    """The lines of a file that `read` shows, as they stand in it."""
    return "\n".join(numbered_of(text).values())
