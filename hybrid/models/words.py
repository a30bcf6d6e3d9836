"""Text to token ids by words and pieces of words: the tokeniser of weighted-bag models.

Words are runs of ASCII letters, cut at camelCase borders, and runs of digits; everything else separates. Letters
outside ASCII are dropped. Called by `bags`; it knows nothing of weights or vectors.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NUMBER = "<num>"
"""The token that stands for every number of three digits or more."""

_LONGEST_WORD = 40
_SHORTEST_PIECE = 3
_MOST_PIECES = 4
_SHORT_NUMBER = 2
_CACHED_RUNS = 1 << 16

_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_DIGITS = b"0123456789"
_CAPITALS_AND_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS
_TO_SPACES = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))

Words = tuple[tuple[int, ...], ...]
"""The words of a text in order, each as its token ids; a word without a known piece is empty."""


class WordTokenizer:
    """Token ids of text, after a vocabulary of lower-case words and pieces.

    Args:
        vocabulary: One token a row, in row order: the id of a token is its position.
    """

    __slots__ = ("_runs", "vocabulary")

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._runs = _Runs(dict(zip(vocabulary, range(len(vocabulary)), strict=True)))

    def words(self, text: str, limit: int) -> Words:
        """The first words of a text, at most `limit`; unknown words count too."""
        return tuple(chain.from_iterable(map(self._runs.words_of, self._split(text))))[:limit]

    def token_ids(self, text: str, limit: int) -> list[int]:
        """The token ids of the first `limit` words, in order, repeated as often as they occur."""
        runs = self._split(text)
        if self._is_longer(text, runs, limit):
            return list(self._first_ids(runs, limit))
        return list(chain.from_iterable(map(self._runs.__getitem__, runs)))

    def _first_ids(self, runs: Sequence[bytes], limit: int) -> Iterator[int]:
        """The token ids of the first words of runs that have more; the limit may fall inside a run."""
        for run in runs:
            n_words = self._runs.n_words[run]
            if n_words > limit:
                yield from chain.from_iterable(self._runs.words_of(run)[:limit])
                return
            yield from self._runs[run]
            limit -= n_words

    def is_longer(self, text: str, limit: int) -> bool:
        """Return whether a text has more than `limit` words."""
        return len(text) > limit and self._is_longer(text, self._split(text), limit)

    def _is_longer(self, text: str, runs: Sequence[bytes], limit: int) -> bool:
        # A word begins with its run, at a capital, or where digits begin or end: what counts them all is an upper
        # bound, far cheaper than looking up every run. No text has more words than characters.
        if len(text) <= limit or len(runs) + _n_borders(text) <= limit:
            return False
        return sum(map(self._runs.n_words.__getitem__, runs)) > limit

    def _split(self, text: str) -> list[bytes]:
        """The runs of letters and digits of a text."""
        if len(self._runs) > _CACHED_RUNS:
            self._runs.forget()
        return text.encode("ascii", "replace").translate(_TO_SPACES).split()


class _Runs(dict[bytes, tuple[int, ...]]):
    """The token ids of every run of letters and digits met so far; a new run is worked out when it is looked up."""

    def __init__(self, ids: dict[str, int]) -> None:
        super().__init__()
        self._ids = ids
        self.n_words = _WordCounts(self)
        """How many words each run has."""

    def __missing__(self, run: bytes) -> tuple[int, ...]:
        words = self.words_of(run)
        found = self[run] = words[0] if len(words) == 1 else tuple(chain.from_iterable(words))
        self.n_words[run] = len(words)
        return found

    def words_of(self, run: bytes) -> Words:
        """The words of a run."""
        return tuple([pieces(word, self._ids) for word in split_run(run.decode("ascii"))])

    def forget(self) -> None:
        """Begin anew, so that memory stays bounded."""
        self.clear()
        self.n_words.clear()


class _WordCounts(dict[bytes, int]):
    def __init__(self, runs: _Runs) -> None:
        super().__init__()
        self._runs = runs

    def __missing__(self, run: bytes) -> int:
        self._runs.__missing__(run)
        return self[run]


def _n_borders(text: str) -> int:
    """At most how many words of a text begin inside a run: capitals, and digits twice."""
    data = text.encode("ascii", "replace")
    return 2 * len(data) - len(data.translate(None, _CAPITALS_AND_DIGITS)) - len(data.translate(None, _DIGITS))


def split_run(run: str) -> list[str]:
    """The lower-case words of a run of ASCII letters and digits: `parseHTTP2Frame` → parse, http, 2, frame."""
    if run.islower() and run.isalpha():
        return [run]
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
