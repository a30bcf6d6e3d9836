"""Keeps every kind of knowledge open for searching: the service has one for its life, a command or a hook for one call.

`OpenFiles` holds the indexes of files and the embedder, `OpenKinds` adds lessons, lore and memory. Nothing is opened
before it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.base.errors import BusyError, HybridError
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import record_of as record_of_row
from hybrid.records.types import LessonsError
from hybrid.sources.records import RecordSource, row_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from pathlib import Path

    from hybrid.config import DaemonConfig
    from hybrid.knowledge.views import MemoryView, MemoryViews, RecordView, RecordViews
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher
    from hybrid.team.asking import Connections
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_UNUSED_S = 600.0
"""Seconds without a search after which an index is closed; opening it again takes milliseconds."""

_MOST_EMBEDDERS = 3

LOAD_WAIT_S = 0.5
"""Seconds that prompts of a service wait for a model: the shipped one takes a tenth of it, a transformer many times."""


class _OpenIndex(Struct):
    searcher: Searcher
    stamp: tuple[int, ...]
    size_bytes: int
    used_s: float


class _Loading(Struct):
    """A model that is being loaded in a thread of its own.

    Attributes:
        until_s: Monotonic time up to which it is waited for.
        is_over: Set once there is an embedder or an error.
        embedder: The embedder; None before, and when it could not be loaded.
        error: The reason why it could not be loaded.
    """

    until_s: float
    is_over: threading.Event = field(default_factory=threading.Event)
    embedder: Embedder | None = None
    error: Exception | None = None


class OpenFiles:
    """The indexes of the files of recently used projects, and their embedder; safe to use from several threads.

    The settings of the service bound how many stay open; the least recently used is closed first.

    Args:
        load: Loads the embedder of a name, from `$HYBRID_HOME`.
        wait_s: Seconds to wait for a model, from when it began to be loaded; it goes on in a thread of its own. None
            waits until it is loaded.
        asks_team: Ask the team's store; False searches what lies here alone.
        stores: The stores that the process is connected with; by default those that its indexes need.
    """

    def __init__(
        self,
        load: Callable[[str, Path], Embedder] | None = None,
        *,
        wait_s: float | None = None,
        asks_team: bool = True,
        stores: Connections | None = None,
    ) -> None:
        self._load = load
        self._wait_s = wait_s
        self._asks_team = asks_team
        self._open: OrderedDict[Hashable, _OpenIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._embedders: OrderedDict[str, Embedder] = OrderedDict()
        self._loading: dict[str, _Loading] = {}
        self._stores = stores

    def searcher(self, workspace: Workspace) -> Searcher:
        """Return the searcher of a workspace, of the generation that is on disk now.

        When that was embedded with a model that is not loaded yet, the one that was open serves until it is. Without an
        index, another tree of the project may stand in: see `open_searcher`.

        Raises:
            ProjectError: There is no project here.
            IndexUnavailableError: The index is missing, damaged, or of another format or model.
            ModelError: The embedder cannot be loaded.
            BusyError: It is being loaded, and no generation of the index is open.
        """
        # Brings numpy, 120 ms: a prompt that is not searched never pays for it.
        from hybrid.search.searcher import open_searcher

        folder = workspace.place.folder
        key = (folder, workspace.config.search, workspace.config.ranking, workspace.config.gate, workspace.config.model)
        known = self._fresh(key, folder)
        if known is not None:
            return known
        # One after the other: ten prompts that wait for one index open it once.
        with self._opening:
            known = self._fresh(key, folder)
            if known is not None:
                return known
            stamp = _stamp(folder)
            try:
                searcher = self._open_team(workspace) or open_searcher(workspace, load=self.load)
            except BusyError:
                if (before := self._open.get(key)) is None:
                    raise
                return before.searcher
            size_bytes = searcher.backend.figures().size_bytes
            stamp = stamp or _stamp_of(folder, searcher)
            with self._lock:
                self._open[key] = _OpenIndex(searcher, stamp, size_bytes, time.monotonic())
                self._open.move_to_end(key)
                self._close_surplus(workspace.config.daemon)
            return searcher

    def _open_team(self, workspace: Workspace) -> Searcher | None:
        """Open the index with the team's; None when the settings name none."""
        if workspace.config.index.backend != "milvus":
            return None
        from hybrid.search.team import open_files
        from hybrid.team.asking import Connections

        self._stores = self._stores or Connections(wait_s=self._wait_s)
        return open_files(workspace, load=self.load, connections=self._stores, is_asking=self._asks_team)

    def load(self, name: str, home: Path) -> Embedder:
        """Return the embedder of a name; the last three are kept as long as their files are the same.

        Three, since an index of the model before answers until it was embedded with another one, and one reads records.

        Raises:
            ModelError: It cannot be loaded.
            BusyError: It is being loaded, and the wait for it is over.
        """
        if self._load is not None:
            return self._load(name, home)
        from hybrid.models.registry import embedder_info, load_embedder

        key = embedder_info(name, home=home).key
        with self._lock:
            if (known := self._embedders.get(key)) is not None:
                self._embedders.move_to_end(key)
                return known
            loading = None if self._wait_s is None else self._loading.get(key) or self._begin(key, name, home)
        if loading is None:
            return self._keep(key, load_embedder(name, home=home))
        loading.is_over.wait(max(loading.until_s - time.monotonic(), 0.0))
        if loading.error is not None:
            raise loading.error
        if loading.embedder is None:
            raise BusyError(f"the model {name} is being loaded")
        return loading.embedder

    def _begin(self, key: str, name: str, home: Path) -> _Loading:
        """Begin to load a model in a thread, which is forgotten when it ends; the caller holds the lock."""
        loading = self._loading[key] = _Loading(time.monotonic() + (self._wait_s or 0.0))

        def load() -> None:
            from hybrid.models.registry import load_embedder

            try:
                loading.embedder = self._keep(key, load_embedder(name, home=home))
            except Exception as error:  # noqa: BLE001 - whoever waits for the model raises it
                loading.error = error
            with self._lock:
                del self._loading[key]
            loading.is_over.set()

        threading.Thread(target=load, name="hybrid-model", daemon=True).start()
        return loading

    def _keep(self, key: str, embedder: Embedder) -> Embedder:
        with self._lock:
            self._embedders[key] = embedder
            while len(self._embedders) > _MOST_EMBEDDERS:
                self._embedders.popitem(last=False)
        return embedder

    def close_unused(self, older_than_s: float = _UNUSED_S) -> None:
        """Close the indexes that were not asked for longer than this, and let a reader not used for so long rest."""
        limit_s = time.monotonic() - older_than_s
        with self._lock:
            for key in [key for key, entry in self._open.items() if entry.used_s < limit_s]:
                del self._open[key]
            embedders = list(self._embedders.values())
        if embedders:
            from hybrid.models.sentence_encoder import SentenceEncoder  # Brings numpy, which is there with any of them.

            for embedder in embedders:
                if isinstance(embedder, SentenceEncoder):
                    embedder.rest(older_than_s)

    def figures(self) -> dict[str, Any]:
        """Return the figures of the open indexes: `open`, their number, and `size_bytes`, the bytes of their files."""
        with self._lock:
            return {"open": len(self._open), "size_bytes": sum(entry.size_bytes for entry in self._open.values())}

    def _fresh(self, key: Hashable, folder: Path) -> Searcher | None:
        with self._lock:
            entry = self._open.get(key)
            if entry is None:
                return None
            if entry.stamp != _stamp_of(folder, entry.searcher):
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


