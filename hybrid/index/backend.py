"""The search side of an index, whatever stores it: what `hybrid.search` and all above it are written against.

Today one backend exists, the memory-mapped `Snapshot`. Fusion, gate and dedup are never the backend's: it answers
with ranked rows and raw scores.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct

from hybrid.types import Ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Filter(Struct, frozen=True):
    """Restricts a search before its top k are taken; statistics stay those of the whole collection.

    Attributes:
        kinds: Kinds to keep, for example ("code",); empty for all.
        path: A glob such as `src/*.py`, where `*` crosses folders, or a folder; empty for all.
        documents: Paths of the documents to keep, exactly; None for all.
    """

    kinds: tuple[str, ...] = ()
    path: str = ""
    documents: frozenset[str] | None = None


class Leg(Struct, frozen=True, dict=True):
    """The answer of one leg.

    Attributes:
        rows: The ranked ones, best first; ties by digest, then path and line.
        scores: The leg's raw score of every row of the snapshot, shape (n_rows,); NaN where it has none.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """The ranked rows with rank and score, best first, ranks from 1."""
        entries = zip(self.rows.tolist(), self.scores[self.rows].tolist(), strict=True)
        return tuple(Ranked(row, rank, raw) for rank, (row, raw) in enumerate(entries, 1))

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Row → rank, of those that are ranked."""
        return {row: rank for rank, row in enumerate(self.rows.tolist(), 1)}

    @property
    def best(self) -> float:
        """The raw score of the first ranked row; 0 without one."""
        return float(self.scores[self.rows[0]]) if len(self.rows) else 0.0

    @cached_property
    def top(self) -> float | None:
        """The highest raw score of any row, whatever the filter of the ranking; None when no row has one."""
        top = float(np.fmax.reduce(self.scores)) if len(self.scores) else math.nan  # NaN only when all are.
        return None if math.isnan(top) else top

    def raw(self, row: int) -> float | None:
        """The raw score of a row, or None."""
        score = float(self.scores[row])
        return None if math.isnan(score) else score


class Closest(Struct, frozen=True):
    """For each piece of a query, the chunk with the largest cosine − hub.

    Attributes:
        rows: In the snapshot, shape (n_pieces,); −1 for a piece without a vector, or when nothing can be compared.
        cosines: Of the piece to that chunk, shape (n_pieces,).
        hubs: Of that chunk, shape (n_pieces,); 0 where none was found.
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    hubs: NDArray[np.float32]


class ChunkView(Struct, frozen=True):
    """A chunk as a result shows it; fields as in `hybrid.types.Hit`."""

    kind: str
    path: str
    start_line: int
    end_line: int
    name: str
    chunk_kind: str
    scope: str
    signature: str
    language: str
    digest: bytes


class SearchBackend(Protocol):
    """An open, immutable view of one collection."""

    @property
    def n_chunks(self) -> int:
        """Chunks that can be found."""
        ...

    @property
    def generation(self) -> int:
        """Grows with each commit."""
        ...

    def dense(self, query: NDArray[np.float32], depth: int, only: Filter = ...) -> Leg:
        """The chunks nearest to a unit vector, by true cosine."""
        ...

    def lexical(self, tokens: Sequence[str], depth: int, only: Filter = ...) -> Leg:
        """The chunks with the highest bm25; a chunk without a query term is not ranked."""
        ...

    def get(self, row: int) -> ChunkView:
        """What a row is."""
        ...

    def terms(self, row: int) -> dict[str, int]:
        """Terms and frequencies of a row, as the lexical leg counts them."""
        ...
