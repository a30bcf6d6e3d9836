"""Vectors as they are stored: int8 rows with a scale; the build makes them, the catalog keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_LENGTH = 1e-6
"""A sum of vectors is taken to be at least so long where something is divided by its length."""


class StoredVectors(Struct, frozen=True):
    """Vectors of some inputs as int8 rows, each to be multiplied by its scale.

    Attributes:
        data: int8, shape (n, dim).
        scale: float32, shape (n,); 0 for an input without a vector.
        is_cut: True where the model read only a part of the input, shape (n,).
    """

    data: NDArray[np.int8]
    scale: NDArray[np.float32]
    is_cut: NDArray[np.bool_]

    def rows(self) -> list[bytes]:
        """The bytes of each row of `data`."""
        dim, data = self.data.shape[1], self.data.tobytes()
        return [data[at : at + dim] for at in range(0, len(data), max(dim, 1))]


def from_rows(rows: Sequence[tuple[float, bytes, int]], dim: int) -> StoredVectors:
    """Return vectors from (scale, data, is_cut) of each row of the catalog, in their order."""
    return StoredVectors(
        data=np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(len(rows), dim),
        scale=np.array([row[0] for row in rows], np.float32),
        is_cut=np.array([row[2] for row in rows], np.bool_),
    )


def quantise(vectors: NDArray[np.float32], is_cut: NDArray[np.bool_]) -> StoredVectors:
    """Return unit vectors (n, dim) as int8 with one scale a row, so that the quantised row is again of unit length.

    A row of zeros keeps scale 0. The cosine of two rows is off by less than 5e-3. `is_cut` is passed on: True where the
    model read only a part of the input.
    """
    top = np.abs(vectors).max(axis=1, keepdims=True) if len(vectors) else np.zeros((0, 1), np.float32)
    data = np.rint(vectors / np.maximum(top, 1e-12) * 127).astype(np.int8)
    length = np.sqrt((data.astype(np.float32) ** 2).sum(axis=1))
    scale = np.where(length > 0, 1 / np.maximum(length, 1e-12), 0).astype(np.float32)
    return StoredVectors(data, scale, is_cut)
