from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.types import RowFilter, Summarised
from tests.support.memories import HERE, NOW_MS, THERE, matching, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Owner, Row


def _add(store: MemoryStore, title: str, at: int, owner: Owner = HERE, **parts: object) -> int:
    row = store.add_observation(owner, told(title, **parts), NOW_MS + at)
    assert row is not None
    return row.id


def _names(rows: Iterable[Row]) -> list[str]:
    return [row.told.notes if isinstance(row.told, Summarised) else row.told.title for row in rows]


def test_newest_comes_first_of_both_kinds(store: MemoryStore) -> None:
    """Observations and summaries together; at one time the summary is the newer."""
    for title, at in (("one", 1), ("three", 3), ("two", 2)):
        _add(store, title, at)
    store.add_summary(HERE, Summarised(notes="sum"), NOW_MS + 2)

    assert ["three", "sum", "two"] == _names(store.newest(RowFilter(), 3))
    assert [] == store.newest(RowFilter(), 0)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RowFilter(key=HERE.key), ["sum", "fix", "old"]),
        (RowFilter(key=THERE.key), ["other"]),
        (RowFilter(since_ms=NOW_MS + 2), ["sum", "fix", "other"]),
        (RowFilter(types=("bugfix",)), ["fix"]),
        (RowFilter(types=("bugfix", "change")), ["fix", "other", "old"]),
        (RowFilter(types=("summary",)), ["sum"]),
        (RowFilter(types=("summary", "bugfix")), ["sum", "fix"]),
        (RowFilter(kinds=("summary",)), ["sum"]),
        (RowFilter(kinds=("summary",), types=("bugfix",)), []),
        (RowFilter(session_id="s2"), ["other"]),
        (RowFilter(not_session="s1"), ["other"]),
        (RowFilter(not_session="unknown"), ["sum", "fix", "other", "old"]),
        (RowFilter(files=("src/a.py",)), ["fix"]),
        (RowFilter(files=("src",)), ["fix", "old"]),
        (RowFilter(files=("./src/",)), ["fix", "old"]),
        (RowFilter(files=("sr",)), []),
        (RowFilter(files=(".",)), ["fix", "old"]),
        (RowFilter(files=("src/a.py", "src/b.py"), key=HERE.key, since_ms=NOW_MS + 3), ["fix"]),
    ],
    ids=str,
)
def test_each_filter_restricts(store: MemoryStore, wanted: RowFilter, expected: list[str]) -> None:
    """Each part of what is wanted alone, and together; a path stands for what is below it."""
    _add(store, "old", 1, files_read=("src/b.py",))
    _add(store, "other", 2, THERE)
    _add(store, "fix", 3, type="bugfix", files_modified=("src/a.py",), files_read=("src/a.py",))
    store.add_summary(HERE, Summarised(notes="sum"), NOW_MS + 4)

    assert expected == _names(store.newest(wanted, 9))
    assert expected[:1] == _names(store.newest(wanted, 1))


@pytest.mark.parametrize(("limit", "n_own"), [(4, 2), (5, 3), (20, 3), (1, 1)])
def test_half_of_the_rows_are_the_present_projects(store: MemoryStore, limit: int, n_own: int) -> None:
    """A busy project does not crowd out the present one, whose rows are all older here."""
    for at in range(3):
        _add(store, f"own{at}", at)
    for at in range(30):
        _add(store, f"other{at}", 100 + at, THERE)
    found = store.recent(RowFilter(), HERE.key, limit)

    assert n_own == sum(row.owner == HERE for row in found)
    assert limit == len(found)
    assert sorted(found, key=lambda row: row.created_ms, reverse=True) == found


def test_newer_rows_of_the_present_project_are_not_cut_to_half(store: MemoryStore) -> None:
    """Half is the least that it has; summaries of others and, when only one project is wanted, all of others stay out."""
    for at in range(5):
        _add(store, f"own{at}", 50 + at)
        _add(store, f"other{at}", at, THERE)
    store.add_summary(THERE, Summarised(notes="sum"), NOW_MS + 99)

    assert ["own4", "own3", "own2", "own1"] == _names(store.recent(RowFilter(), HERE.key, 4))
    assert "sum" not in _names(store.recent(RowFilter(), HERE.key, 50))
    assert 5 == len(store.recent(RowFilter(key=HERE.key), HERE.key, 50))


