"""The pieces of a prompt that the gate scores, and the terms of a piece that tell a project from others.

A prompt is scored by its content, and one in another language by its English terms too: code, documentation and most
models speak English, so that these carry what it is about (`el rate limit con el token bucket`). Terms are looked up
here and in code at large: `models/background/terms.tsv` holds in how many documents of public code each occurs;
`lab/hybrid_lab/training/gate_terms.py` counted them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.resources import shipped
from hybrid.base.tokens import query_tokens, tokens_of_word
from hybrid.prompting import symbols
from hybrid.prompting.content import MAX_PIECES, is_english, pieces
from hybrid.search.gate.identity import TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_TERMS = 128
"""Terms, or words as they were typed, of a piece that are looked at: the cost of a pasted text is bounded. Chosen by
hand."""
_NAMES = re.compile(r"[A-Za-z_]\w+")


class PieceTerms(Struct, frozen=True):
    """The terms of one piece, each once.

    Attributes:
        words: Terms of the words of the piece, as the lexical leg counts them, at most 128.
        names: For each identifier of the piece, the term that stands for it as a whole.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]


class GenericTerms(Struct, frozen=True):
    """Term → number of documents of code at large that hold it, out of `n_documents`; rare terms are not listed."""

    n_documents: int
    counts: Mapping[str, int]


def terms_of(piece: str) -> PieceTerms:
    """Return the terms of a piece; numbers and words beyond ASCII are no words here: the generic counts know none."""
    words = dict.fromkeys(term for term in query_tokens(piece)[:_TERMS] if term.isascii() and not term.isdigit())
    names = dict.fromkeys(whole for name in symbols.identifiers(piece) if (whole := _whole(name)))
    return PieceTerms(tuple(words), tuple(names))


def word_groups(piece: str) -> tuple[str, ...]:
    """Return the words of a piece as typed; words with the same terms are joined, those without a term left out."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for word in piece.split()[:_TERMS]:
        if terms := query_tokens(word):
            groups.setdefault(tuple(terms), []).append(word)
    return tuple(" ".join(group) for group in groups.values())


def _whole(name: str) -> str:
    """Return the term of the part of an identifier that has most words, the last of several; empty without one.

    `Client.retry_once` gives retry_once, and `CharRange.contains` charrange: a plain word is a name in any project.
    """
    parts: list[tuple[str, ...]] = [tokens_of_word(part) for part in _NAMES.findall(name)]
    found = max(reversed(parts), key=len, default=())
    return found[0] if found else ""


def generic_terms() -> GenericTerms:
    """Return the shipped counts of terms in code at large, read once."""
    return _read(shipped(*TERMS))


@cache
def _read(path: Path) -> GenericTerms:
    _, _, n_documents, *rows = path.read_text(encoding="utf-8").split()  # "# documents", then terms and counts.
    return GenericTerms(int(n_documents), dict(zip(rows[::2], map(int, rows[1::2]), strict=True)))


_MIN_TERMS = 2
_WORD = re.compile(r"[A-Za-z]\w{2,}")


def gate_pieces(text: str, limit: int) -> tuple[str, ...]:
    """Return the whole prompt's content first, then at most `limit` more pieces; none for a text without content.

    The second piece of a text in another language is its English terms, if there are enough.
    """
    found = pieces(text)
    if not found:
        return ()
    whole, *rest = found
    borrowed = _borrowed(whole) if not is_english(text) else ""
    if borrowed and borrowed != whole:
        if len(rest) == MAX_PIECES:  # The first and the last of many are kept: room is made in between.
            del rest[MAX_PIECES // 2]
        rest.insert(0, borrowed)
    return (whole, *rest[:limit])


def _borrowed(content: str) -> str:
    """Return the identifiers of a text and the words that code at large knows, joined by spaces.

    Empty when there is no identifier and fewer than `_MIN_TERMS` such words.
    """
    known = generic_terms().counts
    names = set(symbols.identifiers(content))
    words: list[str] = _WORD.findall(content)
    kept = [word for word in words if word in names or any(term in known for term in tokens_of_word(word))]
    return " ".join(kept) if names or len(kept) >= _MIN_TERMS else ""
