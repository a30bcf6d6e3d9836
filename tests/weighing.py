"""A model in which every word has a direction of its own, small enough to work out by hand."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from hybrid.models.hashing import HashingEmbedder
from tests.worlds import DIM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class Weighing(HashingEmbedder):
    """The hashing model, but every word has a direction of its own in few dimensions, and queries have lengths.

    A word of n letters weighs n / 4; a text is the sum of its words; one that begins with `un` is unknown.
    """

    def __init__(self, known: Mapping[str, Sequence[float]] | None = None) -> None:
        super().__init__(DIM)
        self.known = known or {}

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Unit vectors, and the lengths of the sums."""
        sums = np.array([np.sum([self._word(word) for word in text.split()], axis=0) for text in texts])
        sums = sums.reshape(len(texts), DIM)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        unit = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
        return unit.astype(np.float32), lengths[:, 0].astype(np.float32)

    def _word(self, word: str) -> NDArray[np.float64]:
        if word in self.known:
            return np.array(self.known[word], np.float64)
        if word.startswith("un"):
            return np.zeros(DIM)
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        direction = np.random.default_rng(seed).normal(size=DIM)
        return direction / np.linalg.norm(direction) * len(word) / 4
