"""Recognises turns of a conversation, such as thanks and `go on`, by their words alone."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

TURN_CHARS = 400
"""Characters from which on a prompt is no mere turn of the conversation."""

_WORDS_FILE = Path(__file__).with_name("session_words.txt")
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
"""Share of words that may be misspelt; in a prompt with more of them the words are of an unknown language."""


def plain_words(text: str) -> list[str]:
    """Return words in lower case, apostrophes dropped, split at everything that is no letter or digit."""
    return _WORD.findall(_without_apostrophes(text).lower())


def turn_of(words: Sequence[str]) -> str:
    """Return the kind of turn that words are, `acknowledgement` or `session_turn`.

    The kind is empty for no words, and when one of them may be worth a search.
    """
    if not words:
        return ""
    if _is_english_turn(words):
        squeezed = (_squeeze(word, _any_english()) for word in words)
        content = [word for word in squeezed if word not in word_list("function")]
        is_courtesy = all(word in word_list("courtesy") or _is_number(word) for word in content)
        return "acknowledgement" if is_courtesy else "session_turn"
    return "session_turn" if _is_covered_by_language(words) or _is_covered_by_phrases(words) else ""


def is_word_of_turns(word: str) -> bool:
    """Return whether a word, in lower case, is one that turns of a conversation are made of, or such a one misspelt."""
    return word in _any_english() or _is_number(word) or _is_near_miss(word)


def is_turn(text: str) -> bool:
    """Return whether a text is a turn of the conversation, as thanks are, that asks for nothing about the project."""
    return len(text) <= TURN_CHARS and bool(turn_of(plain_words(text)))


@cache
def _lists() -> dict[str, str]:
    """Return name → words, parted by white space, of each list in `session_words.txt`."""
    text = _WORDS_FILE.read_text(encoding="utf-8")
    blocks = (block.partition("]\n") for block in text.split("\n[")[1:])
    # A comment belongs to the list below it, so it ends the words of the one above.
    return {name: words.partition("\n#")[0] for name, _, words in blocks}


def _lists_of(group: str) -> list[str]:
    """Return the words of each list of a group (`language`, `unspaced`), in the order of the file."""
    return [words for name, words in _lists().items() if name.startswith(f"{group} ")]


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of a list of `session_words.txt`, as they stand there."""
    return frozenset(_lists()[name].split())


@cache
def _folded(name: str) -> frozenset[str]:
    """Return the words of a list without accents."""
    return frozenset(_fold(_lists()[name]).split())


@cache
def _any_english() -> frozenset[str]:
    """Return every English word that may occur in a turn of a conversation, with the known misspellings."""
    names = ("function", "courtesy", "talk", "workflow", "subject", "known_typos")
    return frozenset[str]().union(*map(word_list, names))


@cache
def _near() -> frozenset[str]:
    """Return words of six letters and more that a turn is likely to contain, one letter after the first missing."""
    known = word_list("courtesy") | word_list("talk") | word_list("workflow")
    return frozenset(less for word in known if len(word) > _MIN_TYPO_CHARS for less in _one_letter_less(word))


@cache
def _languages() -> dict[str, int]:
    """Return word without accents → the languages other than English that it belongs to, one bit each."""
    table: dict[str, int] = {}
    for place, text in enumerate(_lists_of("language")):
        for word in _fold(_without_apostrophes(text)).replace("-", " ").split():
            table[word] = table.get(word, 0) | 1 << place
    return table


@cache
def _phrases() -> tuple[tuple[frozenset[str], int], ...]:
    """Return the phrases of each script without spaces, with the length of the longest one."""
    rows = (frozenset(text.split()) for text in _lists_of("unspaced"))
    return tuple((row, max(map(len, row))) for row in rows)


