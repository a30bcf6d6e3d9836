from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Summarised
from tests.support.memories import HERE, NOW_MS, begin_session, told

if TYPE_CHECKING:
    from pathlib import Path


def test_additions_changes_and_removals_are_told(store: MemoryStore) -> None:
    """Each row once, in the order of its first change."""
    begin_session(store, HERE, NOW_MS)
    start = store.last_change()
    first = store.add_observation(HERE, told("one"), NOW_MS)
    store.add_summary(HERE, Summarised(notes="half"), NOW_MS)
    store.add_summary(HERE, Summarised(notes="whole"), NOW_MS)
    assert first is not None
    store.forget([("observation", first.id)])

    assert [("observation", 1), ("summary", 1)] == store.changes_since(start)
    assert [("summary", 1), ("observation", 1)] == store.changes_since(start + 1)
    assert [] == store.changes_since(start + 4)


def test_a_summary_that_says_the_same_is_no_change(store: MemoryStore) -> None:
    """A Stop that brings nothing new leaves an index alone."""
    store.add_summary(HERE, Summarised(notes="same"), NOW_MS)
    before = store.last_change()
    store.add_summary(HERE, Summarised(notes="same"), NOW_MS + 5)

    assert before == store.last_change()


def test_a_log_that_does_not_reach_back_says_so(store: MemoryStore) -> None:
    """None for who has read nothing, for what was trimmed, and for numbers that were never given."""
    for number in range(5):
        store.add_observation(HERE, told(f"title{number}"), NOW_MS)
    last = store.last_change()
    store.forget_changes(last - 1)

    assert store.changes_since(0) is None
    assert store.changes_since(last - 3) is None
    assert store.changes_since(last + 1) is None
    assert [("observation", 4), ("observation", 5)] == store.changes_since(last - 2)
    store.forget_changes(last + 1)
    assert [] == store.changes_since(last)
    assert store.changes_since(last - 1) is None


def test_the_log_is_bounded(store: MemoryStore) -> None:
    """About 100,000 changes are kept, whoever reads them."""
    begin_session(store, HERE, NOW_MS)
    insert = "INSERT INTO changes(kind, row_id) VALUES ('observation', 1)"
    store.database.write(lambda db: db.executemany(insert, [()] * 101_500))
    (count,) = store.database.read(lambda db: db.execute("SELECT count(*) FROM changes").fetchone(), (0,))

    assert 100_000 <= count <= 101_000


def test_the_numbers_of_another_file_are_not_taken_for_its_own(tmp_path: Path) -> None:
    """A memory that was made anew does not go on where the old one was, although its ids do."""
    last: list[int] = []
    for name in ("old", "new"):
        with MemoryStore(tmp_path / name / "memory.db") as store:
            if name == "new":
                # As if it were made a second later.
                begin_session(store, HERE, NOW_MS)
                store.database.write(
                    lambda db: db.execute("UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'changes'")
                )
            store.add_observation(HERE, told("one"), NOW_MS)
            last.append(store.last_change())
            if name == "new":
                assert store.changes_since(last[0]) is None
