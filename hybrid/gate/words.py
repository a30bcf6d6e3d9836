"""The part "words" of the gate's statistic: which chunk holds the words of a piece, or words near to them in meaning?

    words(piece, chunk) = Σ over words q of the piece: n_q · max over terms t of the chunk: cos(q, t), if > LEAST_COSINE

n_q is the length that the model's query sum of the word alone has: telling words are long. The cosine of whole texts
averages over all that a record says besides; this asks word by word, so short records with one telling word in common
with a prompt are told from those that are merely of its kind. For collections of records; `annotator` adds the arrays
to their segments, `calibration` and `verdict` read them. A model whose lengths say nothing has no such part.
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

    from hybrid.gate.background import Background
    from hybrid.index.segment import Segment
    from hybrid.types import Embedder

LEAST_COSINE = 0.4
"""Two words up to this have nothing to do with one another. Anything from 0.3 to 0.5 serves the gate equally well."""

_BLOCK_TERMS = 1024
"""Terms compared at a time, which stay in the cache as float32."""

_BATCH = 4096
"""Terms embedded at a time: their vectors are kept as int8."""

_BLOCK_CELLS = 1 << 21
"""Words times chunks of one block of pieces: 8 MB."""


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

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""
        return len(self.starts) - 1


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


def words_of_background(background: Background, embedder: Embedder) -> PieceWords | None:
    """The words of the calibration pieces; None for a model whose lengths say nothing, found with a single word."""
    if embedder.embed_queries(["word"])[1] is None:
        return None
    vectors, lengths = embedder.embed_queries(background.terms)
    if lengths is None:
        return None
    numbers, starts = background.array("piece_words"), background.array("piece_words_at")
    return PieceWords(vectors, lengths, numbers.astype(np.int64), starts.astype(np.int64))


def word_arrays(arrays: Mapping[str, NDArray[Any]], words: PieceWords, embedder: Embedder) -> dict[str, NDArray[Any]]:
    """The arrays that a segment of records gets for its words.

    Args:
        arrays: Of the segment: its terms with their postings, and `vector` for how many chunks there are.
        words: Of the calibration pieces.
        embedder: Of the same model.

    Returns:
        `term_vector` int8 (n_terms, dim) and `term_vector_scale` float32 (n_terms,), 0 for a term that the model does
        not know; `background_words` float32 (n_pieces,), the largest words(piece, chunk) of each calibration piece, 0
        without a chunk.
    """
    terms = unpack_strings(arrays["term_text"], arrays["term_at"])
    data = np.zeros((len(terms), words.vectors.shape[1]), np.int8)
    scales = np.zeros(len(terms), np.float32)
    for at in range(0, len(terms), _BATCH):
        batch = slice(at, at + _BATCH)
        vectors, _ = embedder.embed_queries(terms[batch])
        stored = quantise(vectors, np.zeros(len(vectors), np.bool_))
        data[batch], scales[batch] = stored.data, stored.scale
    found: dict[str, NDArray[Any]] = {"term_vector": data, "term_vector_scale": scales}
    scored = _Scored({**arrays, **found}, len(arrays["vector"]))
    return {**found, "background_words": scored.largest(words)}


def has_words(segments: Sequence[Segment]) -> bool:
    """Whether the segments of a snapshot have what `word_arrays` adds: all of them, and at least one."""
    return bool(segments) and all(segment.has("background_words") for segment in segments)


def score_words(words: PieceWords, segment: Segment) -> NDArray[np.float32]:
    """words(piece, chunk) for each chunk of a segment, shape (n_pieces, n_chunks); 0 for a chunk that is dead."""
    names = ("term_vector", "term_vector_scale", "term_start", "post_row")
    scored = _Scored({name: segment.array(name) for name in names}, segment.n_chunks)
    scores = scored.scores(words, _near(words, scored.arrays), 0, words.n_pieces)
    if segment.is_live is not None:
        scores[:, ~segment.is_live] = 0
    return scores


@dataclass(frozen=True, slots=True)
class _Scored:
    """The chunks of a segment to be: arrays with the postings and vectors of their terms."""

    arrays: Mapping[str, NDArray[Any]]
    n_chunks: int

    def largest(self, words: PieceWords) -> NDArray[np.float32]:
        """The largest score of each piece, shape (n_pieces,); some pieces at a time, so that memory stays bounded."""
        found = np.zeros(words.n_pieces, np.float32)
        near = _near(words, self.arrays)
        first = 0
        while first < words.n_pieces:
            most = int(words.starts[first]) + max(_BLOCK_CELLS // max(self.n_chunks, 1), 1)
            last = max(int(np.searchsorted(words.starts, most, side="right")) - 1, first + 1)
            found[first:last] = self.scores(words, near, first, last).max(axis=1, initial=0)
            first = last
        return found

    def scores(self, words: PieceWords, near: _Near, first: int, last: int) -> NDArray[np.float32]:
        """Scores of the pieces from `first` up to `last`, shape (last − first, n_chunks)."""
        starts = words.starts[first : last + 1]
        used, number = np.unique(words.numbers[starts[0] : starts[-1]], return_inverse=True)
        weights = np.zeros((last - first, len(used)), np.float32)
        weights[np.repeat(np.arange(last - first), np.diff(starts)), number] = words.lengths[used[number]]
        return weights @ self._best(near, used)

    def _best(self, near: _Near, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """The largest cosine of each word to a term of each chunk, shape (n_words, n_chunks); 0 without a near one."""
        best = np.zeros((len(words), self.n_chunks), np.float32)
        pairs, n_pairs = _ranges(near.starts[words], near.starts[words + 1])
        terms = near.terms[pairs]
        term_start = self.arrays["term_start"].astype(np.int64)
        postings, n_postings = _ranges(term_start[terms], term_start[terms + 1])
        cells = np.repeat(np.repeat(np.arange(len(words)) * self.n_chunks, n_pairs), n_postings)
        cells += self.arrays["post_row"][postings]
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
