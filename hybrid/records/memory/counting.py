"""Counts the rows of each project and type, and brings a count up to date by what changed since; for a page.

To count 100,000 rows takes a fifth of a second, so a count is kept by its caller. Ids are never given twice, and the
type and project of an observation never change: new ones are added, and only when some are gone all are counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.memory.texts import chunked, marks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_MOST_LOOKED_AT = 1_000
"""Changed rows that are looked up; when more changed, all are counted."""


class RowCounts(Struct, frozen=True):
    """The numbers of rows after a change.

    Attributes:
        change: Number of the last change that is counted; 0 for no memory.
        last_id: Largest id of the observations; 0 without any.
        observations: (key of a project, type) → number of observations.
        summaries: Key of a project → number of summaries.
        names: Key of a project → its name in the newest row.
    """

    change: int = 0
    last_id: int = 0
    observations: dict[tuple[str, str], int] = {}
    summaries: dict[str, int] = {}
    names: dict[str, str] = {}

    def of(self, key: str) -> dict[str, int]:
        """Return type → number of rows of a project, or with an empty key of all; summaries under `summary`."""
        found: dict[str, int] = {}
        for (project, kind), n in self.observations.items():
            if key in ("", project):
                found[kind] = found.get(kind, 0) + n
        n_summaries = sum(n for project, n in self.summaries.items() if key in ("", project))
        return found | ({"summary": n_summaries} if n_summaries else {})


def counts(db: sqlite3.Connection, change: int, known: RowCounts) -> RowCounts:
    """Return the counts of all rows.

    Args:
        db: The database.
        change: Number of its last change.
        known: Earlier counts of the same file, or none.
    """
    if change == known.change:
        return known
    before = known if known.change and _has_all(db, change, known) else RowCounts()
    observations = dict(before.observations)
    # In the order of the table: an index by project would lead to each row once more.
    sql = "SELECT project_key, type, count(*), max(id) FROM observations NOT INDEXED WHERE id > ? GROUP BY 1, 2"
    last_id = before.last_id
    for key, kind, n, highest in db.execute(sql, (before.last_id,)).fetchall():
        observations[key, kind] = observations.get((key, kind), 0) + n
        last_id = max(last_id, highest)
    summaries = dict(db.execute("SELECT project_key, count(*) FROM session_summaries GROUP BY 1").fetchall())
    keys = sorted({key for key, _ in observations} | set(summaries))
    return RowCounts(change, last_id, observations, summaries, {key: _name(db, key) for key in keys})


def _has_all(db: sqlite3.Connection, change: int, known: RowCounts) -> bool:
    """Return whether every observation that was counted is there still."""
    sql = "SELECT kind, row_id FROM changes WHERE seq > ? LIMIT ?"
    changed = db.execute(sql, (known.change, _MOST_LOOKED_AT + 1)).fetchall()
    # Numbers have no gaps: fewer are left of a log that was trimmed, and none of another file.
    if len(changed) != change - known.change or len(changed) > _MOST_LOOKED_AT:
        return False
    old = list({row_id for kind, row_id in changed if kind == "observation" and row_id <= known.last_id})
    return sum(_n_there(db, some) for some in chunked(old)) == len(old)


def _n_there(db: sqlite3.Connection, ids: Sequence[int]) -> int:
    return db.execute(f"SELECT count(*) FROM observations WHERE id IN ({marks(ids)})", ids).fetchone()[0]


def _name(db: sqlite3.Connection, key: str) -> str:
    newest = "SELECT created_at_epoch, project FROM {} WHERE project_key = ? ORDER BY created_at_epoch DESC LIMIT 1"
    found = [db.execute(newest.format(table), (key,)).fetchone() for table in ("observations", "session_summaries")]
    return max((row for row in found if row), default=(0, ""))[1]
