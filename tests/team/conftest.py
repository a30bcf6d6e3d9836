"""Fixtures of the tests of a team's index: a repository's files, and each store that can be had."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.index.catalog import Catalog
from hybrid.models.registry import HashingEmbedder
from hybrid.team.pushing import PushedTree
from hybrid.team.store import StoreKey, TeamStore
from tests.support.builders import PAYMENTS, ListSource, build_index, place_in
from tests.support.embedded_store import EmbeddedStore
from tests.team.servers import STORES, Server, folder_of_stores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

KEY = StoreKey(HashingEmbedder().info.key, HashingEmbedder().info.dim, "chunks of a test")


class Desk:
    """A store under test, opened as often as a test wants.

    Attributes:
        server: The process behind it; None for the embedded one.
    """

    def __init__(self, folder: Path, server: Server | None) -> None:
        self.server = server
        self._folder = folder
        self._name = f"t{uuid.uuid4().hex[:12]}"
        self._opened: list[TeamStore] = []

    def open(self, key: StoreKey = KEY, *, makes: bool = True, **changes: Any) -> TeamStore:
        """Open the store of this test, with a new connection."""
        store = self._open(key, makes=makes, **changes)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close every connection: one that is left to itself pings its server, which ends it at some later time."""
        for store in self._opened:
            store.close()
        self._opened.clear()

    def _open(self, key: StoreKey, *, makes: bool, **changes: Any) -> TeamStore:
        if self.server is None:
            return EmbeddedStore(self._folder, key)
        from hybrid.team.milvus import address_of, open_milvus

        address = address_of(self.server.uri, self._name, "")
        options = {"timeout_s": 60.0, "least": self.server.package.least} | changes
        return open_milvus(address, key, makes=makes, **options)


@pytest.fixture(scope="session")
def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """Each store that is wanted, started once."""
    started: dict[str, Server] = {}
    yield started
    for server in started.values():
        server.stop()


@pytest.fixture(params=["embedded", *(pytest.param(name, marks=pytest.mark.milvus) for name in STORES)])
def desk(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    _servers: dict[str, Server],
) -> Iterator[Desk]:
    """The desk of each store in turn; what a test stored is dropped afterwards."""
    name = str(request.param)
    if name != "embedded" and name not in _servers:
        installed = folder_of_stores()
        if installed is None:
            pytest.skip("HYBRID_MILVUS_DIR names no folder with the stores; `make milvus` does")
        _servers[name] = Server(STORES[name], installed / name, tmp_path_factory.mktemp(name) / "data")
        _servers[name].start()
    desk = Desk(tmp_path / "store", _servers.get(name))
    yield desk
    desk.open().drop(timeout_s=60)
    desk.close()


@contextmanager
def tree_of(folder: Path, texts: Mapping[str, str] = PAYMENTS) -> Iterator[PushedTree]:
    """The index of a working tree with these files, as it is pushed."""
    place = place_in(folder)
    build_index(place, ListSource(dict(texts)))
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        yield PushedTree(catalog, HashingEmbedder().info, b"figures")
