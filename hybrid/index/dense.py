"""Cosines of a query to the chunks of a segment, and of its pieces to the nearest one; for a snapshot.

All chunks of a small segment are compared. Of a large one those are that come near by their signs (`signs`), and each
of them as exactly.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.index.signs import CAN_COUNT, distances, nearest, sign_words
from hybrid.index.sorting import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment

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
        best: Largest cosine of each piece, shape (n_pieces,); below −1 when no chunk can be compared.
        rows: The chunk that has this value, shape (n_pieces,).
    """

    compared: NDArray[np.intp] | None
    cosines: NDArray[np.float32]
    best: NDArray[np.float32]
    rows: NDArray[np.int64]


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
    rows = of_pieces.argmax(axis=1) if len(of_pieces) else np.zeros(len(pieces), np.int64)
    best = of_pieces[np.arange(len(rows)), rows] if len(of_pieces) else np.full(len(pieces), NO_VECTOR, np.float32)
    return Scan(None, found[0], best, rows)


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
        bounds = np.searchsorted(rows, starts)
        return [rows[low:high] - start for start, (low, high) in zip(starts, pairwise(bounds), strict=False)]

    compared = [np.zeros(0, np.intp) for _ in segments]
    if query.any():
        compared = near(query, [live] if allowed is None else [live, _live_rows(segments, allowed)])
    scans = [
        Scan(
            rows,
            cosines(segment, query, rows),
            np.full(len(pieces), NO_VECTOR, np.float32),
            np.zeros(len(pieces), np.int64),
        )
        for segment, rows in zip(segments, compared, strict=True)
    ]
    for number in np.flatnonzero(pieces.any(axis=1)).tolist():
        # The first piece is the whole prompt without its small words: what is near to the query is near to it.
        is_alike = float(pieces[number] @ query) >= _ALIKE
        found = compared if is_alike else near(pieces[number], [live])
        for segment, one, rows in zip(segments, scans, found, strict=True):
            if len(rows):
                values = cosines(segment, pieces[number], rows)
                place = int(values.argmax())
                one.best[number], one.rows[number] = values[place], rows[place]
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
    return np.flatnonzero(np.concatenate(kept))


def _distances(segment: Segment, vector: NDArray[np.float32]) -> NDArray[np.unsignedinteger[Any]]:
    mean = np.divide(segment.array("vector_sum"), segment.n_chunks, dtype=np.float32)
    return distances(segment.array("chunk_sign"), sign_words(vector[np.newaxis], mean)[:, 0])


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
