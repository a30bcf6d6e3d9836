"""Keeps indexes of any kind open for searching: the service has one cache for its life, a command or a hook for a call.

A `KindIndex` says what the index of one kind in one workspace should hold, and brings it up to date and opens it. Here
it is decided whether what is open still serves, who waits for a new one, and what is closed again; and here models stay
loaded. Nothing is opened before it is asked for.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.base.errors import BusyError, HybridError, IndexMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from pathlib import Path

    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher
    from hybrid.team.asking import Connections
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_UNUSED_S = 600.0
"""Seconds without a search after which an index of files is closed; opening it again takes milliseconds."""
_SOON_S = 1.0
_LOOK_S = 0.01


class OpenIndex(Struct):
    """An open index.

    Attributes:
        searcher: Its searcher.
        stamp: What it holds, to be compared with `KindIndex.stamp`; None for one that is behind that.
        by_path: Path in it → record; empty for files and for the memory.
        size_bytes: Bytes of its files; 0 for records.
        is_of_other_model: It is not embedded with the model of the settings yet.
        used_s: Monotonic time of the last use.
    """

    searcher: Searcher
    stamp: Hashable
    by_path: Mapping[str, Record]
    size_bytes: int = 0
    is_of_other_model: bool = False
    used_s: float = field(default_factory=time.monotonic)


class KindIndex(ABC):
    """The index of a kind in a workspace as it should be now; made for each call.

    Attributes:
        key: The name of the kind, and what else tells this index from others.
        stamp: What the index should hold.
        what: The same for people, with a verb: `12 records are`.
        wait_s: Seconds to wait for another thread that opens the same index; None for as long as it takes.
        may_lag: A service answers with an older one, and brings it up to date meanwhile.
    """

    key: tuple[Hashable, ...]
    stamp: Hashable = None
    what = ""
    wait_s: float | None = None
    may_lag = False

    @abstractmethod
    def open(self, indexes: OpenIndexes, before: OpenIndex | None) -> OpenIndex:
        """Bring the index up to date and open it; an older one where that cannot be done now, such as `before`.

        Raises:
            BusyError: Neither can be had now.
            HybridError: The index cannot be used or made.
            OSError: A disk is full or read-only.
        """

    def as_it_is(self, indexes: OpenIndexes) -> OpenIndex | None:
        """Open an index of another model than that of the settings; None when there is none.

        Raises:
            IndexMismatchError: That model is gone.
        """
        return None

    def is_current(self, opened: OpenIndex) -> bool:
        """Return whether an open index holds what it should."""
        return opened.stamp == self.stamp

    def is_near(self, opened: OpenIndex) -> bool:
        """Return whether an older one lacks so little that a search may wait for it."""
        return False

    def is_too_much(self, n_open: int, size_bytes: int) -> bool:
        """Return whether so many indexes of the kind, of so many bytes, are more than may stay open."""
        return n_open > 16


class OpenIndexes:
    """Open indexes for any number of threads; of each kind the least recently used goes when there are too many.

    Args:
        models: Gives the embedders.
        asks_team: Ask the team's store; False searches what lies here alone.
        connections: The stores that the process is connected with; by default those that its indexes need.
        most_new: The most records that are indexed at once; of more an older index serves, or none. None for any
            number. With a number, an index of another model serves as it is while that model is there, and nothing is
            read by a transformer: a hook on its own would load it for one prompt.
        is_lagging: True lets such an index serve too, and those that `may_lag`, and makes them anew in another thread:
            prompts of a service must not wait.
    """

    def __init__(
        self,
        models: LoadedModels | None = None,
        *,
        asks_team: bool = True,
        connections: Connections | None = None,
        most_new: int | None = None,
        is_lagging: bool = False,
    ) -> None:
        self.models = models or LoadedModels()
        self.most_new = most_new
        self.is_lagging = is_lagging
        self._asks_team = asks_team
        self._connections = connections
        self._open: OrderedDict[tuple[Hashable, ...], OpenIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[tuple[Hashable, ...], threading.Lock] = {}
        self._behind: set[tuple[Hashable, ...]] = set()

    def files(self, workspace: Workspace) -> Searcher:
        """Return the searcher of the files of a workspace, of the generation that is on disk now.

        When that was embedded with a model that is not loaded yet, the one that was open serves until it is. Without an
        index, another tree of the project may stand in: see `open_searcher`.

        Raises:
            ProjectError: There is no project here.
            IndexUnavailableError: The index is missing, damaged, or of another format or model.
            ModelError: The embedder cannot be loaded.
            BusyError: It is being loaded, and no generation of the index is open.
        """
        return self.get(FilesIndex(workspace)).searcher

    def get(self, index: KindIndex, *, waits: bool = False) -> OpenIndex:
        """Return an index, open for searching.

        Args:
            index: The index.
            waits: Of one that `may_lag`, wait up to a second for the little that is new: who asks may just have
                written it.

        Raises: As `KindIndex.open`, and `BusyError` when another thread makes the index for too long.
        """
        found = self._known(index)
        if found is None or not (index.is_current(found) or (index.may_lag and self.is_lagging)):
            found = self._opened(index)
        if self.is_lagging and (found.is_of_other_model or (index.may_lag and not index.is_current(found))):
            self._catch_up(index)
            if waits and index.is_near(found):
                return self._soon(index, found)
        return found

    def _known(self, index: KindIndex) -> OpenIndex | None:
        with self._lock:
            found = self._open.get(index.key)
            if found is not None:
                found.used_s = time.monotonic()
                self._open.move_to_end(index.key)
            return found

    def _opened(self, index: KindIndex) -> OpenIndex:
        """Return an index that is opened now, by one thread: ten prompts that wait for one open it once."""
        opening = self._opening.setdefault(index.key, threading.Lock())
        if not opening.acquire(timeout=-1 if index.wait_s is None else index.wait_s):
            raise BusyError(f"{index.what} being indexed")
        try:
            before = self._known(index)
            if before is not None and index.is_current(before):
                return before
            # Kept before the next one is let in, or it would open the index again.
            return self._keep(index, self._as_it_is(index) or index.open(self, before))
        finally:
            opening.release()

    def _as_it_is(self, index: KindIndex) -> OpenIndex | None:
        """Return `KindIndex.as_it_is`; where its model is gone, a service has a new one made that is not waited for."""
        try:
            return index.as_it_is(self)
        except IndexMismatchError as error:  # That model is gone.
            if not self.is_lagging:
                return None
            self._catch_up(index)
            raise BusyError(f"{index.what} being embedded anew") from error

    def _soon(self, index: KindIndex, found: OpenIndex) -> OpenIndex:
        """Return the index as soon as it is up to date, or as it is after a second: others may be built meanwhile."""
        until_s = time.monotonic() + _SOON_S
        while not index.is_current(found) and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
            self._catch_up(index)  # The one before may have begun before the last row.
            found = self._known(index) or found
        return found

    def _catch_up(self, index: KindIndex) -> None:
        """Bring an index up to date in another thread, one for each; failures are met by whoever comes next."""
        with self._lock:
            if index.key in self._behind:
                return
            self._behind.add(index.key)

        def catch_up() -> None:
            try:
                with contextlib.suppress(HybridError, OSError, ValueError):
                    self._keep(index, index.open(self, None))
            finally:
                self._behind.discard(index.key)

        threading.Thread(target=catch_up, daemon=True).start()

    def _keep(self, index: KindIndex, found: OpenIndex) -> OpenIndex:
        with self._lock:
            self._open[index.key] = found
            self._open.move_to_end(index.key)
            of_kind = [(key, one.size_bytes) for key, one in self._open.items() if key[0] == index.key[0]]
            while len(of_kind) > 1 and index.is_too_much(len(of_kind), sum(size for _, size in of_kind)):
                key, _ = of_kind.pop(0)
                del self._open[key]
                self._opening.pop(key, None)
        return found

    def connections(self) -> Connections:
        """Return the stores of the team's indexes that the process is connected with."""
        from hybrid.team.asking import Connections

        with self._lock:
            self._connections = self._connections or Connections(wait_s=self.models.wait_s)
            return self._connections

    def open_files(self, workspace: Workspace) -> Searcher:
        """Open the index of the files, with the team's where the settings name one."""
        if workspace.config.index.backend == "milvus":
            from hybrid.search.team import open_files

            load, is_asking = self.models.load, self._asks_team
            return open_files(workspace, load=load, connections=self.connections(), is_asking=is_asking)
        # Brings numpy, 120 ms: a prompt that is not searched never pays for it.
        from hybrid.search.searcher import open_searcher

        return open_searcher(workspace, load=self.models.load)

    def close_unused(self, older_than_s: float = _UNUSED_S) -> None:
        """Close the indexes of files not asked for longer than this, and let a reader not used so long rest."""
        limit_s = time.monotonic() - older_than_s
        with self._lock:
            for key in [key for key, one in self._open.items() if one.size_bytes and one.used_s < limit_s]:
                del self._open[key]
        self.models.rest(older_than_s)

    def figures(self) -> dict[str, Any]:
        """Return the figures of the open indexes of files: `open`, their number, and `size_bytes`, all their bytes."""
        with self._lock:
            sizes = [one.size_bytes for key, one in self._open.items() if key[0] == FilesIndex.kind]
        return {"open": len(sizes), "size_bytes": sum(sizes)}


