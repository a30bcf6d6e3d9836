from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.errors import StoreDownError
from hybrid.base.tokens import query_tokens
from hybrid.models.registry import HashingEmbedder
from hybrid.team import asking
from hybrid.team.asking import StoreConnection, TeamIndex, beginning_of
from hybrid.team.base import figures_of, read_base, write_base
from hybrid.team.pushing import PushedTree, push
from hybrid.team.store import ALL, Only
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in
from tests.support.embedded_store import EmbeddedStore
from tests.team.conftest import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.team.store import TeamStore

CLIENT = next(path for path in PAYMENTS if path.endswith("client.py"))
ASKED = "wait before retry"


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    """A store with two generations: the newer one has another text of one file."""
    store = EmbeddedStore(tmp_path / "store", KEY)
    for number, texts in enumerate((PAYMENTS, {**PAYMENTS, CLIENT: PAYMENTS[CLIENT] + "\n\nCHANGED = 1\n"}), 1):
        place = place_in(tmp_path / str(number))
        build_index(place, ListSource(dict(texts)))
        from hybrid.index.catalog import Catalog

        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            tree = PushedTree(catalog, HashingEmbedder().info, figures_of(open_index(place)))
            push(store, "shop", tree, commit=f"c{number}", now_s=number, keep=5, progress=lambda *_: None)
    return store


def team(
    store: EmbeddedStore, folder: Path, connection: StoreConnection | None = None, commit: str = "c1"
) -> TeamIndex:
    """The team's index at a commit."""
    write_base(folder, "shop", store.generation("shop", commit, timeout_s=60))
    base = read_base(folder)
    assert base is not None
    return TeamIndex(connection or StoreConnection(lambda: store, wait_s=None), base)


def candidates(index: TeamIndex, only: Only = ALL, hidden: tuple[str, ...] = ()) -> list[str] | None:
    """Paths of the candidates of a query; None when the store is down."""
    vectors = HashingEmbedder().embed_query(ASKED)[np.newaxis, :]
    found = index.candidates(vectors, [query_tokens(ASKED)], 50, only, lambda path: path in hidden)
    return None if found is None else [file.path for file in found]


def test_candidates_are_of_the_base_alone(store: EmbeddedStore, tmp_path: Path) -> None:
    """Of a path that has other texts in other generations, only the base's is a candidate."""
    for commit in ("c1", "c2"):
        index = team(store, tmp_path / commit, commit=commit)
        vectors = HashingEmbedder().embed_query(ASKED)[np.newaxis, :]
        found = index.candidates(vectors, [query_tokens(ASKED)], 50, ALL, lambda _path: False)

        assert found is not None
        of_client = [file for file in found if file.path == CLIENT]
        assert 1 == len(of_client)
        assert (commit == "c2") == any("chang" in record.body for record in of_client[0].records)


def test_what_the_tree_replaced_is_no_candidate(store: EmbeddedStore, tmp_path: Path) -> None:
    """Paths that differ here, or are deleted, win over the base; filters restrict candidates."""
    index = team(store, tmp_path)
    every = candidates(index)

    assert every is not None
    assert CLIENT in every
    assert [path for path in every if path != CLIENT] == candidates(index, hidden=(CLIENT,))
    assert {path.rpartition("/")[0] for path in candidates(index, Only(below="src/pay")) or ()} == {"src/payments"}


def test_files_are_fetched_once(store: EmbeddedStore, tmp_path: Path) -> None:
    """What a process fetched is not asked for again."""
    index = team(store, tmp_path)
    first = candidates(index)
    n_before = store.calls.count("files")

    assert first == candidates(index)
    assert n_before == store.calls.count("files")


def test_no_more_files_are_fetched_than_needed(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Portions give the candidates that all files at once give, and end where the chunks are enough."""
    every = candidates(team(store, tmp_path / "every"))
    assert every is not None
    monkeypatch.setattr(asking, "_PORTION", 1)
    store.calls.clear()

    assert every == candidates(team(store, tmp_path / "portions"))
    assert len(every) <= store.calls.count("files")

    monkeypatch.setattr(asking, "_MOST_CHUNKS", 1)
    store.calls.clear()

    assert every[:1] == candidates(team(store, tmp_path / "few"))
    assert 2 == store.calls.count("files")


def test_a_store_that_is_down_is_told_and_comes_back(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure nobody asks for a while; when it answers again it is used again, by the same connection."""
    index = team(store, tmp_path)
    every = candidates(index)
    store.is_down = True
    store.calls.clear()

    assert candidates(index) is None
    assert "does not answer" in index.connection.problem
    n_calls = len(store.calls)
    assert candidates(index) is None
    assert n_calls == len(store.calls)

    store.is_down = False
    monkeypatch.setattr(asking, "_RETRY_S", 0.0)
    index.connection.failed(StoreDownError("again"))

    assert every == candidates(index)
    assert "" == index.connection.problem


def test_a_first_search_does_not_wait_for_the_connection(store: EmbeddedStore, tmp_path: Path) -> None:
    """A service searches what lies here while a thread connects; once connected, the store is asked."""
    may_connect = threading.Event()

    def connect() -> TeamStore:
        may_connect.wait(60)
        return store

    index = team(store, tmp_path, StoreConnection(connect, wait_s=0.0))

    assert candidates(index) is None
    may_connect.set()
    until_s = time.monotonic() + 60
    while index.connection.store() is None and time.monotonic() < until_s:
        time.sleep(0.05)
    assert candidates(index)


def test_a_store_that_cannot_be_opened_fails_no_search(store: EmbeddedStore, tmp_path: Path) -> None:
    """Whatever goes wrong while connecting, a search goes on without it and says why."""

    def connect() -> TeamStore:
        raise RuntimeError("no such host")

    index = team(store, tmp_path, StoreConnection(connect, wait_s=None))

    assert candidates(index) is None
    assert "no such host" == index.connection.problem


@pytest.mark.parametrize(
    ("path", "beginning"),
    [("src/*.py", "src/"), ("./src/", "src"), ("*.md", ""), ("a[b]", "a"), ("src/a.py", "src/a.py")],
)
def test_a_filter_is_asked_for_as_far_as_a_store_can(path: str, beginning: str) -> None:
    """The part of a glob before its first sign."""
    assert beginning == beginning_of(path)
