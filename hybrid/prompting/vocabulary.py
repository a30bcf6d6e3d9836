"""Tells whether words are a turn of the conversation and nothing else; used by the prompt gate.

A prompt is a turn when one language covers all its words, and no word of it may be the subject of a search.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from hybrid.prompting import words as data

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

_APOSTROPHES = "'’‘ʼ´"
_WORD = re.compile(
    r"[^\W_]+(?:[\u0300-\u036f\u064b-\u0652\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+[^\W_]*)*"
)
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_NUMBER = re.compile(r"\d{1,4}(?:st|nd|rd|th|s|m|h|min|x|pm|am)?")

_MARKS = re.compile("[\u0300-\u036f\u064b-\u0652]+")
_BARRED = (("ł", "l"), ("ø", "o"), ("đ", "d"), ("ı", "i"), ("ß", "ss"), ("æ", "ae"), ("œ", "oe"))
# `make a commit` asks for nothing but a commit, while `make commits faster` is about a project.
_MADE = re.compile(
    r"\b(?:make|create|open|write)(?: (?:me|us|a|an|one|new|another|draft|clean|single|separate|small|nice))+"
    r" (commit|branch|pr|mr)\b(?: with an?(?: \w+){1,2} message\b)?"
)

_MIN_TYPO_CHARS = 5
_MIN_SWAPPED_CHARS = 4
_MAX_TYPO_SHARE = 0.34


class Turn(Enum):
    """What kind of turn words are; the value is the reason the gate gives."""

    NONE = ""
    ACKNOWLEDGEMENT = "acknowledgement"
    SESSION_TURN = "session_turn"


def plain_words(text: str) -> list[str]:
    """Words in lower case, apostrophes dropped, split at everything that is no letter or digit."""
    return _WORD.findall(_without_apostrophes(text).lower())


def turn_of(words: Sequence[str]) -> Turn:
    """The kind of turn that words are, `NONE` when one of them may be worth a search. No words are no turn."""
    if not words:
        return Turn.NONE
    if _is_english_turn(words):
        sets = _sets()
        said = [word for word in (_squeeze(word, sets.any_english) for word in words) if word not in sets.function]
        is_courtesy = all(word in sets.courtesy or _is_number(word) for word in said)
        return Turn.ACKNOWLEDGEMENT if is_courtesy else Turn.SESSION_TURN
    if _is_covered_by_language(words) or _is_covered_by_phrases(words):
        return Turn.SESSION_TURN
    return Turn.NONE


class _Sets:
    """The word lists as sets, built when the first prompt is judged."""

    __slots__ = (
        "any_english",
        "asked_about",
        "asking",
        "change_verbs",
        "converse_pointers",
        "courtesy",
        "function",
        "near",
        "no_typos",
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
        self.asking = _split(_fold(data.ASKING))
        self.asked_about = _split(_fold(data.ASKED_ABOUT)) | self.workflow
        self.no_typos = _split(data.NO_TYPOS)
        talk = _split(data.TALK)
        self.any_english = (
            self.function | self.courtesy | talk | self.workflow | self.subject | _split(data.KNOWN_TYPOS)
        )
        self.near = _with_one_letter_less(self.courtesy | talk | self.workflow)


@cache
def _sets() -> _Sets:
    return _Sets()


@cache
def _languages() -> dict[str, int]:
    """Word without its accents → the languages other than English it is a session word of, one bit each."""
    table: dict[str, int] = {}
    for place, text in enumerate(data.LANGUAGES.values()):
        for word in _fold(_without_apostrophes(text)).replace("-", " ").split():
            table[word] = table.get(word, 0) | 1 << place
    return table


@cache
def _phrases() -> tuple[tuple[frozenset[str], int], ...]:
    """The phrases of each script without spaces, with the length of the longest."""
    rows = (frozenset(text.split()) for text in data.UNSPACED.values())
    return tuple((row, max(map(len, row))) for row in rows)


def _is_english_turn(words: Sequence[str]) -> bool:
    """True when every word is a session word, and the words that may be a subject are tied to the conversation."""
    sets = _sets()
    squeezed = [_squeeze(word, sets.any_english) for word in words]
    squeezed = _MADE.sub(r"\1", " ".join(squeezed).replace("pull request", "pr")).split()
    unknown = [word for word in squeezed if word not in sets.any_english and not _is_number(word)]
    if len(unknown) > _MAX_TYPO_SHARE * len(squeezed) or not all(map(_is_near_miss, unknown)):
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
    """True when one language, with the courtesies that English lent to all, covers every word.

    Accents do not count, since many people leave them out. A question where or how about tests, changes or the like is
    about the project, as in English.
    """
    sets, table = _sets(), _languages()
    folded = [_squeeze(_fold(word), table) for word in words]
    everything = common = (1 << len(data.LANGUAGES)) - 1
    for word in folded:
        if word in sets.courtesy or word in sets.workflow or _is_number(word):
            continue
        common &= table.get(word, 0)
        if not common:
            return False
    asks = any(word in sets.asking for word in folded[:2]) and any(word in sets.asked_about for word in folded)
    return common != everything and not asks


def _is_covered_by_phrases(words: Sequence[str]) -> bool:
    """True when the phrases of one unspaced script, laid end to end, give every word."""
    if all(word.isascii() for word in words):
        return False
    sets = _sets()
    rest = [word for word in words if not (word in sets.courtesy or word in sets.workflow or _is_number(word))]
    if not any(all(_is_laid_out(phrases, longest, word) for word in rest) for phrases, longest in _phrases()):
        return False
    text = " ".join(rest)
    asks = any(word in text for word in data.ASKING_UNSPACED.split())
    return not (asks and any(word in text for word in data.ASKED_ABOUT_UNSPACED.split()))


def _is_laid_out(phrases: frozenset[str], longest: int, word: str) -> bool:
    """True when a word is a sequence of phrases, whichever way it has to be cut; linear in its length."""
    reached = [True] + [False] * len(word)
    farthest = 0
    for begin in range(len(word)):
        if begin > farthest:
            return False
        if reached[begin]:
            for end in range(begin + 1, min(begin + longest, len(word)) + 1):
                if word[begin:end] in phrases:
                    reached[end] = True
                    farthest = max(farthest, end)
    return reached[-1]


def _fold(text: str) -> str:
    """Text in lower case without accents and vowel signs, `ł` as `l` and the like."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text.lower())))
    for letter, plain in _BARRED:
        bare = bare.replace(letter, plain)
    return bare


