"""Rules that need no model and no index: which prompts have nothing to search for, ask of earlier sessions, refer back.

The rules only recognise turns of a conversation; whether the project knows anything that fits is the relevance gate's
question. A prompt with code, an identifier or a path is never silenced by the rules about words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.memo import compiled
from hybrid.prompting import project_questions, symbols
from hybrid.prompting.content import content_words
from hybrid.prompting.session_turns import TURN_CHARS, is_word_of_turns, plain_words, turn_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.types import CleanedPrompt


# --- Verdicts ------------------------------------------------------------------------------------------------------


SEARCH = "search"

_MIN_WORDS = 3
_MIN_CHARS = 20
"""Number of words, and of characters with full-width ones counted twice; of shorter prompts only names are judged."""
_MOST_TELLING = 2
"""Words besides those of grammar and politeness of a prompt that is hardly more than a name: `where is parse_args`."""

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
    r"|user|client|admin|administrator|attacker|server|browser|worker|process|script|integration"
    r"|(?:sub)?agent|analyst|auditor|data scientist|technical writer|pair|(?:helpful|coding) assistant)\b"
)
# How such a prompt begins, and others that may mean a role: these are searched, but more is asked of them.
_ROLE = (
    r"^(?:(?:please|hi|hello|hey|ok|now|could|can|would|will|you|id|i|im|am|we|are|want|like|need|looking|lets|for|from"
    r"|on|to) )*"
    r"(?:(?:act|behave|speak)(?: as| like| an?)\b|pretend\b|(?:do an? )?role ?play\b|be my\b"
    r"|lets play\b(?! (?:it|the|with)\b)"
    r"|(?:play|take|take on|assume|adopt) (?:the|an?) (?:role|part|persona)\b|(?:imagine|suppose|assume) (?:that )?you"
    r"|(?:are|be|youre) (?:now\b|an?\b(?! (?:bit|little|lot)\b)|my\b)|as an? (?:\w+ed|expert|professional)\b"
    r"|(?:someone|somebody|a person) (?:with|who|in)\b|an? (?:\w+ )?(?:expert|specialist) (?:in|on|for|with)\b)"
)
_HOW_TO = (
    r"\bhow (?:(?:long|often|much) )?(?:do|can|should|would|could|does|did) (?:i|we|you|one)\b"
    r"|\bhow to\b|\b(?:best|right) way to\b|\bwhere do (?:i|we)\b"
)
_ROLE_CHARS = 200


class PromptVerdict(Struct, frozen=True):
    """The answer of the rules to one prompt.

    Attributes:
        is_searchable: False when nothing is to happen.
        reason: `search`, or why not: opted_out, subagent_report, machine_made, slash_command, empty, skip_prefix,
            acknowledgement, session_turn, too_few_words, role_play.
    """

    is_searchable: bool
    reason: str


def prompt_verdict(cleaned: CleanedPrompt, *, skip_prefixes: Sequence[str] = ()) -> PromptVerdict:
    """Judge a cleaned prompt.

    Args:
        cleaned: From `clean`. A subagent's report is not searchable as a prompt; its reason lets the caller handle it.
        skip_prefixes: Beginnings of prompts that the owner wants left alone, as typed; empty ones are ignored.
    """
    reason = _formal_reason(cleaned, skip_prefixes) or _wording_reason(cleaned.text[:_JUDGED_CHARS])
    return PromptVerdict(not reason, reason or SEARCH)


def _formal_reason(cleaned: CleanedPrompt, skip_prefixes: Sequence[str]) -> str:
    """Return the reason against a search that does not depend on words; empty when the words decide."""
    if cleaned.is_opted_out:
        return "opted_out"
    if cleaned.is_machine_made:
        return "machine_made" if cleaned.subagent_report is None else "subagent_report"
    if not cleaned.text:
        return "slash_command" if cleaned.command_name else "empty"
    if cleaned.typed.startswith(tuple(prefix for prefix in skip_prefixes if prefix.strip())):
        return "skip_prefix"
    return ""


def _wording_reason(text: str) -> str:
    """Return the reason against a search that the words of a prompt give; empty when there is none.

    Words are judged first because that is cheap; code, an identifier or a path then overrules them.
    """
    reason = _verdict_of_words(plain_words(text[:TURN_CHARS]), text)
    return "" if reason and (_is_technical(text) or project_questions.topic_of(text)) else reason


def _verdict_of_words(words: Sequence[str], text: str) -> str:
    """Return the reason against a search that lies in the words of a text's beginning; empty when there is none."""
    if not words:
        return "acknowledgement" if len(text) <= TURN_CHARS else ""
    if len(text) <= TURN_CHARS:
        if turn := turn_of(words):
            return turn
        if len(words) < _MIN_WORDS and not _count_in(text, _UNSPACED_RANGES) and _n_telling(text) < _MOST_TELLING:
            return "too_few_words"
    return "role_play" if gives_role(text, clearly=True) else ""


def _is_technical(text: str) -> bool:
    """Return whether a text holds code, an identifier or a path; words of a session joined without a space are none."""
    if symbols.has_code(text):
        return True
    names = (*symbols.identifiers(text), *symbols.paths(text))
    return any(not re.fullmatch(r"\w+(?:[./]\w+)+", name) or not turn_of(plain_words(name)) for name in names)


def is_short(text: str) -> bool:
    """Return whether a prompt is hardly more than a name, or than two plain words."""
    if len(text) > TURN_CHARS or _n_telling(text) > _MOST_TELLING:
        return False
    return len(text.split()) <= _MIN_WORDS or bool(symbols.identifiers(text) or symbols.paths(text))


def must_name(text: str) -> bool:
    """Return whether a searchable prompt is so short that only what it names can be judged, not its meaning."""
    if len(text) + _count_in(text[:_MIN_CHARS], _WIDE_RANGES) < _MIN_CHARS:
        return True
    is_few = len(text) <= TURN_CHARS and len(plain_words(text)) < _MIN_WORDS
    return is_few and not _count_in(text, _UNSPACED_RANGES) and not _is_technical(text)


def asks_how_to(text: str) -> bool:
    """Return whether a prompt asks how the person who typed it does something, in English."""
    return compiled(_HOW_TO).search(" ".join(plain_words(text[:_JUDGED_CHARS]))) is not None


def gives_role(text: str, *, clearly: bool = False) -> bool:
    """Return whether a prompt begins by giving the model a role, none of software work, or by looking for a person.

    Args:
        text: A cleaned prompt.
        clearly: Whether it must say so in words that mean nothing else.
    """
    opening = " ".join(plain_words(text[:TURN_CHARS]))[:_ROLE_CHARS]
    if compiled(_ROLE).match(opening) is None or compiled(_ENGINEER).search(opening):
        return False
    return not clearly or compiled(_ROLE_PLAY).search(opening) is not None


def _n_telling(text: str) -> int:
    """Return the number of words of a text besides those of grammar and politeness."""
    return sum(any(map(str.isalnum, word)) for word in content_words(text).split())


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
