"""Annotates segments for the gate while an index is written; loads nothing until a segment is."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybrid.gate.identity import annotation_key, background_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.gate.background import Background
    from hybrid.gate.words import PieceWords
    from hybrid.types import Embedder


class GateAnnotator:
    """Fulfils `hybrid.index.commit.Annotator` with the background of an embedder.

    Args:
        embedder: Of the chunks.
        home: `$HYBRID_HOME`, which keeps the background's vectors.
        with_hub: Find the hub of every chunk, too.
        with_words: Keep the vectors of terms, for the part "words": for collections of records, whose terms are few.
    """

    def __init__(self, embedder: Embedder, home: Path, *, with_hub: bool, with_words: bool = False) -> None:
        self._embedder = embedder
        self._home = home
        self._with_hub = with_hub
        self._with_words = with_words

    @property
    def key(self) -> str:
        """Of what `annotate` adds."""
        return annotation_key(self._background_key, with_hub=self._with_hub, with_words=self._with_words)

    @cached_property
    def _background_key(self) -> str:
        return background_key(self._embedder.info)

    @cached_property
    def _background(self) -> Background:
        from hybrid.gate.background import load_background

        return load_background(self._embedder, self._home, self._background_key)

    @cached_property
    def _words(self) -> PieceWords | None:
        from hybrid.gate.words import words_of_background

        return words_of_background(self._background, self._embedder) if self._with_words else None

    def prepare(self) -> None:
        """Load what `annotate` needs, or make it: embedding the background takes a new home a moment."""
        _ = self._background

    def annotate(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays to add to a segment, as `hybrid.gate.hubs` and `hybrid.gate.words` make them."""
        from hybrid.gate.hubs import segment_arrays
        from hybrid.gate.words import word_arrays

        found = segment_arrays(arrays, self._background, with_hub=self._with_hub)
        return found | word_arrays(arrays, self._words, self._embedder) if self._words else found
