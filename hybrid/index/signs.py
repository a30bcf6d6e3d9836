"""One bit for each number of a vector: rows of which few bits differ from a query's are those worth comparing with it.

A vector is turned so that its numbers vary alike, since the first axes of a model often tell more than the last; a bit
says whether a number then lies above its mean over the segment. In a large segment the rows of which the fewest bits
differ are compared exactly, and no others: `dense`.

Source: random hyperplane signatures (Charikar, STOC 2002), with orthogonal hyperplanes that a cosine transform with
random signs gives (Ailon and Chazelle, STOC 2006, for a Hadamard transform).
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.vectors import StoredVectors

LEAST_ROWS = 20_000
"""Chunks of a segment from which on it has signs; below, a scan of all rows takes as long."""

CAN_COUNT = hasattr(np, "bitwise_count")
"""False before numpy 2, which has no fast count of bits: then all rows are compared."""

_BLOCK_ROWS = 1 << 16
"""Rows whose bits are compared at a time: what is worked out of them stays in the cache."""
_WORDS_OF_BYTE = 4
_SAMPLED = 16
"""One row of so many tells which number of bits is near."""
_MOST_TIED = 4
"""Times as many rows as wanted that may come, when many differ in equally many bits."""


@cache
def rotation(dim: int) -> NDArray[np.float32]:
    """Return the orthogonal matrix that vectors are turned by, shape (dim, dim): the same on every machine."""
    places = np.arange(dim)
    turned = np.cos(np.pi / dim * np.outer(places + 0.5, places)) * np.sqrt(2 / dim)
    turned[:, 0] /= np.sqrt(2)
    drawn = np.frombuffer(hashlib.shake_256(b"signs").digest(dim), np.uint8)
    return (np.where(drawn & 1, 1, -1)[:, np.newaxis] * turned).astype(np.float32)


def sign_words(vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the signs of turned vectors beside a mean, 64 to a word, (n_words, n_vectors); the last word is filled up.

    Args:
        vectors: Shape (n_vectors, dim).
        mean: Shape (dim,).
    """
    n_words = -(-vectors.shape[1] // 64)
    turned = (vectors - mean) @ rotation(vectors.shape[1])
    packed = np.zeros((len(vectors), 8 * n_words), np.uint8)
    bits = np.packbits(turned > 0, axis=1)
    packed[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(np.swapaxes(packed.view("<u8"), 0, 1)).astype(np.uint64, copy=False)


def signs_of_stored(vectors: StoredVectors, mean: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the signs of stored vectors as `sign_words` does, block by block."""
    n_rows, dim = vectors.data.shape
    found = np.empty((-(-dim // 64), n_rows), np.uint64)
    for at in range(0, n_rows, _BLOCK_ROWS):
        block = slice(at, at + _BLOCK_ROWS)
        found[:, block] = sign_words(vectors.data[block] * vectors.scale[block, np.newaxis], mean)
    return found


def distances(signs: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.unsignedinteger[Any]]:
    """Return how many signs of each row differ from those of one vector, shape (n_rows,).

    Of 256 signs that all differ it says 0, so that bytes are enough: such a row is compared in vain.

    Args:
        signs: Of the rows, shape (n_words, n_rows).
        words: Of the vector, shape (n_words,).
    """
    n_words, n_rows = signs.shape
    found = np.empty(n_rows, np.uint8 if n_words <= _WORDS_OF_BYTE else np.uint16)
    differing = np.empty(min(_BLOCK_ROWS, n_rows), np.uint64)
    counts = np.empty(len(differing), np.uint8)
    for at in range(0, n_rows, _BLOCK_ROWS):
        total = found[at : at + _BLOCK_ROWS]
        some, counted = differing[: len(total)], counts[: len(total)]
        for number, (of_rows, word) in enumerate(zip(signs[:, at : at + _BLOCK_ROWS], words, strict=True)):
            np.bitwise_xor(of_rows, word, out=some)
            if number == 0:
                np.bitwise_count(some, out=total)
            else:
                np.bitwise_count(some, out=counted)
                np.add(total, counted, out=total)
    return found


def nearest(found: NDArray[np.unsignedinteger[Any]], n_wanted: int) -> NDArray[np.intp]:
    """Return the rows with the smallest distances, ascending: at least `n_wanted`, at most four times as many.

    A sample tells the distance up to which rows come; of many rows at one distance the first come.

    Args:
        found: Shape (n_rows,).
        n_wanted: At least 1.
    """
    if len(found) <= n_wanted:
        return np.arange(len(found))
    counts = np.bincount(found[::_SAMPLED])
    place = min(n_wanted // _SAMPLED, int(counts.sum()) - 1)
    bound = int(np.searchsorted(counts.cumsum(), place, side="right"))
    rows = np.flatnonzero(found <= bound)
    while len(rows) < n_wanted:
        bound += 1
        rows = np.flatnonzero(found <= bound)
    if len(rows) > _MOST_TIED * n_wanted:
        rows = np.sort(rows[np.argsort(found[rows], kind="stable")[: _MOST_TIED * n_wanted]])
    return rows
