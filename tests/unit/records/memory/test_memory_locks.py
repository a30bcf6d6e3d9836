from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted, Flushed, RowFilter
from hybrid.records.types import MemoryBusyError
from tests.support.memories import HERE, NOW_MS, THERE, WINDOW_MS, begin_session, event, make, titles, told

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from hybrid.records.memory.types import PendingEvent

_LONG_S = 120.0
"""After which a test that hangs is given up."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has to wait for a lock gives up at once."""
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)


@contextmanager
def _held(path: Path) -> Generator[None]:
    """The write lock, held by another connection that has written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE observations SET title = 'half done'")
        yield
        db.execute("ROLLBACK")


class _Slow:
    """An extractor that is at work until it is released."""

    def __init__(self) -> None:
        self.entered, self.release = threading.Event(), threading.Event()

    def __call__(self, events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
        self.entered.set()
        assert self.release.wait(_LONG_S)
        return make(events, prompt)


@contextmanager
def _extracting(store: MemoryStore) -> Generator[None]:
    """A thread that adds `b` and tells of `a`, which it ends; the extractor is at work during the block."""
    slow = _Slow()
    store.add_event(HERE, event("a", "Edit"), window_ms=WINDOW_MS, make=make)
    thread = threading.Thread(
        target=lambda: store.add_event(HERE, event("b", "Read"), window_ms=WINDOW_MS, make=slow), daemon=True
    )
    thread.start()
    try:
        assert slow.entered.wait(_LONG_S)
        yield
    finally:
        slow.release.set()
        thread.join(_LONG_S)


def _read_all(store: MemoryStore) -> tuple[object, ...]:
    return (
        store.last_change(),
        store.rows("observation", [1]),
        store.newest(RowFilter(), 5),
        store.stats().n_observations,
    )


@pytest.mark.parametrize("is_open", [True, False])
def test_readers_do_not_wait_for_another_process(store: MemoryStore, is_open: bool) -> None:
    """While another connection writes, what was there is read, by a store that is opened only then too."""
    store.add_observation(HERE, told("one"), NOW_MS)
    before = _read_all(store)
    if not is_open:
        store.close()
    with _held(store.path):
        assert before == _read_all(store)
        with pytest.raises(MemoryBusyError, match="in use by another process"):
            store.add_prompt(HERE, "Do it", NOW_MS)


def test_readers_do_not_wait_for_another_thread(store: MemoryStore) -> None:
    """While a thread of the same process is within a write, others read the state before it."""
    store.add_observation(HERE, told("one"), NOW_MS)
    before = _read_all(store)
    entered, release = threading.Event(), threading.Event()

    def work(db: sqlite3.Connection) -> None:
        db.execute("UPDATE observations SET title = 'two'")
        entered.set()
        release.wait(_LONG_S)

    thread = threading.Thread(target=lambda: store.database.write(work), daemon=True)
    thread.start()
    try:
        assert entered.wait(_LONG_S)
        assert before == _read_all(store)
    finally:
        release.set()
        thread.join(_LONG_S)
    assert ["two"] == titles(store)


def test_a_reader_changes_nothing(store: MemoryStore) -> None:
    """A write on the connection that reads is refused."""
    begin_session(store, HERE, NOW_MS)

    with pytest.raises(Exception, match="readonly"):
        store.database.read(lambda db: db.execute("DELETE FROM sessions"), None)
    assert 1 == store.stats().n_sessions


def test_nothing_is_locked_while_an_extractor_is_at_work(store: MemoryStore) -> None:
    """The event is stored before; meanwhile this store and another one read and write."""
    with _extracting(store), MemoryStore(store.path) as other:
        assert [2, 2] == [one.stats().n_pending for one in (store, other)]
        assert [1, 2] == [one.add_prompt(THERE, f"prompt {one is other}", NOW_MS) for one in (store, other)]
        assert other.add_event(THERE, event("c"), window_ms=WINDOW_MS, make=make)
        assert [] == titles(other)

    assert ["a"] == titles(store)
    assert 2 == store.stats().n_pending


def test_what_somebody_else_told_meanwhile_is_told_once(store: MemoryStore) -> None:
    """Two that tell of the same batch: who is second drops what it made."""
    with _extracting(store), MemoryStore(store.path) as other:
        done = other.flush(make=make, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id=HERE.session_id)
        assert Flushed(2) == done

    assert ["a", "b"] == titles(store)
    assert 0 == store.stats().n_pending


def test_what_was_forgotten_meanwhile_stays_forgotten(store: MemoryStore) -> None:
    """A session that is forgotten while an extractor tells of it does not come back."""
    with _extracting(store):
        store.forget_session(HERE.session_id)

    assert [] == titles(store)
    assert store.session(HERE.session_id) is None


def test_a_file_that_was_replaced_meanwhile_gets_nothing(store: MemoryStore, tmp_path: Path) -> None:
    """Uses of another file that have the same numbers are not taken for those that were read."""
    with _extracting(store):
        for path in list(store.path.parent.iterdir()):
            path.rename(tmp_path / f"moved-{path.name}")
        with MemoryStore(store.path) as other:
            other.add_event(HERE, event("new"), window_ms=WINDOW_MS, make=make)

    assert [] == titles(store)
    assert 1 == store.stats().n_pending


def test_an_extractor_that_ends_the_process_loses_nothing(store: MemoryStore) -> None:
    """What it was to tell of goes on waiting, and so does the use that ended it; both are told later, once."""

    def stops(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
        raise KeyboardInterrupt

    store.add_event(HERE, event("a", "Edit"), window_ms=WINDOW_MS, make=make)
    with pytest.raises(KeyboardInterrupt):
        store.add_event(HERE, event("b", "Read"), window_ms=WINDOW_MS, make=stops)

    assert 2 == store.stats().n_pending
    assert Flushed(2) == store.flush(make=make, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id=HERE.session_id)
    assert ["a", "b"] == titles(store)


def test_a_use_is_stored_though_its_batch_cannot_be(store: MemoryStore) -> None:
    """The memory is locked when the batch before was made: the use is new all the same, and the batch told later."""
    store.add_event(HERE, event("a", "Edit"), window_ms=WINDOW_MS, make=make)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:

        def locks(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
            db.execute("BEGIN IMMEDIATE")
            return make(events, prompt)

        assert store.add_event(HERE, event("b", "Read"), window_ms=WINDOW_MS, make=locks)
    assert Flushed(1) == store.flush(make=make, now_ms=NOW_MS, window_ms=WINDOW_MS)
    assert ["a"] == titles(store)
