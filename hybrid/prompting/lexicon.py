"""Says a prompt in English words, word by word, so that it can be compared with code and documentation.

`query` and the gate call it. `models/lexicon/words.txt` holds words of other languages with the English words that
developers use for them. The file is mapped when the first text in another language comes, and is never parsed.
"""

from __future__ import annotations

import mmap
import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from hybrid.base.resources import shipped
from hybrid.base.tokens import FUNCTION_WORDS
from hybrid.prompting.content import foreign_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

LEXICON = ("models", "lexicon", "words.txt")
ENGLISH = "="
"""Stands for the word itself: an English word is listed, so that no other word is taken for a form of it."""

_LATIN = r"[^\W\d_\u0250-\U0010ffff]"
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_SPACED = "\u0400-\u058f\u1100-\u11ff\uac00-\ud7af"
_OTHER_SCRIPT = re.compile(f"[{_SPACED}{_HAN}]")
_IS_RUN = re.compile(f"[{_HAN}]")
_JOINTS = frozenset("_/\\@$#0123456789")
_DOTTED = re.compile(r"[.(:]\w|\(\)|::")
_PARTS = re.compile(
    rf"```.*?(?:```|\Z)|`[^`\n]*`|[{_HAN}]+|[{_SPACED}]+|{_LATIN}{{1,3}}['’](?={_LATIN})|{_LATIN}+|[。．！？；：、，・「」（）]",
    re.DOTALL,
)
"""What a text is cut into: code, runs without spaces, words of other scripts, Latin words, full-width marks."""
_MARKS = dict(
    zip("。．！？；：、，・「」（）", [". "] * 2 + ["! ", "? ", "; ", ": ", ", ", ", "] + [" "] * 5, strict=True)
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_BARRED = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"}
_LONGEST_RUN = 8
"""Characters of the longest word of a run without spaces that is looked up."""
_SHORTEST_STEM = 4
_MOST_ENDING = 3
_LONGEST_WORD = 40
_MOST_PARTS = 3
_MOST_CHARS = 1_500
"""Characters of a text that are said in English: the beginning asks, and looking words up takes time."""
_SHORTEST_PART = 4
"""Letters of the shortest part of a compound."""
_LINKS = ("", "s", "es", "n", "en", "e")
"""What may stand between the parts of a compound."""


def fold(word: str) -> str:
    """Return a word in lower case without accents: `Schlüssel` → schlussel, `größe` → grosse; kana stay as they are."""
    lower = word.lower()
    if lower.isascii():
        return lower
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", lower))
    return unicodedata.normalize("NFC", "".join(_BARRED.get(letter, letter) for letter in bare))


class Lexicon:
    """Words of other languages, each with an English one.

    Args:
        data: Lines of a folded word, a tab, and an English word or `ENGLISH`; sorted by the bytes of the folded words.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data

    def find(self, word: str) -> str:
        """Return the English word of a folded word; empty when it is not listed."""
        key = word.encode("utf-8", "replace")
        found, words = self._line(self._place(key))
        return words if found == key else ""

    def nearest(self, word: str) -> str:
        """Return the English word of a folded word, or of the listed one that differs least at its end.

        They begin alike: at least four letters (two of Hangul), and all but three of either.
        """
        key = word.encode("utf-8", "replace")
        place = self._place(key)
        found, words = self._line(place)
        if found == key:
            return words
        shortest = 2 if "\uac00" <= word[:1] <= "\ud7af" else _SHORTEST_STEM
        least = max(shortest, len(word) - _MOST_ENDING)
        if len(word) <= least:
            return ""
        before = self._line(self._start(place - 1)) if place else (b"", "")
        fitting: list[tuple[int, str]] = []
        for one, of_one in (before, (found, words)):
            listed = one.decode("utf-8", "replace")
            shared = _alike(word, listed)
            if shared >= least and len(listed) - shared <= _MOST_ENDING:
                fitting.append((shared, of_one))
        return max(fitting, key=lambda pair: pair[0])[1] if fitting else ""

    def compound(self, word: str) -> str:
        """Return the English words of the parts of a folded compound, `schlusselname` → key name; empty for another.

        Of several ways to cut it, the fewest parts count, then the longest of shortest parts. A word of which a part
        says nothing about a subject is no compound.
        """
        if len(word) > _LONGEST_WORD:
            return ""
        for n_parts in range(2, _MOST_PARTS + 1):
            if found := self._cut(word, n_parts):
                return " ".join(words for _, words in found)
        return ""

    def _cut(self, word: str, n_parts: int) -> list[tuple[int, str]]:
        """Return the length and the English words of so many parts of a folded word; empty when it has not so many."""
        if n_parts == 1:
            words = _telling(self.nearest(word), word) if len(word) >= _SHORTEST_PART else ""
            return [(len(word), words)] if words else []
        best: list[tuple[int, str]] = []
        for end in range(_SHORTEST_PART, len(word) - (n_parts - 1) * _SHORTEST_PART + 1):
            first = _telling(self.find(word[:end]), word[:end])
            for link in _LINKS if first else ():
                rest = self._cut(word[end + len(link) :], n_parts - 1) if word.startswith(link, end) else []
                if rest and (not best or _evenness([(end, ""), *rest]) > _evenness(best)):
                    best = [(end, first), *rest]
        return best

    def run(self, text: str) -> Iterator[str]:
        """Yield the English words of a run without spaces, cut from the left into the longest listed words."""
        place = 0
        while place < len(text):
            length, english = self._longest(text[place : place + _LONGEST_RUN])
            if english:
                yield english
            place += length or 1

    def _longest(self, text: str) -> tuple[int, str]:
        """Return the length and the English word of the longest listed word that a text begins with; 0 without one."""
        while text:
            key = text.encode("utf-8", "replace")
            place = self._place(key)
            found, english = self._line(place)
            if found != key and place:
                found, english = self._line(self._start(place - 1))
            listed = found.decode("utf-8", "replace")
            shared = _alike(text, listed)
            if shared == len(listed):
                return shared, english
            text = text[:shared]  # What begins the text and is listed lies before, and is no longer than this.
        return 0, ""

    def _place(self, key: bytes) -> int:
        """Return where the first line begins whose word is not before `key`."""
        low, high = 0, len(self._data)
        while low < high:
            start = self._start((low + high) // 2)
            if self._line(start)[0] < key:
                low = self._end(start) + 1
            else:
                high = start
        return low

    def _start(self, place: int) -> int:
        return self._data.rfind(b"\n", 0, place) + 1

    def _end(self, place: int) -> int:
        end = self._data.find(b"\n", place)
        return len(self._data) if end < 0 else end

    def _line(self, start: int) -> tuple[bytes, str]:
        """Return the word and the English words of the line that begins at a place; both empty at the end."""
        word, _, words = bytes(self._data[start : self._end(start)]).partition(b"\t")
        return word, words.decode("ascii", "replace")


def _alike(word: str, other: str) -> int:
    """Return the number of letters by which two words begin alike."""
    return next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))


def _telling(words: str, word: str) -> str:
    """Return the English words of a part of a compound, or itself; empty when they say nothing about a subject."""
    found = word if words == ENGLISH else words
    return "" if found in FUNCTION_WORDS else found


def _evenness(parts: list[tuple[int, str]]) -> tuple[int, int]:
    """Return what is larger for the better one of two cuts: the letters of the shortest part, then of all parts."""
    return min(length for length, _ in parts), sum(length for length, _ in parts)


@cache
def _shipped() -> Lexicon | None:
    try:
        with shipped(*LEXICON).open("rb") as file:
            return Lexicon(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None


@lru_cache(64)
def in_english(text: str) -> str:
    """Return a text with its words of other languages replaced by English ones; empty when there is none to replace.

    What is spelled as only code is stays, and so does a word that is not listed: loan words, names. Words of grammar
    are left out. Of a long text the beginning is said.
    """
    text = text[:_MOST_CHARS]
    grammar = foreign_grammar(text)
    if grammar is None and (text.isascii() or not _OTHER_SCRIPT.search(text)):
        return ""
    lexicon = _shipped()
    if lexicon is None:
        return ""
    text = unicodedata.normalize("NFC", text)
    is_known = bool(grammar) or (grammar is not None and _is_foreign(lexicon, text))
    is_said = False

    def said(part: re.Match[str]) -> str:
        nonlocal is_said
        word = part.group()
        if (mark := _MARKS.get(word)) is not None:
            return mark
        if word[0] > "\u024f":
            words = " ".join(lexicon.run(word)) if _IS_RUN.match(word) else _of_word(lexicon, word)
            is_said = is_said or (bool(words) and words != word)
            return f" {words} "
        if grammar is None or len(word) == 1 or _is_code(part):
            return word
        if word.rstrip("'’").lower() in grammar:
            return ""
        words = _of_word(lexicon, word, is_exact=not is_known)
        is_said = is_said or words.lower() != word.lower()
        return words

    english = _PARTS.sub(said, text)
    return english if is_said else ""


def _is_foreign(lexicon: Lexicon, text: str) -> bool:
    """Return whether each word of a text that is not code is one of another language, and one with an accent is listed.

    An accent alone says little: names and loan words of English have some, and begin like listed words.
    """
    parts = [part for part in _PARTS.finditer(text) if part.group()[0].isalpha() and not _is_code(part)]
    words = [fold(part.group()) for part in parts]
    accented = [word for part, word in zip(parts, words, strict=True) if not part.group().isascii()]
    not_foreign = {"", ENGLISH}
    if not_foreign.issuperset(map(lexicon.find, accented)):
        return False
    return not_foreign.isdisjoint(_found(lexicon, word) for word in words)


def _found(lexicon: Lexicon, folded: str) -> str:
    """Return the English words of a folded word, of its nearest form, or of its parts."""
    return lexicon.nearest(folded) or lexicon.compound(folded)


def _of_word(lexicon: Lexicon, word: str, *, is_exact: bool = False) -> str:
    """Return the English words of a word, or the word itself when it is English or not listed.

    Args:
        lexicon: The words.
        word: As it was typed.
        is_exact: Take neither a word that only begins alike nor parts of a compound: the language is not known.
    """
    folded = fold(word)
    words = lexicon.find(folded) if is_exact else _found(lexicon, folded)
    if words and words != ENGLISH:
        return words
    return word.lower() if word.istitle() else word  # A German noun is no name.


def _is_code(part: re.Match[str]) -> bool:
    """Return whether a run of Latin letters is code or a part of a name: `retryCount`, `max_age`, `--all`."""
    word, text = part.group(), part.string
    if word[0] == "`" or word[1:] != word[1:].lower():
        return True
    before, after = text[max(0, part.start() - 2) : part.start()], text[part.end() : part.end() + 2]
    is_suffix = before[-1:] == "." and before[:1].isalnum()
    return (
        is_suffix
        or before[-1:] in _JOINTS
        or before == "--"
        or after[:1] in _JOINTS
        or _DOTTED.match(after) is not None
    )
