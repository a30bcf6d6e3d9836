"""Vectors as they are stored, int8 rows with a scale, and the cosines of a query and its pieces to those of a segment.

All chunks of a small segment are compared. Of a large one those are that come near by their signs, one bit for each
number of a vector, and each of them as exactly. The build makes vectors and signs, a snapshot asks for cosines.
"""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment


LEAST_LENGTH = 1e-6
"""A sum of vectors is taken to be at least so long where something is divided by its length."""


class StoredVectors(Struct, frozen=True):
    """Vectors of some inputs as int8 rows, each to be multiplied by its scale.

    Attributes:
        data: int8, shape (n, dim).
        scale: float32, shape (n,); 0 for an input without a vector.
        is_cut: True where the model read only a part of the input, shape (n,).
    """

    data: NDArray[np.int8]
    scale: NDArray[np.float32]
    is_cut: NDArray[np.bool_]

    def rows(self) -> list[bytes]:
        """The bytes of each row of `data`."""
        dim, data = self.data.shape[1], self.data.tobytes()
        return [data[at : at + dim] for at in range(0, len(data), max(dim, 1))]


def from_rows(rows: Sequence[tuple[float, bytes, int]], dim: int) -> StoredVectors:
    """Return vectors from (scale, data, is_cut) of each row of the catalog, in their order."""
    return StoredVectors(
        data=np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(len(rows), dim),
        scale=np.array([row[0] for row in rows], np.float32),
        is_cut=np.array([row[2] for row in rows], np.bool_),
    )


def quantise(vectors: NDArray[np.float32], is_cut: NDArray[np.bool_]) -> StoredVectors:
    """Return unit vectors (n, dim) as int8 with one scale a row, so that the quantised row is again of unit length.

    A row of zeros keeps scale 0. The cosine of two rows is off by less than 5e-3. `is_cut` is passed on: True where the
    model read only a part of the input.
    """
    top = np.abs(vectors).max(axis=1, keepdims=True) if len(vectors) else np.zeros((0, 1), np.float32)
    data = np.rint(vectors / np.maximum(top, 1e-12) * 127).astype(np.int8)
    length = np.sqrt((data.astype(np.float32) ** 2).sum(axis=1))
    scale = np.where(length > 0, 1 / np.maximum(length, 1e-12), 0).astype(np.float32)
    return StoredVectors(data, scale, is_cut)


# --- signs ---------------------------------------------------------------------------------------------------
#
# A vector is turned so that its numbers vary alike, since the first axes of a model often tell more than the last; a
# bit says whether a number then lies above its mean over the segment. In a large segment the rows of which the fewest
# bits differ from a query's are compared exactly, and no others.
#
# Source: random hyperplane signatures (Charikar, STOC 2002), with orthogonal hyperplanes that a cosine transform with
# random signs gives (Ailon and Chazelle, STOC 2006, for a Hadamard transform).

LEAST_ROWS = 20_000
"""Chunks of a segment from which on it has signs; below, a scan of all rows takes as long."""

CAN_COUNT = hasattr(np, "bitwise_count")
"""False before numpy 2, which has no fast count of bits: then all rows are compared."""

_BLOCK_SIGNS = 1 << 16
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
    for at in range(0, n_rows, _BLOCK_SIGNS):
        block = slice(at, at + _BLOCK_SIGNS)
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
    differing = np.empty(min(_BLOCK_SIGNS, n_rows), np.uint64)
    counts = np.empty(len(differing), np.uint8)
    for at in range(0, n_rows, _BLOCK_SIGNS):
        total = found[at : at + _BLOCK_SIGNS]
        some, counted = differing[: len(total)], counts[: len(total)]
        for number, (of_rows, word) in enumerate(zip(signs[:, at : at + _BLOCK_SIGNS], words, strict=True)):
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
    bound = int(counts.cumsum().searchsorted(place, side="right"))
    rows = (found <= bound).nonzero()[0]
    while len(rows) < n_wanted:
        bound += 1
        rows = (found <= bound).nonzero()[0]
    if len(rows) > _MOST_TIED * n_wanted:
        rows = np.sort(rows[found[rows].argsort(kind="stable")[: _MOST_TIED * n_wanted]])
    return rows


