"""The evidence that a piece of a prompt means one record: each record of a collection must have enough of it by itself.

    evidence(piece, record) = null · (cosine − hub) + words − hinge

`words` is how far the record holds the words of the piece (`hybrid.gate.words`). `hinge` takes away a share of what the
damped cosine loses when the one word that it hangs on most is left out: a name that the whole project is about, or one
word in another sense, brings any record near, while a record that is meant stays near without that word.

A vector is the sum of those of its words, so no piece is embedded again. `annotator` keeps in a segment of records the
largest evidence of each background piece; `calibration` and `verdict` read it. A model whose lengths say nothing has no
such sums, and its records are judged as files are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.gate.words import PieceWords, WordScores, term_vectors, words_of_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.config import GateConfig
    from hybrid.gate.background import Background
    from hybrid.index.segment import Segment
    from hybrid.types import Embedder

_ARRAYS = ("vector", "vector_scale", "chunk_hub", "term_vector", "term_vector_scale", "term_start", "post_row")

_BLOCK_CELLS = 1 << 21
"""Words times records of one block of pieces: 8 MB."""

_LEAST_LENGTH = 1e-3
"""What is left of a sum below this is rounding."""


@dataclass(frozen=True, slots=True)
class MeantPieces:
    """Pieces as records are compared with them.

    Attributes:
        sums: Of the vectors of their words, shape (n_pieces, dim).
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
    """Pieces as records are compared with them; None for a model whose lengths say nothing.

    Args:
        vectors: Unit vectors of the pieces, shape (n_pieces, dim).
        null: Null factors of the pieces, which tell how long their sums are, shape (n_pieces,).
        terms: Terms of each piece.
        typed: Words of each piece, as `terms.word_groups` gives them.
        embedder: Of the same model.
    """
    of_terms = words_of_pieces(terms, embedder)
    of_typed = words_of_pieces(typed, embedder) if of_terms else None
    if of_terms is None or of_typed is None:
        return None
    lengths = null / np.sqrt(np.maximum(1 - null * null, np.finfo(np.float32).eps))
    sums = np.multiply(vectors, lengths[:, np.newaxis], dtype=np.float32)
    return MeantPieces(sums, of_terms, of_typed)


def pieces_of_background(background: Background, embedder: Embedder) -> MeantPieces | None:
    """The calibration pieces; None for a model whose lengths say nothing, found with a single word."""
    if embedder.embed_queries(["word"])[1] is None:
        return None
    null, vectors = background.array("piece_null"), background.piece_vectors
    return meant_pieces(vectors, null, background.piece_terms, background.piece_groups, embedder)


