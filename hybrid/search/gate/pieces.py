"""The pieces of a prompt that the gate scores: its content, and the English terms of one in another language.

Code, documentation and most models speak English. Of a request in another language the English terms carry what it is
about (`el rate limit con el token bucket`), so they are a piece of their own.
"""

from __future__ import annotations

import re

from hybrid.base.tokens import tokens_of_word
from hybrid.prompting import symbols
from hybrid.prompting.content import MAX_PIECES, is_english, pieces
from hybrid.search.gate.terms import generic_terms

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
