"""Shortens texts so that what matters stays: head and tail of an output, the definitions of a file. Pure and linear."""

from __future__ import annotations

import re

from hybrid.capture.definitions import definitions

_SCAN_CHARS = 120_000
"""Of a longer file the beginning is looked through; clients give less."""


_LINE_NUMBER = re.compile(r"^[ \t]*\d+(?:\t|→|: )", re.MULTILINE)
_COUNT = re.compile(r"^(.+):\d+[ \t]*$", re.MULTILINE)
_NO_COUNT = re.compile(r"^.+:0[ \t]*(?:\n|\Z)", re.MULTILINE)
_GAP = "\n…\n"
_LONGEST_LINE = 600


def cut(text: str, max_chars: int) -> str:
    """Text of at most that many characters: a third of it the head, the rest the tail, for outcomes stand last."""
    if len(text) <= max_chars:
        return text
    head = max_chars // 3
    tail = max_chars - head - len(_GAP)
    return text[:head] + _GAP + text[len(text) - tail :] if tail > 0 else text[:max_chars]


def without_line_numbers(text: str) -> str:
    """A file's text as it is, where the client put a number before each line."""
    head = text[:2_000].split("\n")
    numbered = sum(1 for line in head if _LINE_NUMBER.match(line))
    return _LINE_NUMBER.sub("", text) if numbered > len(head) * 0.8 else text


def without_counts(text: str) -> str:
    """`path:3` of a search that counts as `path`, without those that hold nothing: a count is no line."""
    return _COUNT.sub(r"\1", _NO_COUNT.sub("", text))


def condensed(text: str, path: str, max_chars: int) -> str:
    """A file's text of at most that many characters: lines that define or comment first, then the outer ones.

    Lines keep their order; where lines are missing stands `…`.
    """
    text = without_line_numbers(text[:_SCAN_CHARS])
    if len(text) <= max_chars:
        return text
    lines = [line[:_LONGEST_LINE] for line in text.split("\n")]
    defining = _lines_of(text, path)
    ranked = sorted(range(len(lines)), key=lambda number: (_depth(lines, number, defining), number))
    kept, room = set[int](), max_chars
    for number in ranked:
        room -= len(lines[number]) + 3
        if room < 0:
            break
        kept.add(number)
    parts: list[str] = []
    for number, line in enumerate(lines):
        if number in kept:
            parts.append(line)
        elif parts and parts[-1] != "…":
            parts.append("…")
    return "\n".join(parts)


def _depth(lines: list[str], number: int, defining: set[int]) -> int:
    line = lines[number]
    if number in defining:
        return -2
    stripped = line.lstrip()
    if not stripped:
        return 99
    if stripped.startswith(("//", "#", "*", "/*", '"""')):
        return -1
    return min(90, len(line) - len(stripped))


def _lines_of(text: str, path: str) -> set[int]:
    """Numbers of the lines that define something, from 0."""
    found: set[int] = set()
    number = at = 0
    for one in definitions(text, path):
        number += text.count("\n", at, one.start)
        at = one.start
        found.add(number)
    return found
