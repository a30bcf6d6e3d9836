"""Okapi BM25 over postings, of the chunks that hold a query term and no other; the lexical search of a snapshot.

The definition is rank-bm25's `BM25Okapi` with the non-negative IDF (`hybrid.search.reference`): a test holds the two
equal. Statistics are those of the live chunks of all segments together.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.index.pruning import largest_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment


def idf(n: int, n_matching: int) -> float:
    """The weight of a term that `n_matching` of n chunks hold: ln((n − df + ½) / (df + ½) + 1), never negative."""
    return math.log((n - n_matching + 0.5) / (n_matching + 0.5) + 1)


class Okapi:
    """The bm25 of the chunks of some segments for one query.

    Args:
        segments: All segments of one snapshot.
        tokens: Tokens of the query; a repeated one counts repeatedly.
        weighing: The corpus and the parameters.
        depth: Number of the best chunks that are wanted; the sums of all are worked out when it is that of all.

    Attributes:
        rows: The chunks that may be among the best, numbered through the segments, ascending.
        scores: The bm25 of each of these, above 0.

    Source: Robertson et al., Okapi at TREC-3, with `idf`.
    """

    def __init__(self, segments: Sequence[Segment], tokens: Sequence[str], weighing: Weighing, depth: int) -> None:
        self._segments = segments
        self._weighing = weighing
        counts = Counter(tokens)
        self._terms = list(counts)
        sizes = list(map(weighing.frequency, counts))
        k1 = weighing.k1
        self._weights = [n * idf(weighing.n_live, df) * (k1 + 1) for n, df in zip(counts.values(), sizes, strict=True)]
        n_rows = sum(segment.n_chunks for segment in segments)
        self._found = largest_sums(self._add, self._weights, sizes, np.zeros(n_rows), depth)
        self.rows, self.scores = self._found.rows, self._found.sums

    def _add(self, terms: Sequence[int], among: NDArray[np.bool_] | None, scores: NDArray[np.float64]) -> None:
        start = 0
        for segment in self._segments:
            end = start + segment.n_chunks
            kept = None if among is None else among[start:end]
            found = [live_postings(segment, self._terms[term], kept) for term in terms]
            rows = np.concatenate([rows for rows, _ in found], dtype=np.intp)
            frequencies = np.concatenate([frequencies for _, frequencies in found], dtype=np.float64)
            weights = np.repeat([self._weights[term] for term in terms], [len(rows) for rows, _ in found])
            norms = self._weighing.norms(segment.chunk_length[rows])
            np.add.at(scores[start:end], rows, weights * frequencies / (frequencies + norms))
            start = end

    def score(self, row: int) -> float:
        """Return the bm25 of any chunk; 0 exactly where no term of the query occurs."""
        score, first = float(self._found.partial[row]), 0
        for segment in self._segments:
            if first <= row < first + segment.n_chunks:
                norm = float(self._weighing.norms(segment.chunk_length[row - first]))
                for term in self._found.left:
                    span = segment.postings(self._terms[term])
                    place = span.start + int(np.searchsorted(segment.post_row[span], np.int32(row - first)))
                    if place < span.stop and segment.post_row[place] == row - first:
                        frequency = float(segment.post_tf[place])
                        score += self._weights[term] * frequency / (frequency + norm)
            first += segment.n_chunks
        return score


class Weighing(Struct, frozen=True):
    """The corpus and the parameters that bm25 depends on.

    Attributes:
        n_live: Chunks that can be found.
        mean_length: Their mean length in tokens.
        frequency: Gives the number of them that hold a term.
        k1: Saturation of a term.
        b: How much of a length counts.
    """

    n_live: int
    mean_length: float
    frequency: Callable[[str], int]
    k1: float
    b: float

    def norms(self, lengths: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return k1 · (1 − b + b · length / mean length) for each length."""
        relative = np.asarray(lengths, np.float64) / max(self.mean_length, 1e-9)
        return self.k1 * (1 - self.b + self.b * relative)


def live_postings(
    segment: Segment, term: str, among: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the chunks of a segment that hold a term and can be found, ascending, and its frequency in each.

    Args:
        segment: The segment.
        term: The term.
        among: For each chunk of the segment whether it is wanted; None for all.
    """
    span = segment.postings(term)
    rows, frequencies = segment.post_row[span], segment.post_tf[span]
    for kept in (segment.is_live, among):
        if kept is not None and len(rows):
            is_kept = kept[rows]
            rows, frequencies = rows[is_kept], frequencies[is_kept]
    return rows, frequencies


def n_holding(segment: Segment, terms: Sequence[str]) -> int:
    """Return how many chunks of a segment that can be found hold any of some terms."""
    spans = [span for term in terms if (span := segment.postings(term)).stop > span.start]
    if len(spans) <= 1 and segment.is_live is None:
        return sum(span.stop - span.start for span in spans)
    is_held = np.zeros(segment.n_chunks, np.bool_)
    for span in spans:
        is_held[segment.post_row[span]] = True
    if segment.is_live is not None:
        is_held &= segment.is_live
    return int(np.count_nonzero(is_held))
