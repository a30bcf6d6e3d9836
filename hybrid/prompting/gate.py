"""The prompt gate: rules that need no model and no index, and keep silent what has nothing to search for.

The rules only recognise turns of a conversation; whether the project knows anything that fits is the relevance gate's
question. A prompt with code, an identifier or a path is never silenced by the rules about words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.prompting import symbols
from hybrid.prompting.vocabulary import Turn, plain_words, turn_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.prompting.clean import Cleaned

SEARCH = "search"

MIN_WORDS = 3
"""With fewer words and no identifier or path a prompt says too little to search for."""

_JUDGED_CHARS = 5_000
_TURN_CHARS = 400
# Chinese, Japanese, Korean with their full-width forms; compared as ranges, because a compiled class of this size
# takes 5 ms to build.
_WIDE_RANGES = (("\u1100", "\u115f"), ("\u2e80", "\ud7a3"), ("\uf900", "\ufaff"), ("\uff01", "\uff60"))
# Thai, Lao, Burmese and Khmer do not part words with spaces either.
_UNSPACED_RANGES = (*_WIDE_RANGES, ("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
_ROLE_PLAY = (
    r"\b(?:act(?:ing)?\s+(?:as|like)\s+(?:if\s+you|an?|the|my|our)\b|pretend\s+(?:to\s+be|that\s+you|you)\b"
    r"|imagine\s+(?:that\s+)?(?:you\s+are|youre)\b|role\s?play\b|play\s+the\s+(?:role|part)\s+of\b|take\s+on\s+the\s+role\b"
    r"|(?:you\s+are|you\s+will\s+be|youre)\s+(?:now\s+)?(?:an?|my|the)\s+(?:\w+\s+){0,3}(?:who|and\s+i\s+am|and\s+im)\b)"
)
# Whoever builds software, and whoever meets it: a test may play a client.
_ENGINEER = (
    r"\b(?:engineer|developer|programmer|coder|reviewer|architect|maintainer|devops|sre|tester|contributor|committer"
    r"|user|client|admin|administrator|attacker|server|browser|worker|process|script|integration)\b"
)
_ROLE_CHARS = 200


class PromptVerdict(Struct, frozen=True):
    """Whether a prompt is worth a search.

    Attributes:
        is_searchable: False when nothing is to happen.
        reason: `search`, or why not: opted_out, subagent_report, machine_made, slash_command, empty, skip_prefix,
            too_short, acknowledgement, session_turn, too_few_words, role_play.
    """

    is_searchable: bool
    reason: str


def prompt_verdict(cleaned: Cleaned, *, min_prompt_length: int, skip_prefixes: Sequence[str] = ()) -> PromptVerdict:
    """Judge a cleaned prompt.

    Args:
        cleaned: From `clean`. A subagent's report is not searchable as a prompt; its reason lets the caller handle it.
        min_prompt_length: Least number of characters; a full-width one (Chinese, Japanese, Korean) counts as two.
        skip_prefixes: Beginnings of prompts that the owner wants left alone, as typed; empty ones are ignored.
    """
    reason = _formal_reason(cleaned, min_prompt_length, skip_prefixes) or _wording_reason(cleaned.text[:_JUDGED_CHARS])
    return PromptVerdict(not reason, reason or SEARCH)


def _formal_reason(cleaned: Cleaned, min_prompt_length: int, skip_prefixes: Sequence[str]) -> str:
    """Why nothing is to happen, whatever the words say; empty when they decide."""
    if cleaned.is_opted_out:
        return "opted_out"
    if cleaned.is_machine_made:
        return "machine_made" if cleaned.subagent_report is None else "subagent_report"
    if not cleaned.text:
        return "slash_command" if cleaned.command_name else "empty"
    if cleaned.typed.startswith(tuple(prefix for prefix in skip_prefixes if prefix.strip())):
        return "skip_prefix"
    return "too_short" if _width(cleaned.text, min_prompt_length) < min_prompt_length else ""


def _wording_reason(text: str) -> str:
    """Why the words of a prompt give nothing to search for; empty when they do.

    Words are judged first because that is cheap; code, an identifier or a path then overrules them.
    """
    reason = _verdict_of_words(plain_words(text[:_TURN_CHARS]), text)
    return "" if reason and _is_technical(text) else reason


def _verdict_of_words(words: Sequence[str], text: str) -> str:
    if not words:
        return "acknowledgement" if len(text) <= _TURN_CHARS else ""
    turn = turn_of(words) if len(text) <= _TURN_CHARS else Turn.NONE
    if turn is not Turn.NONE:
        return turn.value
    if len(words) < MIN_WORDS and len(text) <= _TURN_CHARS and not _count_in(text, _UNSPACED_RANGES):
        return "too_few_words"
    return "role_play" if _is_role_play(words) else ""


def _is_technical(text: str) -> bool:
    """True when a text holds code, an identifier or a path; words of a session joined without a space are none."""
    if symbols.has_code(text):
        return True
    names = [*symbols.identifiers(text), *symbols.paths(text)]
    return any(turn_of(plain_words(name)) is Turn.NONE or not re.fullmatch(r"\w+(?:[./]\w+)+", name) for name in names)


def _is_role_play(words: Sequence[str]) -> bool:
    opening = " ".join(words)[:_ROLE_CHARS]
    return re.search(_ROLE_PLAY, opening) is not None and re.search(_ENGINEER, opening) is None


def _width(text: str, enough: int) -> int:
    """Characters of a text, full-width ones twice; looks no further than needed to reach `enough`."""
    return len(text) + _count_in(text[: max(enough, 0)], _WIDE_RANGES)


def _count_in(text: str, ranges: Sequence[tuple[str, str]]) -> int:
    return 0 if text.isascii() else sum(any(low <= c <= high for low, high in ranges) for c in text)