def test_filters_come_before_the_limit(store: MemoryStore) -> None:
    """The one old bugfix is found behind any number of newer changes."""
    _add(store, "fix", 0, type="bugfix")
    for at in range(40):
        _add(store, f"change{at}", 1 + at)

    assert ["fix"] == _names(store.recent(RowFilter(types=("bugfix",)), HERE.key, 2))


def test_timeline_around_a_row_and_a_time(store: MemoryStore) -> None:
    """So many rows before and after, oldest first; rows of one time keep their order."""
    ids = {title: _add(store, title, at) for title, at in (("a", 1), ("b", 2), ("c", 2), ("d", 2), ("e", 3))}
    summary = store.add_summary(HERE, Summarised(notes="sum"), NOW_MS + 2)
    assert summary is not None

    assert ["b", "c", "d", "sum"] == _names(store.timeline("observation", ids["c"], 1, 2, RowFilter()))
    assert ["c", "d", "sum", "e"] == _names(store.timeline("summary", summary.id, 2, 5, RowFilter()))
    assert ["a", "b"] == _names(store.timeline("observation", ids["a"], 5, 1, RowFilter()))
    assert ["a", "b", "c"] == _names(store.timeline_at(NOW_MS + 2, 5, 2, RowFilter()))
    assert ["c", "sum"] == _names(store.timeline("observation", ids["c"], 9, 1, RowFilter(kinds=("summary",))))
    assert [] == store.timeline("observation", 999, 1, 1, RowFilter())


def test_many_ids_at_once(store: MemoryStore) -> None:
    """More than a statement takes, in the order that was asked for, each once."""
    ids = [_add(store, f"title{at}", at) for at in range(1_100)]

    assert ids[::-1] == list(store.rows("observation", [*ids[::-1], *ids]))


def test_rows_of_files(store: MemoryStore) -> None:
    """Any number of paths; a row that touched two is there once."""
    _add(store, "both", 1, files_read=("a.py",), files_modified=("lib/b.py",))
    _add(store, "one", 2, files_read=("lib/c.py",))

    assert ["one", "both"] == _names(store.of_files(["a.py", "lib", *(f"x{n}" for n in range(500))], RowFilter(), 9))
    assert [] == store.of_files([], RowFilter(), 9)


def test_files_of_a_session(store: MemoryStore) -> None:
    """What was written comes first, and of each sort what was touched last."""
    _add(store, "a", 1, files_modified=("w1",), files_read=("r1",))
    _add(store, "b", 2, files_modified=("w2",), files_read=("r2", "w1"))
    _add(store, "c", 3, THERE, files_modified=("x",))

    assert ("w1", "w2", "r2", "r1") == store.touched_files("s1")
    assert ["a", "b"] == _names(store.session_rows("s1"))


# --- full text ---------------------------------------------------------------------------------------------


def test_full_text_finds_every_part(store: MemoryStore) -> None:
    """Words of any column and kind; a part of a compound name, and the whole of it; accents do not matter."""
    wanted = _add(
        store, "Tune retry_count", 1, subtitle="subtitleword", narrative="Größe narrated", facts=("factual",),
        concepts=("gotcha",), files_read=("src/reader.py",), files_modified=("src/writer.py",),
    )  # fmt: skip
    _add(store, "Something else", 2)
    store.add_summary(HERE, Summarised(learned="summarised thing"), NOW_MS)
    words = "retry count retry_count RETRY_COUNT subtitleword grosse große narrated factual gotcha reader writer"

    for word in [*words.split()[:4], *words.split()[6:]]:
        assert [wanted] == matching(store, word), word
    assert [] == matching(store, "count_retry")
    assert [1] == matching(store, "summarised", "summaries_fts")


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        ("SELECT id FROM observations WHERE project_key = 'k' ORDER BY created_at_epoch DESC, id DESC LIMIT 9", "observations_by_project"),
        ("SELECT observation_id FROM observation_files WHERE path = 'a.py'", "observation_files_by_path"),
        ("SELECT observation_id FROM observation_concepts WHERE concept = 'gotcha'", "observation_concepts_by_concept"),
    ],
)  # fmt: skip
def test_what_is_asked_often_has_an_index(store: MemoryStore, sql: str, index: str) -> None:
    """Newest of a project, by file, by concept: found and ordered without looking at every row."""
    _add(store, "one", 1)

    plan = store.database.read(lambda db: " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")), "")

    assert index in plan
    assert "TEMP B-TREE" not in plan
