"""Embeds with a BERT-like sentence transformer in numpy alone: six layers of int8 weights, made by `registry`.

It reads records and the prompts that are compared with them, a few short texts at a time. The words' vectors stay
mapped and int8; the layers become float32 with the first text, which takes about 30 ms and 43 MB, until `rest`.
"""

from __future__ import annotations

import json
import re
import threading
import time
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import read_arrays
from hybrid.base.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.types import EmbedderInfo, EmbedInput

WEIGHTS, VOCABULARY, CONFIG = "model.safetensors", "vocab.txt", "config.json"
LAYER = ("qkv", "out", "up", "down")
"""Names of the matrices of a layer, each int8 (n_in, n_out) with `_scale` (n_out,) and `_bias` (n_out,)."""

_EPSILON = 1e-12
"""Added to a variance, as the model was trained."""

# --- pieces of words ---------------------------------------------------------------------------------------

_UNKNOWN, _BEGIN, _END = "[UNK]", "[CLS]", "[SEP]"
_LONGEST_WORD = 100
"""Characters of a word beyond which it is unknown, as BERT has it."""
_KEPT_WORDS = 20_000
_ASCII = re.compile(r"[a-z0-9]+|[^a-z0-9\x00-\x20\x7f]")
_WORD = re.compile(r"\S+")
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges of characters that are words by themselves, as the `tokenizers` package has them."""


class WordPieces:
    """Cuts a text as BERT's uncased tokeniser does: words without accents, each into the longest known pieces.

    Args:
        vocabulary: One piece a line; those within a word begin with `##`.
    """

    def __init__(self, vocabulary: str) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary.rstrip("\n").split("\n"))}
        self._unknown = self._numbers[_UNKNOWN]
        self._known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """Return how many pieces there are."""
        return len(self._numbers)

    def numbers(self, text: str, limit: int) -> list[int]:
        """Return the numbers of the pieces of a text, with a mark before and behind; `limit` counts the marks too."""
        found = [self._numbers[_BEGIN]]
        for word in _words(text):
            if len(found) >= limit - 1:
                break
            found += self._of_word(word)
        return [*found[: limit - 1], self._numbers[_END]]

    def _of_word(self, word: str) -> list[int]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) > _KEPT_WORDS:
                self._known.clear()
            known = self._known[word] = self._cut(word)
        return known

    def _cut(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._numbers), 0)
            if not end:
                return [self._unknown]
            found.append(self._numbers[mark + word[start:end]])
            start = end
        return found


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; a mark of punctuation is a word, and so is a Chinese character."""
    if text.isascii():
        yield from (word for word in _ASCII.findall(_without_control(text).lower()))
        return
    spaced = "".join(f" {char} " if _is_cjk(ord(char)) else char for char in _without_control(text))
    plain = "".join(char for char in unicodedata.normalize("NFD", spaced) if unicodedata.category(char) != "Mn")
    for run in _WORD.findall("".join(char.lower() for char in plain)):
        start = 0
        for at, char in enumerate(run):
            if _is_punctuation(char):
                if at > start:
                    yield run[start:at]
                yield char
                start = at + 1
        if start < len(run):
            yield run[start:]