def _stamp_of(folder: Path, searcher: Searcher) -> tuple[int, ...]:
    """Return the stamp of the index in a folder; without one, that of the index that stands in for it."""
    return _stamp(folder) or (_stamp(searcher.lender) if searcher.lender else ())


def _stamp(folder: Path) -> tuple[int, ...]:
    """Return the stamp of an index, which changes with each new generation and history; empty without an index."""
    found: list[int] = []
    for name in ("manifest.json", "history.safetensors", "base.safetensors"):
        try:
            status = (folder / name).stat()
        except OSError:
            if not found:
                return ()
            found.append(0)
        else:
            found += (status.st_ino, status.st_mtime_ns, status.st_size)
    return tuple(found)


class OpenKinds:
    """Files, lessons, lore and memory of any number of working trees, open for searching once they are asked for.

    Args:
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
        files: Indexes of files and the embedder; a service shares one among all environments.
        most_new: As of `views.RecordViews`.
        is_lagging: As of `views.RecordViews` and `views.MemoryViews`.

    Attributes:
        stores: The stores of the records, which need no index.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        files: OpenFiles | None = None,
        *,
        most_new: int | None = None,
        is_lagging: bool = False,
    ) -> None:
        self.stores = RecordStores(environ)
        self._files = files or OpenFiles()
        self._is_lagging = is_lagging
        self._most_new = most_new

    def searcher(self, workspace: Workspace) -> Searcher:
        """Return the searcher of the files; see `OpenFiles.searcher`."""
        return self._files.searcher(workspace)

    def views(self, workspace: Workspace) -> tuple[Sequence[RecordView], Sequence[str]]:
        """Return lessons and lore, open for searching, and a sentence for each failure; see `RecordViews.open_all`."""
        return self._records.open_all(workspace)

    def read(self, workspace: Workspace) -> Sequence[str]:
        """Have a sentence transformer read lessons and lore; returns the new kinds. See `RecordViews.read`."""
        return self._records.read(workspace)

    def is_read(self, workspace: Workspace) -> bool:
        """Return whether the lessons and lore of a workspace were read, as far as they are to be."""
        return self._records.is_read(workspace)

    def warm_reader(self, workspace: Workspace) -> None:
        """Load what reads a prompt beside the records, before the first prompt pays for it.

        Raises:
            ModelError: It cannot be loaded.
        """
        for view in self.views(workspace)[0]:
            if view.searcher.gate and view.searcher.gate.reader:
                view.searcher.gate.reader.embedder.embed_query("warm up")

    @cached_property
    def _records(self) -> RecordViews:
        from hybrid.knowledge.views import RecordViews  # Brings numpy: a session's start has no need of it.

        return RecordViews(self.stores, self._files.load, most_new=self._most_new, is_lagging=self._is_lagging)

    def memory(self, workspace: Workspace, *, waits: bool = False) -> tuple[MemoryView | None, Sequence[str]]:
        """Return the memory, open for searching, and a sentence when that failed; as `memory_view` otherwise."""
        try:
            return self.memory_view(workspace, waits=waits), ()
        except (HybridError, OSError, ValueError) as error:
            return None, (f"memory: {error}",)

    def memory_view(self, workspace: Workspace, *, waits: bool = False) -> MemoryView | None:
        """Return the memory, open for searching; None when it is off or empty.

        Args:
            workspace: The workspace whose memory it is.
            waits: Have the newest rows indexed first; a prompt does not wait for them.

        Raises:
            BusyError: It is being indexed.
            HybridError: It cannot be opened.
        """
        return self._memories.open(workspace, waits=waits)

    @cached_property
    def _memories(self) -> MemoryViews:
        from hybrid.knowledge.views import MemoryViews

        return MemoryViews(self.stores, self._files.load, most_new=self._most_new, is_lagging=self._is_lagging)

    def by_path(self, workspace: Workspace) -> Mapping[str, Record]:
        """Return path in the indexes → record that may be given out here, without opening an index.

        Lessons that cannot be read are left out. To look a row of the memory up may raise `MemoryDatabaseError`.
        """
        lessons: Sequence[Record] = ()
        with contextlib.suppress(LessonsError):
            lessons = self.stores.lessons(workspace).records
        known = {**RecordSource(lessons).by_path, **RecordSource(self.stores.lore(workspace)).by_path}
        project = workspace.project
        return RecordsHere(known, self.stores.memory(workspace), project.key if project else "")


class RecordsHere(Mapping[str, "Record"]):
    """Path in an index → record; rows of the memory are read one by one, and left out of iteration and length.

    Args:
        known: Path → lesson or record of lore.
        memory: The store of the memory.
        key: Key of the present project; rows of another one are marked with its name.
    """

    def __init__(self, known: Mapping[str, Record], memory: MemoryStore, key: str) -> None:
        self._known = known
        self._memory = memory
        self._key = key

    def __getitem__(self, path: str) -> Record:
        record = self._known.get(path)
        if record is not None:
            return record
        row = row_at(self._memory, path)
        if row is None:
            raise KeyError(path)
        return record_of_row(row, here=self._key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
