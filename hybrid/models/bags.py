"""Texts to weighted bags of tokens: which table rows a text adds up, and with what factor.

Called by `static` (numpy) and by `weighted_bag` (torch), so that both use one arithmetic up to the table itself.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.models.words import WordTokenizer
    from hybrid.types import EmbedInput


class Limits(Struct, frozen=True):
    """How many words of a text count: of a query, of a document's body, of its head line."""

    query_words: int
    body_words: int
    head_words: int


class Bags(Struct, frozen=True):
    """The distinct tokens of several texts, one after another.

    Attributes:
        tokens: Rows of the table, int64, shape (n_entries,). A token of both head and body has two entries.
        factors: What each entry counts before the token's own weight, float32, shape (n_entries,).
        starts: Text i owns the entries starts[i] to starts[i + 1]; int64, shape (n_texts + 1,).
    """

    tokens: NDArray[np.int64]
    factors: NDArray[np.float32]
    starts: NDArray[np.int64]


def query_bags(tokenizer: WordTokenizer, texts: Sequence[str], limits: Limits) -> Bags:
    """The bags of queries: each token counts 1 + ln tf."""
    counts = [Counter(tokenizer.token_ids(text, limits.query_words)) for text in texts]
    return Bags(
        tokens=np.array([token for bag in counts for token in bag], np.int64),
        factors=_saturated(np.array([count for bag in counts for count in bag.values()], np.int64)),
        starts=np.array([0, *accumulate(map(len, counts))], np.int64),
    )


def document_bags(
    tokenizer: WordTokenizer, inputs: Sequence[EmbedInput], limits: Limits, *, head_weight: float
) -> Bags:
    """The bags of documents: a token counts (1 + ln tf) of the body plus head_weight · (1 + ln tf) of the head."""
    ids: list[list[int]] = []
    for text in inputs:
        ids.append(tokenizer.token_ids(text.body, limits.body_words))
        ids.append(tokenizer.token_ids(text.head, limits.head_words))
    n_tokens = len(tokenizer.vocabulary)
    keys, counts = _distinct(ids, n_tokens)
    is_head = (keys // n_tokens) % 2 == 1
    factors = _saturated(counts) * np.where(is_head, np.float32(head_weight), np.float32(1))
    borders = np.arange(len(inputs) + 1, dtype=np.int64) * (2 * n_tokens)
    return Bags(keys % n_tokens, factors, np.searchsorted(keys, borders).astype(np.int64))


def _distinct(ids: Sequence[Sequence[int]], n_tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted distinct keys (list number · n_tokens + token id), and how often each occurs."""
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    keys = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
    keys += np.repeat(np.arange(len(ids), dtype=np.int64) * n_tokens, lengths)
    keys.sort()
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    return keys[firsts], np.diff(firsts, append=len(keys))


def _saturated(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    return (1 + np.log(counts)).astype(np.float32)
