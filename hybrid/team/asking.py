"""Connects with the team's store, and asks it for the candidates of a query, within a deadline and while it is up.

A service keeps one `StoreConnection` a store. It is opened in a thread, since pymilvus takes a second to import. When a
call fails the store counts as down for some seconds, in which nobody waits for it: a thread asks whether it is back.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from hybrid.base.errors import BusyError, ConfigError, IndexCorruptError, IndexUnavailableError
from hybrid.team.store import Only
from hybrid.types import FILE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.config import IndexConfig
    from hybrid.team.base import Base
    from hybrid.team.store import StoredFile, StoreKey, TeamStore


CALL_S = 0.4
"""Seconds that a search waits for all calls to the store together, well within the 1.5 of a hook."""
_RETRY_S = 5.0
"""Seconds after a failure in which the store is not asked again."""
_MOST_CHUNKS = 2_000
"""Chunks of all candidate files at most: making a segment of them takes 0.05 ms each."""
_PORTION = 250
"""Files that are fetched and decoded at once, in the order of the answers: as a rule the first ones are enough."""
_MOST_KEPT = 2_000
"""Files that a process keeps, the last used."""
_SPARE = 1.25
"""Times as many chunks as wanted are asked for, since some are of other generations or replaced here."""


class StoreConnection:
    """The connection of a process to one store; safe to use from several threads.

    Args:
        connect: Opens the store; takes as long as it takes.
        wait_s: Seconds that the first search waits for it; None waits until it is open or fails.

    Attributes:
        problem: Why the store is not asked now; empty when it answers, or was not asked yet.
    """

    def __init__(self, connect: Callable[[], TeamStore], *, wait_s: float | None) -> None:
        self._connect = connect
        self._wait_s = wait_s
        self._store: TeamStore | None = None
        self.problem = ""
        self._down_until_s = 0.0
        self._is_opening = False
        self._changed = threading.Condition()

    def store(self) -> TeamStore | None:
        """Return the open store; None when it is down, or not open within the time to wait."""
        with self._changed:
            if self._store is None and not self._is_opening and time.monotonic() >= self._down_until_s:
                self._is_opening = True
                threading.Thread(target=self._open, name="hybrid-team", daemon=True).start()
            if self._store is None and self._is_opening:
                # The second search does not wait again.
                wait_s, self._wait_s = self._wait_s, self._wait_s and 0.0
                self._changed.wait_for(lambda: not self._is_opening, wait_s)
            return self._store

    def _open(self) -> None:
        try:
            store, problem = self._connect(), ""
        except Exception as error:  # noqa: BLE001 - whatever it is, the store is down, and searches go on without it
            store, problem = None, str(error)
        with self._changed:
            self._store, self.problem, self._is_opening = store, problem, False
            self._down_until_s = time.monotonic() + _RETRY_S
            self._changed.notify_all()

    def failed(self, error: Exception) -> None:
        """Count the store as down: it is connected with anew after some seconds, in a thread."""
        with self._changed:
            store, self._store = self._store, None
            self.problem, self._down_until_s = str(error), time.monotonic() + _RETRY_S
        if store is not None:
            with contextlib.suppress(Exception):
                store.close()


class TeamIndex:
    """A generation in a store, as a search asks it.

    Args:
        connection: To the store.
        base: The generation.
        call_s: Seconds that a search waits for the store.
    """

    def __init__(self, connection: StoreConnection, base: Base, *, call_s: float = CALL_S) -> None:
        self.connection = connection
        self.base = base
        self._call_s = call_s
        self._kept: OrderedDict[str, StoredFile] = OrderedDict()
        self._lock = threading.Lock()

    def candidates(
        self,
        vectors: NDArray[np.float32],
        queries: Sequence[Sequence[str]],
        depth: int,
        only: Only,
        is_hidden: Callable[[str], bool],
    ) -> list[StoredFile] | None:
        """Return the files of the best chunks of some queries, the best files first; None when the store is down.

        Args:
            vectors: Unit vectors or zeros; the first is asked for `depth` chunks, the others for fewer.
            queries: Index terms of each query by words.
            depth: Chunks that each leg is asked for.
            only: Restricts the chunks.
            is_hidden: Returns whether a path of the base is replaced or deleted in the working tree.

        Raises:
            IndexCorruptError: The store answers, with something unreadable.
        """
        store = self.connection.store()
        if store is None:
            return None
        ends_s = time.monotonic() + self._call_s
        try:
            found = self._found(store, vectors, queries, depth, only, ends_s)
            return self._chosen(store, found, is_hidden, ends_s)
        except IndexCorruptError:
            raise
        except (IndexUnavailableError, BusyError) as error:
            self.connection.failed(error)
            return None

    def _chosen(
        self, store: TeamStore, found: Sequence[str], is_hidden: Callable[[str], bool], ends_s: float
    ) -> list[StoredFile]:
        """Fetch files portion by portion until their chunks are as many as candidates may have."""
        chosen: list[StoredFile] = []
        n_chunks = 0
        for at in range(0, len(found), _PORTION):
            portion = found[at : at + _PORTION]
            files = self._files(store, portion, ends_s)
            for name in portion:
                file = files.get(name)
                # A file is what the list of the base says; the store could give another one, or a record.
                if file is None or self.base.id_of(file.path) != name or file.kind not in FILE_KINDS:
                    continue
                if is_hidden(file.path):
                    continue
                n_chunks += len(file.records)
                if chosen and n_chunks > _MOST_CHUNKS:
                    return chosen
                chosen.append(file)
        return chosen

    def _found(
        self,
        store: TeamStore,
        vectors: NDArray[np.float32],
        queries: Sequence[Sequence[str]],
        depth: int,
        only: Only,
        ends_s: float,
    ) -> list[str]:
        """Ids of files of the base, each once, in the order in which they come up in the answers."""
        repository, k = self.base.repository, int(depth * _SPARE)
        legs = store.dense(repository, vectors[:1], k, only, timeout_s=ends_s - time.monotonic())
        legs += store.lexical(repository, queries, k, only, timeout_s=ends_s - time.monotonic())
        # What a piece of a prompt comes nearest to is asked of everything: few chunks tell it.
        if len(vectors) > 1:
            legs += store.dense(repository, vectors[1:], max(k // 8, 1), timeout_s=ends_s - time.monotonic())
        every = itertools.chain.from_iterable(itertools.zip_longest(*legs))
        names = list(dict.fromkeys(one.file for one in every if one is not None))
        return [name for name, is_held in zip(names, self.base.may_hold(names), strict=True) if is_held]

    def _files(self, store: TeamStore, wanted: Collection[str], ends_s: float) -> dict[str, StoredFile]:
        with self._lock:
            known = {name: self._kept[name] for name in wanted if name in self._kept}
        missing = [name for name in wanted if name not in known]
        if missing:
            new = store.files(self.base.repository, missing, timeout_s=ends_s - time.monotonic())
            known |= new
        with self._lock:
            for name, file in known.items():
                self._kept[name] = file
                self._kept.move_to_end(name)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return known

    def texts(self, paths: Collection[str]) -> dict[str, str]:
        """Return path → text of those of some files whose text the store has; none when it is down."""
        store = self.connection.store()
        if store is None:
            return {}
        names = {self.base.id_of(path): path for path in paths}
        try:
            found = store.texts(self.base.repository, names, timeout_s=self._call_s)
        except IndexCorruptError:
            return {}
        except (IndexUnavailableError, BusyError) as error:
            self.connection.failed(error)
            return {}
        return {names[name]: one.text for name, one in found.items() if names.get(name) == one.path}

    def file_at(self, path: str) -> StoredFile | None:
        """Return the file at a path of the generation, as a search fetched it lately; None when none did."""
        with self._lock:
            return self._kept.get(self.base.id_of(path))


def beginning_of(path: str) -> str:
    """Return the part of a filter's path that a store can be asked for: what stands before the first sign of a glob."""
    path = path.removeprefix("./")
    ends = [path.find(sign) for sign in "*?[" if sign in path]
    return path[: min(ends)] if ends else path.rstrip("/")


