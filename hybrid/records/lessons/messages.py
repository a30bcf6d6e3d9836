"""Finds in the messages of a conversation the lessons that are written down and those that are cited.

A user writes `LESSON: …`, an agent `AI LESSON: …` in its last message, and `[L001]` for a lesson that it applied. Such
a line makes a rule that agents are shown later, so callers may pass only

- to `captured_from_prompt`: the text of a prompt that a person typed, cleaned of private spans, frames and machine-made
  parts, and not marked as machine-made; never a tool result, a file, a subagent's report or a record;
- to `captured_from_agent` and `cited_ids`: a message of the main agent itself; never what a tool returned to it.

Our frame, blocks that clients inject, quotes, fenced code and listings are other people's text: they neither make nor
cite a lesson. The store knows which ids there are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.text import cut_at_word, one_line
from hybrid.records.lessons.types import AI, CATEGORIES, TYPES, Draft
from hybrid.redact import redact
from hybrid.render.marks import FRAME_NAME, JSON_KEY, block_tags, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.records.lessons.types import Level

MAX_TEXT_CHARS = 400_000
"""The most characters that are read of a message, from its beginning."""

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


def cited_ids(text: str) -> tuple[str, ...]:
    """Return the ids that an agent's message cites as `[L001]`, `[S012]` or `[L001, L004]`: each once, in order.

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
    """Return the lines of a message without line ends; a line that is not its writer's own words is blank.

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
    for tag in block_tags():
        if f"<{tag}" in lower:
            tag = re.escape(tag)
            text = re.sub(rf"(?ism)^[^\S\n]{{0,8}}<{tag}(?:\s[^<>]{{0,500}})?>.*?(?:</{tag}\s*>|\Z)", _blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Return the line ends of a match and nothing else, so that the lines after it keep their numbers."""
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
    """Return the indexes of lines that begin with an id and follow one another; indented lines may lie between."""
    rows: set[int] = set()
    run: list[int] = []
    for number, line in enumerate([*lines, ""]):
        if _ID_ROW.match(line):
            run.append(number)
        elif not (run and line[:1].isspace() and line.strip()):
            rows.update(run if len(run) > 1 else ())
            run = []
    return rows


MAX_CAPTURES = 10
"""The most lessons that are taken from one text, the first ones: more were pasted, not thought of."""

_MOST_OTHER_LINES = 2
"""Most lines of other text, fences and quotes not counted, in a prompt that takes in a lesson for all projects."""

MAX_TITLE_CHARS = 120
MAX_CONTENT_CHARS = 1_000

_SPACE = r"\s{0,8}"
_NO_PROMOTE = rf"(?:\({_SPACE}no-promote{_SPACE}\))"
_REST = rf"(?P<after>{_NO_PROMOTE})?(?P<rest>.*)"
# Both places of `(no-promote)` are in use. Four spaces before a line make it code.
_TYPED = re.compile(
    rf" {{0,3}}(?P<system>SYSTEM\s{{1,8}})?LESSON{_SPACE}(?P<before>{_NO_PROMOTE})?{_SPACE}:{_SPACE}{_REST}",
    re.IGNORECASE,
)
# Agents like to write such a line as a list entry or in bold.
_WRITTEN = re.compile(
    rf" {{0,3}}(?:[-*+] {{1,3}})?(?P<bold>\*\*|__)?AI\s{{1,8}}LESSON{_SPACE}(?:\[(?P<type>[^\]]{{0,40}})\])?"
    rf"{_SPACE}(?P<before>{_NO_PROMOTE})?(?P<ended>\*\*|__)?{_SPACE}:(?P<ended_after>\*\*|__)?{_SPACE}{_REST}",
    re.IGNORECASE,
)
_CATEGORY = re.compile(
    rf"\[?{_SPACE}(?P<category>{'|'.join(CATEGORIES)}){_SPACE}(?::{_SPACE}\]?|\]{_SPACE}:?){_SPACE}", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"[\[<(]?category:?[\]>)]?:? *[\[<(]?title[\]>)]? - [\[<(]?content[\]>)]?\.?", re.IGNORECASE)


class CapturedLesson(Draft, frozen=True):
    """A lesson as it was written, not stored yet: title and content have one line each.

    The title has 1 to 120 characters, the content 1 to 1,000: it is the title again when the line has no ` - `.

    Attributes:
        level: `project` for this project, `system` for all.
    """

    level: Level = "project"


