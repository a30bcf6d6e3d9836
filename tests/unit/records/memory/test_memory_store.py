from __future__ import annotations

import sqlite3
import stat
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import NO_STATS, Extracted, Flushed, ForgetReport, Owner, RowFilter, Summarised
from hybrid.records.types import MemoryDatabaseError, MemoryFormatError, NoFullTextError
from tests.support.memories import HERE, NOW_MS, THERE, WINDOW_MS, begin_session, event, make, matching, titles, told

if TYPE_CHECKING:
    from pathlib import Path


def test_reading_what_is_not_there_makes_nothing(store: MemoryStore) -> None:
    """Every reader of a missing memory finds nothing, and so does what would only change rows."""
    wanted = RowFilter()

    assert [] == [*store.newest(wanted, 5), *store.recent(wanted, "k", 5), *store.timeline_at(0, 5, 5, wanted)]
    assert [] == [*store.timeline("summary", 1, 5, 5, wanted), *store.of_files(["a"], wanted, 5)]
    assert [] == [*store.prompts("s1"), *store.session_rows("s1"), *store.all_rows("summary")]
    assert (None, [], (), {}) == (
        store.session("s1"),
        store.last_summaries("k", 1),
        store.touched_files("s1"),
        store.rows("summary", [1]),
    )
    assert (0, [], None, NO_STATS) == (
        store.last_change(),
        store.changes_since(0),
        store.changes_since(5),
        store.stats(),
    )
    assert {} == store.counts().of("")
    assert Flushed(0) == store.flush(make=make, now_ms=0, window_ms=1)
    assert {ForgetReport(0, True)} == {
        store.forget([("summary", 1)]),
        store.forget_session("s1"),
        store.forget_everything(),
    }
    assert 0 == store.prune(now_ms=0, before_ms=5)
    store.complete_session("s1", 0)
    store.forget_changes(5)
    assert 1 == len(list(store.export(wanted)))

    assert not store.exists
    assert not store.path.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_the_file_is_its_owners(store: MemoryStore) -> None:
    """Nobody else may read the memory or its log."""
    begin_session(store, HERE, NOW_MS)

    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}


def test_a_session_from_its_first_prompt_to_its_end(store: MemoryStore) -> None:
    """Prompts are numbered from 1, the first one stands in the session, which ends and may go on."""
    begin_session(store, HERE, NOW_MS)
    begin_session(store, HERE, NOW_MS + 1)
    assert [1, 2] == [
        store.add_prompt(HERE, text, NOW_MS + 5_000 * number) for number, text in enumerate(("Do it", "More"))
    ]
    store.complete_session("s1", NOW_MS + 9)

    ended = store.session("s1")
    assert ended is not None
    assert (HERE, "Do it", NOW_MS, NOW_MS + 9, "completed", 2) == (
        ended.owner, ended.user_prompt, ended.started_ms, ended.completed_ms, ended.status, ended.prompt_counter,
    )  # fmt: skip
    begin_session(store, HERE, NOW_MS + 20)
    again = store.session("s1")
    assert again is not None
    assert ("active", None, NOW_MS) == (again.status, again.completed_ms, again.started_ms)
    assert [(1, "Do it"), (2, "More")] == [(one.prompt_number, one.text) for one in store.prompts("s1")]
    last = store.last_prompt("s1")
    assert last == store.prompts("s1")[-1]
    assert store.last_prompt("s2") is None


@pytest.mark.parametrize(("after_ms", "numbers"), [(2_000, [1, 1]), (2_001, [1, 2])])
def test_a_prompt_that_a_hook_sends_again_counts_once(store: MemoryStore, after_ms: int, numbers: list[int]) -> None:
    """The same text within two seconds is the same prompt; later it was typed again."""
    assert numbers == [store.add_prompt(HERE, "Do it", NOW_MS), store.add_prompt(HERE, "Do it", NOW_MS + after_ms)]


def test_what_is_told_comes_back_as_it_was(store: MemoryStore) -> None:
    """All parts of an observation survive, in their order, whatever letters they have."""
    parts = Extracted(
        "bugfix",
        "Fix größe",
        "sub",
        "line one\nline two",
        ("exit 1", 'a "b" \\n'),
        ("gotcha",),
        ("b/é.py", "a.py"),
        ("c.py",),
    )
    store.add_prompt(HERE, "Do it", NOW_MS)
    row = store.add_observation(HERE, parts, NOW_MS)

    assert row is not None
    assert (parts, 1, 0, 0, NOW_MS, HERE) == (
        row.told, row.prompt_number, row.discovery_tokens, row.repeat_count, row.created_ms, row.owner,
    )  # fmt: skip
    assert {row.id: row} == store.rows("observation", [row.id, 99])