class FilesIndex(KindIndex):
    """The index of the files of a project, which builds bring up to date; see `hybrid.upkeep.indexing`."""

    kind = "files"

    def __init__(self, workspace: Workspace) -> None:
        config = workspace.config
        self._workspace, self._limits = workspace, config.daemon
        self._folder = workspace.place.folder
        self.key = (self.kind, self._folder, config.search, config.ranking, config.gate, config.model)

    def open(self, indexes: OpenIndexes, before: OpenIndex | None) -> OpenIndex:
        """As `KindIndex.open`; while the model is being loaded, `before` serves."""
        stamp = _stamp(self._folder)
        try:
            searcher = indexes.open_files(self._workspace)
        except BusyError:
            if before is None:
                raise
            return before
        size_bytes = searcher.backend.figures().size_bytes
        return OpenIndex(searcher, stamp or _stamp_of(self._folder, searcher), {}, size_bytes)

    def is_current(self, opened: OpenIndex) -> bool:
        """As `KindIndex.is_current`."""
        return opened.stamp == _stamp_of(self._folder, opened.searcher)

    def is_too_much(self, n_open: int, size_bytes: int) -> bool:
        """As `KindIndex.is_too_much`; the settings of the service say what that is."""
        return n_open > self._limits.max_projects or size_bytes > self._limits.max_index_mb * 1_000_000


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


