"""Tells relatives among words, and abbreviations; plain functions over terms."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGER = 5
"""Letters that a relative may have more than the term itself."""
_SHARED = 5
"""First letters that two relatives share at least, when neither begins with the other; and ¾ of the shorter."""
_SHARED_SHARE = 0.75
_VOWEL = re.compile("[aeiou]")


def are_kin(a: str, b: str, *, least: int) -> bool:
    """Return whether one term begins with the other, or they share five first letters and ¾ of the shorter.

    Args:
        a: A term.
        b: Another.
        least: Letters that the shorter must have.
    """
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(short) >= least and long.startswith(short):
        return True
    n_shared = max(_SHARED, math.ceil(_SHARED_SHARE * len(short)))
    return len(short) >= n_shared and long.startswith(short[:n_shared])


def may_have_kin(term: str, *, least: int) -> bool:
    """Return whether a term is a plain word of at least `least` letters: numbers and compounds have no relatives."""
    return len(term) >= least and term.isalpha()


def kin_among(term: str, candidates: Sequence[str], *, least: int) -> list[str]:
    """Return those candidates that are relatives of a term, at most `LONGER` letters longer; nearest in length first.

    Args:
        term: A stem.
        candidates: Terms that share its first letters.
        least: Letters that the shorter of two must have.
    """
    longest = len(term) + LONGER
    found = [
        other
        for other in candidates
        if len(other) <= longest and other != term and other.isalpha() and are_kin(term, other, least=least)
    ]
    return sorted(found, key=lambda other: (abs(len(other) - len(term)), other))


def may_abbreviate(short: str) -> bool:
    """Return whether a term is spelled like an abbreviation: three letters or more, no vowel but the first."""
    return len(short) > 2 and short.isalpha() and not _VOWEL.search(short, 1)


def abbreviates(short: str, word: str) -> bool:
    """Return whether `short` is `word` with letters left out: `cfg` of config, `msg` of message.

    It has three letters or more, fewer than the word, and the same first one. No vowel follows that, and all its
    letters stand in the word in this order.
    """
    if len(short) >= len(word) or short[0] != word[0]:
        return False
    at = 0
    for letter in short:
        at = word.find(letter, at) + 1
        if not at:
            return False
    return may_abbreviate(short)
