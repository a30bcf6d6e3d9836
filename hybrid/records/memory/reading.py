"""Reads rows by age, place and id; functions of an open transaction, called by the store.

What is wanted restricts before a limit counts. Rows of one time stand in the order of their kinds, then of their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.records.memory.forms import kind_of
from hybrid.records.memory.queries import (
    TABLES,
    Clause,
    is_wanted,
    select,
    select_sessions,
    where,
)
from hybrid.records.memory.texts import chunked, clean, marks
from hybrid.records.memory.types import (
    MEMORY_KINDS,
    OBSERVATION_TYPES,
    MemoryKind,
    Row,
    Session,
    Wanted,
)
from hybrid.records.memory.values import MemoryStats, ProjectCount

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

NO_LIMIT = -1
_MAX_PATHS = 200
"""In one statement, which takes only so many variables."""
_NEWEST_FIRST = "r.created_at_epoch DESC, r.id DESC"
_OLDEST_FIRST = "r.created_at_epoch, r.id"


def _place(row: Row) -> tuple[int, int, int]:
    """Where a row stands in time."""
    return row.created_ms, MEMORY_KINDS.index(kind_of(row)), row.id


def newest(db: sqlite3.Connection, wanted: Wanted, limit: int, *, not_key: str = "") -> list[Row]:
    """The newest of the wanted rows, newest first."""
    found: list[Row] = []
    for kind in MEMORY_KINDS:
        if is_wanted(kind, wanted):
            found += select(db, kind, where(wanted, not_key=not_key), _NEWEST_FIRST, max(0, limit))
    return sorted(found, key=_place, reverse=True)[: max(0, limit)]


def places(db: sqlite3.Connection, wanted: Wanted) -> list[tuple[MemoryKind, int, str]]:
    """Kind, id and project key of every wanted row: for a search that restricts before its limit counts."""
    found: list[tuple[MemoryKind, int, str]] = []
    for kind in MEMORY_KINDS:
        if is_wanted(kind, wanted):
            clause = where(wanted)
            sql = f"SELECT r.id, r.project_key FROM {TABLES[kind]} AS r WHERE {clause.sql}"
            for identity, key in db.execute(sql, clause.values):
                found.append((kind, identity, key))
    return found


def recent(db: sqlite3.Connection, wanted: Wanted, key: str, limit: int) -> list[Row]:
    """The newest rows of the present project and observations of others, newest first.

    Args:
        db: The database.
        wanted: What restricts; with a key in it, other projects give nothing.
        key: Of the present project, which has at least half of the rows when it has so many.
        limit: Rows at most.
    """
    own = newest(db, replace(wanted, key=key), limit)
    if wanted.key or not is_wanted("observation", wanted):
        return own
    others = newest(db, replace(wanted, kinds=("observation",)), limit, not_key=key)
    together = sorted([*own, *others], key=_place, reverse=True)[: max(0, limit)]
    n_own = sum(row.owner.key == key for row in together)
    n_own = max(n_own, min(len(own), (limit + 1) // 2))
    return sorted([*own[:n_own], *others[: max(0, limit - n_own)]], key=_place, reverse=True)


def of_files(db: sqlite3.Connection, paths: Sequence[str], wanted: Wanted, limit: int) -> list[Row]:
    """The newest observations that touched a path or something below it; no path gives none."""
    found: list[Row] = []
    for some in chunked(list(dict.fromkeys(paths)), _MAX_PATHS):
        found += newest(db, replace(wanted, files=tuple(some)), limit)
    by_id = {row.id: row for row in found}
    return sorted(by_id.values(), key=_place, reverse=True)[: max(0, limit)]


def rows(db: sqlite3.Connection, kind: MemoryKind, ids: Sequence[int]) -> dict[int, Row]:
    """The rows with these ids; those that are not there are left out."""
    found: dict[int, Row] = {}
    for some in chunked(list(dict.fromkeys(ids))):
        clause = Clause().add(f"r.id IN ({marks(some)})", *some)
        found |= {row.id: row for row in select(db, kind, clause, "r.id", NO_LIMIT)}
    return {identity: found[identity] for identity in ids if identity in found}


def timeline(
    db: sqlite3.Connection, kind: MemoryKind, identity: int, before: int, after: int, wanted: Wanted
) -> list[Row]:
    """The wanted rows around a row in the order of time, with that row; empty when it is not there."""
    anchor = rows(db, kind, [identity]).get(identity)
    if anchor is None:
        return []
    place = _place(anchor)
    return [*_beside(db, place, wanted, before, False), anchor, *_beside(db, place, wanted, after, True)]


def timeline_at(db: sqlite3.Connection, ms: int, before: int, after: int, wanted: Wanted) -> list[Row]:
    """The wanted rows around a time in the order of time; those of that very millisecond come after it."""
    place = (ms, -1, 0)
    return [*_beside(db, place, wanted, before, False), *_beside(db, place, wanted, after, True)]


def _beside(
    db: sqlite3.Connection, place: tuple[int, int, int], wanted: Wanted, limit: int, is_after: bool
) -> list[Row]:
    """At most `limit` rows next to a place on one side of it, in the order of time."""
    ms, kind_number, identity = place
    compare, order = (">", _OLDEST_FIRST) if is_after else ("<", _NEWEST_FIRST)
    found: list[Row] = []
    for number, kind in enumerate(MEMORY_KINDS):
        if not is_wanted(kind, wanted):
            continue
        clause = where(wanted)
        if number == kind_number:
            clause.add(f"(r.created_at_epoch, r.id) {compare} (?, ?)", ms, identity)
        else:
            # At the same time a later kind comes after, an earlier one before.
            is_same_time_too = (number > kind_number) == is_after
            clause.add(f"r.created_at_epoch {compare}{'=' if is_same_time_too else ''} ?", ms)
        found += select(db, kind, clause, order, max(0, limit))
    found.sort(key=_place, reverse=not is_after)
    return sorted(found[: max(0, limit)], key=_place)


def session_rows(db: sqlite3.Connection, session_id: str) -> list[Row]:
    """All rows of a session in the order of time."""
    wanted = Wanted(session_id=session_id)
    found = [row for kind in MEMORY_KINDS for row in select(db, kind, where(wanted), "r.id", NO_LIMIT)]
    return sorted(found, key=_place)


def rows_after(db: sqlite3.Connection, kind: MemoryKind, identity: int, wanted: Wanted, limit: int) -> list[Row]:
    """The next wanted rows of a kind in the order of their ids."""
    if not is_wanted(kind, wanted):
        return []
    return select(db, kind, where(wanted).add("r.id > ?", identity), "r.id", limit)


def sessions(db: sqlite3.Connection, wanted: Wanted, limit: int) -> list[Session]:
    """The sessions that began in a project and after a time, newest first; types, files, kinds say nothing of them."""
    clause = Clause()
    for part, value in (
        ("project_key = ?", wanted.key),
        ("started_at_epoch >= ?", wanted.since_ms),
        ("claude_session_id = ?", wanted.session_id),
        ("claude_session_id <> ?", wanted.not_session),
    ):
        if value or value == 0:
            clause.add(part, clean(value) if isinstance(value, str) else value)
    return select_sessions(db, clause, "started_at_epoch DESC, id DESC", max(0, limit))


def touched_files(db: sqlite3.Connection, session_id: str) -> tuple[str, ...]:
    """The files of a session: those that were written, then those only read; what was touched last comes first."""
    found = db.execute(
        "SELECT f.path FROM observation_files AS f JOIN observations AS r ON r.id = f.observation_id "
        "WHERE r.session_id = (SELECT id FROM sessions WHERE claude_session_id = ?) "
        "GROUP BY f.path ORDER BY max(f.is_modified) DESC, max(r.created_at_epoch) DESC, max(r.id) DESC, f.path",
        (clean(session_id),),
    )
    return tuple(row[0] for row in found.fetchall())


def stats(db: sqlite3.Connection, n_bytes: int) -> MemoryStats:
    """What there is, counted."""
    tables = ("sessions", "observations", "session_summaries", "user_prompts", "pending_events")
    counts = tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
    by_type = dict(db.execute("SELECT type, count(*) FROM observations GROUP BY type").fetchall())
    ends = [
        db.execute(f"SELECT min(created_at_epoch), max(created_at_epoch) FROM {table}").fetchone()
        for table in TABLES.values()
    ]
    times = [time for pair in ends for time in pair if time is not None]
    return MemoryStats(
        n_sessions=counts[0],
        n_observations=counts[1],
        n_summaries=counts[2],
        n_prompts=counts[3],
        n_pending=counts[4],
        by_type={kind: by_type[kind] for kind in OBSERVATION_TYPES if kind in by_type},
        by_project=_by_project(db),
        oldest_ms=min(times, default=None),
        newest_ms=max(times, default=None),
        size_bytes=n_bytes,
    )


def _by_project(db: sqlite3.Connection) -> tuple[ProjectCount, ...]:
    # The name beside max() is that of the newest row.
    found: dict[str, tuple[str, int, int]] = {}
    for place, table in enumerate(TABLES.values()):
        sql = f"SELECT project_key, project, count(*), max(created_at_epoch) FROM {table} GROUP BY project_key"
        for key, project, n, _ in db.execute(sql).fetchall():
            name, *counts = found.get(key, (project, 0, 0))
            counts[place] = n
            found[key] = (name, counts[0], counts[1])
    counted = [ProjectCount(key, *rest) for key, rest in found.items()]
    return tuple(sorted(counted, key=lambda one: (-one.n_observations, one.project, one.key)))
