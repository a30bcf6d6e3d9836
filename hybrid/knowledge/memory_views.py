"""The memory's part of the record index: one collection over all projects, grown by what is new.

The store tells what changed since the index was brought up to date last, so a prompt pays for the new rows alone. Rows
that were forgotten vanish at once: whatever is found is compared with the store before it is given.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import write_atomic
from hybrid.base.errors import BusyError, HybridError, IndexMismatchError, IndexUnavailableError
from hybrid.index.manifest import has_other_model
from hybrid.knowledge.record_files import memory_name
from hybrid.knowledge.views import FOLDER, WAIT_S, WHOLE, gate_settings, place_of
from hybrid.models.registry import LazyEmbedder, embedder_key, gone_models
from hybrid.records.memory.types import RowFilter, record_of, row_name
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.searcher import Searcher, open_collection
from hybrid.sources.records import MEMORY_VERSION, MemorySource, record_text, rows_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from pathlib import Path

    from hybrid.index.manifest import Place
    from hybrid.index.plan import Part, Progress
    from hybrid.knowledge.stores import RecordStores
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_MOST_OPEN = 8
_CHANGES_KEPT = 10_000
"""Changes that the log of the store keeps after a build, for other indexes, which may lag behind."""
_FEW_NEW = 500
"""Changes that a search waits for: they are indexed in about a third of a second."""
_SOON_S = 1.0
_LOOK_S = 0.01
_AS_IT_IS = -2
"""The number of the last change of an open index of another model, which serves as it is."""
_SEEN = "seen.json"
"""Name of the file beside the index that holds the number of the last change in the index."""


class RowsAt:
    """Rows of the memory by their path in the index; each is read at the first call for it and then kept."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._found: dict[str, Row | None] = {}
        self._texts: dict[str, str] = {}

    def read(self, paths: Iterable[str]) -> None:
        """Read the rows at many paths at once, which is faster than one after the other."""
        missing = [path for path in paths if path not in self._found]
        self._found |= dict.fromkeys(missing) | rows_at(self._store, missing)

    def text(self, path: str) -> str:
        """Return the searched text of the row at a path; empty when the row is gone."""
        if path not in self._texts:
            row = self.get(path)
            self._texts[path] = record_text(record_of(row)) if row else ""
        return self._texts[path]

    def get(self, path: str) -> Row | None:
        """Return the row at a path; None when it is gone."""
        if path not in self._found:
            self.read([path])
        return self._found[path]


class MemoryView(Struct, frozen=True):
    """The memory, open for searching.

    Attributes:
        searcher: The searcher of the index of the memory.
        rows: Path in the index → row as it is now.
        store: The store that holds the rows.
    """

    searcher: Searcher
    rows: RowsAt
    store: MemoryStore


class _Open(Struct, frozen=True):
    seen: int
    searcher: Searcher


