"""What a prompt is about: its words without politeness and grammar, and the pieces it falls into; for the gate.

People wrap a request in greetings, deadlines and reasons. The wrapping pulls the vector of the whole prompt towards
talk; the request alone, a sentence or a clause of it, lies where its subject lies.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from hybrid.prompting import symbols
from hybrid.prompting.function_words import ENGLISH, OTHERS

MAX_PIECES = 12
"""Pieces of one prompt besides the whole: each costs a column of the dense scan."""

_MIN_WORDS = 3
"""Content words of a piece, unless it names code: two words of a story are close to something in any project."""

_HEAD_PIECES = 8
"""Of a prompt with more pieces than allowed, so many from its beginning, the rest from its end."""

_MAX_WORD = 40
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^`\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"`[^`\n]*`|\S+")
_EDGES = '.,;:!?¿¡()[]{}"“”„«»*_~'
_APOSTROPHES = str.maketrans("", "", "'’‘ʼ´")
_SENTENCES = re.compile(r"(?<=[.!?;。！？；])\s+|\n+|(?<=\w):\s+")
_CLAUSES = re.compile(r",\s+|\s+[-–]{1,2}\s+|\s*—\s*|[\"“”„«»]|\s\(|\)\s|[、，]")


def content_words(text: str) -> str:
    """A text without words of grammar and politeness; what stands in backticks is kept as it is.

    Words of another language than English are dropped only where that language prevails: `die` is German or a verb.
    """
    tokens: list[str] = _TOKEN.findall(text)
    plain = [_plain(token) for token in tokens]
    dropped = _function_words(plain)
    pairs = zip(tokens, plain, strict=True)
    return " ".join(token for token, word in pairs if token[0] == "`" or (word and word not in dropped))


def is_english(text: str) -> bool:
    """False when more of a text's words are function words of another language."""
    return _function_words([_plain(token) for token in _TOKEN.findall(text)]) is _sets()[0]


def pieces(text: str) -> tuple[str, ...]:
    """The content of a whole prompt, then of its sentences and clauses and fenced blocks, each once.

    At most `MAX_PIECES` besides the whole: the first ones and the last ones, since a request stands at either end.
    A text without content words gives nothing. Fenced blocks are kept as they are: `if` and `not` mean something there.
    """
    prose, blocks = _FENCED.sub("\n", text), [" ".join(block.split()) for _, block in _FENCED.findall(text)]
    whole = " ".join(part for part in (content_words(prose), *blocks) if part)
    if not whole:
        return ()
    sentences = [part for part in _SENTENCES.split(prose) if part]
    clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
    parts = [*(content_words(part) for part in (*sentences, *clauses)), *blocks]
    found = [part for part in dict.fromkeys(parts) if part != whole and _is_telling(part)]
    if len(found) > MAX_PIECES:
        found = [*found[:_HEAD_PIECES], *found[_HEAD_PIECES - MAX_PIECES :]]
    return (whole, *found)


def _clauses(sentence: str) -> list[str]:
    parts = [part for part in _CLAUSES.split(sentence) if part]
    return parts if len(parts) > 1 else []


def _is_telling(content: str) -> bool:
    n_words = sum(any(c.isalnum() for c in word) for word in content.split())
    return n_words >= _MIN_WORDS or bool(symbols.identifiers(content) or symbols.paths(content))


@lru_cache(1 << 12)
def _plain(token: str) -> str:
    return token[: 2 * _MAX_WORD].translate(_APOSTROPHES).lower().strip(_EDGES)


def _function_words(words: list[str]) -> frozenset[str]:
    """The words to drop from a text: the English ones, or those of the language that more of its words belong to."""
    distinct = set(words)
    english, others = _sets()
    best, most = english, len(distinct & english)
    for language in others:
        n_found = len(distinct & language)
        if n_found > most:
            best, most = language, n_found
    return best


@cache
def _sets() -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    return frozenset(ENGLISH.split()), tuple(frozenset(text.split()) for text in OTHERS.values())
