"""Reads lessons out of what a user typed (`LESSON: …`) and out of what an agent wrote at its end (`AI LESSON: …`).

Whoever may write such a line makes a rule that is shown to agents later, so callers may pass only

- to `captured_from_prompt`: the text of a prompt that a person typed, cleaned of private spans, frames and machine-made
  parts, and not marked as machine-made; never a tool result, a file, a subagent's report or a record;
- to `captured_from_agent`: the last message of the main agent itself; never what a tool returned to it.

Quotes, fenced code and listings within them are other people's text and make nothing either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.lessons.citations import own_lines
from hybrid.records.lessons.lesson import AI, CATEGORIES, TYPES
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.records.lessons.lesson import Level

MAX_CAPTURES = 10
"""Lines with lessons of one text: more than this were pasted, not thought of."""

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


class Captured(Struct, frozen=True):
    """A lesson as it was written, not stored yet.

    Attributes:
        level: Whether it is for this project or for all.
        category: One of `CATEGORIES`.
        title: One line, 1 to 120 characters.
        content: One line, 1 to 1,000 characters; the title again when the line has no ` - `.
        type: One of `TYPES`, or empty when none or an unknown one was named.
        source: `ai` for an agent's lesson, empty for a person's.
        is_promotable: False when it is to stay with its project.
    """

    level: Level
    category: str
    title: str
    content: str
    type: str = ""
    source: str = ""
    is_promotable: bool = True


def captured_from_prompt(typed_text: str) -> tuple[Captured, ...]:
    """The lessons in lines `LESSON: category: title - content` or `SYSTEM LESSON: …`, in any case, at most ten.

    Without a known category the lesson is a correction, and what stands before a colon belongs to the title. The title
    ends at the first ` - `; a line without one is content and title at once. Secrets are replaced, over-long parts cut.

    Args:
        typed_text: What a person typed, cleaned; see the module for what must never be passed.
    """
    return tuple(dict.fromkeys(captured_lines(typed_text).values()))


def captured_lines(typed_text: str) -> dict[int, Captured]:
    """The same by the index of the line that holds each, among the lines of `plain_text(typed_text)`."""
    return _collect(typed_text, _from_typed)


def captured_from_agent(text: str) -> tuple[Captured, ...]:
    """The lessons in lines `AI LESSON: …` or `AI LESSON [type]: …`, in the same form, at most ten.

    Without a known category the lesson is a pattern. All are for the project, with source `ai`.

    Args:
        text: The last message of the main agent; see the module for what must never be passed.
    """
    return tuple(dict.fromkeys(_collect(text, _from_written).values()))


def _collect(text: str, read: Callable[[str], Captured | None]) -> dict[int, Captured]:
    """Index of a line → the lesson in it, for the first ten such lines."""
    if "lesson" not in text.lower():
        return {}
    found: dict[int, Captured] = {}
    for number, line in enumerate(own_lines(text)):
        captured = read(line)
        if captured is not None:
            found[number] = captured
        if len(found) == MAX_CAPTURES:
            break
    return found


def _from_typed(line: str) -> Captured | None:
    match = _TYPED.fullmatch(line)
    if match is None:
        return None
    level: Level = "system" if match["system"] else "project"
    return _lesson(match, match["rest"], level=level, default="correction")


def _from_written(line: str) -> Captured | None:
    match = _WRITTEN.fullmatch(line)
    if match is None:
        return None
    named = (match["type"] or "").strip().lower()
    is_bold_to_the_end = match["bold"] and not (match["ended"] or match["ended_after"])
    rest = match["rest"].rstrip().removesuffix(match["bold"]) if is_bold_to_the_end else match["rest"]
    return _lesson(match, rest, level="project", default="pattern", type_=named if named in TYPES else "", source=AI)


def _lesson(
    match: re.Match[str], written: str, *, level: Level, default: str, type_: str = "", source: str = ""
) -> Captured | None:
    rest = redact(" ".join(written.split()))
    if _PLACEHOLDER.fullmatch(rest):  # The help line of LESSONS.md, copied as it is.
        return None
    named = _CATEGORY.match(rest)
    category = named["category"].lower() if named else default
    title, content = _title_and_content(rest[named.end() :] if named else rest)
    if not content:
        return None
    return Captured(level, category, title, content, type_, source, not (match["before"] or match["after"]))


def _title_and_content(rest: str) -> tuple[str, str]:
    """Both sides of the first ` - `; a rule of which one side is missing is not lost: the other serves for both."""
    title, _, content = f" {rest} ".partition(" - ")
    title, content = title.strip(), content.strip()
    return _cut(title or content, MAX_TITLE_CHARS), _cut(content or title, MAX_CONTENT_CHARS)


def _cut(text: str, limit: int) -> str:
    """Text of at most `limit` characters; a longer one ends at a word, with `…`."""
    if len(text) <= limit:
        return text
    short = text[: limit - 1]
    return f"{short.rsplit(' ', 1)[0] if ' ' in short else short}…"
