"""The record index: lessons, lore and memory that may be given out in a project, each kind a collection of its own.

One catalog in `$HYBRID_HOME/records` keeps texts and vectors of all; a view is what one working tree may be given of a
kind, with its own statistics and its own bars. A view is brought up to date before it is asked: its files are looked
at, and only when one changed are records read and built, so nothing that was withdrawn is ever found.

The memory is one collection over all projects, grown by what is new. The store tells what changed since the index was
brought up to date last, so a prompt pays for the new rows alone. Rows that were forgotten vanish at once: whatever is
found is compared with the store before it is given.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import write_atomic
from hybrid.base.digest import sha256_hex
from hybrid.base.errors import BusyError, HybridError, IndexMismatchError, IndexUnavailableError
from hybrid.index.analysis import recipe
from hybrid.index.manifest import FORMAT_VERSION, NAME, Place, has_other_model, is_untouched, read_manifest
from hybrid.knowledge.reading import open_reading, read_view, stamp_of
from hybrid.knowledge.stores import memory_name
from hybrid.models.registry import LazyEmbedder, embedder_info, embedder_key, gone_models
from hybrid.records.memory.types import RowFilter, record_of, row_name
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.searcher import Searcher, open_collection
from hybrid.sources.records import MEMORY_VERSION, RECORDS_VERSION, MemorySource, RecordSource, record_text, rows_at
from hybrid.types import ChunkLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.config import LessonsConfig, LoreConfig, MemoryConfig
    from hybrid.constants import GateConfig
    from hybrid.index.plan import Part, Progress
    from hybrid.knowledge.stores import ActiveLessons, RecordStores
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row
    from hybrid.records.types import Record
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


# --- lessons and lore -------------------------------------------------------------------------------------

RecordsKind = Literal["lessons", "lore"]
KINDS: tuple[RecordsKind, ...] = ("lessons", "lore")

FOLDER = "records"
"""Name of the folder of the record index in `$HYBRID_HOME`."""

WAIT_S = 0.3
"""Seconds to wait for another process that builds an index of records; after that the last index serves."""
_MOST_OPEN = 32
WHOLE = ChunkLimits(1_000_000_000, 1, 1_000_000_000)
"""Limits of chunks that no record reaches, so that a record is one chunk."""
_SEEN = "seen.json"
"""Name of the file beside an index that says what is in it.

