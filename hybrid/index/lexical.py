"""Okapi BM25 over postings, of the chunks that hold a query term and no other; the lexical search of a snapshot.

The definition is rank-bm25's `BM25Okapi` with the non-negative IDF (`hybrid.search.reference`): a test holds the two
equal. Statistics are those of the live chunks of all segments together.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.index.pruning import LargestSums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hybrid.index.pruning import Wanted
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
        found = LargestSums(self._weights, sizes, sum(segment.n_chunks for segment in segments), depth)
        start = 0
        for segment in segments:
            if segment.n_chunks:
                found.add(start, segment.n_chunks, partial(self._read, segment))
            start += segment.n_chunks
        self.rows, self.scores = found.result()

    def _read(
        self, segment: Segment, terms: Sequence[int], among: Wanted | None
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the chunks of a segment that hold some terms, and what each term adds to their bm25."""
        found = [live_postings(segment, self._terms[term], among) for term in terms]
        rows = np.concatenate([rows for rows, _ in found], dtype=np.intp)
        frequencies = np.concatenate([frequencies for _, frequencies in found], dtype=np.float64)
        weights = np.repeat([self._weights[term] for term in terms], [len(rows) for rows, _ in found])
        return rows, weights * frequencies / (frequencies + self._weighing.norms(segment.chunk_length[rows]))

    def score(self, row: int) -> float:
        """Return the bm25 of any chunk; 0 exactly where no term of the query occurs."""
        place = int(np.searchsorted(self.rows, row))
        if place < len(self.rows) and self.rows[place] == row:
            return float(self.scores[place])
        score, first = 0.0, 0
        for segment in self._segments:
            is_here = first <= row < first + segment.n_chunks
            if is_here and (segment.is_live is None or segment.is_live[row - first]):
                norm = float(self._weighing.norms(segment.chunk_length[row - first]))
                for term, weight in zip(self._terms, self._weights, strict=True):
                    span = segment.postings(term)
                    place = span.start + int(np.searchsorted(segment.post_row[span], np.int32(row - first)))
                    if place < span.stop and segment.post_row[place] == row - first:
                        frequency = float(segment.post_tf[place])
                        score += weight * frequency / (frequency + norm)
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


def live_postings(segment: Segment, term: str, among: Wanted | None = None) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the chunks of a segment that hold a term and can be found, ascending, and its frequency in each.

    Args:
        segment: The segment.
        term: The term.
        among: The chunks of the segment that are wanted; None for all.
    """
    span = segment.postings(term)
    rows, frequencies = segment.post_row[span], segment.post_tf[span]
    if among is not None:
        kept = among.places(rows)
        rows, frequencies = rows[kept], frequencies[kept]
    if segment.is_live is not None and len(rows):
        kept = np.flatnonzero(segment.is_live[rows])
        rows, frequencies = rows[kept], frequencies[kept]
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
