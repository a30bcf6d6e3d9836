"""Embeds with other people's models, which need a package of an extra; made by `registry`.

Any sentence-transformers model that lies in a folder (extra `transformers`), and static models: a `StaticEmbedding` of
sentence-transformers or one of model2vec, of which the package `tokenizers` reads `tokenizer.json` (extra `static`) and
numpy the table. Never goes to the network and never runs code that a model brings along. Used by the builder and the
daemon, never by a hook: the import of sentence-transformers alone takes seconds.
"""

# sentence-transformers comes with an extra: a type check without it must pass too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hybrid.base.arrays import read_arrays
from hybrid.base.errors import ModelError
from hybrid.base.lasting import how_to_add

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

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


_TABLE_BATCH = 64


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
        for start in range(0, len(texts), _TABLE_BATCH):
            batch = [_clean(text) for text in texts[start : start + _TABLE_BATCH]]
            encodings = self._tokenizer.encode_batch(batch, add_special_tokens=False)
            for vector, encoding in zip(vectors[start:], encodings, strict=False):
                ids = [token for token in encoding.ids if token != self._dropped]
                if ids:
                    vector[:] = self._table[ids].astype(np.float32).mean(axis=0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


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
