"""Lines of a Markdown file: split without loss, their ends, and which stand in a code block or a comment.

Only what lessons need of Markdown; linear in the length, whatever the text is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r" {0,3}<!--")
_HEADING = re.compile(r"\ufeff? {0,3}(#{1,6})(?:[ \t]|$)")
_BLANK = " \t\r\n\ufeff"


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only LF ends a line, as for an editor. Joined, they are the text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def body_of(line: str) -> str:
    """The line without its end (LF or CRLF)."""
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line


def end_of(line: str) -> str:
    """What ends the line; empty for a last line without."""
    return line[len(body_of(line)) :]


def line_end_of(lines: Sequence[str]) -> str:
    """The line end of a file: that of its first line."""
    return (end_of(lines[0]) if lines else "") or "\n"


def is_blank(line: str) -> bool:
    """Nothing but white space (or a byte order mark)."""
    return not line.strip(_BLANK)


def heading_level(line: str) -> int:
    """1 to 6 for a heading with number signs, else 0."""
    found = _HEADING.match(body_of(line))
    return len(found.group(1)) if found else 0


def hidden_lines(lines: Sequence[str]) -> tuple[bytearray, list[tuple[int, str]]]:
    """Which lines stand in a fenced code block or in a comment of several lines, the marks included.

    A fence or comment that nothing closes hides nothing: half a file would be gone through one slip.

    Returns:
        One byte a line, not 0 where it is hidden; and the marks that nothing closes, as (index, mark).
    """
    hidden = bytearray(len(lines))
    unclosed: list[tuple[int, str]] = []
    # How long a fence of this kind is known to have no end in what follows; a comment counts as a fence of length 1.
    endless: dict[str, int] = {}
    number = 0
    while number < len(lines):
        opened = _opened(lines[number])
        if opened is None:
            number += 1
            continue
        mark, length = opened
        end = None if endless.get(mark, length + 1) <= length else _end(lines, number, mark, length)
        if end is None:
            endless[mark] = min(length, endless.get(mark, length))
            unclosed.append((number, mark * length))
            number += 1
            continue
        hidden[number : end + 1] = b"\x01" * (end + 1 - number)
        number = end + 1
    return hidden, unclosed


def _opened(line: str) -> tuple[str, int] | None:
    """The mark that a line opens a block with, and its length."""
    start = line.lstrip(" \ufeff")[:4]
    if start.startswith(("```", "~~~")):
        found = _FENCE.match(body_of(line.lstrip("\ufeff")))
        if found and not (found.group(1)[0] == "`" and "`" in found.group(2)):
            return found.group(1)[0], len(found.group(1))
    elif start == "<!--" and _COMMENT.match(line.lstrip("\ufeff")):
        return "<!--", 1
    return None


def _end(lines: Sequence[str], begin: int, mark: str, length: int) -> int | None:
    """Index of the line that closes the block which a line opens."""
    if mark == "<!--":
        inside = lines[begin].split("<!--", 1)[1]
        if "-->" in inside:
            return begin
        return next((number for number in range(begin + 1, len(lines)) if "-->" in lines[number]), None)
    for number in range(begin + 1, len(lines)):
        if mark not in lines[number]:
            continue
        found = _FENCE.match(body_of(lines[number]))
        if found and found.group(1)[0] == mark and len(found.group(1)) >= length and is_blank(found.group(2)):
            return number
    return None