# --- cosines -------------------------------------------------------------------------------------------------

_BLOCK_ROWS = 512
"""Rows turned into float32 at a time: half a megabyte at 256 dimensions, which stays in the cache.

A product over all rows kept as float32 is slower: it waits for memory (22 against 15 ms a search at 100,000 chunks).
"""

_BLOCK_GATHERED = 256
"""The same for rows that are gathered from all over a segment: 2.4 times as fast as all 10,000 at once."""

NO_VECTOR = -2.0
"""Stands below every cosine, for chunks without a vector and for dead ones."""


_SHARE_COMPARED = 125
"""One chunk in so many of a segment is compared, and no fewer than the settings say."""

_ALIKE = 0.9
"""Cosine of a piece to its query from which on it is compared with the chunks that are near to the query.

Of 1,580 pieces of prompts, asked of a million chunks, half are as near; the nearest chunk of 99 % of these is found so,
and that of the others missed by 0.024 at most.
"""


class Scan(Struct, frozen=True):
    """One pass over a segment.

    Attributes:
        compared: The chunks that the query was compared with, ascending; None for all.
        cosines: Cosine of the query to each of these, `NO_VECTOR` for one without vector or dead.
        best: Largest cosine of each piece, shape (n_pieces,); `NO_VECTOR` when no chunk can be compared.
    """

    compared: NDArray[np.intp] | None
    cosines: NDArray[np.float32]
    best: NDArray[np.float32]


def scan(segment: Segment, query: NDArray[np.float32], pieces: NDArray[np.float32]) -> Scan:
    """Compare a query and its pieces with every chunk; rows become float32 once for all of them.

    Args:
        segment: Open segment.
        query: Unit vector, shape (dim,).
        pieces: Unit vectors, shape (n_pieces, dim).
    """
    vectors, scales = segment.vector, segment.vector_scale
    is_missing = scales == 0 if segment.is_live is None else (scales == 0) | ~segment.is_live
    # The first piece is the whole prompt, as the query often is.
    is_piece = len(pieces) > 0 and np.array_equal(pieces[0], query)
    asked = pieces if is_piece else np.concatenate([query[np.newaxis], pieces])
    columns = np.ascontiguousarray(np.swapaxes(asked, 0, 1))
    by_row = np.empty((len(vectors), len(asked)), np.float32)
    buffer = np.empty((min(_BLOCK_ROWS, len(vectors)), vectors.shape[1]), np.float32)
    for at in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[at : at + _BLOCK_ROWS]
        part = buffer[: len(block)]
        part[:] = block
        np.matmul(part, columns, out=by_row[at : at + len(block)])
    found = np.ascontiguousarray(np.swapaxes(by_row, 0, 1))
    found *= scales
    np.clip(found, -1, 1, out=found)
    found[:, is_missing] = NO_VECTOR
    of_pieces = found[len(found) - len(pieces) :] if len(vectors) else found[:0]
    best = of_pieces.max(axis=1) if len(of_pieces) else np.full(len(pieces), NO_VECTOR, np.float32)
    return Scan(None, found[0], best)


def can_sift(segment: Segment) -> bool:
    """Return whether a segment has signs that can be compared."""
    return CAN_COUNT and segment.has("chunk_sign")


