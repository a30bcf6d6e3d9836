"""Text to token ids by words and pieces of words: the tokeniser of weighted-bag models.

Words are runs of ASCII letters, cut at camelCase borders, and runs of digits; everything else separates. Letters
outside ASCII are dropped. Called by `bags`; it knows nothing of weights or vectors.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = "<num>"
"""The token that stands for every number of three digits or more."""

_LONGEST_WORD = 40
_SHORTEST_PIECE = 3
_MOST_PIECES = 4
_SHORT_NUMBER = 2
_CACHED_RUNS = 1 << 16

_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_TO_SPACES = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))

Words = tuple[tuple[int, ...], ...]
"""The words of a text in order, each as its token ids; a word without a known piece is empty."""


class WordTokenizer:
    """Token ids of text, after a vocabulary of lower-case words and pieces.

    Args:
        vocabulary: One token a row, in row order: the id of a token is its position.
    """

    __slots__ = ("_ids", "_runs", "vocabulary")

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self._runs = _Runs(self._ids)

    def words(self, text: str, limit: int) -> Words:
        """The first words of a text, at most `limit`; unknown words count too."""
        runs = text.encode("ascii", "replace").translate(_TO_SPACES).split()
        if len(self._runs) > _CACHED_RUNS:
            self._runs.clear()
        return tuple(chain.from_iterable(map(self._runs.__getitem__, runs)))[:limit]

    def token_ids(self, text: str, limit: int) -> list[int]:
        """The token ids of the first `limit` words, in order, repeated as often as they occur."""
        return list(chain.from_iterable(self.words(text, limit)))

    def is_longer(self, text: str, limit: int) -> bool:
        """Whether a text has more than `limit` words."""
        if len(text) <= limit:
            return False
        return len(self.words(text, limit + 1)) > limit


class _Runs(dict[bytes, Words]):
    """The words of every run of letters and digits met so far; a new run is worked out when it is looked up."""

    def __init__(self, ids: dict[str, int]) -> None:
        super().__init__()
        self._ids = ids

    def __missing__(self, run: bytes) -> Words:
        words = tuple(pieces(word, self._ids) for word in split_run(run.decode("ascii")))
        self[run] = words
        return words


def split_run(run: str) -> list[str]:
    """The lower-case words of a run of ASCII letters and digits: `parseHTTP2Frame` → parse, http, 2, frame."""
    words: list[str] = []
    for part in _LETTERS_OR_DIGITS.findall(run):
        words += [word.lower() for word in _CAMEL_PART.findall(part)] or [part]
    return words


def pieces(word: str, ids: dict[str, int]) -> tuple[int, ...]:
    """The token ids of one lower-case word.

    A known word is one token, a number of three digits or more is `<num>`. Any other word gives its longest known
    pieces from the left, each of at least three letters, at most four; letters that begin no piece are skipped.
    """
    if word.isdigit():
        known = ids.get(word if len(word) <= _SHORT_NUMBER else NUMBER)
        return () if known is None else (known,)
    if word in ids:
        return (ids[word],)
    word = word[:_LONGEST_WORD]
    found: list[int] = []
    start = 0
    while start < len(word) and len(found) < _MOST_PIECES:
        for end in range(len(word), start + _SHORTEST_PIECE - 1, -1):
            known = ids.get(word[start:end])
            if known is not None:
                found.append(known)
                start = end
                break
        else:
            start += 1
    return tuple(found)
