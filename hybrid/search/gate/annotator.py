"""Annotates segments for the gate while an index is written; loads the background with the first segment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybrid.search.gate.identity import annotation_key, background_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.constants import GateConfig
    from hybrid.search.gate.background import Background
    from hybrid.search.gate.record_evidence import MeantPieces
    from hybrid.types import Embedder


class GateAnnotator:
    """Fulfils `hybrid.index.plan.Annotator` with the background of an embedder.

    Args:
        embedder: The embedder of the chunks.
        home: `$HYBRID_HOME`, which keeps the background's vectors.
        records: The weights of the evidence for a record, for a collection that is judged record by record.
    """

    def __init__(self, embedder: Embedder, home: Path, *, records: GateConfig | None = None) -> None:
        self._embedder = embedder
        self._home = home
        self._records = records

    @property
    def key(self) -> str:
        """The key of what `annotate` adds."""
        return annotation_key(self._background_key, records=self._records)

    @cached_property
    def _background_key(self) -> str:
        return background_key(self._embedder.info)

    @cached_property
    def _background(self) -> Background:
        from hybrid.search.gate.background import load_background

        return load_background(self._embedder, self._home, self._background_key)

    @cached_property
    def _pieces(self) -> MeantPieces | None:
        from hybrid.search.gate.record_evidence import pieces_of_background

        return pieces_of_background(self._background, self._embedder)

    def prepare(self) -> None:
        """Load the background, or embed and keep it where `$HYBRID_HOME` has none yet, which takes a moment."""
        _ = self._background

    def annotate(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the arrays to add to a segment: of `background`, and for records of `record_evidence` too."""
        from hybrid.search.gate.background import segment_arrays

        found = segment_arrays(arrays, self._background)
        if self._records is None or self._pieces is None:
            return found
        from hybrid.search.gate.record_evidence import record_arrays

        return found | record_arrays({**arrays, **found}, self._pieces, self._embedder, self._records)
