"""Embeds with other people's static models: a `StaticEmbedding` folder of sentence-transformers or of model2vec.

Reads `tokenizer.json` through the `tokenizers` package (extra `static`) and the table with numpy; made by `registry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import read_arrays
from hybrid.base.errors import ModelError
from hybrid.base.lasting import how_to_add

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from hybrid.types import EmbedderInfo, EmbedInput

_BATCH = 64


class TokenTableEmbedder:
    """The mean of the table rows of a text's tokens, made unit length.

    Args:
        folder: Folder of `tokenizer.json` and `model.safetensors`.
        info: Identity of the embedder.
        query_prefix: Text put before a query.
        document_prefix: Text put before a document.

    Attributes:
        info: Identity of the embedder.

    Raises:
        ModelError: The extra is missing, a file is missing or damaged, or the table has another dimension.
    """

    __slots__ = ("_dropped", "_prefixes", "_table", "_tokenizer", "info")

    def __init__(self, folder: Path, info: EmbedderInfo, *, query_prefix: str = "", document_prefix: str = "") -> None:
        self._tokenizer = _read_tokenizer(folder)
        self._table, is_model2vec = _read_table(folder)
        self.info = info
        self._prefixes = (query_prefix, document_prefix)
        self._dropped = _unknown_token_id(self._tokenizer) if is_model2vec else None
        expected = (self._tokenizer.get_vocab_size(), info.dim)
        if self._table.shape != expected:
            raise ModelError(f"the model in {folder} has a table of {self._table.shape} where {expected} was expected")

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); head and body are one text, one without any token gives zeros."""
        return self._embed([self._prefixes[1] + _joined(text) for text in inputs])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text has no known token."""
        return self._embed([self._prefixes[0] + text])[0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`, with None for the lengths: that of a mean of rows says nothing."""
        return self._embed([self._prefixes[0] + text for text in texts]), None

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return False for every input, shape (n_inputs,): every token counts, however long the text."""
        return np.zeros(len(inputs), np.bool_)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.info.dim), np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [text.encode("utf-8", "replace").decode("utf-8") for text in texts[start : start + _BATCH]]
            encodings = self._tokenizer.encode_batch(batch, add_special_tokens=False)
            for vector, encoding in zip(vectors[start:], encodings, strict=False):
                ids = [token for token in encoding.ids if token != self._dropped]
                if ids:
                    vector[:] = self._table[ids].astype(np.float32).mean(axis=0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


def _joined(text: EmbedInput) -> str:
    return f"{text.head}\n{text.body}" if text.head else text.body


def _read_tokenizer(folder: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ModelError(f"the model in {folder} needs the extra `static`: {how_to_add('static')}") from error
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{path} is missing: copy or fetch the model again")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # The package raises bare `Exception` for a damaged file.
        raise ModelError(f"{path} cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_table(folder: Path) -> tuple[NDArray[Any], bool]:
    """Return the table, one row a token id, and whether the file is laid out as model2vec does."""
    try:
        arrays = read_arrays(folder / "model.safetensors")
        if "embedding.weight" in arrays:
            return arrays["embedding.weight"], False
        table = arrays["embeddings"]
        if "mapping" in arrays:
            table = table[arrays["mapping"].astype(np.int64)]
        if "weights" in arrays:
            table = table.astype(np.float32) * arrays["weights"].astype(np.float32)[:, np.newaxis]
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"the table of the model in {folder} cannot be read: {error}") from error
    return table, True


def _unknown_token_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of unknown tokens, which model2vec leaves out of the mean; None when the tokenizer has none."""
    unknown = getattr(tokenizer.model, "unk_token", None)
    return tokenizer.token_to_id(unknown) if isinstance(unknown, str) else None
