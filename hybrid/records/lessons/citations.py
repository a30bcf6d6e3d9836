"""Finds the lessons that an agent says it applied, in its own words only; called with each message when a turn ends.

What the agent repeats is no citation: our frame, blocks that clients inject, fenced code, quotes, listings of lessons.
Whether an id is known is the store's question.
"""

from __future__ import annotations

import json
import re

from hybrid.render.marks import BLOCK_TAGS, FRAME_NAME, JSON_KEY, plain_text

MAX_TEXT_CHARS = 400_000
"""Of a longer message the beginning is read."""

_LIST = r"[LS][0-9]{3,9}(?:[^\S\n]?[,;/][^\S\n]?[LS][0-9]{3,9})*"
_CITED = re.compile(rf"(?<![\w\\])\[({_LIST})\]")
_ID = re.compile(r"[LS][0-9]{3,9}")

_MARKER = r"(?:[-*+•|][^\S\n]*|[0-9]{1,4}[.)][^\S\n]*)?"
_ID_ROW = re.compile(rf"\s*{_MARKER}(?:\*\*|`)?\[[LS][0-9]{{3,9}}\]")
_LISTED = re.compile(
    r"\s*(?:"
    r"#{1,6}\s*\[[LS][0-9]{3,9}\]"  # a heading of LESSONS.md
    rf"|{_MARKER}\[[LS][0-9]{{3,9}}\]\s*(?:⭐|[★☆]|\[[-*|/+. ]{{3,}}\]|\(relevance)"  # what commands print
    r"|\[lesson\]|LESSON RECORDED:|Cite a lesson you apply"  # lines of our frame and our answers
    r")",
    re.IGNORECASE,
)
_META_LINE = re.compile(r"\s*-\s*\*\*(?:Learned|Uses|Velocity|Category|Last)\*\*\s*:", re.IGNORECASE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_QUOTE = re.compile(r"\s*(?:[-*+•]\s*)?>")

# An agent may write of a mark within a sentence: only one that begins a line opens a block.
_TEXT_FRAME = re.compile(
    rf"^[^\S\n]{{0,8}}-{{3}}[^\S\n]{{0,8}}{FRAME_NAME}\b.*?"
    rf"(?:-{{3}}[^\S\n]{{0,8}}end {FRAME_NAME}[^\S\n]{{0,8}}-{{3}}|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_JSON_FRAME = re.compile(rf'^[^\S\n]{{0,8}}\{{\s{{0,8}}"{JSON_KEY}"\s{{0,8}}:', re.MULTILINE)
_ELEMENT = {
    tag: re.compile(rf"(?ism)^[^\S\n]{{0,8}}<{re.escape(tag)}(?:\s[^<>]{{0,500}})?>.*?(?:</{re.escape(tag)}\s*>|\Z)")
    for tag in BLOCK_TAGS
}


def cited_ids(text: str) -> tuple[str, ...]:
    """The ids that an agent's message cites as `[L001]`, `[S012]` or `[L001, L004]`: each once, in order.

    Lines in a row that each begin with an id are a listing and cite nothing; one such line is a citation.

    Args:
        text: One message of the agent, never a prompt, a tool result or a file; any string is accepted, in time linear
            in its length.
    """
    if "[" not in text:
        return ()
    found: dict[str, None] = {}
    for line in own_lines(text):
        for match in _CITED.finditer(line):
            found.update(dict.fromkeys(_ID.findall(match.group(1))))
    return tuple(found)


def own_lines(text: str) -> list[str]:
    """The lines of a message that are its writer's own words, without line ends; what is left out becomes blank lines.

    Each stands where it stood among the lines of `plain_text(text)`. Left out are our frame in any format, elements
    that clients inject, fenced code (one never closed reaches to the end), quoted lines, and listings of lessons with
    what is indented below their entries.
    """
    lines = _without_injected(plain_text(text[:MAX_TEXT_CHARS])).split("\n")
    return _without_listings(_without_fences(lines))


def _without_injected(text: str) -> str:
    lower = text.lower()
    if FRAME_NAME in lower:
        text = _TEXT_FRAME.sub(_blank, text)
    if JSON_KEY in lower:
        text = _without_json_frames(text)
    for tag, element in _ELEMENT.items():
        if f"<{tag}" in lower:
            text = element.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """As many line ends as were matched: each match begins a line, and what follows keeps its place."""
    return "\n" * match.group().count("\n")


def _without_json_frames(text: str) -> str:
    kept: list[str] = []
    position = 0
    while (begin := _JSON_FRAME.search(text, position)) is not None:
        kept.append(text[position : begin.start()])
        try:
            _, position = json.JSONDecoder().raw_decode(text, text.index("{", begin.start()))
        except (ValueError, RecursionError):
            return "".join(kept)
        kept.append("\n" * text.count("\n", begin.start(), position))
    return "".join([*kept, text[position:]])


def _without_fences(lines: list[str]) -> list[str]:
    kept: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            kept.append("")
        elif mark:
            fence = mark.group(1)
            kept.append("")
        else:
            kept.append("" if _QUOTE.match(line) else line)
    return kept


def _without_listings(lines: list[str]) -> list[str]:
    rows = _rows_of_listings(lines)
    kept: list[str] = []
    is_below = False
    for number, line in enumerate(lines):
        is_listed = number in rows or _LISTED.match(line) is not None or _META_LINE.match(line) is not None
        is_below = is_listed or (is_below and line[:1].isspace())
        kept.append("" if is_below else line)
    return kept


def _rows_of_listings(lines: list[str]) -> set[int]:
    """Numbers of the lines that begin with an id and follow one another, indented lines between them aside."""
    rows: set[int] = set()
    run: list[int] = []
    for number, line in enumerate([*lines, ""]):
        if _ID_ROW.match(line):
            run.append(number)
        elif not (run and line[:1].isspace() and line.strip()):
            rows.update(run if len(run) > 1 else ())
            run = []
    return rows
