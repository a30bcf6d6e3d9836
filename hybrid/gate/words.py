"""The part "words" of the evidence for a record: how far it holds the words of a piece, or words near to them.

    words(piece, chunk) = Σ over words q of the piece: n_q · max over terms t of the chunk: cos(q, t), if > LEAST_COSINE

n_q is the length that the model's query sum of the word alone has: telling words are long. The cosine of whole texts
averages over all that a record says besides; this asks word by word, so short records with one telling word in common
with a prompt are told from those that are merely of its kind. For collections of records: `annotator` adds the vectors
of terms to their segments, `meant` asks. A model whose lengths say nothing has no such part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.arrays import unpack_strings
from hybrid.index.vectors import quantise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.types import Embedder

LEAST_COSINE = 0.4
"""Two words up to this have nothing to do with one another. Anything from 0.3 to 0.5 serves the gate equally well."""

_BLOCK_TERMS = 1024
"""Terms compared at a time, which stay in the cache as float32."""

_BATCH = 4096
"""Terms embedded at a time: their vectors are kept as int8."""


@dataclass(frozen=True, slots=True)
class PieceWords:
    """The words of some pieces, each word embedded once.

    Attributes:
        vectors: Of every word, unit vectors or zeros, shape (n_words, dim).
        lengths: What each word weighs, shape (n_words,).
        numbers: Words of one piece after another, each once in a piece, shape (n_uses,).
        starts: Where the words of each piece begin, with the end behind the last, shape (n_pieces + 1,).
    """

    vectors: NDArray[np.float32]
    lengths: NDArray[np.float32]
    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]

    def between(self, first: int, last: int) -> PieceWords:
        """The pieces from `first` up to `last`, with the words that they need."""
        starts = self.starts[first : last + 1]
        used, numbers = np.unique(self.numbers[starts[0] : starts[-1]], return_inverse=True)
        return PieceWords(self.vectors[used], self.lengths[used], numbers, starts - starts[0])


@dataclass(frozen=True, slots=True)
class _Near:
    """The terms near to each word, in order of word and then of rising cosine.

    Attributes:
        terms: Numbers of terms, shape (n_pairs,).
        cosines: Above `LEAST_COSINE`, shape (n_pairs,).
        starts: Where the terms of each word begin, with the end behind the last, shape (n_words + 1,).
    """

    terms: NDArray[np.int64]
    cosines: NDArray[np.float32]
    starts: NDArray[np.int64]


def words_of_pieces(pieces: Sequence[Sequence[str]], embedder: Embedder) -> PieceWords | None:
    """The words of pieces, each once in its piece; None for a model whose lengths say nothing."""
    words = list(dict.fromkeys(word for piece in pieces for word in piece))
    vectors, lengths = embedder.embed_queries(words)
    if lengths is None:
        return None
    number = {word: i for i, word in enumerate(words)}
    numbers = np.array([number[word] for piece in pieces for word in piece], np.int64)
    return PieceWords(vectors, lengths, numbers, np.array([0, *accumulate(map(len, pieces))], np.int64))


def term_vectors(arrays: Mapping[str, NDArray[Any]], embedder: Embedder) -> dict[str, NDArray[Any]]:
    """The vectors of the terms of a segment of records.

    Args:
        arrays: Of the segment: its terms, and `vector` for the dimension.
        embedder: Of the same model.

    Returns:
        `term_vector` int8 (n_terms, dim) and `term_vector_scale` float32 (n_terms,), 0 for a term that the model does
        not know.
    """
    terms = unpack_strings(arrays["term_text"], arrays["term_at"])
    data = np.zeros((len(terms), arrays["vector"].shape[1]), np.int8)
    scales = np.zeros(len(terms), np.float32)
    for at in range(0, len(terms), _BATCH):
        batch = slice(at, at + _BATCH)
        vectors, _ = embedder.embed_queries(terms[batch])
        stored = quantise(vectors, np.zeros(len(vectors), np.bool_))
        data[batch], scales[batch] = stored.data, stored.scale
    return {"term_vector": data, "term_vector_scale": scales}


class WordScores:
    """words(piece, chunk) of some pieces for every chunk of a segment of records, dead ones too.

    Args:
        words: Of the pieces.
        arrays: Of the segment: the postings of its terms, and what `term_vectors` gives.
        n_chunks: Of the segment.
    """

    def __init__(self, words: PieceWords, arrays: Mapping[str, NDArray[Any]], n_chunks: int) -> None:
        self._words = words
        self._arrays = arrays
        self._n_chunks = n_chunks
        self._near = _near(words, arrays)

    def between(self, first: int, last: int) -> NDArray[np.float32]:
        """Of the pieces from `first` up to `last`, shape (last − first, n_chunks)."""
        words = self._words
        starts = words.starts[first : last + 1]
        used, number = np.unique(words.numbers[starts[0] : starts[-1]], return_inverse=True)
        weights = np.zeros((last - first, len(used)), np.float32)
        weights[np.repeat(np.arange(last - first), np.diff(starts)), number] = words.lengths[used[number]]
        return weights @ self._best(used)

    def _best(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """The largest cosine of each word to a term of each chunk, shape (n_words, n_chunks); 0 without a near one."""
        near = self._near
        best = np.zeros((len(words), self._n_chunks), np.float32)
        pairs, n_pairs = _ranges(near.starts[words], near.starts[words + 1])
        terms = near.terms[pairs]
        term_start = self._arrays["term_start"].astype(np.int64)
        postings, n_postings = _ranges(term_start[terms], term_start[terms + 1])
        cells = np.repeat(np.repeat(np.arange(len(words)) * self._n_chunks, n_pairs), n_postings)
        cells += self._arrays["post_row"][postings]
        # Of values for one cell the last stays, which is the largest: the terms of a word come by rising cosine.
        best.reshape(-1)[cells] = np.repeat(near.cosines[pairs], n_postings)
        return best


def _near(words: PieceWords, arrays: Mapping[str, NDArray[Any]]) -> _Near:
    """The terms of a segment near to each word."""
    vectors: NDArray[np.int8] = arrays["term_vector"]
    scales: NDArray[np.float32] = arrays["term_vector_scale"]
    n_words = len(words.vectors)
    columns = np.ascontiguousarray(np.swapaxes(words.vectors, 0, 1))
    rows = np.empty((min(_BLOCK_TERMS, len(vectors)), vectors.shape[1]), np.float32)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
    for at in range(0, len(vectors), _BLOCK_TERMS):
        block = vectors[at : at + _BLOCK_TERMS]
        rows[: len(block)] = block
        of_block: NDArray[np.float32] = rows[: len(block)] @ columns
        of_block *= scales[at : at + _BLOCK_TERMS, np.newaxis]
        terms, numbers = np.nonzero(of_block > LEAST_COSINE)
        found.append((numbers, terms + at, of_block[terms, numbers]))
    if not found:
        return _Near(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(n_words + 1, np.int64))
    numbers = np.concatenate([one[0] for one in found])
    terms = np.concatenate([one[1] for one in found])
    cosines = np.concatenate([one[2] for one in found])
    order = np.lexsort((cosines, numbers))
    starts = np.searchsorted(numbers[order], np.arange(n_words + 1)).astype(np.int64)
    return _Near(terms[order], cosines[order], starts)


def _ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers from each start up to its end, one range after another, and how many each has."""
    counts = ends - starts
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - before, counts), counts
