"""Tokens of code and prose for the lexical leg; the index and every query use the same ones.

A token is a part of an identifier (`retryCount` → `retry`, `count`), lightly stemmed, and for a compound identifier
also the whole of it. Scripts written without spaces give overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


TOKENS_VERSION = "1"
"""Version of the rules for tokens; an index that was built under another version is rebuilt."""

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_VOWEL = re.compile(r"[aeiouy]")
_LONGEST = 64
_TO_SPACES = bytes(code if chr(code).isascii() and _WORD.match(chr(code)) else 32 for code in range(256))

FUNCTION_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its may me "
    "might must my of on or our shall should so than that the their them then there these they this those to us use "
    "used uses using via was we were what when where which while who whose why will with would you your".split()
)
"""English words that say nothing about a topic; dropped from queries, kept in chunks."""


@lru_cache(1 << 15)
def stem(word: str) -> str:
    """Return a lower-case word without plural s, -ing, -ed or final e, and with i for y; up to three letters stay."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _singular(word)
    for suffix in ("ing", "ed"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) >= 3 and _VOWEL.search(rest):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            break
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":
        word = word[:-1] + "i"
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(1 << 15)
def tokens_of_word(word: str) -> tuple[str, ...]:
    """The tokens of one run of word characters, for example `HTTPServer_v2` → httpserver_v2, http, server, v, 2."""
    if not word.isascii() and _UNSPACED.search(word):
        return _tokens_of_unspaced(word)
    word = word[:_LONGEST]
    if word.isascii():
        parts = _PART.findall(word)
        if len(parts) == 1:
            return (stem(parts[0].lower()),)
        if not parts:
            return ()
        return (word.lower().strip("_"), *map(stem, map(str.lower, parts)))
    return _tokens_beyond_ascii(word)


def is_plain_word(name: str) -> bool:
    """Return whether a name is one word, by which others mean something else."""
    return len(tokens_of_word(name.strip("$"))) == 1


def _tokens_beyond_ascii(word: str) -> tuple[str, ...]:
    parts = [part for part in word.split("_") if part]
    found = [stem(part.lower()) for part in parts]
    if len(parts) > 1:
        found.append(word.lower().strip("_"))
    return tuple(found)


def _tokens_of_unspaced(word: str) -> tuple[str, ...]:
    """Return pairs of characters of each run without spaces, and the tokens of what stands between the runs."""
    found: list[str] = []
    at = 0
    for match in _UNSPACED.finditer(word):
        found += tokens_of_word(word[at : match.start()])
        run = match.group()
        found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        at = match.end()
    found += tokens_of_word(word[at:])
    return tuple(found)


def _words(text: str) -> list[str]:
    """Runs of word characters; a letter and its accent written apart (NFD) are one, as they are for a reader."""
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text))


def _split(text: str) -> Sequence[str] | Sequence[bytes]:
    """The words of a text; plain ASCII is split as bytes, which takes a third of the time that the pattern does."""
    if text.isascii():
        return text.encode().translate(_TO_SPACES).split()
    return _words(text)


class _TokensOf(dict[str | bytes, tuple[str, ...]]):
    """A cache: word → its tokens, worked out when the word is first looked up."""

    def __missing__(self, word: str | bytes) -> tuple[str, ...]:
        text = word if isinstance(word, str) else word.decode("ascii")
        found = self[word] = tokens_of_word.__wrapped__(text)  # This table is its cache already.
        return found


_TOKENS_OF = _TokensOf()
_KEPT_WORDS = 1 << 18


def tokens(text: str) -> list[str]:
    """Every token of a text, in order; a repeated word gives repeated tokens."""
    return [token for word in _words(text) for token in tokens_of_word(word)]


def term_counts(text: str) -> dict[str, int]:
    """Terms of a text and how often each occurs, in order of their first place."""
    counts = dict(Counter(chain.from_iterable(map(_TOKENS_OF.__getitem__, _split(text)))))
    if len(_TOKENS_OF) > _KEPT_WORDS:
        _TOKENS_OF.clear()
    return counts


def part_terms(text: str) -> list[str]:
    """Return the tokens of a text without the wholes of compound identifiers: `HTTPServer_v2` → http, server, v, 2."""
    found: list[str] = []
    for word in _words(text):
        whole = word[:_LONGEST].lower().strip("_")
        of_word = tokens_of_word(word)
        found += [token for token in of_word if token != whole] if len(of_word) > 1 else of_word
    return found


def query_tokens(text: str) -> list[str]:
    """Return the tokens of a query, without function words (`use`, `Which`) unless nothing else is left."""
    words = _words(text)
    telling = [word for word in words if word.lower() not in FUNCTION_WORDS]
    return [token for word in telling or words for token in tokens_of_word(word)]


def term_spans(text: str, terms: Collection[str]) -> list[tuple[int, int]]:
    """Return where terms stand in a text, as (start, end) in ascending order.

    Of a compound identifier these are the parts that are terms; of a word with another letter than those of ASCII it is
    the whole, and of a script without spaces each pair of characters.
    """
    return [span for match in _WORD.finditer(text) for span in _spans_in(match.group(), match.start(), terms)]


def _spans_in(word: str, at: int, terms: Collection[str]) -> list[tuple[int, int]]:
    if word.isascii():
        parts = ((part.span(), stem(part.group().lower())) for part in _PART.finditer(word))
        return [(at + start, at + end) for (start, end), term in parts if term in terms]
    if _UNSPACED.search(word):
        return [(at + i, at + i + 2) for i in range(len(word) - 1) if word[i : i + 2] in terms]
    return [(at, at + len(word))] if any(term in terms for term in tokens_of_word(word)) else []


def folded(name: str) -> str:
    """Return a name in lower case without underscores: what people remember of it."""
    return name.lower().replace("_", "")