def _without_apostrophes(text: str) -> str:
    # One replacement each: `str.translate` is ten times slower on text that is not ASCII.
    for apostrophe in _APOSTROPHES:
        text = text.replace(apostrophe, "")
    return text


def _squeeze(word: str, known: Container[str]) -> str:
    """`thaaanks` → `thanks`, `gooood` → `good`: letters stretched to three or more stand once, or twice where known."""
    if word in known or not _STRETCHED.search(word):
        return word
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice in known else _STRETCHED.sub(r"\1", word)


def _is_number(word: str) -> bool:
    return len(word) == 1 or _NUMBER.fullmatch(word) is not None


def _is_near_miss(word: str) -> bool:
    """True when a word is one slip away from a session word: a letter too many, too few, swapped, or another one.

    Of four letters two may be swapped. Another letter counts from seven letters on: in short words it makes a different
    word (`commit` and `permit`). Another or one more letter at the end makes another form of a word (`starter`,
    `releases`), and is no slip unless it is doubled.
    """
    sets = _sets()
    known = sets.any_english
    if word in sets.no_typos:
        return False
    if len(word) < _MIN_TYPO_CHARS:
        return len(word) == _MIN_SWAPPED_CHARS and any(swapped in sets.function for swapped in _swapped(word))
    if word in sets.near:
        return True
    shorter = [less for less in _one_letter_less(word) if less != word[:-1] or word[-1] == word[-2]]
    if any(len(candidate) >= _MIN_TYPO_CHARS - 1 and candidate in known for candidate in shorter):
        return True
    if any(swapped in known for swapped in _swapped(word)):
        return True
    return len(word) >= 7 and any(candidate in sets.near and candidate[0] == word[0] for candidate in shorter)


def _with_one_letter_less(known: Iterable[str]) -> frozenset[str]:
    """What known words of six letters and more become when one letter after the first is missing."""
    return frozenset(less for word in known if len(word) > _MIN_TYPO_CHARS for less in _one_letter_less(word))


def _swapped(word: str) -> Iterator[str]:
    """A word with two neighbouring letters after the first swapped."""
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _one_letter_less(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(1, len(word))]


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())
