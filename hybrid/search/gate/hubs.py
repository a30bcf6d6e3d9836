"""Makes what a segment keeps for the gate: hubs of its chunks, and how near the background comes by chance.

All of it is decided by the segment's own chunks, so that an edit costs the chunks it changed; what the segments keep
together gives the thresholds (`calibration`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.search.gate.parts import hubness, rarest, rarity, together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        term of the background; `background_together` float32 (n_pieces,), `parts.together` of each calibration piece.
    """
    hubs, top = closest_background(arrays["vector"], arrays["vector_scale"], background, with_hub=with_hub)
    holders = _holders(arrays, background.terms)
    return {
        "chunk_hub": hubs,
        "background_top": top,
        "background_df": np.array([len(rows) for rows in holders], np.uint32),
        "background_together": _together(holders, background),
    }


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


def _holders(arrays: Mapping[str, NDArray[Any]], terms: list[str]) -> list[NDArray[np.int32]]:
    """Return the rows of the chunks that hold each term."""
    data, ends = arrays["term_text"].tobytes(), arrays["term_at"].tolist()
    texts = (data[start:end] for start, end in pairwise(ends))
    spans = dict(zip(texts, pairwise(arrays["term_start"].tolist()), strict=True))
    rows: NDArray[np.int32] = arrays["post_row"]
    return [rows[slice(*spans.get(term.encode(), (0, 0)))] for term in terms]


def _together(holders: Sequence[NDArray[np.int32]], background: Background) -> NDArray[np.float32]:
    """Return `parts.together` of each calibration piece, shape (n_pieces,), from the chunks that hold each term."""
    rarities = rarity(background.array("term_generic").astype(np.float64), background.n_generic_documents)
    words, starts = background.array("piece_words"), background.array("piece_words_at").tolist()
    found = np.zeros(len(starts) - 1, np.float32)
    for piece, (start, end) in enumerate(pairwise(starts)):
        terms = words[start:end]
        kept: list[int] = terms[rarest(rarities[terms])].tolist()
        found[piece] = together(rarities[kept], [holders[term] for term in kept])
    return found