def captured_from_prompt(typed_text: str) -> tuple[CapturedLesson, ...]:
    """Return the lessons in lines `LESSON: category: title - content` or `SYSTEM LESSON: …`, in any case, at most ten.

    Without a known category the lesson is a correction, and what stands before a colon belongs to the title. The title
    ends at the first ` - `; a line without one is content and title at once. Secrets are replaced, over-long parts cut.
    In a log or an issue that was pasted, `SYSTEM LESSON:` is somebody else's: it is for all projects only before or
    behind all other text, and where that has two lines at most, else for this project.

    Args:
        typed_text: What a person typed, cleaned; see the module for what must never be passed.
    """
    return tuple(dict.fromkeys(captured_lines(typed_text).values()))


def captured_lines(typed_text: str) -> dict[int, CapturedLesson]:
    """Return index of a line in `plain_text(typed_text)` → the lesson that `captured_from_prompt` finds in it."""
    found = _collect(typed_text, _from_typed)
    if any(one.level == "system" for one in found.values()):
        lines = own_lines(typed_text)
        others = [number for number, line in enumerate(lines) if line.strip() and not _TYPED.fullmatch(line)]
        for number, one in found.items():
            is_between = bool(others) and others[0] < number < others[-1]
            if is_between or len(others) > _MOST_OTHER_LINES:
                found[number] = replace(one, level="project")
    return found


def captured_from_agent(text: str) -> tuple[CapturedLesson, ...]:
    """Return the lessons in lines `AI LESSON: category: title - content` or `AI LESSON [type]: …`, at most ten.

    Without a known category the lesson is a pattern. All are for the project, with source `ai`.

    Args:
        text: The last message of the main agent; see the module for what must never be passed.
    """
    return tuple(dict.fromkeys(_collect(text, _from_written).values()))


def _collect(text: str, read: Callable[[str], CapturedLesson | None]) -> dict[int, CapturedLesson]:
    """Return index of a line → the lesson that `read` finds in it, for the first ten lines with a lesson."""
    if "lesson" not in text.lower():
        return {}
    found: dict[int, CapturedLesson] = {}
    for number, line in enumerate(own_lines(text)):
        captured = read(line)
        if captured is not None:
            found[number] = captured
        if len(found) == MAX_CAPTURES:
            break
    return found


def _from_typed(line: str) -> CapturedLesson | None:
    match = _TYPED.fullmatch(line)
    if match is None:
        return None
    level: Level = "system" if match["system"] else "project"
    return _lesson(match, match["rest"], CapturedLesson("", "", level=level))


def _from_written(line: str) -> CapturedLesson | None:
    match = _WRITTEN.fullmatch(line)
    if match is None:
        return None
    named = (match["type"] or "").strip().lower()
    is_bold_to_the_end = match["bold"] and not (match["ended"] or match["ended_after"])
    rest = match["rest"].rstrip().removesuffix(match["bold"]) if is_bold_to_the_end else match["rest"]
    type_ = named if named in TYPES else ""
    return _lesson(match, rest, CapturedLesson("", "", "pattern", type_, AI))


def _lesson(match: re.Match[str], written: str, lesson: CapturedLesson) -> CapturedLesson | None:
    """Return a lesson with the category, title and content of its line; None for an empty line and for the placeholder.

    Args:
        match: The parts of the line.
        written: What follows the colon.
        lesson: What is known of it beforehand; its category is that of a line that names none.
    """
    rest = redact(one_line(written))
    if _PLACEHOLDER.fullmatch(rest):  # The help line of LESSONS.md, copied as it is.
        return None
    named = _CATEGORY.match(rest)
    category = named["category"].lower() if named else lesson.category
    title, content = _title_and_content(rest[named.end() :] if named else rest)
    if not content:
        return None
    is_promotable = not (match["before"] or match["after"])
    return replace(lesson, category=category, title=title, content=content, is_promotable=is_promotable)


def _title_and_content(rest: str) -> tuple[str, str]:
    """Return the texts before and after the first ` - `, cut to their limits; where one is missing, the other twice."""
    title, _, content = f" {rest} ".partition(" - ")
    title, content = title.strip(), content.strip()
    return cut_at_word(title or content, MAX_TITLE_CHARS), cut_at_word(content or title, MAX_CONTENT_CHARS)
