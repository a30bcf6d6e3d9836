"""Exact cosines of a query to every chunk of a segment, and of its pieces to the nearest one; for a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.segment import Segment

_BLOCK_ROWS = 1024
"""Rows turned into float32 at a time: 1 MB at 256 dimensions, which stays in the cache.

A product over all rows kept as float32 is slower: it waits for memory (22 against 15 ms a search at 100,000 chunks).
"""

NO_VECTOR = -2.0
"""Stands below every cosine, for chunks without a vector and for dead ones."""


class Scan(Struct, frozen=True):
    """One pass over a segment.

    Attributes:
        cosines: Cosine of the query to each chunk, shape (n_chunks,); `NO_VECTOR` for one without vector or dead.
        best: Largest cosine − hub of each piece, shape (n_pieces,); below −1 when no chunk can be compared.
        rows: The chunk that has this value, shape (n_pieces,).
    """

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
    offsets = np.where(is_missing, np.float32(-2 * NO_VECTOR), segment.array("chunk_hub")) if len(pieces) else scales
    found = np.empty(len(vectors), np.float32)
    best = np.full(len(pieces), NO_VECTOR, np.float32)
    rows = np.zeros(len(pieces), np.int64)
    columns = np.ascontiguousarray(np.swapaxes(pieces, 0, 1))
    buffer = np.empty((min(_BLOCK_ROWS, len(vectors)), vectors.shape[1]), np.float32)
    for at in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[at : at + _BLOCK_ROWS]
        part = buffer[: len(block)]
        part[:] = block
        np.matmul(part, query, out=found[at : at + len(block)])
        if len(pieces):
            cosines = part @ columns
            cosines *= scales[at : at + len(block), np.newaxis]
            cosines -= offsets[at : at + len(block), np.newaxis]
            _keep_best(cosines, at, best, rows)
    found *= scales
    np.clip(found, -1, 1, out=found)
    found[is_missing] = NO_VECTOR
    return Scan(found, best, rows)


def _keep_best(cosines: NDArray[np.float32], at: int, best: NDArray[np.float32], rows: NDArray[np.int64]) -> None:
    """Update `best` and `rows` where a column of a block has a larger value; `at` is the first row of the block."""
    nearest = cosines.argmax(axis=0)
    values = cosines[nearest, np.arange(len(best))]
    is_better = values > best
    best[is_better] = values[is_better]
    rows[is_better] = at + nearest[is_better]