def test_what_cannot_be_stored_is_made_fit(store: MemoryStore) -> None:
    """Lone surrogates, NUL, control characters, an unknown type and a long title are no reason to lose a row."""
    row = store.add_observation(
        Owner("s\ud800", "k", "p\0"),
        told("x" * 99, type="?", facts=("a\x1b[0m\nb", " "), narrative="\ud800n\0"),
        NOW_MS,
    )

    assert row is not None
    assert ("change", "x" * 79 + "…", ("a [0m b",), "?n ") == (
        row.told.type, row.told.title, row.told.facts, row.told.narrative + " ",
    )  # fmt: skip


def test_a_summary_of_the_same_prompt_is_replaced(store: MemoryStore) -> None:
    """A turn has the words of its last Stop, under one id; an empty one is none."""
    store.add_prompt(HERE, "Do it", NOW_MS)
    first = store.add_summary(HERE, Summarised(completed="half"), NOW_MS)
    second = store.add_summary(HERE, Summarised(completed="all"), NOW_MS + 5)

    assert first is not None
    assert second is not None
    assert (first.id, "all", 1, NOW_MS + 5) == (
        second.id,
        second.told.completed,
        second.prompt_number,
        second.created_ms,
    )
    assert [second] == store.newest(RowFilter(kinds=("summary",)), 5)
    assert store.add_summary(HERE, Summarised(request=" "), NOW_MS) is None
    assert [] == matching(store, "half", "summaries_fts")


def test_the_event_names_its_project(store: MemoryStore) -> None:
    """A session that goes on in another project has rows of both, and its own stays the first."""
    moved = Owner("s1", THERE.key, THERE.project)
    for number, owner in enumerate((HERE, moved)):
        store.add_event(owner, event(f"e{number}"), window_ms=WINDOW_MS, make=make)
    store.flush(make=make, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id="s1")

    assert [HERE, moved] == [row.owner for row in store.all_rows("observation")]
    assert HERE == getattr(store.session("s1"), "owner", None)


def test_stats_count_what_there_is(store: MemoryStore) -> None:
    """Counts of everything, by type in the order of types, by project with most first."""
    store.add_prompt(HERE, "Do it", NOW_MS)
    for number, (owner, kind) in enumerate([(THERE, "change"), (HERE, "change"), (HERE, "bugfix")]):
        store.add_observation(owner, told(f"title {number} {kind}", type=kind), NOW_MS + number)
    store.add_summary(HERE, Summarised(notes="n"), NOW_MS + 7)
    store.add_event(HERE, event("a"), window_ms=WINDOW_MS, make=make)
    found = store.stats()

    assert (2, 3, 1, 1, 1) == (
        found.n_sessions,
        found.n_observations,
        found.n_summaries,
        found.n_prompts,
        found.n_pending,
    )
    assert [("bugfix", 1), ("change", 2)] == list(found.by_type.items())
    assert [("shop", 2, 1), ("bank", 1, 0)] == [
        (one.project, one.n_observations, one.n_summaries) for one in found.by_project
    ]
    assert (NOW_MS, NOW_MS + 7) == (found.oldest_ms, found.newest_ms)
    assert found.size_bytes == sum(p.stat().st_size for p in store.path.parent.iterdir() if "shm" not in p.name)


def test_rows_are_counted_by_what_changed(store: MemoryStore) -> None:
    """Earlier counts brought up to date are those of a new look: after additions, repeats, and what was forgotten."""
    counts = store.counts()
    assert ({}, {}, {}) == (counts.observations, counts.summaries, counts.names)
    for number, (owner, kind) in enumerate([(THERE, "change"), (HERE, "change"), (HERE, "bugfix")]):
        row = store.add_observation(owner, told(f"title {number} {kind}", type=kind), NOW_MS + number)
        counts = store.counts(counts)
        assert store.counts() == counts
    assert row is not None
    store.add_summary(HERE, Summarised(notes="n"), NOW_MS + 7)
    counts = store.counts(counts)
    here, every = counts.of(HERE.key), counts.of("")
    store.forget([("observation", row.id)])
    after = store.counts(counts)

    assert {"change": 1, "bugfix": 1, "summary": 1} == here
    assert {"change": 2, "bugfix": 1, "summary": 1} == every
    assert {HERE.key: "shop", THERE.key: "bank"} == counts.names
    assert {"change": 1, "summary": 1} == after.of(HERE.key)
    assert store.counts() == after
    assert after is store.counts(after)


def test_ids_are_not_given_twice(store: MemoryStore) -> None:
    """The id of a row that was forgotten never means another row."""
    first = store.add_observation(HERE, told("one"), NOW_MS)
    assert first is not None
    store.forget([("observation", first.id)])
    second = store.add_observation(HERE, told("two"), NOW_MS)

    assert second is not None
    assert first.id < second.id


