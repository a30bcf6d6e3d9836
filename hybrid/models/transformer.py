"""Embeds with any sentence-transformers model that lies in a folder (extra `transformers`); made by `registry`.

Never goes to the network and never runs code that a model brings along. Used by the builder and the daemon, never by
a hook: the import alone takes seconds.
"""

# sentence-transformers comes with an extra: a type check without it must pass too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hybrid.base.errors import ModelError
from hybrid.base.lasting import how_to_add

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.types import EmbedderInfo, EmbedInput

_BATCH = 32
_MARKS = 8
"""Tokens that a tokenizer puts around a text, at most."""
_COMPARABLE = frozenset({"cosine", "dot"})


class SentenceTransformerEmbedder:
    """A sentence-transformers model; its vectors are made unit length.

    Args:
        folder: Folder of the model.
        info: Identity of the embedder.
        query_prefix: Text put before a query.
        document_prefix: Text put before a document.
        similarity: Similarity that the model was made for; only cosine and dot fit unit vectors.

    Attributes:
        info: Identity of the embedder; length of a vector and limit of tokens are what the loaded model says.

    Raises:
        ModelError: The extra is missing, the model does not load, or it was made for a distance.
    """

    __slots__ = ("_document_prefix", "_model", "_query_prefix", "info")

    def __init__(
        self,
        folder: Path,
        info: EmbedderInfo,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        similarity: str = "cosine",
    ) -> None:
        if similarity not in _COMPARABLE:
            raise ModelError(f"model {info.name} compares by {similarity}; hybrid compares by cosine only")
        self._model = _load(folder, info.name)
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self.info = replace(info, dim=_dim(self._model), max_tokens=_max_tokens(self._model))

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); head and body are one text, an empty one gives a row of zeros."""
        encode = getattr(self._model, "encode_document", self._model.encode)
        return self._embed(encode, [_joined(text) for text in inputs], self._document_prefix)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text is empty."""
        return self.embed_queries([text])[0][0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`, with None for the lengths: that of a transformer's vector says nothing."""
        encode = getattr(self._model, "encode_query", self._model.encode)
        return self._embed(encode, list(texts), self._query_prefix), None

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return whether each input has more tokens than the model reads, shape (n_inputs,); False without a limit."""
        is_longer = np.zeros(len(inputs), np.bool_)
        limit = self.info.max_tokens
        texts = [_clean(self._document_prefix + _joined(text)) for text in inputs]
        # A token is at least one byte, beside the few that mark begin and end: most texts need no tokenizer.
        rows = [row for row, text in enumerate(texts) if len(text.encode()) + _MARKS > limit > 0]
        if rows:
            long = [texts[row] for row in rows]
            encoded = self._model.tokenizer(long, truncation=False, padding=False, verbose=False)
            is_longer[rows] = [len(ids) > limit for ids in encoded["input_ids"]]
        return is_longer

    def _embed(self, encode: Any, texts: list[str], prefix: str) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.info.dim), np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            vectors[filled] = encode(
                [_clean(texts[row]) for row in filled],
                prompt=prefix,
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return vectors


def _load(folder: Path, name: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise ModelError(f"model {name} needs the extra `transformers`: {how_to_add('transformers')}") from error
    logging.disable_progress_bar()
    try:
        return SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ModelError(
            f"model {name} in {folder} does not load: {reason} (hybrid never runs code that a model brings along)"
        ) from error


def _dim(model: Any) -> int:
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return int(ask())


def _max_tokens(model: Any) -> int:
    limit = model.max_seq_length
    return int(limit) if limit is not None and limit < 1_000_000 else 0


def _joined(text: EmbedInput) -> str:
    return f"{text.head}\n{text.body}" if text.head else text.body


def _clean(text: str) -> str:
    """Return text without lone surrogates, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")
