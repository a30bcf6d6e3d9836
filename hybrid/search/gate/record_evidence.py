"""The evidence that a piece of a prompt means one record: each record of a collection must have enough of it by itself.

    evidence = null · cosine + words − hinge + names + trigger − length

This module finds `null`, `cosine`, `words` and `hinge`; `verdict` adds the others. `words` is how far the record
holds the words of the piece (see below). `hinge` takes away a share of what the damped cosine loses when the one word
that it hangs on most is left out: a name that the whole project is about, or one word in another sense, brings any
record near, while a record that is meant stays near without that word.

A vector is the sum of those of its words, so no piece is embedded again. `annotator` keeps in a segment of records the
largest evidence of each background piece; `background` and `verdict` read it. A model whose lengths say nothing has no
such sums, and its records are judged as files are.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import ranges, unpack_strings
from hybrid.index.lookup import record_block
from hybrid.index.vectors import quantise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.constants import GateConfig
    from hybrid.index.backend import RecordBlock
    from hybrid.search.gate.background import Background
    from hybrid.types import Embedder


# The part "words" of the evidence for a record: how far it holds the words of a piece, or words near to them.
#
#     words(piece, record) = Σ over words q of the piece: n_q · max over terms t of the record: cos(q, t),
#                            of those above LEAST_COSINE
#
# n_q is the length that the model's query sum of the word alone has: telling words are long. The cosine of whole
# texts averages over all that a record says besides; this asks word by word, so short records with one telling word
# in common with a prompt are told from those that are merely of its kind. A model whose lengths say nothing has no
# such part.

LEAST_COSINE = 0.4
"""Words with a cosine up to this have nothing to do with one another; 0.3 to 0.5 serve the gate equally well."""

_BLOCK_TERMS = 1024
"""Terms compared at a time, which stay in the cache as float32."""

_BATCH = 4096
"""Terms embedded at a time: their vectors are kept as int8."""


class PieceWords(Struct, frozen=True):
    """The words of some pieces, each word embedded once.

    Attributes:
        vectors: Vector of every distinct word, unit vectors or zeros, shape (n_words, dim).
        lengths: Weight of each word, the length of its sum, shape (n_words,).
        numbers: Places in `vectors` of the words of one piece after another, each once a piece, shape (n_uses,).
        starts: Where the words of each piece begin, with the end behind the last, shape (n_pieces + 1,).
    """

    vectors: NDArray[np.float32]
    lengths: NDArray[np.float32]
    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]

    def between(self, first: int, last: int) -> PieceWords:
        """Return the pieces from `first` up to `last`, without it, with only the words that they need."""
        starts = self.starts[first : last + 1]
        used, numbers = np.unique(self.numbers[starts[0] : starts[-1]], return_inverse=True)
        return PieceWords(self.vectors[used], self.lengths[used], numbers, starts - starts[0])


class _Near(Struct, frozen=True):
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
    """Embed the words of pieces, which must be distinct within a piece; None for a model whose lengths say nothing."""
    words = list(dict.fromkeys(word for piece in pieces for word in piece))
    vectors, lengths = embedder.embed_queries(words)
    if lengths is None:
        return None
    number = {word: i for i, word in enumerate(words)}
    numbers = np.array([number[word] for piece in pieces for word in piece], np.int64)
    return PieceWords(vectors, lengths, numbers, np.array([0, *accumulate(map(len, pieces))], np.int64))


def term_vectors(arrays: Mapping[str, NDArray[Any]], embedder: Embedder) -> dict[str, NDArray[Any]]:
    """Embed the terms of a segment of records.

    Args:
        arrays: Arrays of the segment: the terms, and `vector` for the dimension.
        embedder: The embedder of the segment's model.

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


