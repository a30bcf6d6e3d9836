"""The value that all finders of secrets give, and their plain searches."""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hybrid.base.memo import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Secret(Struct, frozen=True):
    """A secret in a text.

    Attributes:
        kind: Name that stands in its place (`github_token`, `private_key`, …).
        start: Offset of its first character.
        end: Offset after its last.
    """

    kind: str
    start: int
    end: int


def lower_case(text: str) -> str:
    """Return the text in lower case with the same offsets; `İ` alone would become two characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("İ", "i").lower()


def with_lines(text: str) -> str:
    """Return the text with escaped line ends and tabs as what they stand for, padded so that offsets stay.

    In JSON, and in JSON within JSON, a file is one line; what belongs to one of its lines is told by its lines.
    """
    for level in (4, 2, 1) if "\\\\" in text else (1,) if "\\" in text else ():
        escape, gap = "\\" * level, " " * level
        text = text.replace(f"{escape}n", f"{gap}\n").replace(f"{escape}t", f"{gap}\t").replace(f"{escape}r", f"{gap} ")
    return text


def unmarked(text: str) -> str:
    """Return the text with spaces for what tools put before its lines, and for colours; offsets stay."""
    if "\x1b" in text:
        text = compiled(_COLOUR).sub(_blank, text)
    if any(sign in text for sign in _SIGNS_BEFORE_LINE) or compiled(_NUMBER_OF_GREP).search(text):
        # A pattern that begins with a line end is tried there alone, one that begins with `^` at every character.
        text = compiled(_BEFORE_LINE).sub(_blank, "\n" + text)[1:]
    return text


def _blank(match: re.Match[str]) -> str:
    return match[0][: match[0].startswith("\n")].ljust(len(match[0]))


_COLOUR = r"\x1b\[[\d;]{0,12}m"
_BEFORE_LINE = (
    r"\n(?:(?:[^\s\n]{1,60}\t[^\t\n]{1,60}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]?\d{0,9}Z "
    r"|[\w-]{0,80}[./][\w./-]{0,160}-\d{1,6}-|[\w.-]{1,40}-\d{1,3} {1,20}\| | {0,6}\d{1,6}→| {1,5}\d{1,6}\t)"
)
"""Pattern of what tools put before a line: job and time in CI, grep's place, a container's name, a number."""
# Most texts have none of these, without which no line begins so: the pattern is tried on every line of the others.
_SIGNS_BEFORE_LINE = ("Z ", "| ", "→", "\t")
_NUMBER_OF_GREP = r"-\d{1,6}-"


class Pieces(NamedTuple):
    """The pieces of a text, each once: in a quarter of the text, a word is missed four times faster.

    Attributes:
        long: The pieces that may be a token or hold one.
        letters: All pieces, in lower case; for `possible`.
    """

    long: str
    letters: str


def pieces_of(text: str) -> Pieces:
    """Split a text into its pieces, each once: in a quarter of the text, a word is missed four times faster."""
    pieces = dict.fromkeys(text.encode("utf-8", "replace").translate(_ONLY_PIECES).split())
    long = b" ".join([piece for piece in pieces if len(piece) >= _MIN_TOKEN])
    return Pieces(long.decode("ascii"), b" ".join(pieces).decode("ascii").lower())


_PIECE_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~/+:=%&?-"
_PIECE_RUN = rf"[{re.escape(_PIECE_CHARS.decode())}]+"
_ONLY_PIECES = bytes(code if code in _PIECE_CHARS else ord(" ") for code in range(256))
_MIN_TOKEN = 15


def possible(words: Sequence[str], letters: str) -> list[str]:
    """Return those of some words in lower case that may stand in a text, by its `Pieces.letters`; others cannot."""
    return [
        word
        for word, first, others in _runs(tuple(words))
        if first in letters and (not others or all(run in letters for run in others))
    ]


@cache
def _runs(words: tuple[str, ...]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return for each word its longest run of characters of the kind that pieces have, and its other runs."""
    runs = [sorted(re.findall(_PIECE_RUN, word), key=len, reverse=True) or [""] for word in words]
    return [(word, first, tuple(others)) for word, (first, *others) in zip(words, runs, strict=True)]


class Phrases:
    """Phrases in lower case, found by their words: hundreds that are rare are asked for in one look."""

    def __init__(self, *phrases: str) -> None:
        self._phrases = phrases

    @cached_property
    def _by_word(self) -> dict[bytes, list[tuple[str, tuple[bytes, ...]]]]:
        """The longest word of each phrase → the phrases, with their other words."""
        by_word: dict[bytes, list[tuple[str, tuple[bytes, ...]]]] = {}
        for phrase in dict.fromkeys(self._phrases):
            words = sorted(phrase.encode("ascii").translate(_ONLY_WORDS).split(), key=len, reverse=True)
            first, *others = words or [b""]
            by_word.setdefault(first, []).append((phrase, tuple(others)))
        return by_word

    def standing(self, letters: str) -> list[str]:
        """Return those all of whose words stand in a text as words of their own, by its `Pieces.letters`."""
        words = _words_of(letters)
        return [
            phrase
            for word in sorted(self._by_word.keys() & words)
            for phrase, others in self._by_word[word]
            if not others or words.issuperset(others)
        ]


@lru_cache(maxsize=1)
def _words_of(letters: str) -> frozenset[bytes]:
    return frozenset((b"", *letters.encode("ascii").translate(_ONLY_WORDS).split()))


_ONLY_WORDS = bytes(code if chr(code).isalnum() and code < 128 else ord(" ") for code in range(256))


def occurrences(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of every place of one of the words; plain searches, far faster than one pattern."""
    for word in words:
        start = text.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = text.find(word, start + len(word))
