"""Makes what a segment keeps for the gate: hubs of its chunks, and the closeness of the background by chance.

All of it is decided by the segment's own chunks, so that an edit costs the chunks it changed; what the segments keep
together gives the thresholds (`calibration`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.search.gate.parts import hubness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hybrid.search.gate.background import Background

_BLOCK_ROWS = 1024
"""Rows compared at a time, into buffers of 5 MB: fresh memory for every product takes twice as long."""

NOTHING = -2.0
"""Value below every cosine − hub: the top of a piece in a segment without a chunk."""


def segment_arrays(
    arrays: Mapping[str, NDArray[Any]], background: Background, *, with_hub: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays that a segment gets for the gate.

    Args:
        arrays: Arrays of the segment: `vector`, `vector_scale`, and the terms with their postings.
        background: The background of the segment's model.
        with_hub: Find hubs and subtract them.

    Returns:
        `chunk_hub` float32 (n_chunks,), zeros without hubs; `background_top` float32 (n_pieces,), the largest
        cosine − hub of each calibration piece to a chunk; `background_df` uint32 (n_terms,), chunks that hold each
        term of the background.
    """
    hubs, top = closest_background(arrays["vector"], arrays["vector_scale"], background, with_hub=with_hub)
    frequencies = _document_frequencies(arrays, background.terms)
    return {"chunk_hub": hubs, "background_top": top, "background_df": frequencies}


def closest_background(
    vectors: NDArray[np.int8], scales: NDArray[np.float32], background: Background, *, with_hub: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the hub of every chunk, (n_chunks,), and the largest cosine − hub of every calibration piece, (n_pieces,).

    Args:
        vectors: int8, shape (n_chunks, dim).
        scales: Scale of each vector, shape (n_chunks,); 0 where there is none.
        background: The background of the same model.
        with_hub: Find hubs and subtract them; otherwise they are 0.
    """
    bank = background.hub_bank if with_hub else background.hub_bank[:0]
    queries = np.ascontiguousarray(np.swapaxes(np.vstack([bank, background.piece_vectors]), 0, 1))
    hubs = np.zeros(len(vectors), np.float32)
    top = np.full(len(background.piece_vectors), NOTHING, np.float32)
    rows = np.empty((min(_BLOCK_ROWS, len(vectors)), vectors.shape[1]), np.float32)
    found = np.empty((len(rows), queries.shape[1]), np.float32)
    for at in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(at, min(at + _BLOCK_ROWS, len(vectors)))
        n_rows = block.stop - at
        np.multiply(vectors[block], scales[block, np.newaxis], out=rows[:n_rows])
        cosines = np.matmul(rows[:n_rows], queries, out=found[:n_rows])
        is_missing = scales[block] == 0
        cosines[is_missing] = NOTHING
        of_pieces = cosines[:, len(bank) :]
        if with_hub:
            hubs[block] = np.where(is_missing, 0, hubness(cosines[:, : len(bank)]))
            of_pieces -= hubs[block, np.newaxis]
        np.maximum(top, of_pieces.max(axis=0), out=top)
    return hubs, top


def _document_frequencies(arrays: Mapping[str, NDArray[Any]], terms: list[str]) -> NDArray[np.uint32]:
    """Return the number of chunks that hold each term, shape (n_terms,)."""
    data, ends = arrays["term_text"].tobytes(), arrays["term_at"].tolist()
    counts = np.diff(arrays["term_start"].astype(np.int64)).tolist()
    held = {data[start:end]: count for (start, end), count in zip(pairwise(ends), counts, strict=True)}
    return np.array([held.get(term.encode(), 0) for term in terms], np.uint32)
