"""Okapi BM25 over postings, of the chunks that hold a query term and no other; the lexical search of a snapshot.

The definition is rank-bm25's `BM25Okapi` with the non-negative IDF (`hybrid.search.reference`): a test holds the two
equal. Statistics are those of the live chunks of all segments together.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment

    Read = Callable[[Sequence[int], "RowSet | None"], tuple["NDArray[np.integer[Any]]", "NDArray[np.floating[Any]]"]]


# --- the largest sums ----------------------------------------------------------------------------------------
#
# What common terms add is left out where it decides nothing. A term that many chunks hold adds little to each, but has
# most of the postings. Terms are added up from the rarest on. As soon as what is left cannot lift a new row among the
# best, only the rows that may still be among them are looked at, with all terms. Rows come in blocks, such as the
# segments of an index: the best of the blocks before tell from the start what a row must have, and what is added up
# stays in the cache.
#
# Source: MaxScore, Turtle and Flood, Query evaluation: strategies and optimizations (Information Processing and
# Management, 1995).

_AT_ONCE = 10_000
_SHARE_AT_ONCE = 1 / 30
"""Postings, and that share of the rows, added without asking if all are needed: the question costs more for fewer."""
_ROUNDING = 1e-5
"""Share of a bound that it is widened by, since sums of floats differ with their order."""


_MANY = 8
"""Rows of a list for each wanted one beyond which the wanted ones are looked up in it."""


class RowSet:
    """Some rows of a block, ascending."""

    def __init__(self, rows: NDArray[np.intp]) -> None:
        self.rows = rows
        self._end = int(rows[-1]) + 1 if len(rows) else 0

    @cached_property
    def _holds(self) -> NDArray[np.bool_]:
        found = np.zeros(self._end, np.bool_)
        found[self.rows] = True
        return found

    def places(self, among: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """Return where wanted rows stand in a list of rows, which is ascending."""
        if not len(among):
            return np.zeros(0, np.intp)
        if _MANY * len(self.rows) < len(among):
            # Of another type than the list they would make a copy of it.
            found = np.minimum(among.searchsorted(self.rows.astype(among.dtype)), len(among) - 1)
            return found[among[found] == self.rows]
        return self._holds[among[: among.searchsorted(among.dtype.type(self._end))]].nonzero()[0]


class LargestSums:
    """Collects the rows with the largest sums, block by block.

    Args:
        bounds: The most that each term adds to a row.
        sizes: Number of rows of all blocks that each term adds something to.
        n_rows: Rows of all blocks.
        depth: Rows wanted; as many as there are rows gives every sum.
    """

    def __init__(self, bounds: Sequence[float], sizes: Sequence[int], n_rows: int, depth: int) -> None:
        self._order = sorted(range(len(sizes)), key=lambda term: (sizes[term], term))
        ordered = [bounds[term] for term in self._order]
        self._before = [0.0, *accumulate(ordered)]
        left = [0.0, *accumulate(reversed(ordered))]
        self._left = [bound * (1 + _ROUNDING) for bound in reversed(left)]
        self._added = [0.0, *accumulate(sizes[term] / max(n_rows, 1) for term in self._order)]
        self._n_rows, self._depth = n_rows, depth
        self._best = np.zeros(0)
        self._least = 0.0  # What a row must have to be among the best; 0 until there are as many as wanted.
        self._rows: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
        self._sums: list[NDArray[np.float64]] = [np.zeros(0)]

    def add(self, first_row: int, n_rows: int, read: Read) -> None:
        """Take a block.

        Args:
            first_row: Number of its first row.
            n_rows: Its rows.
            read: Called with terms, ascending, and the rows of the block that are wanted (None for all); returns the
                rows, term after term, ascending within one, numbered from 0, and what the term adds to each, above 0.
        """
        if not self._order:
            return
        sums, done, n_read = np.zeros(n_rows), 0, 0
        least: float | None = None
        while least is None and done < len(self._order):
            end = self._end_of_group(done, n_rows)
            np.add.at(sums, *read(sorted(self._order[done:end]), None))
            done, n_read = end, n_read + 1
            least = self._least_sum(sums, done)
        least = self._least if least is None else least
        rows = (sums >= least - self._left[done] if least else sums > 0).nonzero()[0]
        is_last = first_row + n_rows >= self._n_rows
        if n_read == 1 and done == len(self._order):
            self._note(first_row + rows, sums[rows], is_last=is_last)
        else:
            self._take(first_row, rows, sums[rows], (read, done, least), is_last=is_last)

    def _end_of_group(self, done: int, n_rows: int) -> int:
        """Return the end of the terms that are read at once for all rows of a block: the next term, and some more."""
        if self._depth >= self._n_rows:
            return len(self._order)
        most = max(_AT_ONCE, n_rows * _SHARE_AT_ONCE, 2 * self._added[done] * n_rows)
        end = done + 1
        while end < len(self._order) and self._left[end] >= self._least and self._added[end + 1] * n_rows <= most:
            end += 1
        return end

    def _least_sum(self, sums: NDArray[np.float64], done: int) -> float | None:
        """Return what a row of a block must have to be among the best, by the sums of the first terms.

        None when more terms must be read for all rows: what is left may lift a row without these terms.
        """
        rest = self._left[done]
        if rest < self._least:  # The blocks before tell.
            return self._least
        if self._least or rest >= self._before[done]:
            return None
        sums = sums[sums > rest]
        if len(sums) < self._depth:
            return None
        # So many rows have more than what is left could give to any other.
        return float(np.partition(sums, len(sums) - self._depth)[len(sums) - self._depth]) * (1 - _ROUNDING)

    def _take(
        self,
        first_row: int,
        rows: NDArray[np.intp],
        sums: NDArray[np.float64],
        how: tuple[Read, int, float],
        *,
        is_last: bool,
    ) -> None:
        """Add the terms that are left up for some rows of a block; leave out those that cannot be among the best."""
        read, done, least = how
        while done < len(self._order) and len(rows) > self._depth:
            found, values = read((self._order[done],), RowSet(rows))
            sums[rows.searchsorted(found)] += values
            done += 1
            kept = (sums >= least - self._left[done]).nonzero()[0]
            rows, sums = rows[kept], sums[kept]
        # In the order of the terms: equal rows have equal sums.
        found, values = read(range(len(self._order)), RowSet(rows))
        whole = np.bincount(rows.searchsorted(found), values, len(rows)).astype(np.float64, copy=False)
        self._note(first_row + rows, whole, is_last=is_last)

    def _note(self, rows: NDArray[np.intp], sums: NDArray[np.float64], *, is_last: bool) -> None:
        self._rows.append(rows)
        self._sums.append(sums)
        if is_last:
            return
        best = np.concatenate([self._best, sums if not self._least else sums[sums > self._least]])
        if len(best) >= self._depth:
            best = np.partition(best, len(best) - self._depth)[len(best) - self._depth :]
            self._least = float(best.min(initial=np.inf)) * (1 - _ROUNDING)
        self._best = best

    @property
    def largest(self) -> float:
        """The largest sum in the blocks so far, but for the last one; 0 without one."""
        return float(self._best.max(initial=0))

    def result(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return all rows that may be among the best, ascending, and their sums, each above 0, after the last block."""
        rows, sums = np.concatenate(self._rows), np.concatenate(self._sums)
        if not self._least:
            return rows, sums
        kept = (sums >= self._least).nonzero()[0]
        return rows[kept], sums[kept]