# --- models -----------------------------------------------------------------------------------------------


_MOST_EMBEDDERS = 3

LOAD_WAIT_S = 0.5
"""Seconds that prompts of a service wait for a model: the shipped one takes a tenth of it, a transformer many times."""


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


class LoadedModels:
    """The embedders in use, for any number of threads.

    Args:
        load: Loads the embedder of a name, from `$HYBRID_HOME`; by default the registry does.
        wait_s: Seconds to wait for a model, from when it began to be loaded; it goes on in a thread of its own. None
            waits until it is loaded.
    """

    def __init__(self, load: Callable[[str, Path], Embedder] | None = None, *, wait_s: float | None = None) -> None:
        self.wait_s = wait_s
        self._load = load
        self._lock = threading.Lock()
        self._embedders: OrderedDict[str, Embedder] = OrderedDict()
        self._loading: dict[str, _Loading] = {}

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
            loading = None if self.wait_s is None else self._loading.get(key) or self._begin(key, name, home)
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
        loading = self._loading[key] = _Loading(time.monotonic() + (self.wait_s or 0.0))

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

    def rest(self, older_than_s: float) -> None:
        """Let a reader rest that was not asked for longer than this."""
        with self._lock:
            embedders = list(self._embedders.values())
        if embedders:
            from hybrid.models.sentence_encoder import SentenceEncoder  # Brings numpy, which is there with any of them.

            for embedder in embedders:
                if isinstance(embedder, SentenceEncoder):
                    embedder.rest(older_than_s)