def test_threads_share_a_store(store: MemoryStore) -> None:
    """Eight threads that write and read at once lose nothing and see no error."""
    errors: list[BaseException] = []

    def work(who: int) -> None:
        try:
            for number in range(25):
                use = event(f"w{who}n{number}", "Edit" if number % 2 else "Read")
                store.add_event(Owner(f"s{who}", HERE.key, "shop"), use, window_ms=WINDOW_MS, make=make)
                store.newest(RowFilter(), 5)
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == errors
    assert 8 * 24 == len(titles(store))
    assert 8 == store.stats().n_pending


# --- damage ------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """A file that is no database is kept beside the new one, and named."""
    path = tmp_path / "memory.db"
    path.write_bytes(b"not a database at all" * 100)
    with MemoryStore(path) as store:
        store.add_observation(HERE, told("after"), NOW_MS)

        assert ["after"] == titles(store)
        assert [b"not a database at all" * 100] == [one.read_bytes() for one in store.set_aside]


def test_damage_within_the_file_is_found_and_the_work_done(store: MemoryStore) -> None:
    """Pages that are overwritten while it is open: the file is set aside and the observation stored in a new one."""
    for number in range(300):
        store.add_observation(HERE, told(f"old {number}", narrative="words " * 100), NOW_MS + number)
    store.close()
    data = bytearray(store.path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    store.path.write_bytes(data)
    store.add_observation(HERE, told("after"), NOW_MS)

    assert ["after"] == titles(store)
    assert 1 == len(store.set_aside)


def test_damaged_full_text_is_made_anew(store: MemoryStore) -> None:
    """Rows that are sound stay where they are when only their full text is damaged."""
    for number in range(50):
        store.add_observation(HERE, told(f"kept number {number}", narrative="words " * 100), NOW_MS + number)
    store.close()
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("DELETE FROM observations_fts_data WHERE id > 10")

    assert store.add_observation(HERE, told("one more"), NOW_MS + 60)
    assert 50 == len(matching(store, "words"))
    assert () == store.set_aside


@pytest.mark.parametrize("code", [None, 267], ids=["by words", "by code"])
def test_damage_is_known_whatever_the_version_says(store: MemoryStore, code: int | None) -> None:
    """SQLite 3.53 words a damaged full text in another way; Python 3.10 gives no code with it."""
    store.add_observation(HERE, told("kept"), NOW_MS)
    damage = sqlite3.DatabaseError('fts5: corruption found reading blob 1 from table "observations_fts"')
    if code is not None:
        damage = sqlite3.DatabaseError("words of a version to come")
        damage.sqlite_errorcode = code  # pyright: ignore[reportAttributeAccessIssue] - Python 3.11 sets it
    tries = iter([damage, None])

    def work(db: sqlite3.Connection) -> list[tuple[str]]:
        if error := next(tries):
            raise error
        return db.execute("SELECT title FROM observations").fetchall()

    assert [("kept",)] == store.database.read(work, [])
    assert () == store.set_aside


def test_a_file_that_was_replaced_is_opened_anew(store: MemoryStore, tmp_path: Path) -> None:
    """What is stored after somebody moved the file away is not written into the moved one."""
    store.add_observation(HERE, told("before"), NOW_MS)
    for path in list(store.path.parent.iterdir()):
        path.rename(tmp_path / f"moved-{path.name}")
    store.add_observation(HERE, told("after"), NOW_MS)

    assert ["after"] == titles(store)
    with MemoryStore(store.path) as other:
        assert ["after"] == titles(other)


def test_a_newer_format_refuses(store: MemoryStore) -> None:
    """The error says to upgrade, and nothing is changed."""
    begin_session(store, HERE, NOW_MS)
    store.close()
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(MemoryFormatError, match=r"format 99.*upgrade hybrid"):
        store.stats()
    assert () == store.set_aside


def test_an_sqlite_without_full_text_is_named(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what is missing and where it is to be had."""

    def refuses(*_: object, **__: object) -> None:
        raise OSError(f"{store.path}: no such module: fts5")

    monkeypatch.setattr("hybrid.records.memory.database.open_database", refuses)

    with pytest.raises(NoFullTextError, match=r"has no FTS5.*use a Python"):
        begin_session(store, HERE, NOW_MS)


def test_what_cannot_be_opened_is_one_error(tmp_path: Path) -> None:
    """A folder in the place of the file, or a file in the place of its folder: the error names it."""
    (tmp_path / "file").write_text("x")

    with MemoryStore(tmp_path / "file" / "memory.db") as store, pytest.raises(MemoryDatabaseError, match=r"memory\.db"):
        begin_session(store, HERE, NOW_MS)