# --- bm25 ----------------------------------------------------------------------------------------------------


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
        self, segment: Segment, terms: Sequence[int], among: RowSet | None
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the chunks of a segment that hold some terms, and what each term adds to their bm25."""
        found = [live_postings(segment, self._terms[term], among) for term in terms]
        rows = np.concatenate([rows for rows, _ in found], dtype=np.intp)
        frequencies = np.concatenate([frequencies for _, frequencies in found], dtype=np.float64)
        weights = np.array([self._weights[term] for term in terms]).repeat([len(rows) for rows, _ in found])
        return rows, weights * frequencies / (frequencies + self._weighing.norms(segment.chunk_length[rows]))

    def score(self, row: int) -> float:
        """Return the bm25 of any chunk; 0 exactly where no term of the query occurs."""
        place = int(self.rows.searchsorted(row))
        if place < len(self.rows) and self.rows[place] == row:
            return float(self.scores[place])
        return float(self.scores_within(row, row + 1)[0])

    def scores_within(self, first_row: int, end_row: int) -> NDArray[np.float64]:
        """Return the bm25 of the chunks from one row up to another, all of one segment, shape (end − first,)."""
        scores = np.zeros(end_row - first_row)
        first = 0
        for segment in self._segments:
            low, high = first_row - first, end_row - first
            first += segment.n_chunks
            if not 0 <= low < segment.n_chunks:
                continue
            norms = self._weighing.norms(segment.chunk_length[low:high])
            for term, weight in zip(self._terms, self._weights, strict=True):
                span = segment.postings(term)
                rows = segment.post_row[span]
                start, end = rows.searchsorted(np.array([low, high], rows.dtype)).tolist()
                if end > start:
                    local = rows[start:end] - low
                    frequencies = segment.post_tf[span.start + start : span.start + end].astype(np.float64)
                    scores[local] += weight * frequencies / (frequencies + norms[local])
            if segment.is_live is not None:
                scores[~segment.is_live[low:high]] = 0
        return scores


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


def live_postings(segment: Segment, term: str, among: RowSet | None = None) -> tuple[NDArray[np.int32], NDArray[Any]]:
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
        kept = segment.is_live[rows].nonzero()[0]
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
