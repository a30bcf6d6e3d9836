"""Opens the indexes of a workspace for one process that asks them once or twice: commands, and hooks without a service.

The service keeps its own open (`daemon.service`).
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from hybrid.knowledge.open_records import Records

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.search.searcher import Searcher
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


class Opener:
    """Opens files and records with one embedder.

    Args:
        environ: Environment variables.
        most_new: Records that are indexed at once at most; None for all.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, *, most_new: int | None = None) -> None:
        self._environ = environ
        self._most_new = most_new
        self._embedders: dict[tuple[str, Path], Embedder] = {}

    def searcher(self, workspace: Workspace) -> Searcher:
        """Of the files; see `searching.open_searcher`."""
        # Brings numpy, 120 ms: a prompt that is not searched never pays for it.
        from hybrid.search.searcher import open_searcher

        return open_searcher(workspace, load=self._load)

    @cached_property
    def records(self) -> Records:
        """The records and their indexes."""
        return Records(self._environ, self._load, most_new=self._most_new)

    def _load(self, name: str, home: Path) -> Embedder:
        from hybrid.models.registry import load_embedder

        key = (name, home)
        if key not in self._embedders:
            self._embedders[key] = load_embedder(name, home=home)
        return self._embedders[key]
