"""Rules that need no model and no index: which prompts have nothing to search for, ask of earlier sessions, refer back.

The rules only recognise turns of a conversation; whether the project knows anything that fits is the relevance gate's
question. A prompt with code, an identifier or a path is never silenced by the rules about words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.prompting import symbols
from hybrid.prompting.turns import TURN_CHARS, is_word_of_turns, plain_words, turn_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.prompting.clean import CleanedPrompt


# --- Verdicts ------------------------------------------------------------------------------------------------------


SEARCH = "search"

MIN_WORDS = 3
"""Number of words of a prompt; one with fewer, and no identifier or path, says too little to search for."""

_JUDGED_CHARS = 5_000
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
    """The answer of the rules to one prompt.

    Attributes:
        is_searchable: False when nothing is to happen.
        reason: `search`, or why not: opted_out, subagent_report, machine_made, slash_command, empty, skip_prefix,
            too_short, acknowledgement, session_turn, too_few_words, role_play.
    """

    is_searchable: bool
    reason: str


def prompt_verdict(
    cleaned: CleanedPrompt, *, min_prompt_length: int, skip_prefixes: Sequence[str] = ()
) -> PromptVerdict:
    """Judge a cleaned prompt.

    Args:
        cleaned: From `clean`. A subagent's report is not searchable as a prompt; its reason lets the caller handle it.
        min_prompt_length: Least number of characters; a full-width one (Chinese, Japanese, Korean) counts as two.
        skip_prefixes: Beginnings of prompts that the owner wants left alone, as typed; empty ones are ignored.
    """
    reason = _formal_reason(cleaned, min_prompt_length, skip_prefixes) or _wording_reason(cleaned.text[:_JUDGED_CHARS])
    return PromptVerdict(not reason, reason or SEARCH)


def _formal_reason(cleaned: CleanedPrompt, min_prompt_length: int, skip_prefixes: Sequence[str]) -> str:
    """Return the reason against a search that does not depend on words; empty when the words decide."""
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
    """Return the reason against a search that the words of a prompt give; empty when there is none.

    Words are judged first because that is cheap; code, an identifier or a path then overrules them.
    """
    reason = _verdict_of_words(plain_words(text[:TURN_CHARS]), text)
    return "" if reason and _is_technical(text) else reason


def _verdict_of_words(words: Sequence[str], text: str) -> str:
    """Return the reason against a search that lies in the words of a text's beginning; empty when there is none."""
    if not words:
        return "acknowledgement" if len(text) <= TURN_CHARS else ""
    if len(text) <= TURN_CHARS:
        if turn := turn_of(words):
            return turn
        if len(words) < MIN_WORDS and not _count_in(text, _UNSPACED_RANGES):
            return "too_few_words"
    return "role_play" if _is_role_play(words) else ""


def _is_technical(text: str) -> bool:
    """Return whether a text holds code, an identifier or a path; words of a session joined without a space are none."""
    if symbols.has_code(text):
        return True
    names = (*symbols.identifiers(text), *symbols.paths(text))
    return any(not re.fullmatch(r"\w+(?:[./]\w+)+", name) or not turn_of(plain_words(name)) for name in names)


def _is_role_play(words: Sequence[str]) -> bool:
    """Return whether a prompt begins by giving the model a role that is none of software work."""
    opening = " ".join(words)[:_ROLE_CHARS]
    return re.search(_ROLE_PLAY, opening) is not None and re.search(_ENGINEER, opening) is None


def _width(text: str, enough: int) -> int:
    """Return the number of characters, full-width ones twice; counting stops at `enough`."""
    return len(text) + _count_in(text[: max(enough, 0)], _WIDE_RANGES)


def _count_in(text: str, ranges: Sequence[tuple[str, str]]) -> int:
    """Return the number of characters of a text that lie in one of the ranges, bounds included."""
    return 0 if text.isascii() else sum(any(low <= c <= high for low, high in ranges) for c in text)


# --- Prompts about earlier sessions --------------------------------------------------------------------------------


_MOST_CHARS = 400
"""Characters of the longest prompt that may ask of earlier work; a longer one says itself what it is about."""

_WHEN = (
    r"(?:(?:the |our |your |my )?(?:last|previous|earlier|prior) (?:sessions?|time|conversations?|chats?|day|week|work)"
    r"|yesterday|last (?:night|week|friday|monday))"
)
_ASKING = (
    r"\b(?:what|where|which|how far|did|do you remember|remind|recap|summar(?:y|i[sz]e)|continue|resume|pick up)\b"
)

_FORMS = (
    re.compile(rf"{_ASKING}.{{0,120}}\b{_WHEN}\b", re.IGNORECASE | re.DOTALL),
    re.compile(rf"\b{_WHEN}\b.{{0,60}}\b(?:we|you|i)\b.{{0,80}}\?", re.IGNORECASE | re.DOTALL),
    re.compile(r"\bwhere (?:did|have|had|were|was) (?:we|you|i)\b.{0,40}\b(?:stop|stopped|left|leave)", re.IGNORECASE),
    re.compile(r"\b(?:continue|resume|pick up|carry on|go on)\b.{0,40}\bleft off\b", re.IGNORECASE),
    re.compile(r"\bwhat(?:'s| is| was| were| are)? (?:still )?(?:left to do|left over|the next steps?)\b", re.I),
    re.compile(r"\bwhat (?:did|have|had) (?:we|you) (?:do|done|been doing|work(?:ed)? on|change[d]?)\b", re.I),
)


_SPEAKING_OF = frozenset(("about", "regarding", "concerning"))
"""Words after which even a word of the conversation is a subject: `what did we do about the build?`."""
_HERE = frozenset(("repository", "repo", "project", "codebase", "s"))
"""Words that name the place of all earlier work, and what is left of `yesterday's`."""
_LEAST_DIGITS = 3
"""Digits of the shortest number that names something: an issue, a port, a status."""


def looks_back(text: str) -> bool:
    """Return whether a cleaned prompt asks what was done before."""
    return len(text) <= _MOST_CHARS and any(form.search(text) for form in _FORMS)


def topic_of(text: str, project: str = "") -> str:
    """Return the words of a prompt that say which earlier work it means; empty when it means the last.

    Args:
        text: A cleaned prompt of which `looks_back` is true.
        project: The name of the project, which is no topic within it.
    """
    ignored, is_subject, names_any = {*_HERE, *plain_words(project)}, False, False
    found: list[str] = []
    for token in re.sub(rf"(?i)\b{_WHEN}\b", " ", text).split():
        words = [word for word in plain_words(token) if word not in ignored]
        telling = [word for word in words if word not in word_list("function") and word not in word_list("courtesy")]
        names = bool(telling) and (is_subject or _is_technical(token) or any(map(_is_name, telling)))
        names_any = names_any or names
        if names or any(word not in word_list("talk") for word in telling):
            found.append(token.strip(",;:!?"))
        is_subject = not telling and (is_subject or not _SPEAKING_OF.isdisjoint(words))
    return " ".join(found) if names_any else ""


def _is_name(word: str) -> bool:
    """Return whether a word names something: a long number, or a word that turns of a conversation do not have."""
    return len(word) >= _LEAST_DIGITS if word.isdigit() else not is_word_of_turns(word)
