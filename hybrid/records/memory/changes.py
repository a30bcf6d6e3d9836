"""The log of what changed, for an index of the records that is brought up to date; functions of an open transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.types import MemoryKind


def last_change(db: sqlite3.Connection) -> int:
    """Number of the last change, or where the numbers of this file begin."""
    return db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()[0]


def changes_since(db: sqlite3.Connection, seq: int) -> tuple[list[tuple[MemoryKind, int]], int] | None:
    """The rows that were added, changed or removed after a change, each once, and the number of the last change.

    Returns:
        None when the log does not tell: it was trimmed, or it is that of another file.
    """
    last = last_change(db)
    found = db.execute("SELECT seq, kind, row_id FROM changes WHERE seq > ? ORDER BY seq", (seq,)).fetchall()
    # Numbers have no gaps.
    if seq > last or len(found) != last - seq:
        return None
    return list(dict.fromkeys((kind, row_id) for _, kind, row_id in found)), last


def forget_changes(db: sqlite3.Connection, before_seq: int) -> None:
    """Drop what everybody who reads the log has read."""
    db.execute("DELETE FROM changes WHERE seq < ?", (before_seq,))
