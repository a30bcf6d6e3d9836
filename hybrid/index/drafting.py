"""Gathers documents for the next segment while a build reads them, so that the commit need not decode them again.

The build fills a draft; the commit takes it only if it holds exactly the documents that the segment is to hold, in
their order, and makes another one from the catalog if not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.analysis import head_line, input_key
from hybrid.index.encoding import SegmentDocument, SegmentEncoder
from hybrid.index.vectors import StoredVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.analysis import ChunkRecord
    from hybrid.index.catalog import Catalog
    from hybrid.types import EmbedderInfo


class SegmentDraft:
    """Documents of a segment to be, in order of path, and the vectors that are at hand."""

    def __init__(self) -> None:
        self._encoder = SegmentEncoder()
        self._rows: list[tuple[str, int, str, str]] = []
        self._inputs: list[bytes] = []
        self._vectors: list[StoredVectors] = []
        self._n_vectors = 0
        self._places: dict[bytes, int] = {}

    @property
    def n_chunks(self) -> int:
        """Chunks of the documents so far."""
        return len(self._inputs)

    def add(
        self, row: tuple[str, int, str, str], records: Sequence[ChunkRecord], inputs: Sequence[bytes] | None = None
    ) -> None:
        """Add a document.

        Args:
            row: Its path, content id, kind and language.
            records: Its chunks, in order.
            inputs: Key of the vector of each chunk, when they are known.
        """
        self._encoder.add(SegmentDocument(*row, records))
        self._rows.append(row)
        self._inputs += inputs_of(row[0], records) if inputs is None else inputs

    def add_vectors(self, inputs: Sequence[bytes], vectors: StoredVectors) -> None:
        """Keep vectors that were just made, one for each input."""
        start = self._n_vectors
        self._places.update(zip(inputs, range(start, start + len(inputs)), strict=True))
        self._vectors.append(vectors)
        self._n_vectors += len(inputs)

    def holds(self, rows: Sequence[tuple[str, int, str, str]]) -> bool:
        """Whether the draft is of these documents, in this order."""
        return self._rows == rows

    def arrays(self, catalog: Catalog, model: EmbedderInfo) -> dict[str, NDArray[Any]]:
        """The arrays of the segment; vectors that are not at hand come from the catalog."""
        missing = list(dict.fromkeys(key for key in self._inputs if key not in self._places))
        if missing:
            self.add_vectors(missing, catalog.vectors(catalog.model_id(model.key), missing, model.dim))
        return self._encoder.finish(self._ordered(model.dim))

    def _ordered(self, dim: int) -> StoredVectors:
        """The vector of every chunk."""
        at = np.array([self._places[key] for key in self._inputs], np.int64)
        parts = self._vectors or [
            StoredVectors(np.zeros((0, dim), np.int8), np.zeros(0, np.float32), np.zeros(0, np.bool_))
        ]
        return StoredVectors(
            data=np.concatenate([part.data for part in parts])[at],
            scale=np.concatenate([part.scale for part in parts])[at],
            is_cut=np.concatenate([part.is_cut for part in parts])[at],
        )


def inputs_of(path: str, records: Sequence[ChunkRecord]) -> list[bytes]:
    """Key of the vector of each chunk of a document."""
    return [input_key(head_line(path, record.scope, record.definitions), record.embedded) for record in records]