def sift(
    segments: Sequence[Segment],
    query: NDArray[np.float32],
    pieces: NDArray[np.float32],
    n_compared: int,
    allowed: Sequence[NDArray[np.bool_]] | None = None,
) -> list[Scan]:
    """Compare a query, and each of its pieces, with the chunks of some segments that come nearest to it by their signs.

    Args:
        segments: Some for which `can_sift` is true.
        query: Unit vector or zeros, shape (dim,).
        pieces: Unit vectors or zeros, shape (n_pieces, dim).
        n_compared: Chunks to compare at least; of more than 125 times as many, one in 125.
        allowed: For each segment the chunks, shape (n_chunks,), of which the nearest to the query are compared besides.
    """
    starts = np.cumsum([0, *(segment.n_chunks for segment in segments)])
    n_wanted = max(n_compared, int(starts[-1]) // _SHARE_COMPARED)
    live = _live_rows(segments, None)

    def near(vector: NDArray[np.float32], of: Sequence[NDArray[np.intp] | None]) -> list[NDArray[np.intp]]:
        """The rows near to a vector among those of each of some lists, None being all; one array for each segment."""
        found = np.concatenate([_distances(segment, vector) for segment in segments])
        places = [nearest(found, n_wanted) if rows is None else rows[nearest(found[rows], n_wanted)] for rows in of]
        rows = places[0] if len(places) == 1 else distinct(np.concatenate(places))
        bounds = rows.searchsorted(starts)
        return [rows[low:high] - start for start, (low, high) in zip(starts, pairwise(bounds), strict=False)]

    compared = [np.zeros(0, np.intp) for _ in segments]
    if query.any():
        compared = near(query, [live] if allowed is None else [live, _live_rows(segments, allowed)])
    scans = [
        Scan(rows, cosines(segment, query, rows), np.full(len(pieces), NO_VECTOR, np.float32))
        for segment, rows in zip(segments, compared, strict=True)
    ]
    for number in np.flatnonzero(pieces.any(axis=1)).tolist():
        # The first piece is the whole prompt without its small words: what is near to the query is near to it.
        is_alike = float(pieces[number] @ query) >= _ALIKE
        found = compared if is_alike else near(pieces[number], [live])
        for segment, one, rows in zip(segments, scans, found, strict=True):
            if len(rows):
                one.best[number] = cosines(segment, pieces[number], rows).max()
    return scans


def _live_rows(segments: Sequence[Segment], masks: Sequence[NDArray[np.bool_]] | None) -> NDArray[np.intp] | None:
    """Return the rows that can be found and that the masks have, numbered through the segments; None when all are."""
    if masks is None and all(segment.is_live is None for segment in segments):
        return None
    masks = masks or [np.ones(segment.n_chunks, np.bool_) for segment in segments]
    kept = [
        mask if segment.is_live is None else mask & segment.is_live
        for segment, mask in zip(segments, masks, strict=True)
    ]
    return np.concatenate(kept).nonzero()[0]


def _distances(segment: Segment, vector: NDArray[np.float32]) -> NDArray[np.unsignedinteger[Any]]:
    mean = np.divide(segment.arrays["vector_sum"], segment.n_chunks, dtype=np.float32)
    return distances(segment.arrays["chunk_sign"], sign_words(vector[np.newaxis], mean)[:, 0])


def cosines(segment: Segment, vector: NDArray[np.float32], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
    """Return the cosine of a vector to each of some chunks, dead ones too; `NO_VECTOR` for one without a vector."""
    scales = segment.vector_scale[rows]
    found = np.clip(products(segment.vector, rows, vector) * scales, -1, 1)
    return np.where(scales == 0, np.float32(NO_VECTOR), found)


def products(
    vectors: NDArray[np.int8], rows: NDArray[np.integer[Any]], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the product of a vector with each of some rows of a matrix, shape (len(rows),).

    Few rows become float32 at a time, so that they stay in the cache.
    """
    found = np.empty(len(rows), np.float32)
    buffer = np.empty((min(_BLOCK_GATHERED, len(rows)), len(vector)), np.float32)
    for at in range(0, len(rows), _BLOCK_GATHERED):
        some = rows[at : at + _BLOCK_GATHERED]
        part = buffer[: len(some)]
        part[:] = vectors.take(some, axis=0)
        np.matmul(part, vector, out=found[at : at + len(some)])
    return found