Of lessons or lore a digest of the records and one of the manifest, of the memory the number of the last change.
"""


class RecordView(Struct, frozen=True):
    """The records of a kind that may be given in a working tree, open for searching.

    Attributes:
        kind: `lessons` or `lore`.
        searcher: The searcher of the index of these records.
        by_path: Path in the index → record. A hit without a record here, or with another text, is gone.
        lessons: The lessons with their counters; None for lore.
    """

    kind: RecordsKind
    searcher: Searcher
    by_path: Mapping[str, Record]
    lessons: ActiveLessons | None


class _Open(Struct):
    """An open index and its records.

    Attributes:
        records: What was indexed, unless it is behind.
        searcher: Of the index.
        by_path: Path in the index → record.
        is_behind: The index is behind the records; it serves once and is not kept.
        is_of_other_model: The index is not embedded with the model of the settings yet.
    """

    records: Sequence[Record]
    searcher: Searcher
    by_path: Mapping[str, Record]
    is_behind: bool = False
    is_of_other_model: bool = False
    stamp: tuple[int, int] = (0, 0)


class _Behind:
    """Work in threads of its own, for what prompts do not wait for."""

    def __init__(self) -> None:
        self._keys: set[Hashable] = set()
        self._lock = threading.Lock()

    def start(self, key: Hashable, work: Callable[[], None]) -> None:
        """Do the work of a key, unless it is being done; failures are passed over, and met by whoever comes next."""
        with self._lock:
            if key in self._keys:
                return
            self._keys.add(key)

        def run() -> None:
            try:
                with contextlib.suppress(HybridError, OSError, ValueError):
                    work()
            finally:
                self._keys.discard(key)

        threading.Thread(target=run, daemon=True).start()


class RecordViews:
    """Open views of any number of working trees, for any number of threads; bounded, the least recently used goes.

    Args:
        stores: Reads the record files.
        load: Gives the embedder of a name; by default it is loaded anew.
        most_new: The most records that are indexed at once; for more `open` raises. None for any number. With a number,
            an index of another model serves as it is while that model is there, and nothing is read by a transformer:
            a hook on its own would load it for one prompt.
        is_lagging: True lets such an index serve too, and makes it anew in another thread: prompts of a service must
            not wait.
    """

    def __init__(
        self,
        stores: RecordStores,
        load: Callable[[str, Path], Embedder] | None = None,
        *,
        most_new: int | None = None,
        is_lagging: bool = False,
    ) -> None:
        self._stores = stores
        self._load = load
        self._most_new = most_new
        self._is_lagging = is_lagging
        self._behind = _Behind()
        self._open: OrderedDict[Hashable, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[Hashable, threading.Lock] = {}

    def open(self, workspace: Workspace, kind: RecordsKind) -> RecordView | None:
        """Return the view of a workspace as its files are now; None when there is no record or the kind is off.

        Raises:
            HybridError: The index of the records cannot be used or made, or another thread makes it for too long.
            OSError: A disk is full or read-only.
        """
        records, lessons = self._records(workspace, kind)
        if not records:
            return None
        name = f"{kind}-{workspace.require_project().tree}"
        config = workspace.config
        key = (name, config.search, config.ranking, config.gate, config.model, config.lessons, config.lore)
        folder = place_of(workspace.home, name).folder
        found = self._fresh(key, records, folder)
        if found is None:
            # One after the other: prompts that wait for one view build it once, and not for long.
            opening = self._opening.setdefault(key, threading.Lock())
            if not opening.acquire(timeout=WAIT_S):
                raise BusyError(f"{len(records)} records are being indexed")
            try:
                found = self._fresh(key, records, folder) or self._at_once(workspace, kind, name, records)
                if not found.is_behind:  # Before the next one is let in, or it would make the view again.
                    self._keep(key, found)
            except IndexMismatchError as error:
                if not self._is_lagging:
                    raise
                self._catch_up(key, lambda: self._opened(workspace, kind, name, records))
                raise BusyError(f"{len(records)} records are being embedded anew") from error
            finally:
                opening.release()
        if found.is_of_other_model and self._is_lagging:
            self._catch_up(key, lambda: self._opened(workspace, kind, name, records))
        return RecordView(kind, found.searcher, found.by_path, lessons)

    def _fresh(self, key: Hashable, records: Sequence[Record], folder: Path) -> _Open | None:
        """Return the open view of equal records, None if there is none; mostly they are the very same object."""
        with self._lock:
            found = self._open.get(key)
            if (
                found is None
                or found.stamp != stamp_of(folder)
                or (found.records is not records and found.records != records)
            ):
                return None
            found.records = records
            self._open.move_to_end(key)
            return found

    def _keep(self, key: Hashable, found: _Open) -> None:
        with self._lock:
            self._open[key] = found
            self._open.move_to_end(key)
            while len(self._open) > _MOST_OPEN:
                self._opening.pop(self._open.popitem(last=False)[0], None)

    def _catch_up(self, key: Hashable, opened: Callable[[], _Open]) -> None:
        """Open an index behind the prompt, and keep it."""

        def catch_up() -> None:
            found = opened()
            if not found.is_behind:
                self._keep(key, found)

        self._behind.start(key, catch_up)

    def open_all(self, workspace: Workspace) -> tuple[list[RecordView], list[str]]:
        """Return the views of the kinds that have a record, and a sentence for each kind or file that failed."""
        opened: list[RecordView] = []
        problems: list[str] = []
        for kind in KINDS:
            try:
                view = self.open(workspace, kind)
            except (HybridError, OSError, ValueError) as error:  # No kind takes another one's place away.
                problems.append(f"{kind}: {error}")
                continue
            if view is not None:
                opened.append(view)
                problems += [f"{kind}: {problem}" for problem in (view.lessons.problems if view.lessons else ())]
        return opened, problems

    def read(self, workspace: Workspace) -> list[RecordsKind]:
        """Have the reader of the settings read the records that it has not read; returns the kinds that were new.

        Raises:
            HybridError: An index, or the model that reads, cannot be used.
            OSError: A disk is full or read-only.
        """
        reader = self._reader(workspace)
        found: list[RecordsKind] = []
        for kind in KINDS if reader is not None and workspace.project is not None else ():
            view = self.open(workspace, kind)
            folder = place_of(workspace.home, f"{kind}-{workspace.require_project().tree}").folder
            if view is None or reader is None:
                continue
            if read_view(workspace, view.searcher, view.by_path, folder, reader):
                found.append(kind)
        return found

    def is_read(self, workspace: Workspace) -> bool:
        """Return whether the reader has read all records of a workspace, or there is nothing for it to read."""
        if self._reader(workspace) is None:
            return True
        gates = [view.searcher.gate for view in self.open_all(workspace)[0]]
        return all(gate is None or not gate.judges_records or gate.reader is not None for gate in gates)

    def _reader(self, workspace: Workspace) -> LazyEmbedder | None:
        """Return the embedder that reads, not loaded yet; None when its part weighs nothing or it is not there."""
        name = workspace.config.model.reader
        if self._most_new is None and name and workspace.config.gate.reader:
            with contextlib.suppress(HybridError):
                return LazyEmbedder(name, workspace.home, load=self._load)
        return None

    def _records(self, workspace: Workspace, kind: RecordsKind) -> tuple[Sequence[Record], ActiveLessons | None]:
        if kind == "lore":
            return (self._stores.lore(workspace) if workspace.config.lore.enabled else ()), None
        if not workspace.config.lessons.enabled:
            return (), None
        lessons = self._stores.lessons(workspace)
        return lessons.records, lessons

    def _at_once(self, workspace: Workspace, kind: RecordsKind, name: str, records: Sequence[Record]) -> _Open:
        """Return an open view, with an index of another model as it is where no new one can be made or waited for.

        Raises:
            IndexMismatchError: There is such an index, its model is gone, and the view is `is_lagging`.
        """
        place = place_of(workspace.home, name)
        wanted = embedder_key(workspace.config.model.name, workspace.home)
        if (self._is_lagging or self._most_new is not None or not wanted) and has_other_model(place.folder, wanted):
            try:
                stamp, searcher = stamp_of(place.folder), self._searcher(workspace, kind, place)
                by_path = RecordSource(records).by_path
                return _Open(records, searcher, by_path, is_of_other_model=True, stamp=stamp)
            except IndexMismatchError:
                if self._is_lagging:
                    raise
        return self._opened(workspace, kind, name, records)

    def _opened(self, workspace: Workspace, kind: RecordsKind, name: str, records: Sequence[Record]) -> _Open:
        """Return an open view, its index brought up to date before."""
        source = RecordSource(records)
        place = place_of(workspace.home, name)
        is_behind = False
        model = embedder_info(workspace.config.model.name, workspace.home)
        if self._most_new is not None and (n_new := len(records) - _n_indexed(place, model.key)) > self._most_new:
            raise BusyError(f"{n_new} records are not indexed yet; `hybrid reindex` does it")
        try:
            self._build(workspace, place, source)
        except (BusyError, OSError) as error:
            # Another process builds, or nothing can be written here: the last index serves, and what is found in it is
            # compared with the records, so it gives nothing wrong.
            is_behind = True
            if not (place.folder / "manifest.json").exists():
                if isinstance(error, BusyError):
                    raise BusyError(f"{len(records)} records are being indexed") from error
                raise
        except sqlite3.DatabaseError as error:
            raise IndexUnavailableError(f"{place.catalog}: {error}") from error
        stamp = stamp_of(place.folder)
        return _Open(records, self._searcher(workspace, kind, place), source.by_path, is_behind, stamp=stamp)

    def _searcher(self, workspace: Workspace, kind: RecordsKind, place: Place) -> Searcher:
        config = workspace.config
        gate = gate_settings(config.gate, config.lessons if kind == "lessons" else config.lore)
        searcher = open_collection(place, config, workspace.home, gate=gate, load=self._load)
        reader = self._reader(workspace)
        if reader is None:
            return searcher
        return searcher.with_reader(open_reading(place.folder, searcher, reader, config))

    def _build(self, workspace: Workspace, place: Place, source: RecordSource) -> None:
        """Bring the index up to date with the records of a source; nothing happens if it holds just these."""
        gate = workspace.config.gate
        embedder = LazyEmbedder(workspace.config.model.name, workspace.home, load=self._load)
        annotator = GateAnnotator(embedder, workspace.home, records=gate)
        stamps = [f"{found.path} {found.stamp.size_bytes} {found.stamp.mtime_ns}" for found in source.scan()]
        versions = [str(FORMAT_VERSION), recipe(RECORDS_VERSION, WHOLE), embedder.info.key, annotator.key]
        wanted = "\n".join([*versions, *stamps])
        digest = sha256_hex(wanted.encode("utf-8", "surrogatepass"))
        if _is_current(place, digest):
            return
        # The first prompt after the service slept seldom builds.
        from hybrid.index.build import build
        from hybrid.index.plan import BuildTask, BuildTools, Recipe

        how = Recipe(source.chunk, WHOLE, RECORDS_VERSION, RECORDS_VERSION)
        tools = BuildTools(source, embedder, how, annotator, is_gone=gone_models(workspace.home))
        summary = build(place, tools, BuildTask(wait_s=WAIT_S))
        _note_seen(place, digest, summary.generation)


def gate_settings(gate: GateConfig, rates: LessonsConfig | LoreConfig | MemoryConfig) -> GateConfig:
    """Return the settings of the gate with the rates of a kind of records in place of those of the files."""
    return replace(gate, max_false_open_rate=rates.max_false_open_rate, max_other_task_rate=rates.max_other_task_rate)


def _is_current(place: Place, digest: str) -> bool:
    """Return whether the index holds the records of a digest and is as it was written; no database is opened."""
    try:
        known = json.loads((place.folder / _SEEN).read_bytes())
        manifest = sha256_hex((place.folder / NAME).read_bytes())
        return known == {"records": digest, "manifest": manifest} and is_untouched(
            place.folder, read_manifest(place.folder)
        )
    except (OSError, ValueError, RecursionError, IndexUnavailableError):
        return False


def _note_seen(place: Place, digest: str, generation: int) -> None:
    """Note which records an index holds; nothing is noted when another process has built since."""
    manifest = (place.folder / NAME).read_bytes()
    if json.loads(manifest)["generation"] == generation:
        seen = {"records": digest, "manifest": sha256_hex(manifest)}
        write_atomic(place.folder / _SEEN, json.dumps(seen).encode(), durable=False)


def _n_indexed(place: Place, model: str) -> int:
    """Return the number of chunks in an index, about that of its records; 0 for none, or one of another model."""
    try:
        manifest = read_manifest(place.folder)
        return sum(entry.n_chunks for entry in manifest.segments) if manifest.model == model else 0
    except (IndexUnavailableError, OSError):
        return 0


def place_of(home: Path, name: str) -> Place:
    """Return the paths of the view of a name, in the record index of `home`."""
    folder = home / FOLDER
    return Place(
        catalog=folder / "catalog.db", folder=folder / "views" / name, tree=name, root=name, lock=folder / "build.lock"
    )


# --- memory -----------------------------------------------------------------------------------------------


_MOST_MEMORIES = 8
_CHANGES_KEPT = 10_000
"""Changes that the log of the store keeps after a build, for other indexes, which may lag behind."""
_FEW_NEW = 500
"""Changes that a search waits for: they are indexed in about a third of a second."""
_SOON_S = 1.0
_LOOK_S = 0.01
_AS_IT_IS = -2
"""The number of the last change of an open index of another model, which serves as it is."""


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


class _OpenMemory(Struct, frozen=True):
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
        self._behind = _Behind()
        self._stores = stores
        self._load = load
        self._most_new = most_new
        self._open: OrderedDict[Hashable, _OpenMemory] = OrderedDict()
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
        project = workspace.project
        # The key of the one project that the index holds, if it is one.
        own = "" if config.memory.cross_project or project is None else project.key
        place = place_of(workspace.home, memory_name(store.path, own))
        if not store.newest(RowFilter(key=own), 1):
            return None
        newest = store.last_change()
        key = (place.tree, config.search, config.ranking, config.gate, config.model, config.memory)

        index = MemoryIndex(workspace, place, MemorySource(store, own))

        def opened() -> _OpenMemory:
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

    def _as_it_is(self, key: Hashable, index: MemoryIndex) -> _OpenMemory | None:
        """Return an index of another model than that of the settings as it is, where no new one can be made or awaited.

        None for an index of that model, or one whose own model is gone.
        """
        is_hurried = self._is_lagging or self._most_new is not None
        if not (is_hurried or not index.wanted) or not index.has_other_model():
            return None
        try:
            found = self._open[key] = _OpenMemory(_AS_IT_IS, index.searcher(self._load))
        except IndexMismatchError:
            return None
        return found

    def _kept(self, key: Hashable, newest: int, opened: Callable[[], _OpenMemory]) -> _OpenMemory:
        """Return the open index if it holds the change `newest`, else open a new one; the caller holds the lock."""
        found = self._open.get(key)
        if found is None or found.seen != newest:
            found = self._open[key] = opened()
        self._open.move_to_end(key)
        while len(self._open) > _MOST_MEMORIES:
            self._open.popitem(last=False)
        return found

    def _soon(self, key: Hashable, newest: int, opened: Callable[[], _OpenMemory]) -> _OpenMemory:
        """Return the index as soon as it is up to date, or as it is after a second: others may be built meanwhile."""
        until_s = time.monotonic() + _SOON_S
        while (found := self._open[key]).seen != newest and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
            self._catch_up(key, newest, opened)  # The one before may have begun before the last row.
        return found

    def _catch_up(self, key: Hashable, newest: int, opened: Callable[[], _OpenMemory]) -> None:
        """Bring an index up to date behind the prompt."""

        def catch_up() -> None:
            with self._lock:
                self._kept(key, newest, opened)

        self._behind.start(key, catch_up)

    def _opened(self, index: MemoryIndex, store: MemoryStore, newest: int) -> _OpenMemory:
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
        return _OpenMemory(seen, index.searcher(self._load))

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
