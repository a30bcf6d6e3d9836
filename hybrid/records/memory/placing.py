"""Which rows are wanted, without reading them: for a search that restricts before its limit counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.records.memory.queries import TABLES, is_wanted, where
from hybrid.records.memory.types import MEMORY_KINDS

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind, Wanted


def places(store: MemoryStore, wanted: Wanted) -> list[tuple[MemoryKind, int, str]]:
    """Kind, number and project key of every wanted row."""

    def read(db: sqlite3.Connection) -> list[tuple[MemoryKind, int, str]]:
        found: list[tuple[MemoryKind, int, str]] = []
        for kind in MEMORY_KINDS:
            if is_wanted(kind, wanted):
                clause = where(wanted)
                sql = f"SELECT r.id, r.project_key FROM {TABLES[kind]} AS r WHERE {clause.sql}"
                for number, key in db.execute(sql, clause.values):
                    found.append((kind, number, key))
        return found

    return store.database.read(read, [])
