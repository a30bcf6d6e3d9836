"""Embeds with a weighted-bag model in numpy alone: the embedder of the shipped model, made by `registry`.

The table stays mapped and int8; only the rows that a batch needs become float32.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.errors import ModelError
from hybrid.models.bag_model import document_bags, query_bags
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.models.bag_model import BagModel, Bags
    from hybrid.types import EmbedderInfo

_BATCH = 64
"""Number of texts whose table rows are gathered at once: about 6 MB of float32, which stays in the cache."""


class StaticEmbedder:
    """A weighted-bag model: vector = Σ token weight · factor · table row, made unit length.

    Args:
        model: The arrays and the tokeniser.
        info: Identity of the embedder.
        query_prefix: Text put before a query.
        document_prefix: Text put before the body of a document.

    Attributes:
        info: Identity of the embedder.

    Raises:
        ModelError: The table has another dimension than `info` says.
    """

    __slots__ = ("_document_prefix", "_model", "_query_prefix", "info")

    def __init__(
        self, model: BagModel, info: EmbedderInfo, *, query_prefix: str = "", document_prefix: str = ""
    ) -> None:
        if model.table.shape[1] != info.dim:
            raise ModelError(f"model {info.name} has {model.table.shape[1]} dimensions where {info.dim} were expected")
        self._model = model
        self.info = info
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); a text without any known token gives a row of zeros."""
        vectors = np.zeros((len(inputs), self.info.dim), np.float32)
        for start in range(0, len(inputs), _BATCH):
            batch = [self._prefixed(text) for text in inputs[start : start + _BATCH]]
            bags = document_bags(self._model.tokenizer, batch, self._model.limits, head_weight=self._model.head_weight)
            add_up(bags, self._model.table, self._model.document_weights, out=vectors[start : start + _BATCH])
        return make_unit(vectors)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text has no known token."""
        return make_unit(self.query_sums([text]))[0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`; the length of a vague text is small."""
        sums = self.query_sums(texts)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        return make_unit(sums), lengths

    def query_sums(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the weighted sums of queries, not made unit length, shape (n_texts, dim); a vague query's is short."""
        sums = np.zeros((len(texts), self.info.dim), np.float32)
        bags = query_bags(self._model.tokenizer, [self._query_prefix + text for text in texts], self._model.limits)
        add_up(bags, self._model.table, self._model.query_weights, out=sums)
        return sums

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return whether body or head of each input has more words than the model reads, shape (n_inputs,)."""
        is_longer, limits = self._model.tokenizer.is_longer, self._model.limits
        cut = (
            is_longer(text.body, limits.body_words) or is_longer(text.head, limits.head_words)
            for text in map(self._prefixed, inputs)
        )
        return np.fromiter(cut, np.bool_, len(inputs))

    def _prefixed(self, text: EmbedInput) -> EmbedInput:
        return EmbedInput(text.head, self._document_prefix + text.body) if self._document_prefix else text


def add_up(bags: Bags, table: NDArray[Any], weights: NDArray[np.float32], *, out: NDArray[np.float32]) -> None:
    """Write the weighted sum of the table rows of every bag into `out`.

    Args:
        bags: The bags of n texts.
        table: One row a token, shape (n_tokens, dim).
        weights: Weight of each token, shape (n_tokens,).
        out: float32, shape (n, dim), zeros; an empty bag leaves its row as it is.
    """
    rows = table[bags.tokens].astype(np.float32)
    factors = weights[bags.tokens] * bags.factors
    for i, (start, end) in enumerate(pairwise(bags.starts.tolist())):
        if end > start:
            np.dot(factors[start:end], rows[start:end], out=out[i])


def make_unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide every row by its length, in place, and return the same array, shape (n, dim); rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors
