from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.transfer import import_database
from hybrid.records.memory.types import MemoryImport, RowFilter
from hybrid.records.types import MemoryImportError
from tests.support.memories import NOW_MS

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore

_OLD = """
CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT, project TEXT, user_prompt TEXT,
  started_at TEXT, started_at_epoch INTEGER, completed_at TEXT, completed_at_epoch INTEGER, status TEXT, prompt_counter INTEGER);
CREATE TABLE observations(id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT,
  facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER,
  created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries(id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT,
  completed TEXT, next_steps TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts(id INTEGER PRIMARY KEY, claude_session_id TEXT, prompt_number INTEGER, prompt_text TEXT, created_at TEXT,
  created_at_epoch INTEGER);
"""


def _resolve(project: str) -> tuple[str, str]:
    return f"key-{project}", project.upper()


def _insert(db: sqlite3.Connection, table: str, **values: object) -> None:
    db.execute(
        f"INSERT INTO {table}({','.join(values)}) VALUES ({','.join('?' * len(values))})", tuple(values.values())
    )


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database as older versions made it."""
    path = tmp_path / "claude-mem.db"
    of_shop = {"sdk_session_id": "m1", "project": "shop"}
    told = {"type": "bugfix", "title": "Fix it", "narrative": "because", "facts": '["one", "two"]'}
    told |= {"concepts": '["gotcha"]', "files_modified": '["a.py"]'}
    observations = [
        {**of_shop, **told, "prompt_number": 1, "discovery_tokens": 5, "created_at_epoch": NOW_MS},
        # Seconds, a list that is no JSON, an unknown type, the text of the oldest version, no project of its own.
        {"sdk_session_id": "m1", "type": "poem", "title": "Look", "text": "old text", "facts": "just text"}
        | {"created_at_epoch": NOW_MS // 1000},
        {"sdk_session_id": "m9", "project": "bank", "type": "change", "title": "Alone", "files_read": "[1, null]"}
        | {"created_at": "2026-02-13T16:26:40Z"},
        {**of_shop, "type": "change"},
        {"project": "shop", "type": "change", "title": "Whose?"},
    ]
    session = {"claude_session_id": "c1", **of_shop, "user_prompt": "Do it", "status": "active", "prompt_counter": 2}
    summary = {**of_shop, "request": "r", "next_steps": "n", "prompt_number": 1, "created_at_epoch": NOW_MS}
    prompt = {"claude_session_id": "c1", "prompt_number": 1, "prompt_text": "Do it", "created_at_epoch": NOW_MS}
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(_OLD)
        _insert(db, "sdk_sessions", **session, started_at_epoch=NOW_MS)
        for row in observations:
            _insert(db, "observations", **row)
        _insert(db, "session_summaries", **summary)
        _insert(db, "user_prompts", **prompt)
    return path


def test_all_tables_are_imported(store: MemoryStore, old: Path) -> None:
    """Sessions under the client's id, times in milliseconds, lists of any form; rows that tell nothing are problems."""
    found = import_database(old, store.database, _resolve, now_ms=NOW_MS)

    assert (1, 1, 3, 1) == (found.n_sessions, found.n_prompts, found.n_observations, found.n_summaries)
    assert ["observations, row 4: it tells nothing", "observations, row 5: it names no session"] == [
        one.message for one in found.problems
    ]
    rows = [
        (row.owner.session_id, row.owner.key, row.owner.project, row.told.type, row.told.title, row.created_ms)
        for row in store.all_rows("observation")
    ]
    assert [
        ("c1", "key-shop", "SHOP", "bugfix", "Fix it", NOW_MS),
        ("c1", "key-shop", "SHOP", "change", "Look", NOW_MS),
        ("m9", "key-bank", "BANK", "change", "Alone", NOW_MS),
    ] == rows
    first, second, third = (row.told for row in store.all_rows("observation"))
    assert (("one", "two"), ("gotcha",), ("a.py",)) == (first.facts, first.concepts, first.files_modified)
    assert ("old text", ("just text",)) == (second.narrative, second.facts)
    assert ("1", "null") == third.files_read
    session = store.session("c1")
    assert session is not None
    assert ("completed", "Do it", 2) == (session.status, session.user_prompt, session.prompt_counter)
    assert ["Do it"] == [one.text for one in store.prompts("c1")]


def test_importing_twice_is_as_once(store: MemoryStore, old: Path) -> None:
    """Also much later, although two rows have no time of their own."""
    import_database(old, store.database, _resolve, now_ms=NOW_MS)
    lines = list(store.export(RowFilter()))
    again = import_database(old, store.database, _resolve, now_ms=NOW_MS + 10**9)

    assert (0, 0, 0, 0) == (again.n_sessions, again.n_prompts, again.n_observations, again.n_summaries)
    assert 6 == again.n_duplicates
    assert lines == list(store.export(RowFilter()))


def test_a_dry_run_makes_nothing(store: MemoryStore, old: Path) -> None:
    """It gives the numbers of the import."""
    dry = import_database(old, store.database, _resolve, now_ms=NOW_MS, is_dry=True)

    assert not store.exists
    assert dry == import_database(old, store.database, _resolve, now_ms=NOW_MS)


@pytest.mark.parametrize("is_used", [False, True])
def test_the_database_is_only_read(store: MemoryStore, old: Path, is_used: bool) -> None:
    """Its bytes stay, and no file is made beside it; what another program has in its log is read."""
    with closing(sqlite3.connect(old)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        if is_used:
            _insert(db, "observations", sdk_session_id="m1", project="shop", type="change", title="In the log")
            db.commit()
        else:
            db.close()
        before = {path.name: path.read_bytes() for path in old.parent.glob("claude-mem.db*") if "shm" not in path.name}
        found = import_database(old, store.database, _resolve, now_ms=NOW_MS)
        after = {path.name: path.read_bytes() for path in old.parent.glob("claude-mem.db*") if "shm" not in path.name}

    assert before == after
    assert 3 + is_used == found.n_observations


def test_newer_names_and_missing_columns(store: MemoryStore, tmp_path: Path) -> None:
    """Columns are taken under the names of newer versions; without tables of prompts and summaries there are none."""
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE sdk_sessions(content_session_id TEXT, memory_session_id TEXT, project TEXT)")
        db.execute("CREATE TABLE observations(memory_session_id TEXT, title TEXT, facts TEXT)")
        _insert(db, "sdk_sessions", content_session_id="c", memory_session_id="m", project="p")
        _insert(db, "observations", memory_session_id="m", title="Bare", facts=json.dumps({"a": 1}))

    assert MemoryImport(n_sessions=1, n_observations=1) == import_database(
        path, store.database, _resolve, now_ms=NOW_MS
    )
    (row,) = store.all_rows("observation")
    assert ("c", "key-p", NOW_MS) == (row.owner.session_id, row.owner.key, row.created_ms)


def test_anything_else_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    """A missing file, one that is no database, and a database of something else."""
    (tmp_path / "text").write_text("text " * 500)
    with closing(sqlite3.connect(tmp_path / "other")) as db:
        db.execute("CREATE TABLE recipes(id)")

    for name in ("missing", "text", "other"):
        with pytest.raises(MemoryImportError, match=name):
            import_database(tmp_path / name, store, _resolve, now_ms=NOW_MS)
