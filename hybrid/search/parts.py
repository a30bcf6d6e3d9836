"""Tells the parts of the files that a search found: definitions, and chunks that hold none, each with its evidence.

A hit is a chunk, cut for the index. What answers a question is a definition, which may be smaller than a chunk or
stretch over several; `answer.parts` chooses among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.backend import ChunkView, DenseLeg, Leg, Outline, SearchBackend

MOST_OF_FILE = 24
"""Parts of a file that are told, at most, the best by words and sense: a long file has hundreds."""
MOST_CHUNKS = 4
"""Chunks without a definition among these, at most."""
_HOLDERS = frozenset("class enum extension impl interface object protocol struct trait union".split())
_AROUND = frozenset("heading module namespace package".split())
"""Kinds that only stand around what is defined in them: their own lines say nothing, or are those of a chunk."""


class FilePart(Struct, frozen=True):
    """A definition in a file, or a chunk that holds none.

    Attributes:
        start_line: First line, 1-based; comments above a definition are not counted.
        end_line: Last line, inclusive.
        own_end: Last line before the first definition inside it: what is shown of a class. Else `end_line`.
        name: As in `hybrid.types.Hit`.
        kind: Of the definition, or the chunk's.
        scope: As in `hybrid.types.Hit`.
        is_definition: False for a chunk.
        evidence: The most that speaks for one of its chunks: the mean of bm25 and of the cosine above the mean of the
            project, each divided by the best.
        rows: First and last row of the chunks that it lies in.
    """

    start_line: int
    end_line: int
    own_end: int
    name: str
    kind: str
    scope: str
    is_definition: bool
    evidence: float
    rows: tuple[int, int]

    @property
    def is_holder(self) -> bool:
        """True for a class and its like, whose members are parts by themselves."""
        return self.kind in _HOLDERS


class FileParts:
    """Tells the parts of the files that one search found.

    Args:
        backend: What was searched.
        dense: Gives the cosine of any chunk.
        lexical: Gives the bm25 of any chunk.
    """

    def __init__(self, backend: SearchBackend, dense: DenseLeg, lexical: Leg) -> None:
        self._backend = backend
        self._dense = dense
        self._lexical = lexical

    def chunk(self, row: int) -> ChunkView:
        """Return a chunk as it was indexed."""
        return self._backend.get(row)

    def of_file_at(self, row: int) -> list[FilePart]:
        """Return the parts of the file of a chunk, those with the most evidence; in the order of the file."""
        fields = self._backend.fields
        outline = fields.outline(int(fields.of_rows("file", np.array([row]))[0]))
        by_chunk, first = self._evidence(outline), outline.first_row
        kept = np.flatnonzero([kind not in _AROUND for kind in outline.kinds])
        starts, ends = outline.starts[kept], outline.ends[kept]
        own = _own_ends(starts, ends, np.array([outline.kinds[at] in _HOLDERS for at in kept.tolist()], np.bool_))
        low = np.searchsorted(outline.chunk_ends, starts)
        high = np.maximum(np.searchsorted(outline.chunk_starts, own, side="right") - 1, low)
        bare = np.flatnonzero(~_covered(low, high, len(by_chunk)))
        bare = np.sort(bare[np.argsort(-by_chunk[bare], kind="stable")[:MOST_CHUNKS]])
        most = np.concatenate([_largest(by_chunk, low, high), by_chunk[bare]])
        found: list[FilePart] = []
        for at in np.sort(np.argsort(-most, kind="stable")[:MOST_OF_FILE]).tolist():
            if at < len(kept):
                number = int(kept[at])
                place = int(starts[at]), int(ends[at]), int(own[at])
                said = outline.name(number), outline.kinds[number], outline.scope(number), True
                rows = first + int(low[at]), first + int(high[at])
            else:
                view = self._backend.get(first + int(bare[at - len(kept)]))
                place = view.start_line, view.end_line, view.end_line
                said = view.name, view.chunk_kind, view.scope, False
                rows = first + int(bare[at - len(kept)]), first + int(bare[at - len(kept)])
            found.append(FilePart(*place, *said, float(most[at]), rows))
        return found

    def _evidence(self, outline: Outline) -> NDArray[np.float64]:
        """Return what speaks for each chunk of a file, as `FilePart.evidence`."""
        rows = np.arange(outline.first_row, outline.first_row + len(outline.chunk_starts))
        figures = self._dense.chunks
        cosines = (self._dense.cosines(rows) - figures.mean) / max(figures.largest - figures.mean, 1e-6)
        words = self._lexical.raws(outline.first_row, outline.first_row + len(rows)) / max(self._lexical.best, 1e-6)
        return (cosines + words) / 2


def _own_ends(starts: NDArray[np.int32], ends: NDArray[np.int32], is_holder: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the last line of each definition; of a holder, the last one before what is first defined inside it."""
    following = np.append(starts[1:], np.iinfo(np.int32).max)[: len(starts)]
    return np.where(is_holder & (following <= ends), np.maximum(following - 1, starts), ends).astype(np.int32)


def _covered(low: NDArray[np.intp], high: NDArray[np.intp], n_chunks: int) -> NDArray[np.bool_]:
    """Return for each chunk whether a definition lies in it; `low` and `high` are first and last chunk of each."""
    change = np.zeros(n_chunks + 1, np.int64)
    np.add.at(change, low, 1)
    np.add.at(change, high + 1, -1)
    return np.cumsum(change)[:-1] > 0


def _largest(values: NDArray[np.float64], low: NDArray[np.intp], high: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the largest of the values in each range, its last one included."""
    if not len(low):
        return values[:0]
    padded = np.append(values, -np.inf)
    return np.maximum.reduceat(padded, np.stack([low, high + 1], axis=1).ravel())[::2]