def restricted(kinds: Sequence[str], path: str) -> Only:
    """Return what of a filter a store can be asked for; the rest is looked at in what it found."""
    return Only(tuple(kinds), beginning_of(path))


# --- connecting -------------------------------------------------------------------------------------------


TOKEN = "MILVUS_TOKEN"
"""The environment variable with `user:password` or the key of the store; it stands in no file of hybrid."""
OPEN_S = 20.0
"""Seconds until a store must have answered; a search waits for it no longer than `Connections` says."""


def connect(settings: IndexConfig, key: StoreKey, *, makes: bool = False) -> TeamStore:
    """Open the store of the settings for what was made by a key.

    Args:
        settings: Name the store.
        key: Model, recipe and schema.
        makes: Make what is missing in the store, which only a push does.

    Raises:
        ConfigError: The settings name no store, or pymilvus is missing.
        StoreDownError: It does not answer in time, or refuses.
        StoreNotReadyError: Nothing was pushed there yet.
        IndexMismatchError: It is too old, or what is there was pushed by another version or for another model.
    """
    require_uri(settings)
    from hybrid.team.milvus import address_of, open_milvus

    address = address_of(settings.uri, settings.collection, os.environ.get(TOKEN, ""))
    return open_milvus(address, key, timeout_s=OPEN_S, makes=makes)


def require_uri(settings: IndexConfig) -> None:
    """Check that the settings name a store.

    Raises:
        ConfigError: They name none.
    """
    if not settings.uri:
        raise ConfigError("no team's index is set: `hybrid config set index.uri https://HOST:19530 --user`")


class Connections:
    """The connections of a process, one for each store and key.

    Args:
        wait_s: As of `StoreConnection`.
    """

    def __init__(self, *, wait_s: float | None = None) -> None:
        self._wait_s = wait_s
        self._open: dict[tuple[str, str, StoreKey], StoreConnection] = {}
        self._lock = threading.Lock()

    def to(self, settings: IndexConfig, key: StoreKey) -> StoreConnection:
        """Return the connection to the store of the settings, which may not be open yet."""
        with self._lock:
            name = settings.uri, settings.collection, key
            if name not in self._open:
                self._open[name] = StoreConnection(lambda: connect(settings, key), wait_s=self._wait_s)
            return self._open[name]
