from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import ForgetReport, Owner, RowFilter, Summarised
from tests.support.memories import (
    DAY_MS,
    HERE,
    NOW_MS,
    THERE,
    WINDOW_MS,
    bytes_on_disk,
    event,
    make,
    matching,
    titles,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_SECRETS = (
    "quagmirexone",
    "zephyrtitle",
    "vortexfact",
    "umbrafile",
    "krakenidea",
    "xylophrompt",
    "wyvernwait",
    "jasmsummary",
)
"""Words of all columns, none the beginning of another: the full text would store a part of it only."""


def _fill(store: MemoryStore, owner: Owner = HERE, suffix: str = "") -> int:
    """A session with something of everything; the id of its observation."""
    one, title, fact, file, idea, prompt, wait, summary = (word + suffix for word in _SECRETS)
    store.add_prompt(owner, f"please {prompt}", NOW_MS)
    row = store.add_observation(
        owner,
        told(title, narrative=f"{one} " * 300, facts=(fact,), concepts=(idea,), files_read=(f"{file}.py",)),
        NOW_MS,
    )
    store.add_summary(owner, Summarised(completed=summary), NOW_MS)
    store.add_event(owner, event(wait, at_ms=NOW_MS), window_ms=WINDOW_MS, make=make)
    assert row is not None
    return row.id


def _left(store: MemoryStore, suffix: str = "") -> set[str]:
    """The words that lie anywhere in the file or its log, while it is open."""
    data = bytes_on_disk(store.path).lower()
    return {word for word in _SECRETS if (word + suffix).encode() in data}


def _rows(store: MemoryStore) -> dict[str, int]:
    """Rows of each table, but for what is kept on purpose."""
    tables = (
        "sessions",
        "observations",
        "observation_files",
        "observation_concepts",
        "session_summaries",
        "user_prompts",
        "pending_events",
    )
    return {
        name: store.database.read(lambda db, name=name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0], 0)
        for name in tables
    }


def test_a_forgotten_observation_leaves_nothing_in_the_file(store: MemoryStore) -> None:
    """Its text is in neither the database nor its log, whoever has it open; its neighbours stay and are found."""
    identity = _fill(store)
    for number in range(60):
        store.add_observation(HERE, told(f"neighbour {number} of it", narrative="calm words " * 50), NOW_MS + number)
    with MemoryStore(store.path) as other:
        assert other.stats().n_observations == 61
        assert set(_SECRETS) == _left(store)
        forgotten = store.forget([("observation", number) for number in (identity, identity, 999)])

        assert ForgetReport(1, True) == forgotten
        assert set(_SECRETS[5:]) == _left(store)
        assert 0 == other.rows("observation", [identity]).get(identity, 0)
    assert [] == [row for word in _SECRETS[:5] for row in matching(store, word)]
    assert 60 == len(matching(store, "neighbour"))
    assert (0, 0) == (_rows(store)["observation_files"], _rows(store)["observation_concepts"])


def test_a_forgotten_summary_leaves_nothing_in_the_file(store: MemoryStore) -> None:
    """Neither does a text that it had before it was replaced."""
    _fill(store)
    store.add_summary(HERE, Summarised(completed="other words"), NOW_MS + 1)
    assert ForgetReport(1, True) == store.forget([("summary", 1)])

    assert set(_SECRETS[:7]) == _left(store)
    assert b"other words" not in bytes_on_disk(store.path)


@pytest.mark.parametrize(
    "forget",
    [
        lambda store: store.forget_session("s1"),
        lambda store: store.forget_project(HERE.key),
        lambda store: store.forget_everything(),
    ],
    ids=["session", "project", "everything"],
)
def test_all_of_a_session_goes_together(store: MemoryStore, forget: Callable[[MemoryStore], ForgetReport]) -> None:
    """Prompts, observations, summaries, waiting tool uses and the session itself."""
    _fill(store)

    assert ForgetReport(4, True) == forget(store)
    assert set() == _left(store)
    assert {0} == set(_rows(store).values())
    assert store.session("s1") is None


def test_others_stay(store: MemoryStore) -> None:
    """Forgetting a session or a project takes nothing from others."""
    _fill(store)
    _fill(store, THERE, "2")
    store.forget_session("s1")
    store.forget_project(HERE.key)

    assert set(_SECRETS) == _left(store, "2")
    assert 1 == len(matching(store, "zephyrtitle2"))


def test_a_session_that_went_on_elsewhere_keeps_that(store: MemoryStore) -> None:
    """It belongs to the other project then, without the prompt that it began with."""
    _fill(store)
    moved = Owner("s1", THERE.key, THERE.project)
    store.add_observation(moved, told("stays"), NOW_MS)
    store.forget_project(HERE.key)

    assert ["stays"] == titles(store)
    assert set() == _left(store)
    session = store.session("s1")
    assert session is not None
    assert (moved, "") == (session.owner, session.user_prompt)


