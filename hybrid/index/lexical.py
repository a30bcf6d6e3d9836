"""Okapi BM25 over postings: visits the chunks that hold a query term and no other; the lexical search of a snapshot.

The definition is rank-bm25's `BM25Okapi` with the non-negative IDF (`hybrid.search.reference`): a test holds the two
equal. Statistics are those of the live chunks of all segments together.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment


def length_norms(segments: Sequence[Segment], *, k1: float, b: float) -> list[NDArray[np.float64]]:
    """Return k1 · (1 − b + b · length / mean length) of each chunk, one array a segment."""
    n_live = sum(segment.n_live for segment in segments)
    mean = sum(segment.live_length for segment in segments) / max(n_live, 1)
    return [k1 * (1 - b + b * segment.chunk_length.astype(np.float64) / max(mean, 1e-9)) for segment in segments]


def idf(n: int, n_matching: int) -> float:
    """The weight of a term that `n_matching` of n chunks hold: ln((n − df + ½) / (df + ½) + 1), never negative."""
    return math.log((n - n_matching + 0.5) / (n_matching + 0.5) + 1)


def okapi(
    segments: Sequence[Segment],
    tokens: Sequence[str],
    norms: Sequence[NDArray[np.float64]],
    *,
    k1: float,
) -> list[NDArray[np.float64]]:
    """The bm25 of every chunk, one array per segment; 0 exactly where no query term occurs.

    Args:
        segments: All segments of one snapshot.
        tokens: Tokens of the query; a repeated one counts repeatedly.
        norms: From `length_norms` with the same k1.
        k1: Term saturation.

    Source: Robertson et al., Okapi at TREC-3, with `idf`.
    """
    counts = Counter(tokens)
    n_live = sum(segment.n_live for segment in segments)
    found = [[live_postings(segment, term) for term in counts] for segment in segments]
    n_matching = [sum(len(rows) for rows, _ in of_term) for of_term in zip(*found, strict=True)]
    weights = np.array([n * idf(n_live, df) * (k1 + 1) for n, df in zip(counts.values(), n_matching, strict=True)])
    scores = [np.zeros(segment.n_chunks) for segment in segments]
    for of_segment, norm, score in zip(found, norms, scores, strict=True):
        if of_segment:
            rows = np.concatenate([rows for rows, _ in of_segment], dtype=np.intp)
            frequencies = np.concatenate([frequencies for _, frequencies in of_segment], dtype=np.float64)
            weight = np.repeat(weights, [len(rows) for rows, _ in of_segment])
            np.add.at(score, rows, weight * frequencies / (frequencies + norm[rows]))
    return scores


def live_postings(segment: Segment, term: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the chunks of a segment that hold a term and can be found, ascending, and its frequency in each."""
    span = segment.postings(term)
    rows, frequencies = segment.post_row[span], segment.post_tf[span]
    if segment.is_live is None or not len(rows):
        return rows, frequencies
    keep = segment.is_live[rows]
    return rows[keep], frequencies[keep]
