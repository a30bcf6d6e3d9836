"""Finds the rows with the largest sums over the terms of a query, and leaves out what common terms add to the others.

A term that many chunks hold adds little to each, but has most of the postings. Terms are added up from the rarest on.
As soon as what is left cannot lift a new row among the best, the terms left are added for the rows only that may still
be among them. The sums of these rows are whole, so that the best are the same as without it.

Source: MaxScore, Turtle and Flood, Query evaluation: strategies and optimizations (Information Processing and
Management, 1995).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Add = Callable[[Sequence[int], "NDArray[np.bool_] | None", NDArray[Any]], None]

_AT_ONCE = 10_000
_SHARE_AT_ONCE = 1 / 30
"""Postings, and that share of the rows, added without asking if all are needed: the question costs more for fewer."""
_ROUNDING = 1e-5
"""Share of a bound that it is widened by, since sums of floats differ with their order."""


class Largest(Struct, frozen=True):
    """The rows that may have the largest sums.

    Attributes:
        partial: Sum over the terms that were added for every row, shape (n_rows,).
        left: The terms that were not, ascending; they were added for `rows` only.
        rows: All rows that may be among the best, ascending, each with a sum above 0.
        sums: Their sums over all terms, shape (len(rows),).
    """

    partial: NDArray[Any]
    left: tuple[int, ...]
    rows: NDArray[np.intp]
    sums: NDArray[Any]


def largest_sums(add: Add, bounds: Sequence[float], sizes: Sequence[int], sums: NDArray[Any], depth: int) -> Largest:
    """Return the rows that may have the `depth` largest sums.

    Args:
        add: Called with terms, ascending, with the rows to add them for (True in an array of the shape (n_rows,), None
            being all) and with the array to add to; what it adds is never negative.
        bounds: The most that each term adds to a row.
        sizes: Number of rows that each term adds something to.
        sums: Zeros, shape (n_rows,); becomes `Largest.partial`.
        depth: Rows wanted; as many as there are rows gives every sum.
    """
    order = sorted(range(len(sizes)), key=lambda term: (sizes[term], term))
    n_at_once = max(_AT_ONCE, int(len(sums) * _SHARE_AT_ONCE))
    n_added = done = 0
    while done < len(order):
        start, most = done, max(n_at_once, 2 * n_added)
        while done < len(order) and (done == start or n_added + sizes[order[done]] <= most):
            n_added += sizes[order[done]]
            done += 1
        add(sorted(order[start:done]), None, sums)
        left = sorted(order[done:])
        rest = sum(bounds[term] for term in left) * (1 + _ROUNDING)
        if not left or rest >= sum(bounds[term] for term in order[:done]):
            continue
        rows = np.flatnonzero(sums > rest)
        if len(rows) >= depth:
            # So many rows have more than what is left could give to any other.
            least_sum = np.partition(sums[rows], len(rows) - depth)[len(rows) - depth]
            rows = np.flatnonzero(sums >= least_sum * (1 - _ROUNDING) - rest)
            may_be = np.zeros(len(sums), np.bool_)
            may_be[rows] = True
            more = np.zeros(len(sums), sums.dtype)  # Takes no memory where nothing is added.
            add(left, may_be, more)
            return Largest(sums, tuple(left), rows, sums[rows] + more[rows])
    rows = np.flatnonzero(sums > 0)
    return Largest(sums, (), rows, sums[rows])