class MemoryViews:
    """The open memory of each database and setting, for any number of threads.

    Args:
        stores: Gives the store of a workspace.
        load: Gives the embedder of a name; by default it is loaded anew.
        most_new: The most rows that are indexed at once; for more `open` raises. None for any number.
        is_lagging: True lets an open index serve although rows are new, and one of another model as long as that model
            is there; it is brought up to date in another thread: prompts of a service must not wait.
    """

    def __init__(
        self,
        stores: RecordStores,
        load: Callable[[str, Path], Embedder] | None = None,
        *,
        most_new: int | None = None,
        is_lagging: bool = False,
    ) -> None:
        self._is_lagging = is_lagging
        self._catching_up: set[Hashable] = set()
        self._stores = stores
        self._load = load
        self._most_new = most_new
        self._open: OrderedDict[Hashable, _Open] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, workspace: Workspace, *, waits: bool = False) -> MemoryView | None:
        """Return the memory, open for searching; None when it is switched off or holds nothing for the project.

        With `is_lagging`, or while the index cannot be written, the newest rows may be missing.

        Args:
            workspace: The workspace whose memory it is.
            waits: With `is_lagging`, wait up to a second for up to 500 new rows: who asks has just written them, maybe.

        Raises:
            HybridError: The index of the memory cannot be used or made, or another thread makes it for too long.
            OSError: A disk is full or read-only.
        """
        config = workspace.config
        store = self._stores.memory(workspace)
        if not config.memory.enabled or not store.exists:
            return None
        _, place, own = self._place(workspace)
        if not store.newest(RowFilter(key=own), 1):
            return None
        newest = store.last_change()
        key = (place.tree, config.search, config.ranking, config.gate, config.model, config.memory)

        index = MemoryIndex(workspace, place, MemorySource(store, own))

        def opened() -> _Open:
            return self._opened(index, store, newest)

        found = self._open.get(key) or self._as_it_is(key, index)
        if self._is_lagging and (found.seen != newest if found else index.has_other_model()):
            self._catch_up(key, newest, opened)
            if found is None:
                raise BusyError("the memory is being embedded anew")
            if waits and max(0, newest - _FEW_NEW) <= found.seen:
                found = self._soon(key, newest, opened)
        elif found is None or found.seen not in (newest, _AS_IT_IS):
            if not self._lock.acquire(timeout=WAIT_S):
                raise BusyError("the memory is being indexed")
            try:
                found = self._kept(key, newest, opened)
            finally:
                self._lock.release()
        if not found.searcher.backend.n_chunks:
            return None
        return MemoryView(found.searcher, RowsAt(store), store)

    def _place(self, workspace: Workspace) -> tuple[MemoryStore, Place, str]:
        """Return the store, the place of its index, and the key of the one project that it holds, if it is one."""
        store = self._stores.memory(workspace)
        project = workspace.project
        own = "" if workspace.config.memory.cross_project or project is None else project.key
        return store, place_of(workspace.home, memory_name(store.path, own)), own

    def _as_it_is(self, key: Hashable, index: MemoryIndex) -> _Open | None:
        """Return an index of another model than that of the settings as it is, where no new one can be made or awaited.

        None for an index of that model, or one whose own model is gone.
        """
        is_hurried = self._is_lagging or self._most_new is not None
        if not (is_hurried or not index.wanted) or not index.has_other_model():
            return None
        try:
            found = self._open[key] = _Open(_AS_IT_IS, index.searcher(self._load))
        except IndexMismatchError:
            return None
        return found

    def _kept(self, key: Hashable, newest: int, opened: Callable[[], _Open]) -> _Open:
        """Return the open index if it holds the change `newest`, else open a new one; the caller holds the lock."""
        found = self._open.get(key)
        if found is None or found.seen != newest:
            found = self._open[key] = opened()
        self._open.move_to_end(key)
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return found

    def _soon(self, key: Hashable, newest: int, opened: Callable[[], _Open]) -> _Open:
        """Return the index as soon as it is up to date, or as it is after a second: others may be built meanwhile."""
        until_s = time.monotonic() + _SOON_S
        while (found := self._open[key]).seen != newest and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
            self._catch_up(key, newest, opened)  # The one before may have begun before the last row.
        return found

    def _catch_up(self, key: Hashable, newest: int, opened: Callable[[], _Open]) -> None:
        """Bring an index up to date in a thread of its own, unless one is at it already; failures are passed over."""
        if key in self._catching_up:
            return
        self._catching_up.add(key)

        def run() -> None:
            try:
                # What fails here is met by whoever opens the index next.
                with contextlib.suppress(HybridError, OSError, ValueError), self._lock:
                    self._kept(key, newest, opened)
            finally:
                self._catching_up.discard(key)

        threading.Thread(target=run, daemon=True).start()

    def _opened(self, index: MemoryIndex, store: MemoryStore, newest: int) -> _Open:
        place, seen = index.place, newest
        try:
            self._build(index, store, newest)
        except (BusyError, OSError):
            # Another process builds, or nothing can be written: the last index serves, and the next prompt tries again.
            seen = -1
            if not (place.folder / "manifest.json").exists():
                raise
        except sqlite3.DatabaseError as error:
            raise IndexUnavailableError(f"{place.catalog}: {error}") from error
        return _Open(seen, index.searcher(self._load))

    def _build(self, index: MemoryIndex, store: MemoryStore, newest: int) -> None:
        """Bring the index up to the change `newest`: by the changed rows if the store still knows them, else by all.

        Nothing is written when the index has that change already. After a build the store forgets changes long past.

        Raises:
            BusyError: More rows than `most_new` are not indexed yet, or another process builds.
        """
        place = index.place
        known = _read_seen(place)
        is_other = index.has_other_model()
        if known == newest and not is_other and (place.folder / "manifest.json").exists():
            return
        part = None if is_other else changed_part(place, store, index.source)
        n_new = _n_rows(store) if part is None else len(part.paths)
        if self._most_new is not None and n_new > self._most_new:
            raise BusyError(f"{n_new} rows of the memory are not indexed yet; the next prompt with the service does it")
        index.write(load=self._load, part=part)
        # What came meanwhile may be in it already: it is looked at once more, which changes nothing.
        write_atomic(place.folder / _SEEN, json.dumps({"change": newest}).encode(), durable=False)
        store.forget_changes(newest - _CHANGES_KEPT)


