"""An embedder without a model file: every term falls into a signed bucket by its hash.

For tests, and for users who want the lexical leg with a weak second opinion. It knows words, not meanings: texts are
close when they share terms. Made by `registry`.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from hybrid.base.tokens import TOKENS_VERSION, term_counts
from hybrid.types import EmbedderInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.types import EmbedInput


def hashing_info(dim: int, name: str = "") -> EmbedderInfo:
    """Return the identity of a hashing embedder of this dimension, of which the version of the tokens is a part."""
    recipe = f"hashing 1, dim {dim}, tokens {TOKENS_VERSION}"
    return EmbedderInfo(
        name=name or f"hashing-{dim}",
        dim=dim,
        sha256=hashlib.sha256(recipe.encode()).hexdigest(),
        max_tokens=0,
        gate_threshold=None,
        expected_false_open_rate=None,
    )


class HashingEmbedder:
    """Unit vectors of signed term counts: (1 + ln tf) of each term is added to its bucket, or taken from it.

    Args:
        dim: Number of buckets.
        name: Name of the embedder as the user wrote it; `hashing-DIM` when empty.

    Attributes:
        info: The identity of this embedder.
    """

    __slots__ = ("info",)

    def __init__(self, dim: int = 64, name: str = "") -> None:
        self.info = hashing_info(dim, name)

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); head and body count alike, a text without a term gives zeros."""
        return self._embed([f"{text.head}\n{text.body}" for text in inputs])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text has no term."""
        return self._embed([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`, with None for the lengths: as all terms weigh the same, they say nothing."""
        return self._embed(texts), None

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return False for every input, shape (n_inputs,): every word counts, however long the text."""
        import numpy as np

        return np.zeros(len(inputs), np.bool_)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.info.dim), np.float64)
        for vector, text in zip(vectors, texts, strict=True):
            for term, count in sorted(term_counts(text).items()):
                bucket, sign = _bucket(term)
                vector[bucket % self.info.dim] += sign * (1 + np.log(count))
            vector /= np.linalg.norm(vector) or 1
        return vectors.astype(np.float32)


@lru_cache(1 << 16)
def _bucket(term: str) -> tuple[int, int]:
    """Return a number of 63 bits and a sign, −1 or 1, from the hash of a term."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1