class WordNearness:
    """Measures words(piece, record), see the module, of some pieces for every record of a block, dead ones too.

    Args:
        words: The words of the pieces.
        block: The records.
    """

    def __init__(self, words: PieceWords, block: RecordBlock) -> None:
        self._words = words
        self._block = block
        self._n_records = len(block.scales)
        self._near = _near(words, block)

    def between(self, first: int, last: int) -> NDArray[np.float32]:
        """Return `words` of the pieces from `first` up to `last` for every record, shape (last − first, n_records)."""
        words = self._words
        starts = words.starts[first : last + 1]
        used, number = np.unique(words.numbers[starts[0] : starts[-1]], return_inverse=True)
        weights = np.zeros((last - first, len(used)), np.float32)
        weights[np.repeat(np.arange(last - first), np.diff(starts)), number] = words.lengths[used[number]]
        return weights @ self._best(used)

    def _best(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """The largest cosine of each word to a term of each record, shape (n_words, n_records); 0 if none is near."""
        near = self._near
        best = np.zeros((len(words), self._n_records), np.float32)
        pairs, n_pairs = ranges(near.starts[words], near.starts[words + 1])
        terms = near.terms[pairs]
        term_start = self._block.term_starts.astype(np.int64)
        postings, n_postings = ranges(term_start[terms], term_start[terms + 1])
        cells = np.repeat(np.repeat(np.arange(len(words)) * self._n_records, n_pairs), n_postings)
        cells += self._block.holders[postings]
        # Of values for one cell the last stays, which is the largest: the terms of a word come by rising cosine.
        best.reshape(-1)[cells] = np.repeat(near.cosines[pairs], n_postings)
        return best


def _near(words: PieceWords, block: RecordBlock) -> _Near:
    """Find the terms of a block whose cosine to a word is above `LEAST_COSINE`."""
    vectors, scales = block.term_vectors, block.term_scales
    n_words = len(words.vectors)
    columns = np.ascontiguousarray(np.swapaxes(words.vectors, 0, 1))
    rows = np.empty((min(_BLOCK_TERMS, len(vectors)), vectors.shape[1]), np.float32)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
    for at in range(0, len(vectors), _BLOCK_TERMS):
        some = vectors[at : at + _BLOCK_TERMS]
        rows[: len(some)] = some
        cosines: NDArray[np.float32] = rows[: len(some)] @ columns
        cosines *= scales[at : at + _BLOCK_TERMS, np.newaxis]
        terms, numbers = np.nonzero(cosines > LEAST_COSINE)
        found.append((numbers, terms + at, cosines[terms, numbers]))
    if not found:
        return _Near(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(n_words + 1, np.int64))
    numbers = np.concatenate([one[0] for one in found])
    terms = np.concatenate([one[1] for one in found])
    cosines = np.concatenate([one[2] for one in found])
    order = np.lexsort((cosines, numbers))
    starts = np.searchsorted(numbers[order], np.arange(n_words + 1)).astype(np.int64)
    return _Near(terms[order], cosines[order], starts)


_BLOCK_CELLS = 1 << 21
"""Number of words times records that are compared at a time: 8 MB."""

_LEAST_LENGTH = 1e-3
"""Length of a sum of vectors below which it is nothing but rounding."""


class MeantPieces(Struct, frozen=True):
    """Pieces as records are compared with them.

    Attributes:
        sums: Sum of the vectors of each piece's words, shape (n_pieces, dim).
        terms: Terms of each piece.
        typed: Words of each piece as they were typed.
    """

    sums: NDArray[np.float32]
    terms: PieceWords
    typed: PieceWords


def meant_pieces(
    vectors: NDArray[np.float32],
    null: NDArray[np.float32],
    terms: Sequence[Sequence[str]],
    typed: Sequence[Sequence[str]],
    embedder: Embedder,
) -> MeantPieces | None:
    """Return pieces as records are compared with them; None for a model whose lengths say nothing.

    Args:
        vectors: Unit vectors of the pieces, shape (n_pieces, dim).
        null: Null factors of the pieces, which tell how long their sums are, shape (n_pieces,).
        terms: Terms of each piece.
        typed: Words of each piece, as `word_groups` gives them.
        embedder: The embedder that made the vectors.
    """
    of_terms = words_of_pieces(terms, embedder)
    of_typed = words_of_pieces(typed, embedder) if of_terms else None
    if of_terms is None or of_typed is None:
        return None
    lengths = null / np.sqrt(np.maximum(1 - null * null, np.finfo(np.float32).eps))
    sums = np.multiply(vectors, lengths[:, np.newaxis], dtype=np.float32)
    return MeantPieces(sums, of_terms, of_typed)


def pieces_of_background(background: Background, embedder: Embedder) -> MeantPieces | None:
    """Return the calibration pieces as records are compared with them; None for a model whose lengths say nothing."""
    if embedder.embed_queries(["word"])[1] is None:
        return None
    null, vectors = background.array("piece_null"), background.piece_vectors
    return meant_pieces(vectors, null, background.piece_terms, background.piece_groups, embedder)


class RecordEvidence:
    """The evidence of pieces for the records of one block."""

    def __init__(self, block: RecordBlock) -> None:
        self._block = block
        self._is_there = block.scales != 0 if block.is_live is None else (block.scales != 0) & block.is_live

    def __len__(self) -> int:
        """Return how many records there are, dead ones too."""
        return len(self._block.scales)

    def parts(self, pieces: MeantPieces, settings: GateConfig) -> dict[str, NDArray[np.float32]]:
        """Return name → part of the evidence, all but the hinge, weighted and signed, of shape (n_pieces, n_records).

        A record without a vector, or a dead one, has −∞ in `null`.
        """
        words = WordNearness(pieces.terms, self._block).between(0, len(pieces.sums))
        return self._parts(pieces.sums, words, settings)

    def hinges(self, pieces: MeantPieces, rows: NDArray[np.int64], settings: GateConfig) -> NDArray[np.float32]:
        """Return the hinge of each piece for some records of the block, weighted, at most 0, (n_pieces, n_rows)."""
        return _hinges(pieces.sums, pieces.typed, self._rows(rows), settings)

    def top_evidence(
        self, pieces: MeantPieces, settings: GateConfig, added: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the largest evidence of each piece for any one record, shape (n_pieces,); −∞ without a record.

        Pieces are compared block by block, so that memory stays bounded. `added` is another part of the evidence, shape
        (n_pieces, n_records).
        """
        n_pieces, starts = len(pieces.sums), pieces.typed.starts
        found = np.full(n_pieces, -np.inf, np.float32)
        scores = WordNearness(pieces.terms, self._block)
        every = np.arange(len(self))
        first = 0
        while first < n_pieces:
            most = int(starts[first]) + max(_BLOCK_CELLS // max(len(self), 1), 1)
            last = max(int(np.searchsorted(starts, most, side="right")) - 1, first + 1)
            sums, typed = pieces.sums[first:last], pieces.typed.between(first, last)
            evidence = sum(self._parts(sums, scores.between(first, last), settings).values())
            evidence += _hinges(sums, typed, self._rows(every), settings)
            if added is not None:
                evidence += added[first:last]
            found[first:last] = evidence.max(axis=1, initial=-np.inf)
            first = last
        return found

    def _parts(
        self, sums: NDArray[np.float32], words: NDArray[np.float32], settings: GateConfig
    ) -> dict[str, NDArray[np.float32]]:
        squares = _squares(sums)
        lengths, damping = np.sqrt(squares), _damped_lengths(squares, settings)
        dots = sums @ np.swapaxes(self._rows(np.arange(len(self))), 0, 1)
        cosine = _divided(dots, lengths)
        null = _divided(dots, damping) - cosine
        null[:, ~self._is_there] = -np.inf
        return {"cosine": cosine, "null": null, "words": words * settings.words}

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors = self._block.vectors
        taken = vectors if len(rows) == len(vectors) else vectors[rows]
        return np.multiply(taken, self._block.scales[rows, np.newaxis], dtype=np.float32)


def record_arrays(
    arrays: Mapping[str, NDArray[Any]], pieces: MeantPieces, embedder: Embedder, settings: GateConfig
) -> dict[str, NDArray[Any]]:
    """Return the arrays that a segment of records gets besides those of `background`.

    Args:
        arrays: Arrays of the segment, with those of `background`.
        pieces: The calibration pieces of the background.
        embedder: The embedder of the segment's model.
        settings: Weights of the parts.

    Returns:
        What `term_vectors` gives, and `background_record` float32 (n_pieces,), the largest evidence of each calibration
        piece for one record, −∞ without a record.
    """
    vectors = term_vectors(arrays, embedder)
    evidence = RecordEvidence(record_block({**arrays, **vectors}))
    return {**vectors, "background_record": evidence.top_evidence(pieces, settings)}


def _hinges(
    sums: NDArray[np.float32], typed: PieceWords, rows: NDArray[np.float32], settings: GateConfig
) -> NDArray[np.float32]:
    """Return the part `hinge` of the evidence of each piece for each record, weighted, shape (n_pieces, n_rows).

    It is minus a share (`settings.hinge`) of what the damped cosine loses without the one word that it hinges on most;
    0 when it loses nothing, for a piece without a word, and everywhere when the weight is 0.
    """
    found = np.zeros((len(sums), len(rows)), np.float32)
    filled = np.flatnonzero(np.diff(typed.starts))
    if not len(filled) or not settings.hinge:
        return found
    words = typed.vectors * typed.lengths[:, np.newaxis]
    of_sums, of_words = sums @ np.swapaxes(rows, 0, 1), words @ np.swapaxes(rows, 0, 1)
    piece = np.repeat(np.arange(len(sums)), np.diff(typed.starts))
    lengths = _damped_lengths(_squares(sums[piece] - words[typed.numbers]), settings)
    without = _divided(of_sums[piece] - of_words[typed.numbers], lengths)
    least = np.minimum.reduceat(without, typed.starts[filled], axis=0)
    whole = _divided(of_sums[filled], _damped_lengths(_squares(sums[filled]), settings))
    found[filled] = -settings.hinge * np.maximum(whole - least, 0)
    return found


def _damped_lengths(squares: NDArray[np.float32], settings: GateConfig) -> NDArray[np.float32]:
    """Return √(n² + 1) of squared lengths n², or n without the part `null`.

    A dot product with a sum, divided by it, is null · cosine: see `parts.null_factor`, whose 1 this is.
    """
    return np.sqrt(squares + int(settings.null))


def _squares(rows: NDArray[Any]) -> NDArray[np.float32]:
    """The squared length of each row."""
    return np.einsum("ij,ij->i", rows, rows)


def _divided(rows: NDArray[Any], lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row divided by its length; zeros for a row whose length is below `_LEAST_LENGTH`."""
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > _LEAST_LENGTH)
    return rows * factors[:, np.newaxis]


def word_match(words: Sequence[str], texts: Sequence[Sequence[str]], embedder: Embedder) -> list[float]:
    """Return the match of each of a few texts, which are ordered by it, as a share of the best text's, in [0, 1].

    It is `words` of the evidence, as `WordNearness` has it for whole collections: late interaction, as in Khattab and
    Zaharia, SIGIR 2020, with static vectors.

    Args:
        words: Words of the query that tell something.
        texts: The terms of each text.
        embedder: The embedder of the collection.

    Returns:
        A value for each text; all 0 when nothing is near, or for a model whose lengths say nothing.
    """
    nothing = [0.0] * len(texts)
    asked = list(dict.fromkeys(words))
    terms = list(dict.fromkeys(term for text in texts for term in text))
    if not asked or not terms:
        return nothing
    vectors, lengths = embedder.embed_queries(asked)
    if lengths is None:
        return nothing
    cosines: NDArray[np.float32] = vectors @ np.swapaxes(embedder.embed_queries(terms)[0], 0, 1)
    cosines[cosines <= LEAST_COSINE] = 0
    number = {term: place for place, term in enumerate(terms)}
    ends = [0, *accumulate(len(text) for text in texts)]
    places = np.array([number[term] for text in texts for term in text], np.int64)
    near = cosines[:, places]
    best: list[NDArray[np.float32]] = [
        near[:, begin:end].max(axis=1) if end > begin else np.zeros(len(asked), np.float32)
        for begin, end in pairwise(ends)
    ]
    scores = np.array([float(lengths @ column) for column in best])
    top = float(scores.max())
    return (scores / top).tolist() if top > 0 else nothing
