"""The parts of the gate's statistic: plain arithmetic over arrays, one function a part; no part knows another.

The statistic of a piece of a prompt is what raises its top cosine above what any prompt reaches in this corpus:

    evidence = null · cosine + lexical + together + names ± alone − absent − lacking − length
    talk     = probe − chat

`verdict` compares evidence with what tasks of other projects reach here, and evidence + talk with what talk reaches.
Records are judged one by one, with other parts: see `record_evidence`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HUB_NEIGHBOURS = 10
"""Number of nearest tasks of the background whose mean cosine to a record is the record's hub; see `background`."""

CHAT_NEIGHBOURS = 3
"""Background pieces of talk whose mean cosine to a piece is its closeness to chat.

Chosen by hand. With a probe the whole part decides one or two prompts (`models/static-v1/README.md`).
"""

MIN_LOGIT, MAX_LOGIT = -2.0, 4.0
"""Range that the probe's logit is cut to; less far down, since people describe code in everyday words and typos."""

MAX_GAIN = 8.0
"""Largest gain of a term, a log ratio: from 3,000 times as frequent here as elsewhere on, more tells nothing."""

MAX_NAMES = 2
"""Identifiers of a piece that count: more of them, as in a pasted log, add nothing. Chosen by hand."""
MAX_ABSENT = 3
MAX_ABSENT_OF_ROLE = 5
"""Unknown words of a piece, or of a prompt that gives a role, that count: more subtract nothing. Chosen by hand."""
MIN_GENERIC_SHARE = 1 / 8000
"""Share of documents assumed for a term that the generic counts do not list: half of where their list ends."""

MAX_RARITY = 8.0
"""Largest rarity of a term, as `MAX_GAIN` for its gain."""

MAX_TOGETHER = 16.0
"""Rarity that stands together and counts, that of two rare words: a long text finds more of its words anywhere.

Chosen on half of `lab/data/gate`.
"""

TOGETHER_TERMS = 32
"""Terms of a piece whose places are looked at, the rarest: the cost of a pasted text is bounded. Chosen by hand."""

LENGTH_WORDS = 60
"""Words from which on length counts: a pasted log finds something close anywhere. Chosen by hand."""


def null_factor(lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return n / √(n² + 1) for each length n of a query's sum before it was made unit length, shape (n,), in [0, 1).

    A cosine times this is that of a query with one more coordinate of size 1 that no document has. Vague words have
    little length, so that their cosine becomes small.
    """
    return (lengths / np.sqrt(lengths * lengths + 1)).astype(np.float32)


def null_factors(lengths: NDArray[np.float32] | None, n_queries: int) -> NDArray[np.float32]:
    """Return `null_factor` of the lengths; without lengths, which some models do not give, 1 for every query."""
    return np.ones(n_queries, np.float32) if lengths is None else null_factor(lengths)


def hubness(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of the `HUB_NEIGHBOURS` largest cosines of each row, shape (n_records, n_tasks) → (n_records,).

    Source: Radovanović et al., Hubs in space (JMLR 2010); corrected as in CSLS, Conneau et al. (ICLR 2018).
    """
    return _mean_of_largest(cosines, HUB_NEIGHBOURS)


def chat_closeness(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of the `CHAT_NEIGHBOURS` largest cosines of each row, shape (n_pieces, n_prompts) → (n_pieces,)."""
    return _mean_of_largest(cosines, CHAT_NEIGHBOURS)


def code_logit(damped: NDArray[np.float32], weight: NDArray[np.float32], bias: float) -> NDArray[np.float32]:
    """Return weight · q + bias for each piece, cut to `MIN_LOGIT`…`MAX_LOGIT`: the larger, the surer it is about code.

    `damped` holds q, the unit vector of each piece times its null factor, shape (n, dim).
    """
    return np.clip(damped @ weight + np.float32(bias), MIN_LOGIT, MAX_LOGIT)


def gain(
    n_here: NDArray[np.float64], n_chunks: int, n_generic: NDArray[np.float64], n_documents: int
) -> NDArray[np.float64]:
    """Return ln(frequency here / frequency in code at large) of terms, in [0, `MAX_GAIN`]; 0 for one absent here.

    Args:
        n_here: Chunks of the corpus that hold each term, shape (n_terms,).
        n_chunks: Number of chunks of the corpus.
        n_generic: Documents of code at large that hold each term, 0 for one that is not listed; shape (n_terms,).
        n_documents: Number of documents of code at large that were counted.
    """
    generic = np.maximum(n_generic, n_documents * MIN_GENERIC_SHARE)
    ratio = np.log((n_here + 0.5) / (n_chunks + 1)) - np.log((generic + 0.5) / (n_documents + 1))
    return np.where(n_here > 0, np.clip(ratio, 0, MAX_GAIN), 0.0)


def rarity(n_generic: NDArray[np.float64], n_documents: int) -> NDArray[np.float64]:
    """Return −ln(share of the documents of code at large that hold each term), in [0, `MAX_RARITY`].

    Args:
        n_generic: Documents that hold each term, 0 for one that is not listed; shape (n_terms,).
        n_documents: Number of documents of code at large that were counted.
    """
    generic = np.maximum(n_generic, n_documents * MIN_GENERIC_SHARE)
    return np.clip(np.log(n_documents / generic), 0, MAX_RARITY)


def rarest(rarities: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places of the `TOGETHER_TERMS` largest rarities, the largest first, equal ones in order."""
    return np.argsort(-rarities, kind="stable")[:TOGETHER_TERMS]


def length_penalty(n_words: int) -> float:
    """Return ln(n_words / `LENGTH_WORDS`) of a prompt, at least 0."""
    return math.log(max(n_words, LENGTH_WORDS) / LENGTH_WORDS)


def _mean_of_largest(values: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return the mean of the `count` largest values of each row, of all if there are fewer; 0 without a column."""
    if values.shape[1] == 0:
        return np.zeros(len(values), np.float32)
    count = min(count, values.shape[1])
    return np.partition(values, -count, axis=1)[:, -count:].mean(axis=1)