def test_what_is_sent_again_does_not_come_back(store: MemoryStore) -> None:
    """An event of a forgotten observation, or one that waited in a forgotten session, is ignored when it comes again."""
    for number, tool in enumerate(("Edit", "Read", "Edit")):
        store.add_event(HERE, event(f"e{number}", tool, NOW_MS + number), window_ms=WINDOW_MS, make=make)
    store.forget([("observation", 1)])
    assert not store.add_event(HERE, event("e0"), window_ms=WINDOW_MS, make=make)
    store.forget_session("s1")

    assert [False] * 3 == [store.add_event(HERE, event(f"e{n}"), window_ms=WINDOW_MS, make=make) for n in range(3)]
    assert store.add_event(HERE, event("new"), window_ms=WINDOW_MS, make=make)


def test_an_import_does_not_bring_back_what_was_forgotten(store: MemoryStore) -> None:
    """Not one row of it; but after everything was forgotten, an export is how to start again."""
    identity = _fill(store)
    lines = list(store.export(RowFilter()))
    store.forget([("observation", identity)])
    found = store.import_lines(lines, NOW_MS)
    assert (0, 1, 3) == (found.n_observations, found.n_forgotten, found.n_duplicates)
    store.forget_session("s1")
    assert 4 == store.import_lines(lines, NOW_MS).n_forgotten
    assert store.add_observation(HERE, told("x"), NOW_MS) is not None
    store.forget_everything()

    assert (1, 1, 1, 1) == (lambda got: (got.n_sessions, got.n_prompts, got.n_observations, got.n_summaries))(
        store.import_lines(lines, NOW_MS)
    )


# --- pruning -----------------------------------------------------------------------------------------------


def _many(store: MemoryStore, n: int) -> None:
    for number in range(n):
        owner = Owner(f"s{number // 10}", HERE.key, "shop")
        words = " ".join(f"w{number}x{place}" for place in range(150))
        store.add_observation(owner, told(f"title{number}", narrative=words), NOW_MS + number * DAY_MS)


def test_what_is_older_goes_first_and_whole(store: MemoryStore) -> None:
    """Rows before a time go with all that belongs to them; sessions stay while they are active or have rows."""
    _fill(store)
    _many(store, 30)
    for number in (0, 1):
        store.complete_session(f"s{number}", NOW_MS)
    n = store.prune(now_ms=NOW_MS + 99 * DAY_MS, before_ms=NOW_MS + 15 * DAY_MS)

    assert 3 + 15 == n
    assert [f"title{number}" for number in range(15, 30)] == titles(store)
    # The completed session without rows is gone, the active one stays with its waiting tool use.
    assert [None, "s1", "s2"] == [one and one.owner.session_id for one in map(store.session, ("s0", "s1", "s2"))]
    assert 1 == store.stats().n_pending
    assert 0 == store.prune(now_ms=NOW_MS + 99 * DAY_MS, before_ms=NOW_MS + 15 * DAY_MS)


def test_a_size_is_kept_to_and_the_file_shrinks(store: MemoryStore) -> None:
    """The oldest rows go until the file is no larger, and it was not emptied for it."""
    _many(store, 400)
    before = store.stats().size_bytes
    limit = 700_000
    n = store.prune(now_ms=NOW_MS, max_bytes=limit)

    after = store.stats()
    assert limit >= after.size_bytes > limit / 2
    assert before > 2 * limit
    assert 400 == n + after.n_observations
    assert [f"title{number}" for number in range(n, 400)] == titles(store)
    assert 0 == store.prune(now_ms=NOW_MS, max_bytes=limit)


def test_a_size_that_cannot_be_reached_ends(store: MemoryStore) -> None:
    """When no rows are left it is done."""
    _many(store, 10)

    assert 10 == store.prune(now_ms=NOW_MS, max_bytes=1)
    assert 0 == store.stats().n_observations


def test_pruned_rows_may_be_imported_again(store: MemoryStore) -> None:
    """They were old, not wanted forgotten."""
    _many(store, 3)
    lines = list(store.export(RowFilter()))
    store.prune(now_ms=NOW_MS + DAY_MS * 9, before_ms=NOW_MS + DAY_MS * 9)

    assert 3 == store.import_lines(lines, NOW_MS).n_observations


def test_the_full_text_is_sound_after_it_all(store: MemoryStore) -> None:
    """The database and its full text pass their own checks after writes, repeats, forgetting and pruning."""
    _fill(store)
    _many(store, 40)
    store.forget([("observation", 5), ("observation", 6)])
    store.prune(now_ms=NOW_MS, before_ms=NOW_MS + 9 * DAY_MS)

    def check(db: object) -> list[tuple[str]]:
        for table in ("observations_fts", "summaries_fts", "prompts_fts"):
            db.execute(f"INSERT INTO {table}({table}, rank) VALUES('integrity-check', 1)")  # pyright: ignore
        return db.execute("PRAGMA integrity_check").fetchall()  # pyright: ignore

    assert [("ok",)] == store.database.write(check)
