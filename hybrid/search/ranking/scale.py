"""Brings scores of any size into 0 to 1, and those of chunks to their files; plain arithmetic over arrays."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.sorting import largest, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_SHARES = np.array([1, 1 / 2, 1 / 4, 1 / 8, 0], np.float32)
"""What the best chunk of a file, the second, … adds to its sum."""
_SUMMED = len(_SHARES) - 1
_FEW = 256
"""Values that are sorted sooner than cut: most files have fewer chunks."""


def by_best(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values ≥ 0 divided by the largest; zeros stay zeros."""
    top = float(values.max()) if len(values) else 0.0
    return np.divide(values, np.float32(top), dtype=np.float32) if top > 0 else values


def above(values: NDArray[np.float32], mean: float) -> NDArray[np.float32]:
    """What of each value lies above a mean, divided by the largest."""
    return by_best(np.maximum(values - np.float32(mean), np.float32(0)))


def best_of(values: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
    """The places of the largest `depth` values, largest first, equal ones in order of place."""
    if depth <= 0:
        return np.zeros(0, np.intp)
    if len(values) <= _FEW:
        return np.argsort(-values, kind="stable")[:depth]
    places = largest(values, depth)
    return places[np.argsort(-values[places], kind="stable")][:depth]


def best_by_key(values: NDArray[np.float32], depth: int, key: Callable[[int], Any]) -> list[int]:
    """The places of the largest `depth` values, largest first, equal ones in order of a key; −∞ is never among them.

    Args:
        values: Rounded, so that equal ones are equal.
        depth: At most so many.
        key: Of a place; asked only where values are equal.
    """
    best = best_of(values, depth)
    if not len(best):
        return []
    near = np.flatnonzero((values >= values[best[-1]]) & (values > -np.inf))
    value_of = dict(zip(near.tolist(), values[near].tolist(), strict=True))
    n_equal = Counter(value_of.values())
    keys = {place: key(place) for place, value in value_of.items() if n_equal[value] > 1}
    # A value that stands alone never has its key compared.
    return sorted(value_of, key=lambda place: (-value_of[place], keys.get(place)))[:depth]


def decaying_sum(
    values: NDArray[np.float32], rows: NDArray[np.intp], file_of_row: NDArray[np.int32], n_files: int
) -> NDArray[np.float32]:
    """For each file its best chunk, half the second, a quarter of the third, an eighth of the fourth; by the best file.

    Args:
        values: Of each row, shape (n_rows,).
        rows: That count, best first.
        file_of_row: Shape (n_rows,).
        n_files: Length of the result.
    """
    files = file_of_row[rows]
    order = np.argsort(files, kind="stable")  # Stays best first within a file.
    files, kept = files[order], values[rows[order]]
    if not len(files):
        return np.zeros(n_files, np.float32)
    starts = runs(files)
    place = np.arange(len(files)) - np.repeat(starts, np.diff(starts, append=len(files)))
    shares = _SHARES[np.minimum(place, _SUMMED)]
    return by_best(np.bincount(files, np.multiply(kept, shares), n_files).astype(np.float32))


def common(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.int32]:
    """What stands in both of two ascending arrays without repetitions; `np.intersect1d` imports `numpy.ma`, too."""
    if not len(b):
        return a[:0]
    places = np.minimum(np.searchsorted(b, a), len(b) - 1)
    return a[b[places] == a]
