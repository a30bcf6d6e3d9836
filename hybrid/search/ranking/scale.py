"""Brings scores of any size into 0 to 1, and those of chunks to their files; plain arithmetic over arrays."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.sorting import largest, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hybrid.index.backend import CosineFigures

_SHARES = np.array([1, 1 / 2, 1 / 4, 1 / 8, 0], np.float32)
"""Shares of their values that the best chunk of a file, the second, … add to the file's sum."""
_SUMMED = len(_SHARES) - 1
_FEW = 256
"""Number of values up to which sorting all is faster than finding the largest first."""


def by_best(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values ≥ 0 divided by the largest; if all are 0, the same array."""
    top = float(values.max()) if len(values) else 0.0
    return np.divide(values, np.float32(top), dtype=np.float32) if top > 0 else values


def above(cosines: NDArray[np.float32], over_all: CosineFigures) -> NDArray[np.float32]:
    """Return how far each cosine lies above the mean of all, at least 0, as a share of how far the largest does."""
    excess = np.maximum(cosines - np.float32(over_all.mean), np.float32(0))
    top = float(np.subtract(over_all.largest, over_all.mean, dtype=np.float32))
    return np.divide(excess, np.float32(top), dtype=np.float32) if top > 0 else excess


def best_of(values: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
    """The places of the largest `depth` values, largest first, equal ones in order of place."""
    if depth <= 0:
        return np.zeros(0, np.intp)
    if len(values) <= _FEW:
        return (-values).argsort(kind="stable")[:depth]
    places = largest(values, depth)
    return places[(-values[places]).argsort(kind="stable")][:depth]


def best_by_key(values: NDArray[np.float32], depth: int, key: Callable[[int], Any]) -> list[int]:
    """The places of the largest `depth` values, largest first, equal ones in order of a key; −∞ is never among them.

    Args:
        values: Rounded, so that equal ones are equal.
        depth: Number of places to return at most.
        key: Returns the key of a place; called only where values are equal.
    """
    best = best_of(values, depth)
    if not len(best):
        return []
    near, top = ((values >= values[best[-1]]) & (values > -np.inf)).nonzero()[0], values[best]
    if len(near) == len(best) and (top[1:] < top[:-1]).all():
        return best.tolist()
    value_of = dict(zip(near.tolist(), values[near].tolist(), strict=True))
    n_equal = Counter(value_of.values())
    keys = {place: key(place) for place, value in value_of.items() if n_equal[value] > 1}
    # A value that stands alone never has its key compared.
    return sorted(value_of, key=lambda place: (-value_of[place], keys.get(place)))[:depth]


def decaying_sum(
    values: NDArray[np.float32], files: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return for each file its best value, plus ½ the second, ¼ the third, ⅛ the fourth; divided by the best sum.

    Args:
        values: Values of some chunks, best first.
        files: File of each value.

    Returns:
        The files, ascending, and the sum of each.
    """
    order = files.argsort(kind="stable")  # Stays best first within a file.
    files, values = files[order], values[order]
    starts = runs(files)
    place = np.arange(len(files))
    number = starts.searchsorted(place, side="right") - 1
    shares = _SHARES[np.minimum(place - starts[number], _SUMMED)]
    sums = np.bincount(number, np.multiply(values, shares), len(starts)).astype(np.float32)
    return files[starts], by_best(sums)
