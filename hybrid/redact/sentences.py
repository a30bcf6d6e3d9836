"""Finds the value of a telling name in a sentence: `the password is X`, `use X as the password`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.signs import Clarity
from hybrid.redact.values import Position, has_both, is_marked

if TYPE_CHECKING:
    from hybrid.redact.values import TellingName

LINKS = frozenset(
    "for of on in at between til do от для is was are ist est es now to into becomes as from back should must will has"
    " had been lautet für de du da del van é è je är er este".split()
)
"""Words that may stand between a name and its value."""
_PROSE = (
    r"(?:[^\S\n](?:for|of|on|in|at|between|für|de|du|da|del|van|do|til|от|для)[^\S\n](?:[\w.@'’/-]{1,40}[^\S\n]){0,4}?[\w.@'’/-]{1,40})?"
    r"[\"'`)*]{0,2}(?:[^\S\n]?:|[^\S\n]{1,3}\(?(?:is|was|are|ist|est|es|lautet|é|è|je|är|er|este|=|now"
    r"|(?:back )?to|into|(?:has |had )?been(?= )"
    r"|(?:should|must|will)[^\S\n]be"
    r"|becomes|as|[-–—]>?|→)"
    r"(?:[^\S\n](?:now|still|again|currently|(?:set|changed|reset|rotated|updated) to))?:?)\s{1,3}"
    r"(?:(?P<open>\*{0,2}(?:\\{0,4}[\"'`]|[“‘]))(?P<quoted>[^\"'`“”‘’\n]{4,200}?)\\{0,4}[\"'`”’]"
    r"|\*{0,2}(?P<value>[^\s\"'`“”‘’]{4,512}))"
)
VALUE_LATE = (
    r"[^\n:|]{0,60}?(?:\bit[’']?s|\bit is|\bwhich is|\bnamely|\bnew (?:value|one)(?: is)?"
    r"|\b(?:type|enter|use|try))[^\S\n]"
    r"[\"'`]?(?P<value>[^\s\"'`]{6,512})"
)
"""Pattern of a value later in the sentence: `asks for a password, just type X`."""
_VALUE_BEFORE = (
    r"(?:^|[\s(\[\"'`])(?P<value>[^\s\"'`()]{6,256})[\"'`]?[^\S\n]{1,4}(?:(?:is|was|ist|as|als)[^\S\n]"
    r"(?:the|my|our|your|its|a|das|mein)|as|als|<-)(?:[^\S\n][a-zA-Z-]{1,20}){0,3}[^\S\n]$"
)
"""Pattern of a value before its name: `X is the password`."""
_OTHER_SUBJECT = (
    r"[^\S\n](?:[a-z]+ing|hash|digest|algorithm|scheme|type|field|manager|encoding|format|policy|reset|name)\b"
)
"""Pattern of the words after which `X as the password …` speaks of something else."""
USER_BESIDE = (
    r"(?:\b(?:user(?:name)?|login|benutzer)\s?[:=]\s?|--?(?:user(?:name)?|login|u|U)[ =])\S{1,64}?[,;/|]?\s{1,3}"
    r"(?:(?:and|und)[^\S\n])?$"
)
"""Pattern of a user right before the name of a password, which makes any word one."""
_USER_BEFORE = (
    r"\b(?:user(?:name)?|login|account)[^\S\n][\"'`]?[\w.@-]{1,64}[\"'`]?,?[^\S\n](?:(?:and|with|und|mit)[^\S\n])?"
    r"(?:(?:the|a|its|das|dem)[^\S\n])?$"
)
_FROM = r"[^\S\n]from[^\S\n][\"'`]?(?P<old>[^\s\"'`]{4,128})[\"'`]?[^\S\n]to[^\S\n][\"'`]?(?P<value>[^\s\"'`]{4,128})"
_LATER = r"[^\S\n][\w@ '/().-]{1,80}:[^\S\n]{1,3}(?:[…›] )?[\"'`]?(?P<value>[^\s\"'`]{6,512})"
_NEXT_LINE = (
    r"[^\n:]{0,100}:(?:\*\*)?[^\S\n]*\n(?:[^\S\n]{0,160}\n)?[^\S\n]*(?:(?:[>`]|```\w*\n)[^\S\n]*)?"
    r"(?P<value>[^\s`]{6,512})`?[^\S\n]*(?=\n|$)"
)
_COMMAND_OUTPUT = (
    r"[^\n]{0,300}\n(?:@@[^\n]*\n\+|[^\S\n]*\d{1,6}(?:→|\t))?[^\S\n]*(?P<value>[^\s]{6,512})[^\S\n]*"
    r"(?=\n|$|\\{0,4}\")"
)
_PROMPT = r"(?:^|[\n\"'])[^\S\n]*(?:\d{1,6}(?:→|\t))?(?:[\w@.~:/-]{0,40}[$#%❯>] |\+\+\+ )[^\n]{0,200}$"
_PROMPT_MARKS = ("$ ", "# ", "% ", "❯ ", "> ", "+++ ")
_MAX_PROSE = 1200
"""Characters after a name within which a sentence may have its value, and end it."""
_QUOTES = "\"'`“‘"


def may_follow(key: TellingName) -> bool:
    """Return whether a sentence may hold a value: text after the name has a digit, a capital or a quote.

    It spares most prompts about passwords the patterns of sentences, which take milliseconds to compile.
    """
    text = key.text[key.end : key.end + _MAX_PROSE]
    return not text.islower() or any(map(str.isdigit, text)) or any(quote in text for quote in _QUOTES)


def value_after(key: TellingName) -> list[tuple[int, int]]:
    """Return the span of a value after its name, if it is a secret: `password is X`, `password from X to Y`."""
    match = compiled(_FROM).match(key.text, key.end) if key.text.startswith(" from", key.end) else None
    if match is not None and key.is_secret(match["value"].rstrip(".,;:!?)"), Position.PROSE):
        return [key.without_end_marks(match, "old"), key.without_end_marks(match)]
    match = compiled(_PROSE).match(key.text, key.end)
    if match is None:
        return []
    if match["quoted"] is not None:
        position = Position.QUOTED if key.clear >= Clarity.SECRET else Position.PROSE
        return [match.span("quoted")] if key.is_secret(match["quoted"].strip(), position) else []
    return key.kept(key.without_end_marks(match), Position.PROSE)


def value_later(key: TellingName) -> list[tuple[int, int]]:
    """Return the span of a value after a colon further on, or alone on the line after a colon or a command."""
    text, end = key.text, key.end
    patterns: list[tuple[str, Position]] = [(VALUE_LATE, Position.LOOSE)]
    if text.find(":", end, end + 110) >= 0:
        patterns = [(_LATER, Position.LOOSE), (_NEXT_LINE, Position.LOOSE)]
    before = text[max(0, key.start - 240) : key.start]
    before = before[max(0, before.rfind("\n")) :]
    if any(mark in before for mark in _PROMPT_MARKS) and compiled(_PROMPT).search(before) is not None:
        patterns.append((_COMMAND_OUTPUT, Position.SETTING))
    for pattern, position in patterns:
        match = compiled(pattern).match(text, end)
        if match is not None:
            span = key.without_end_marks(match)
            value = text[slice(*span)]
            if key.is_secret(value, position) and (position is Position.LOOSE or has_both(value) or is_marked(value)):
                return [span]
    return []


def value_before(key: TellingName) -> list[tuple[int, int]]:
    """Return the span of a value before its name, if it is a secret: `X is the password`."""
    near = key.text[max(0, key.start - 80) : key.start]
    if not near.endswith(" ") or not any(word in near for word in (" is ", " was ", " ist ", " as ", " als ", " <- ")):
        return []
    if compiled(_OTHER_SUBJECT).match(key.text, key.end) is not None:
        return []
    low = max(0, key.start - 320)
    match = compiled(_VALUE_BEFORE).search(key.text[low : key.start])
    if match is None or not key.is_secret(match["value"], Position.PROSE):
        return []
    return [(low + match.start("value"), low + match.end("value"))]


def stands_beside_user(key: TellingName) -> bool:
    """Return whether a user is named right before the name of a password, which makes any word one."""
    if key.clear not in (Clarity.PASSWORD, Clarity.PASS):
        return False
    line = key.text[max(0, key.start - 100) : key.start].rpartition("\n")[2]
    return ":" in line and compiled(USER_BESIDE, re.IGNORECASE).search(line) is not None


def follows_user(key: TellingName) -> bool:
    """Return whether a sentence names a user right before: `the user bob with password X`."""
    before = key.text[max(0, key.start - 100) : key.start].rpartition("\n")[2]
    return compiled(_USER_BEFORE, re.IGNORECASE).search(before) is not None
