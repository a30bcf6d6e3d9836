"""An embedder that is loaded when the first text comes: a build that changes nothing never loads a model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hybrid.models.registry import embedder_info, load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.types import Embedder, EmbedderInfo, EmbedInput


class LazyEmbedder:
    """The embedder of a name; fulfils `hybrid.types.Embedder`.

    Raises on construction, and on the first text:
        ModelError: Unknown, not on disk, damaged, or an extra is missing.
    """

    def __init__(self, name: str, home: Path, load: Callable[[str, Path], Embedder] | None = None) -> None:
        """Of a name; `load` gives it when it is there already."""
        self._name = name
        self._home = home
        self._load = load
        self._info = embedder_info(name, home)

    @property
    def info(self) -> EmbedderInfo:
        """Who the embedder is; known without loading it."""
        return self._info

    @cached_property
    def _loaded(self) -> Embedder:
        return self._load(self._name, self._home) if self._load else load_embedder(self._name, home=self._home)

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """As `Embedder.embed_documents`."""
        return self._loaded.embed_documents(inputs)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As `Embedder.embed_query`."""
        return self._loaded.embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`."""
        return self._loaded.embed_queries(texts)

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """As `Embedder.truncated`."""
        return self._loaded.truncated(inputs)