def _is_english_turn(words: Sequence[str]) -> bool:
    """Return whether every word is a session word, and any word that may be a subject is tied to the conversation."""
    squeezed = [_squeeze(word, _any_english()) for word in words]
    squeezed = _MADE.sub(r"\1", " ".join(squeezed).replace("pull request", "pr")).split()
    unknown = [word for word in squeezed if word not in _any_english() and not _is_number(word)]
    if len(unknown) > _MAX_TYPO_SHARE * len(squeezed) or not all(map(_is_near_miss, unknown)):
        return False
    has_subject = not word_list("subject").isdisjoint(squeezed)
    if not has_subject and word_list("workflow").isdisjoint(squeezed):
        return True
    if not word_list("question_words").isdisjoint(squeezed[:2]):
        return not word_list("converse_pointers").isdisjoint(squeezed)
    may_be_subject = has_subject or not word_list("change_verbs").isdisjoint(squeezed)
    return not may_be_subject or not word_list("pointers").isdisjoint(squeezed)


def _is_covered_by_language(words: Sequence[str]) -> bool:
    """Return whether one language, with the courtesies that English lent to all, covers every word.

    Accents do not count, since many people leave them out. A question where or how about tests, changes or the like is
    about the project, as in English.
    """
    table = _languages()
    folded = [_squeeze(_fold(word), table) for word in words]
    everything = common = (1 << len(_lists_of("language"))) - 1
    for word in folded:
        if not _is_lent(word):
            common &= table.get(word, 0)
        if not common:
            return False
    names_work = not (_folded("asked_about") | word_list("workflow")).isdisjoint(folded)
    asks = names_work and not _folded("asking").isdisjoint(folded[:2])
    return common != everything and not asks


def _is_lent(word: str) -> bool:
    """Return whether a word occurs in turns of any language: a courtesy, a word of the workflow, a number."""
    return word in word_list("courtesy") or word in word_list("workflow") or _is_number(word)


def _is_covered_by_phrases(words: Sequence[str]) -> bool:
    """Return whether the phrases of one unspaced script, laid end to end, give every word."""
    if all(word.isascii() for word in words):
        return False
    rest = [word for word in words if not _is_lent(word)]
    if not any(all(_is_laid_out(phrases, longest, word) for word in rest) for phrases, longest in _phrases()):
        return False
    text = " ".join(rest)
    asks = any(word in text for word in _lists()["asking_unspaced"].split())
    return not (asks and any(word in text for word in _lists()["asked_about_unspaced"].split()))


def _is_laid_out(phrases: frozenset[str], longest: int, word: str) -> bool:
    """Return whether a word is a sequence of phrases, whichever way it has to be cut; linear in its length."""
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
    """Return text in lower case without accents and vowel signs, `ł` as `l` and the like."""
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
    """Shorten stretched letters, `thaaanks` → `thanks`: three or more become one, or two where that is a known word."""
    if word in known or not _STRETCHED.search(word):
        return word
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice in known else _STRETCHED.sub(r"\1", word)


def _is_number(word: str) -> bool:
    """Return True for a single character, and for a number with or without a unit."""
    return len(word) == 1 or _NUMBER.fullmatch(word) is not None


def _is_near_miss(word: str) -> bool:
    """Return whether a word is one slip away from a session word: a letter too many, too few, swapped, or another one.

    Of four letters two may be swapped. Another letter counts from seven letters on: in short words it makes a different
    word (`commit` and `permit`). Another or one more letter at the end makes another form of a word (`starter`,
    `releases`), and is no slip unless it is doubled.
    """
    known = _any_english()
    if word in word_list("no_typos"):
        return False
    if len(word) < _MIN_TYPO_CHARS:
        return len(word) == _MIN_SWAPPED_CHARS and any(swapped in word_list("function") for swapped in _swapped(word))
    if word in _near():
        return True
    shorter = [less for less in _one_letter_less(word) if less != word[:-1] or word[-1] == word[-2]]
    if any(len(candidate) >= _MIN_TYPO_CHARS - 1 and candidate in known for candidate in shorter):
        return True
    if any(swapped in known for swapped in _swapped(word)):
        return True
    return len(word) >= 7 and any(candidate in _near() and candidate[0] == word[0] for candidate in shorter)


def _swapped(word: str) -> Iterator[str]:
    """Yield the forms of a word with two neighbouring letters after the first swapped."""
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _one_letter_less(word: str) -> list[str]:
    """Return the forms of a word in which one letter after the first is missing."""
    return [word[:i] + word[i + 1 :] for i in range(1, len(word))]
