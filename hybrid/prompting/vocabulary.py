"""Tells whether words are a turn of the conversation and nothing else; used by the prompt gate.

A prompt is a turn when one language covers all its words, and no word of it may be the subject of a search.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from hybrid.prompting import words as data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_APOSTROPHES = str.maketrans("", "", "'’‘ʼ´")
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+[^\W_]*)*")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_NUMBER = re.compile(r"\d{1,4}(?:st|nd|rd|th|s|m|h|min|x|pm|am)?")

_MIN_TYPO_CHARS = 5
_MAX_TYPO_SHARE = 0.34


class Turn(Enum):
    """What kind of turn words are; the value is the reason the gate gives."""

    NONE = ""
    ACKNOWLEDGEMENT = "acknowledgement"
    SESSION_TURN = "session_turn"


def plain_words(text: str) -> list[str]:
    """Words in lower case, apostrophes dropped, split at everything that is no letter or digit."""
    return _WORD.findall(text.translate(_APOSTROPHES).lower())


def turn_of(words: Sequence[str]) -> Turn:
    """The kind of turn that words are, `NONE` when one of them may be worth a search. No words are no turn."""
    if not words:
        return Turn.NONE
    if _is_english_turn(words):
        said = [word for word in map(_squeeze, words) if word not in _sets().function]
        is_courtesy = all(word in _sets().courtesy or _is_number(word) for word in said)
        return Turn.ACKNOWLEDGEMENT if is_courtesy else Turn.SESSION_TURN
    if _is_covered_by_language(words) or _is_covered_by_phrases(words):
        return Turn.SESSION_TURN
    return Turn.NONE


class _Sets:
    """The word lists as sets, built when the first prompt is judged."""

    __slots__ = (
        "any_english",
        "change_verbs",
        "converse_pointers",
        "courtesy",
        "function",
        "near",
        "pointers",
        "questions",
        "subject",
        "workflow",
    )

    def __init__(self) -> None:
        self.function = _split(data.FUNCTION)
        self.courtesy = _split(data.COURTESY)
        self.workflow = _split(data.WORKFLOW)
        self.subject = _split(data.SUBJECT)
        self.pointers = _split(data.POINTERS)
        self.converse_pointers = _split(data.CONVERSE_POINTERS)
        self.change_verbs = _split(data.CHANGE_VERBS)
        self.questions = _split(data.QUESTION_WORDS)
        talk = _split(data.TALK)
        self.any_english = (
            self.function | self.courtesy | talk | self.workflow | self.subject | _split(data.KNOWN_TYPOS)
        )
        self.near = _with_one_letter_less(self.courtesy | talk | self.workflow)


@cache
def _sets() -> _Sets:
    return _Sets()


@cache
def _languages() -> dict[str, frozenset[str]]:
    """Word → the languages other than English it is a session word of."""
    table: dict[str, set[str]] = {}
    for language, text in data.LANGUAGES.items():
        for word in plain_words(text):
            table.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in table.items()}


@cache
def _phrases() -> tuple[re.Pattern[str], ...]:
    """One pattern a script without spaces: its phrases, longest first."""
    rows = (sorted(set(text.split()), key=lambda phrase: (-len(phrase), phrase)) for text in data.UNSPACED.values())
    return tuple(re.compile("|".join(map(re.escape, row))) for row in rows)


def _is_english_turn(words: Sequence[str]) -> bool:
    """True when every word is a session word, and the words that may be a subject are tied to the conversation."""
    sets = _sets()
    squeezed = [_squeeze(word) for word in words]
    unknown = [word for word in squeezed if word not in sets.any_english and not _is_number(word)]
    if len(unknown) > _MAX_TYPO_SHARE * len(words) or not all(map(_is_near_miss, unknown)):
        return False
    topics = [word for word in squeezed if word in sets.subject or word in sets.workflow]
    if not topics:
        return True
    if any(word in sets.questions for word in squeezed[:2]):
        return any(word in sets.converse_pointers for word in squeezed)
    points_back = any(word in sets.pointers for word in squeezed)
    may_be_subject = any(word in sets.subject for word in topics) or any(word in sets.change_verbs for word in squeezed)
    return points_back or not may_be_subject


def _is_covered_by_language(words: Sequence[str]) -> bool:
    """True when one language, with the courtesies that English lent to all, covers every word."""
    table, borrowed = _languages(), _sets().courtesy | _sets().workflow
    common: frozenset[str] | None = None
    for word in map(_squeeze, words):
        languages = table.get(word)
        if languages is None:
            if word in borrowed or _is_number(word):
                continue
            return False
        common = languages if common is None else common & languages
        if not common:
            return False
    return common is not None


def _is_covered_by_phrases(words: Sequence[str]) -> bool:
    """True when the phrases of one unspaced script, laid end to end, give every word."""
    if all(word.isascii() for word in words):
        return False
    borrowed = _sets().courtesy | _sets().workflow
    rest = [word for word in words if word not in borrowed and not _is_number(word)]
    return any(all(_is_laid_out(pattern, word) for word in rest) for pattern in _phrases())


def _is_laid_out(pattern: re.Pattern[str], word: str) -> bool:
    """Greedy from the left, the longest phrase first; linear in the length of the word."""
    position = 0
    while position < len(word):
        match = pattern.match(word, position)
        if match is None:
            return False
        position = match.end()
    return True


def _squeeze(word: str) -> str:
    """`thaaanks` → `thanks`, `gooood` → `good`: letters stretched to three or more stand once, or twice where known."""
    known = _sets().any_english
    if word in known or not _STRETCHED.search(word):
        return word
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice in known else _STRETCHED.sub(r"\1", word)


def _is_number(word: str) -> bool:
    return len(word) == 1 or _NUMBER.fullmatch(word) is not None


def _is_near_miss(word: str) -> bool:
    """True when a word is one slip away from a session word: a letter too many, too few, swapped, or another one.

    Another letter counts from seven letters on: in short words it makes a different word (`commit` and `permit`).
    """
    near, known = _sets().near, _sets().any_english
    if len(word) < _MIN_TYPO_CHARS:
        return False
    if word in near:
        return True
    shorter = _one_letter_less(word)
    if any(len(candidate) >= _MIN_TYPO_CHARS - 1 and candidate in known for candidate in shorter):
        return True
    if any(word[:i] + word[i + 1] + word[i] + word[i + 2 :] in known for i in range(1, len(word) - 1)):
        return True
    return len(word) >= 7 and any(candidate in near and candidate[0] == word[0] for candidate in shorter)


def _with_one_letter_less(known: Iterable[str]) -> frozenset[str]:
    """What known words of six letters and more become when one letter after the first is missing."""
    return frozenset(less for word in known if len(word) > _MIN_TYPO_CHARS for less in _one_letter_less(word))


def _one_letter_less(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(1, len(word))]


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())