def _without_control(text: str) -> str:
    """Return a text without control characters; those that are white space become a space."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if char in "\t\n\r" or (char.isspace() and unicodedata.category(char)[0] == "Z") else char
        for char in text
        if char in "\t\n\r" or (unicodedata.category(char)[0] != "C" and char != "\ufffd")
    )


def _is_cjk(code: int) -> bool:
    return code >= 0x3400 and any(low <= code <= high for low, high in _CJK)


def _is_punctuation(char: str) -> bool:
    is_ascii_mark = char.isascii() and not char.isalnum() and not char.isspace()
    return is_ascii_mark or unicodedata.category(char)[0] == "P"


# --- the layers --------------------------------------------------------------------------------------------


class _Layer(Struct, frozen=True):
    """One layer: its matrices, float32 (n_in, n_out), their biases, and factor and offset of both norms."""

    qkv: NDArray[np.float32]
    out: NDArray[np.float32]
    up: NDArray[np.float32]
    down: NDArray[np.float32]
    biases: Mapping[str, NDArray[np.float32]]
    norms: tuple[NDArray[np.float32], NDArray[np.float32]]

    def apply(self, rows: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
        """Return the token vectors of one text after this layer, shape (n_tokens, width)."""
        n, width = rows.shape
        parts = (rows @ self.qkv + self.biases["qkv"]).reshape(n, 3, n_heads, width // n_heads)
        query, key, value = (np.swapaxes(parts[:, number], 0, 1) for number in range(3))
        weights: NDArray[Any] = query @ np.swapaxes(key, 1, 2)
        weights *= np.float32((width // n_heads) ** -0.5)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=2, keepdims=True)
        seen: NDArray[Any] = np.swapaxes(weights @ value, 0, 1).reshape(n, width)
        rows = _normed(rows + (seen @ self.out + self.biases["out"]), self.norms[0])
        inner = _gelu(rows @ self.up + self.biases["up"])
        return _normed(rows + (inner @ self.down + self.biases["down"]), self.norms[1])


class SentenceEncoder:
    """Mean of the token vectors that the layers give, made unit length; fulfils `hybrid.types.Embedder`.

    Args:
        folder: Folder of `model.safetensors`, `vocab.txt` and `config.json`.
        info: Identity of the embedder.
        query_prefix: Text put before a query.
        document_prefix: Text put before a document.

    Attributes:
        info: Identity of the embedder.

    Raises:
        ModelError: A file is missing or damaged, or the vectors have another dimension than `info` says.
    """

    def __init__(self, folder: Path, info: EmbedderInfo, *, query_prefix: str = "", document_prefix: str = "") -> None:
        self.info = info
        self._prefixes = (query_prefix, document_prefix)
        self._loading = threading.Lock()
        self._used_s = time.monotonic()
        self._last: tuple[str, NDArray[np.float32]] | None = None
        try:
            config = json.loads((folder / CONFIG).read_bytes())
            self._limit, self._n_heads = int(config["max_tokens"]), int(config["heads"])
            self._n_layers = int(config["layers"])
            self._pieces = WordPieces((folder / VOCABULARY).read_text(encoding="utf-8"))
            self._arrays: Arrays = read_arrays(folder / WEIGHTS)
            shape = self._arrays["words"].shape
            self._check_layers()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"the model in {folder} cannot be read: {error}") from error
        if shape != (len(self._pieces), info.dim):
            raise ModelError(f"the model in {folder} has words of {shape}: not {len(self._pieces)} of {info.dim}")

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); head and body are one text, an empty one gives a row of zeros."""
        return self._embed([_joined(text) for text in inputs], self._prefixes[1])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text is empty. That of the last text is kept."""
        last = self._last  # Each kind of records asks for the same prompt.
        if last is None or last[0] != text:
            last = self._last = (text, self._embed([text], self._prefixes[0])[0])
        return last[1]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`, with None for the lengths: that of a transformer's vector says nothing."""
        return self._embed(texts, self._prefixes[0]), None

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return whether each input has more tokens than the model reads, shape (n_inputs,)."""
        limit, prefix = self._limit, self._prefixes[1]
        cut = (len(self._pieces.numbers(prefix + _joined(text), limit + 1)) > limit for text in inputs)
        return np.fromiter(cut, np.bool_, len(inputs))

    def rest(self, unused_s: float) -> None:
        """Give the memory of the layers back if no text was embedded for so many seconds."""
        with self._loading:
            if time.monotonic() - self._used_s >= unused_s:
                self.__dict__.pop("_layers", None)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.info.dim), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            if text.strip():
                vector[:] = self._mean(self._pieces.numbers(prefix + text, self._limit))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=vectors, where=lengths > 0)

    def _mean(self, numbers: list[int]) -> NDArray[np.float32]:
        """Return the mean of the token vectors of one text, shape (dim,)."""
        with self._loading:
            self._used_s = time.monotonic()
            layers, (positions, norm) = self._layers, self._beginning
        rows = self._arrays["words"][numbers] * self._arrays["words_scale"][numbers, np.newaxis]
        rows = _normed(rows + positions[: len(numbers)], norm)
        for layer in layers:
            rows = layer.apply(rows, self._n_heads)
        return rows.mean(axis=0)

    def _check_layers(self) -> None:
        """Raise `KeyError` or `ValueError` for an array that is missing or damaged; their data wait for a text."""
        parts = [f"{part}{ending}" for part in LAYER for ending in ("", "_scale", "_bias")]
        named = [f"layer{number}_{part}" for number in range(self._n_layers) for part in (*parts, "norm1", "norm2")]
        for name in (*named, "words_scale", "positions", "norm"):
            self._arrays.described(name)

    @cached_property
    def _beginning(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What is added to the words at each place, shape (max_tokens, dim), and the norm that follows."""
        return np.asarray(self._arrays["positions"], np.float32), self._arrays["norm"]

    @cached_property
    def _layers(self) -> list[_Layer]:
        return [self._layer(f"layer{number}_") for number in range(self._n_layers)]

    def _layer(self, name: str) -> _Layer:
        arrays = self._arrays
        biases = {part: arrays[f"{name}{part}_bias"] for part in LAYER}
        matrices = {
            part: np.multiply(arrays[name + part], arrays[f"{name}{part}_scale"], dtype=np.float32) for part in LAYER
        }
        return _Layer(**matrices, biases=biases, norms=(arrays[f"{name}norm1"], arrays[f"{name}norm2"]))


def _joined(text: EmbedInput) -> str:
    return f"{text.head}\n{text.body}" if text.head else text.body


def _normed(rows: NDArray[Any], norm: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows with mean 0 and variance 1, times `norm[0]`, plus `norm[1]`; `norm` has the shape (2, width)."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    variance: NDArray[Any] = np.einsum("ij,ij->i", rows, rows)[:, np.newaxis] / np.float32(rows.shape[1])
    rows /= np.sqrt(variance + np.float32(_EPSILON))
    rows *= norm[0]
    rows += norm[1]
    return rows


def _gelu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return x · Φ(x) by Φ's usual approximation with tanh, off by less than 5e-4."""
    inner = values * values
    inner *= np.float32(0.044715 * 0.7978845608)
    inner += np.float32(0.7978845608)
    inner *= values
    np.tanh(inner, out=inner)
    inner += 1
    inner *= values
    inner *= np.float32(0.5)
    return inner
