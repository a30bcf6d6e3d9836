"""A weighted-bag model: its tokeniser, the bags of tokens that texts become, its files, and its embedder.

`registry` makes the embedder, that of the shipped model, which needs numpy alone: the table stays mapped and int8, and
only the rows that a batch needs become float32. `weighted_bag` (torch) uses the same arithmetic up to the table itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.arrays import read_arrays, write_arrays
from hybrid.base.errors import ModelError
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.types import EmbedderInfo


# --- Text to token ids ---------------------------------------------------------------------------------------------

NUMBER = "<num>"
"""The token that stands for every number of three digits or more."""

_LONGEST_WORD = 40
_SHORTEST_PIECE = 3
_MOST_PIECES = 4
_SHORT_NUMBER = 2
_CACHED_RUNS = 1 << 16

_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_DIGITS = b"0123456789"
_CAPITALS_AND_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS
_TO_SPACES = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))


class WordTokenizer:
    """Turns text into token ids, by a vocabulary of lower-case words and pieces of words.

    Args:
        vocabulary: One token a row, in row order: the id of a token is its position.
    """

    __slots__ = ("_runs", "vocabulary")

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._runs = _Runs(dict(zip(vocabulary, range(len(vocabulary)), strict=True)))

    def token_ids(self, text: str, limit: int) -> list[int]:
        """Return the token ids of the first `limit` words, in order and with repeats; unknown words count too."""
        runs = self._split(text)
        if len(text) > limit and self._is_longer(text, runs, limit):
            return list(self._first_ids(runs, limit))
        return list(chain.from_iterable(map(self._runs.__getitem__, runs)))

    def _first_ids(self, runs: Sequence[bytes], limit: int) -> Iterator[int]:
        """Yield the token ids of the first `limit` words of some runs; the last run may be cut."""
        for run in runs:
            n_words = self._runs.n_words[run]
            if n_words > limit:
                yield from chain.from_iterable(self._runs.words_of(run)[:limit])
                return
            yield from self._runs[run]
            limit -= n_words

    def is_longer(self, text: str, limit: int) -> bool:
        """Return whether a text has more than `limit` words."""
        return len(text) > limit and self._is_longer(text, self._split(text), limit)

    def _is_longer(self, text: str, runs: Sequence[bytes], limit: int) -> bool:
        # A word begins with its run, at a capital, or where digits begin or end: what counts them all is an upper
        # bound, far cheaper than looking up every run. No text has more words than characters.
        return len(runs) + _n_borders(text) > limit and limit < sum(map(self._runs.n_words.__getitem__, runs))

    def _split(self, text: str) -> list[bytes]:
        """Return the runs of ASCII letters and digits of a text; forget kept runs first when they are too many."""
        if len(self._runs) > _CACHED_RUNS:
            self._runs.forget()
        return text.encode("ascii", "replace").translate(_TO_SPACES).split()


class _Runs(dict[bytes, tuple[int, ...]]):
    """The token ids of every run of letters and digits met so far; a new run is worked out when it is looked up."""

    def __init__(self, ids: dict[str, int]) -> None:
        super().__init__()
        self._ids = ids
        self.n_words = _WordCounts(self)
        """Run → the number of its words."""

    def __missing__(self, run: bytes) -> tuple[int, ...]:
        words = self.words_of(run)
        tokens = self[run] = words[0] if len(words) == 1 else tuple(chain.from_iterable(words))
        self.n_words[run] = len(words)
        return tokens

    def words_of(self, run: bytes) -> list[tuple[int, ...]]:
        """Return the words of a run in order, each as its token ids, without keeping them; an unknown one is empty."""
        return [pieces(word, self._ids) for word in split_run(run.decode("ascii"))]

    def forget(self) -> None:
        """Drop all runs met so far, so that memory stays bounded."""
        self.clear()
        self.n_words.clear()


class _WordCounts(dict[bytes, int]):
    def __init__(self, runs: _Runs) -> None:
        super().__init__()
        self._runs = runs

    def __missing__(self, run: bytes) -> int:
        self._runs.__missing__(run)
        return self[run]


def _n_borders(text: str) -> int:
    """Return an upper bound of the number of words that begin inside a run: capitals, plus digits twice."""
    data = text.encode("ascii", "replace")
    return 2 * len(data) - len(data.translate(None, _CAPITALS_AND_DIGITS)) - len(data.translate(None, _DIGITS))


def split_run(run: str) -> list[str]:
    """Return the lower-case words of a run of ASCII letters and digits: `parseHTTP2Frame` → parse, http, 2, frame."""
    if run.islower() and run.isalpha():
        return [run]
    words: list[str] = []
    for part in _LETTERS_OR_DIGITS.findall(run):
        words += [word.lower() for word in _CAMEL_PART.findall(part)] or [part]
    return words


def pieces(word: str, ids: dict[str, int]) -> tuple[int, ...]:
    """Return the token ids of one lower-case word.

    A known word is one token, a number of three digits or more is `<num>`. Any other word gives its longest known
    pieces from the left, each of at least three letters, at most four; letters that begin no piece are skipped.
    """
    if word.isdigit():
        known = ids.get(word if len(word) <= _SHORT_NUMBER else NUMBER)
        return () if known is None else (known,)
    if word in ids:
        return (ids[word],)
    word = word[:_LONGEST_WORD]
    tokens: list[int] = []
    start = 0
    while start < len(word) and len(tokens) < _MOST_PIECES:
        for end in range(len(word), start + _SHORTEST_PIECE - 1, -1):
            known = ids.get(word[start:end])
            if known is not None:
                tokens.append(known)
                start = end
                break
        else:
            start += 1
    return tuple(tokens)


# --- Token ids to bags ---------------------------------------------------------------------------------------------


class Limits(Struct, frozen=True):
    """The number of words that count of a query, of a document's body, and of a document's head line."""

    query_words: int
    body_words: int
    head_words: int


class Bags(Struct, frozen=True):
    """The distinct tokens of several texts, one after another.

    Attributes:
        tokens: Rows of the table, int64, shape (n_entries,). A token of both head and body has two entries.
        factors: Factor of each entry, to be multiplied by the token's own weight, float32, shape (n_entries,).
        starts: Text i owns the entries starts[i] to starts[i + 1]; int64, shape (n_texts + 1,).
    """

    tokens: NDArray[np.int64]
    factors: NDArray[np.float32]
    starts: NDArray[np.int64]


def query_bags(tokenizer: WordTokenizer, texts: Sequence[str], n_words: int) -> Bags:
    """Return the bags of the first words of queries: the factor of a token is 1 + ln of its occurrences."""
    counts = [Counter(tokenizer.token_ids(text, n_words)) for text in texts]
    return Bags(
        tokens=np.array([token for bag in counts for token in bag], np.int64),
        factors=_saturated(np.array([count for bag in counts for count in bag.values()], np.int64)),
        starts=np.array([0, *accumulate(map(len, counts))], np.int64),
    )


def document_bags(
    tokenizer: WordTokenizer, inputs: Sequence[EmbedInput], limits: Limits, *, head_weight: float
) -> Bags:
    """Return the bags of documents: a token's factor is 1 + ln of its occurrences, in the head times `head_weight`."""
    ids: list[list[int]] = []
    for text in inputs:
        ids.append(tokenizer.token_ids(text.body, limits.body_words))
        ids.append(tokenizer.token_ids(text.head, limits.head_words))
    n_tokens = len(tokenizer.vocabulary)
    keys, counts = _distinct(ids, n_tokens)
    is_head = (keys // n_tokens) % 2 == 1
    factors = _saturated(counts) * np.where(is_head, np.float32(head_weight), np.float32(1))
    borders = np.arange(len(inputs) + 1, dtype=np.int64) * (2 * n_tokens)
    return Bags(keys % n_tokens, factors, np.searchsorted(keys, borders).astype(np.int64))


def _distinct(ids: Sequence[Sequence[int]], n_tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys (number of the list · n_tokens + token id), sorted, and how often each occurs."""
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    keys = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
    keys += np.repeat(np.arange(len(ids), dtype=np.int64) * n_tokens, lengths)
    keys.sort()
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    return keys[firsts], np.diff(firsts, append=len(keys))


def _saturated(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    return (1 + np.log(counts)).astype(np.float32)


# --- Files ---------------------------------------------------------------------------------------------------------

_WEIGHTS = "model.safetensors"
_VOCABULARY = "vocab.txt"
_CONFIG = "config.json"


class BagModel(Struct, frozen=True):
    """A weighted-bag model as it lies on disk.

    Attributes:
        tokenizer: The tokeniser, its vocabulary in row order.
        table: One row a token, int8 or float, shape (n_tokens, dim); its scale is folded into the weights.
        query_weights: Weight of each token in queries, float32, shape (n_tokens,).
        document_weights: Weight of each token in documents, float32, shape (n_tokens,).
        head_weight: Factor of a token of the head line; one of the body has 1.
        limits: The numbers of words that count.
    """

    tokenizer: WordTokenizer
    table: NDArray[Any]
    query_weights: NDArray[np.float32]
    document_weights: NDArray[np.float32]
    head_weight: float
    limits: Limits


def read_bag_model(folder: Path) -> BagModel:
    """Map a model's arrays and read its vocabulary.

    Raises:
        ModelError: A file is missing or damaged, or the files do not fit together.
    """
    try:
        arrays = read_arrays(folder / _WEIGHTS)
        vocabulary = (folder / _VOCABULARY).read_text(encoding="utf-8").split("\n")
        limits = Limits(**json.loads((folder / _CONFIG).read_bytes()))
        model = BagModel(
            tokenizer=WordTokenizer(vocabulary[:-1] if vocabulary[-1] == "" else vocabulary),
            table=arrays["table"],
            query_weights=arrays["query_weights"],
            document_weights=arrays["document_weights"],
            head_weight=float(arrays["head_weight"][0]),
            limits=limits,
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ModelError(
            f"the model in {folder} is incomplete or damaged ({error}); reinstall hybrid or copy the folder again"
        ) from error
    _check(model, folder)
    return model


def _check(model: BagModel, folder: Path) -> None:
    n_tokens = len(model.tokenizer.vocabulary)
    shapes = (model.table.shape[:1], model.query_weights.shape, model.document_weights.shape)
    if model.table.ndim != 2 or any(shape != (n_tokens,) for shape in shapes):
        raise ModelError(
            f"the model in {folder} does not fit together: {n_tokens} tokens in {_VOCABULARY}, arrays of {shapes}; "
            "reinstall hybrid or copy the folder again"
        )


def write_bag_model(folder: Path, model: BagModel) -> None:
    """Write the three files of a model into an existing folder: weights, vocabulary and configuration.

    Raises:
        OSError: The disk is full or read-only.
    """
    arrays: dict[str, NDArray[Any]] = {
        "table": model.table,
        "query_weights": model.query_weights,
        "document_weights": model.document_weights,
        "head_weight": np.asarray([model.head_weight], np.float64),
    }
    write_arrays(folder / _WEIGHTS, arrays, {"format": "pt"})
    (folder / _VOCABULARY).write_text("\n".join(model.tokenizer.vocabulary), encoding="utf-8", newline="\n")
    (folder / _CONFIG).write_text(json.dumps(asdict(model.limits), indent=2) + "\n", encoding="utf-8", newline="\n")


# --- Bags to vectors -----------------------------------------------------------------------------------------------

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
        bags = query_bags(
            self._model.tokenizer, [self._query_prefix + text for text in texts], self._model.limits.query_words
        )
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
