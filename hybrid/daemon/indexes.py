"""Keeps the indexes of recently used projects and their embedder open; bounded, the least recently used is closed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.knowledge.open_records import Records
from hybrid.models.registry import load_embedder
from hybrid.search.searcher import open_searcher

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from pathlib import Path

    from hybrid.config import DaemonConfig
    from hybrid.search.searcher import Searcher
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_UNUSED_S = 600.0
"""Seconds after which an index that nobody asked is closed; opening it again takes milliseconds."""


class _Open(Struct):
    searcher: Searcher
    stamp: tuple[int, ...]
    size_bytes: int
    used_s: float


class OpenIndexes:
    """Searchers by project and settings; safe to use from several threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[Hashable, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._embedder: tuple[str, Embedder] | None = None
        self._records: dict[str, Records] = {}

    def searcher(self, workspace: Workspace) -> Searcher:
        """The searcher of a workspace, of the generation that is on disk now.

        Raises:
            IndexUnavailableError: The index is missing, damaged, or of another format or model.
            ModelError: The embedder cannot be loaded.
        """
        folder = workspace.place.folder
        key = (folder, workspace.config.search, workspace.config.ranking, workspace.config.gate, workspace.config.model)
        found = self._fresh(key, folder)
        if found is not None:
            return found
        # One after the other: ten prompts that wait for one index open it once.
        with self._opening:
            found = self._fresh(key, folder)
            if found is not None:
                return found
            stamp = _stamp(folder)
            searcher = open_searcher(workspace, load=self._load)
            size_bytes = sum(entry.size_bytes for entry in searcher.snapshot.manifest.segments)
            with self._lock:
                self._open[key] = _Open(searcher, stamp, size_bytes, time.monotonic())
                self._open.move_to_end(key)
                self._close_surplus(workspace.config.daemon)
            return searcher

    def records(self, environ: Mapping[str, str]) -> Records:
        """The records that clients with this environment have, and their indexes."""
        named = environ.get("LORE_DATA_DIR", "")
        with self._lock:
            return self._records.setdefault(named, Records(dict(environ), self._load, is_lagging=True))

    def close_unused(self, older_than_s: float = _UNUSED_S) -> None:
        """Close what nobody asked for some time."""
        limit_s = time.monotonic() - older_than_s
        with self._lock:
            for key in [key for key, entry in self._open.items() if entry.used_s < limit_s]:
                del self._open[key]

    def figures(self) -> dict[str, Any]:
        """How many are open, and the bytes of their files."""
        with self._lock:
            return {"open": len(self._open), "size_bytes": sum(entry.size_bytes for entry in self._open.values())}

    def _fresh(self, key: Hashable, folder: Path) -> Searcher | None:
        with self._lock:
            entry = self._open.get(key)
            if entry is None:
                return None
            if entry.stamp != _stamp(folder):
                del self._open[key]
                return None
            entry.used_s = time.monotonic()
            self._open.move_to_end(key)
            return entry.searcher

    def _close_surplus(self, limits: DaemonConfig) -> None:
        limit_bytes = limits.max_index_mb * 1_000_000
        while len(self._open) > 1 and (
            len(self._open) > limits.max_projects or sum(e.size_bytes for e in self._open.values()) > limit_bytes
        ):
            self._open.popitem(last=False)

    def _load(self, name: str, home: Path) -> Embedder:
        """The embedder, loaded once as long as its files are the same: every project has the same one as a rule."""
        from hybrid.models.registry import embedder_info

        key = embedder_info(name, home=home).key
        if self._embedder is None or self._embedder[0] != key:
            self._embedder = (key, load_embedder(name, home=home))
        return self._embedder[1]


def _stamp(folder: Path) -> tuple[int, ...]:
    """What a new generation changes; empty without an index."""
    try:
        status = (folder / "manifest.json").stat()
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size