def changed_part(place: Place, store: MemoryStore, source: MemorySource) -> Part | None:
    """Return the part of the source that changed since an index was built; None when unknown: the whole may have."""
    known = _read_seen(place)
    changes = store.changes_since(known) if known is not None else None
    if changes is None:
        return None
    from hybrid.index.plan import Part  # Where nothing changed, nothing is built.

    return Part(tuple(row_name(kind, number) for kind, number in changes), source.scan_part)


class MemoryIndex(Struct, frozen=True):
    """An index of a memory.

    Attributes:
        workspace: The workspace with the settings in force.
        place: The paths of the index.
        source: The rows that the index is made of.
    """

    workspace: Workspace
    place: Place
    source: MemorySource

    @property
    def wanted(self) -> str:
        """Key of the model of the settings; empty when that model is not there."""
        return embedder_key(self.workspace.config.model.name, self.workspace.home)

    def has_other_model(self) -> bool:
        """Return whether there is an index that another model than that of the settings has made."""
        return has_other_model(self.place.folder, self.wanted)

    def searcher(self, load: Callable[[str, Path], Embedder] | None) -> Searcher:
        """Open the index as it is; raises as `open_collection` does."""
        config = self.workspace.config
        gate = replace(gate_settings(config.gate, config.memory), words=0.0)  # It does not compare word by word.
        return open_collection(self.place, config, self.workspace.home, gate=gate, load=load)

    def write(
        self,
        *,
        load: Callable[[str, Path], Embedder] | None = None,
        part: Part | None = None,
        wait_s: float = WAIT_S,
        progress: Progress | None = None,
        is_purged: bool = False,
    ) -> None:
        """Bring the index up to date; as `hybrid.index.build.build`."""
        from hybrid.index.build import build
        from hybrid.index.plan import BuildTask, BuildTools, Recipe, silent  # As in `changed_part`.

        config, home = self.workspace.config, self.workspace.home
        embedder = LazyEmbedder(config.model.name, home, load=load)
        how = Recipe(self.source.chunk, WHOLE, MEMORY_VERSION, MEMORY_VERSION)
        annotator = GateAnnotator(embedder, home)
        is_gone = gone_models(home)
        tools = BuildTools(self.source, embedder, how, annotator, progress=progress or silent, is_gone=is_gone)
        build(self.place, tools, BuildTask(part=part, is_purged=is_purged, wait_s=wait_s))


def places_of_store(home: Path, store: MemoryStore) -> list[tuple[Place, str]]:
    """Return the indexes of a memory, each with the key of the one project that it holds, empty for all projects."""
    name = memory_name(store.path, "")
    found = sorted(folder.name for folder in (home / FOLDER / "views").glob(f"{name}*"))
    return [(place_of(home, one), one.removeprefix(name).removeprefix("-")) for one in found]


def n_behind(place: Place, store: MemoryStore) -> int | None:
    """Return the number of rows, of all projects, that changed since an index was built; None when not known."""
    part = changed_part(place, store, MemorySource(store))
    return None if part is None else len(part.paths)


def _read_seen(place: Place) -> int | None:
    """Return the number of the last change in the index; None when that is unknown."""
    try:
        return int(json.loads((place.folder / _SEEN).read_bytes())["change"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _n_rows(store: MemoryStore) -> int:
    figures = store.stats()
    return figures.n_observations + figures.n_summaries