class Records:
    """The records of one segment as pieces are compared with them.

    Args:
        arrays: Of the segment, with the vectors of its terms.
        is_live: Of each record; None when all are.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], is_live: NDArray[np.bool_] | None = None) -> None:
        self._arrays = arrays
        self._scales: NDArray[np.float32] = arrays["vector_scale"]
        self._is_there = self._scales != 0 if is_live is None else (self._scales != 0) & is_live

    @classmethod
    def of_segment(cls, segment: Segment) -> Records:
        """Of an open segment that has what `record_arrays` adds."""
        return cls({name: segment.array(name) for name in _ARRAYS}, segment.is_live)

    def __len__(self) -> int:
        """How many records there are, dead ones too."""
        return len(self._scales)

    def parts(self, pieces: MeantPieces, settings: GateConfig) -> dict[str, NDArray[np.float32]]:
        """All parts but the hinge, weighted and signed, each of shape (n_pieces, n_records).

        A record without a vector, or a dead one, has −∞ in `null`.
        """
        words = WordScores(pieces.terms, self._arrays, len(self)).between(0, len(pieces.sums))
        return self._parts(pieces.sums, words, settings)

    def hinges(self, pieces: MeantPieces, rows: NDArray[np.int64], settings: GateConfig) -> NDArray[np.float32]:
        """The hinges of some rows, weighted and signed, shape (n_pieces, n_rows)."""
        return _hinges(pieces.sums, pieces.typed, self._rows(rows), settings)

    def top_evidence(self, pieces: MeantPieces, settings: GateConfig) -> NDArray[np.float32]:
        """The largest evidence of each piece for a record, shape (n_pieces,); −∞ without a record.

        Some pieces are looked at at a time, so that memory stays bounded.
        """
        n_pieces, starts = len(pieces.sums), pieces.typed.starts
        found = np.full(n_pieces, -np.inf, np.float32)
        scores = WordScores(pieces.terms, self._arrays, len(self))
        every = np.arange(len(self))
        first = 0
        while first < n_pieces:
            most = int(starts[first]) + max(_BLOCK_CELLS // max(len(self), 1), 1)
            last = max(int(np.searchsorted(starts, most, side="right")) - 1, first + 1)
            sums, typed = pieces.sums[first:last], pieces.typed.between(first, last)
            evidence = sum(self._parts(sums, scores.between(first, last), settings).values())
            evidence += _hinges(sums, typed, self._rows(every), settings)
            found[first:last] = evidence.max(axis=1, initial=-np.inf)
            first = last
        return found

    def _parts(
        self, sums: NDArray[np.float32], words: NDArray[np.float32], settings: GateConfig
    ) -> dict[str, NDArray[np.float32]]:
        squares = _squares(sums)
        lengths, damping = np.sqrt(squares), np.sqrt(squares + settings.null)
        dots = sums @ np.swapaxes(self._rows(np.arange(len(self))), 0, 1)
        hub = np.broadcast_to(self._arrays["chunk_hub"], dots.shape)
        cosine = _divided(dots, lengths)
        null = _divided(dots - lengths[:, np.newaxis] * hub, damping) - (cosine - hub)
        null[:, ~self._is_there] = -np.inf
        return {"cosine": cosine, "hub": -hub, "null": null, "words": words * settings.words}

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors = self._arrays["vector"]
        taken = vectors if len(rows) == len(vectors) else vectors[rows]
        return np.multiply(taken, self._scales[rows, np.newaxis], dtype=np.float32)


def record_arrays(
    arrays: Mapping[str, NDArray[Any]], pieces: MeantPieces, embedder: Embedder, settings: GateConfig
) -> dict[str, NDArray[Any]]:
    """The arrays that a segment of records gets besides those of `hubs`.

    Args:
        arrays: Of the segment, with those of `hubs`.
        pieces: Of the background.
        embedder: Of the same model.
        settings: Weights.

    Returns:
        What `term_vectors` gives, and `background_record` float32 (n_pieces,), the largest evidence of each calibration
        piece for one record, −∞ without a record.
    """
    vectors = term_vectors(arrays, embedder)
    return {**vectors, "background_record": Records({**arrays, **vectors}).top_evidence(pieces, settings)}


def are_records(segments: Sequence[Segment]) -> bool:
    """Whether the segments of a snapshot have what `record_arrays` adds: all of them, and at least one."""
    return bool(segments) and all(segment.has("background_record") for segment in segments)


def _hinges(
    sums: NDArray[np.float32], typed: PieceWords, rows: NDArray[np.float32], settings: GateConfig
) -> NDArray[np.float32]:
    """Of pieces with these words and rows of these vectors; 0 for a piece without a word."""
    found = np.zeros((len(sums), len(rows)), np.float32)
    filled = np.flatnonzero(np.diff(typed.starts))
    if not len(filled) or not settings.hinge:
        return found
    words = typed.vectors * typed.lengths[:, np.newaxis]
    of_sums, of_words = sums @ np.swapaxes(rows, 0, 1), words @ np.swapaxes(rows, 0, 1)
    piece = np.repeat(np.arange(len(sums)), np.diff(typed.starts))
    lengths = np.sqrt(_squares(sums[piece] - words[typed.numbers]) + settings.null)
    without = _divided(of_sums[piece] - of_words[typed.numbers], lengths)
    least = np.minimum.reduceat(without, typed.starts[filled], axis=0)
    whole = _divided(of_sums[filled], np.sqrt(_squares(sums[filled]) + settings.null))
    found[filled] = -settings.hinge * np.maximum(whole - least, 0)
    return found


def _squares(rows: NDArray[Any]) -> NDArray[np.float32]:
    """The squared length of each row."""
    return np.einsum("ij,ij->i", rows, rows)


def _divided(rows: NDArray[Any], lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row divided by its number; rows with next to nothing are 0."""
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > _LEAST_LENGTH)
    return rows * factors[:, np.newaxis]
