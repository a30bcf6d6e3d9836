"""Reads rows by age, id, file and session; functions of an open transaction, called by the store.

What is wanted restricts before a limit counts. Rows of one time stand in the order of their kinds, then of their ids.
Rows that `rewriting` has not masked yet by the present rules are masked as they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid import __version__
from hybrid.records.memory.showing import kind_of
from hybrid.records.memory.texts import chunked, clean, from_json, marks
from hybrid.records.memory.types import (
    MEMORY_KINDS,
    OBSERVATION_TYPES,
    Extracted,
    MemoryKind,
    MemoryStats,
    Observation,
    Owner,
    ProjectCount,
    Row,
    RowFilter,
    Session,
    SessionSummary,
    Summarised,
    UserPrompt,
)
from hybrid.redact import REDACT_VERSION, redact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence


TABLES: dict[MemoryKind, str] = {"observation": "observations", "summary": "session_summaries"}

TOLD_COLUMNS = "r.type, r.title, r.subtitle, r.narrative, r.facts, r.concepts, r.files_read, r.files_modified"
_COLUMNS: dict[MemoryKind, str] = {
    "observation": f"{TOLD_COLUMNS}, r.prompt_number, r.discovery_tokens, r.repeat_count, r.created_at_epoch, r.digest",
    "summary": "r.request, r.investigated, r.learned, r.completed, r.next_steps, r.notes, r.prompt_number, "
    "r.created_at_epoch",
}
_OWNER = "r.id, s.claude_session_id, r.project_key, r.project"
_SESSION = "JOIN sessions AS s ON s.id = r.session_id"
_SESSION_COLUMNS = (
    "claude_session_id, project_key, project, user_prompt, started_at_epoch, completed_at_epoch, status, prompt_counter"
)
_OF_SESSION = "(SELECT id FROM sessions WHERE claude_session_id = ?)"
_WORKED = (
    "(r.investigated <> '' OR EXISTS "
    "(SELECT 1 FROM observations AS o WHERE o.session_id = r.session_id AND o.prompt_number = r.prompt_number))"
)
"""Condition on a summary `r`: a tool was used in its turn."""


class Clause:
    """Conditions of SQL, joined by AND, with their values."""

    def __init__(self) -> None:
        """Begin without a condition, which holds for every row."""
        self.parts: list[str] = []
        self.values: list[object] = []

    def add(self, part: str, *values: object) -> Clause:
        """Add a condition with its values, and return this clause."""
        self.parts.append(part)
        self.values += values
        return self

    @property
    def sql(self) -> str:
        """The conditions as SQL after `WHERE`; `1` without any."""
        return " AND ".join(self.parts) or "1"


def kinds_of(wanted: RowFilter) -> list[MemoryKind]:
    """Return the kinds of which rows can be among the wanted, observations first; a summary has no type and no file."""
    kinds = MEMORY_KINDS[:1] if wanted.types or wanted.files else MEMORY_KINDS
    return [kind for kind in kinds if not wanted.kinds or kind in wanted.kinds]


def where(wanted: RowFilter, kind: MemoryKind | None = None, *, not_key: str = "") -> Clause:
    """Return the conditions on a row `r` of one of `kinds_of` the filter.

    Args:
        wanted: The filter; its kinds are not looked at.
        kind: The kind of the rows; None where the filter has no `answer_chars`, or for a table of another kind.
        not_key: A project to leave out; empty for none.
    """
    clause = Clause()
    if wanted.key:
        clause.add("r.project_key = ?", clean(wanted.key))
    if not_key:
        clause.add("r.project_key <> ?", clean(not_key))
    if wanted.since_ms is not None:
        clause.add("r.created_at_epoch >= ?", wanted.since_ms)
    if wanted.session_id:
        clause.add(f"r.session_id = {_OF_SESSION}", clean(wanted.session_id))
    if wanted.not_session:
        clause.add(f"r.session_id IS NOT {_OF_SESSION}", clean(wanted.not_session))
    if wanted.types:
        clause.add(f"r.type IN ({','.join('?' * len(wanted.types))})", *map(clean, wanted.types))
    if wanted.files:
        _add_files(clause, wanted.files)
    if wanted.answer_chars is not None and kind == "summary":
        clause.add(
            f"({_WORKED} OR length(r.learned || r.completed || r.next_steps || r.notes) >= ?)", wanted.answer_chars
        )
    return clause


def _add_files(clause: Clause, files: Sequence[str]) -> None:
    paths = tuple(dict.fromkeys(_normalised(path) for path in files))
    if "" in paths:
        clause.add("EXISTS (SELECT 1 FROM observation_files AS f WHERE f.observation_id = r.id)")
        return
    # `0` follows `/`: whatever begins with `path/` lies between the two.
    clause.add(
        f"r.id IN (WITH wanted(path) AS (VALUES {','.join(['(?)'] * len(paths))}) "
        "SELECT f.observation_id FROM wanted AS w CROSS JOIN observation_files AS f ON f.path = w.path UNION "
        "SELECT f.observation_id FROM wanted AS w CROSS JOIN observation_files AS f "
        "ON f.path > w.path || '/' AND f.path < w.path || '0')",
        *paths,
    )


def _normalised(path: str) -> str:
    """Return a path in the form in which it is stored; empty for the project itself."""
    path = clean(path).replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/") or path[:1]
    return "" if path == "." else path


def select(db: sqlite3.Connection, kind: MemoryKind, clause: Clause, order: str, limit: int) -> list[Row]:
    """Return at most `limit` rows of one kind that fulfil a clause; `order` may name columns of `r`."""
    # The rows are chosen first: to sort many with all their text takes ten times as long.
    chosen = f"SELECT r.id FROM {TABLES[kind]} AS r CROSS {_SESSION} WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    sql = (
        f"SELECT {_OWNER}, {_COLUMNS[kind]} FROM {TABLES[kind]} AS r CROSS {_SESSION} "
        f"WHERE r.id IN ({chosen}) ORDER BY {order}"
    )
    hide = _hiding(db)
    return [_row(kind, values, hide) for values in db.execute(sql, (*clause.values, limit)).fetchall()]


def are_rows_masked(db: sqlite3.Connection) -> bool:
    """Return whether all rows were stored or masked by the present rules; old texts may be left in the file."""
    sql = "SELECT 1 FROM cleaned WHERE rules = ? AND stage IN ('file', '')"
    return db.execute(sql, (REDACT_VERSION,)).fetchone() is not None


def _hiding(db: sqlite3.Connection) -> Callable[[str], str]:
    """Return the function that takes secrets out of texts that are read; `str` once all rows are masked."""
    return str if are_rows_masked(db) else redact


def _row(kind: MemoryKind, values: tuple[Any, ...], hide: Callable[[str], str]) -> Row:
    owner = Owner(*values[1:4])
    if kind == "summary":
        return SessionSummary(values[0], owner, told_of_summary(values[4:10], hide), *values[10:])
    return Observation(values[0], owner, told_of_observation(values[4:12], hide), *values[12:])


def told_of_observation(values: Sequence[Any], hide: Callable[[str], str] = str) -> Extracted:
    """Return the observation that the columns from `type` to `files_modified` hold.

    Args:
        values: The values of these columns.
        hide: Function that is applied to each text.
    """
    title, subtitle, narrative = map(hide, values[1:4])
    lists = (tuple(map(hide, from_json(value))) for value in values[4:8])
    return Extracted(values[0], title, subtitle, narrative, *lists)


def told_of_summary(values: Sequence[Any], hide: Callable[[str], str] = str) -> Summarised:
    """Return the summary that the columns from `request` to `notes` hold, `hide` applied to each text."""
    return Summarised(*map(hide, values[:6]))


def select_sessions(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[Session]:
    """Return the sessions that fulfil a clause; it and `order` name columns of `sessions`."""
    sql = f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [Session(Owner(*row[:3]), hide(row[3]), *row[4:]) for row in rows]


def select_prompts(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[UserPrompt]:
    """Return the prompts that fulfil a clause; it and `order` name columns of `r`."""
    sql = (
        f"SELECT {_OWNER}, r.prompt_text, r.prompt_number, r.created_at_epoch FROM user_prompts AS r CROSS {_SESSION} "
        f"WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    )
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [UserPrompt(row[0], Owner(*row[1:4]), hide(row[4]), *row[5:]) for row in rows]


NO_LIMIT = -1
_MAX_PATHS = 200
"""The most paths in one statement, which takes only so many variables."""
_NEWEST_FIRST = "r.created_at_epoch DESC, r.id DESC"
_OLDEST_FIRST = "r.created_at_epoch, r.id"


def _place(row: Row) -> tuple[int, int, int]:
    """Return the sort key of a row: its time, its kind, its id."""
    return row.created_ms, MEMORY_KINDS.index(kind_of(row)), row.id


def newest(db: sqlite3.Connection, wanted: RowFilter, limit: int, *, not_key: str = "") -> list[Row]:
    """Return the newest of the wanted rows, newest first."""
    limit = max(0, limit)
    found: list[Row] = []
    for kind in kinds_of(wanted):
        found += select(db, kind, where(wanted, kind, not_key=not_key), _NEWEST_FIRST, limit)
    return sorted(found, key=_place, reverse=True)[:limit]


def places(db: sqlite3.Connection, wanted: RowFilter) -> list[tuple[MemoryKind, int, str]]:
    """Return kind, id and project key of every wanted row, without reading its text."""
    return [
        (kind, identity, key)
        for kind in kinds_of(wanted)
        for clause in [where(wanted, kind)]
        for identity, key in db.execute(
            f"SELECT r.id, r.project_key FROM {TABLES[kind]} AS r WHERE {clause.sql}", clause.values
        )
    ]


def recent(db: sqlite3.Connection, wanted: RowFilter, key: str, limit: int) -> list[Row]:
    """Return the newest rows of the present project and observations of others, newest first.

    Args:
        db: The database.
        wanted: The filter; with a key in it, rows of other projects are left out.
        key: Key of the present project, which has at least half of the rows when it has so many.
        limit: The most rows.
    """
    own = newest(db, replace(wanted, key=key), limit)
    if wanted.key or "observation" not in kinds_of(wanted):
        return own
    others = newest(db, replace(wanted, kinds=("observation",)), limit, not_key=key)
    together = sorted([*own, *others], key=_place, reverse=True)[: max(0, limit)]
    n_own = sum(row.owner.key == key for row in together)
    n_own = max(n_own, min(len(own), (limit + 1) // 2))
    return sorted([*own[:n_own], *others[: max(0, limit - n_own)]], key=_place, reverse=True)


def of_files(db: sqlite3.Connection, paths: Sequence[str], wanted: RowFilter, limit: int) -> list[Row]:
    """Return the newest observations that touched a path or something below it; no path gives none."""
    found: list[Row] = []
    for some in chunked(list(dict.fromkeys(paths)), _MAX_PATHS):
        found += newest(db, replace(wanted, files=tuple(some)), limit)
    by_id = {row.id: row for row in found}
    return sorted(by_id.values(), key=_place, reverse=True)[: max(0, limit)]


def rows(db: sqlite3.Connection, kind: MemoryKind, ids: Sequence[int]) -> dict[int, Row]:
    """Return id → row for these ids of a kind, in their order; rows that are not there are left out."""
    found: dict[int, Row] = {}
    for some in chunked(list(dict.fromkeys(ids))):
        clause = Clause().add(f"r.id IN ({marks(some)})", *some)
        found |= {row.id: row for row in select(db, kind, clause, "r.id", NO_LIMIT)}
    return {identity: found[identity] for identity in ids if identity in found}


def worked(db: sqlite3.Connection, summaries: Sequence[int]) -> set[int]:
    """Return the ids of those summaries in whose turns a tool was used."""
    found: set[int] = set()
    for some in chunked(list(dict.fromkeys(summaries))):
        sql = f"SELECT r.id FROM session_summaries AS r WHERE r.id IN ({marks(some)}) AND {_WORKED}"
        found.update(identity for (identity,) in db.execute(sql, tuple(some)))
    return found


def timeline(db: sqlite3.Connection, at: Row | int, before: int, after: int, wanted: RowFilter) -> list[Row]:
    """Return at most so many wanted rows before and after a row, with it, or a time, in the order of time.

    Args:
        db: The database.
        at: The row, wanted or not; or milliseconds since 1970: rows of that very time count as after it.
        before: The most rows before it.
        after: The most rows after it.
        wanted: The filter of the rows beside it.
    """
    place, middle = ((at, -1, 0), ()) if isinstance(at, int) else (_place(at), (at,))
    return [*_beside(db, place, wanted, before, False), *middle, *_beside(db, place, wanted, after, True)]


def _beside(
    db: sqlite3.Connection, place: tuple[int, int, int], wanted: RowFilter, limit: int, is_after: bool
) -> list[Row]:
    """Return at most `limit` wanted rows next to a place (`_place`) on one side of it, in the order of time."""
    ms, kind_number, identity = place
    compare, order = (">", _OLDEST_FIRST) if is_after else ("<", _NEWEST_FIRST)
    found: list[Row] = []
    for kind in kinds_of(wanted):
        clause, number = where(wanted, kind), MEMORY_KINDS.index(kind)
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
    """Return all rows of a session in the order of time; none of an unknown one."""
    clause = where(RowFilter(session_id=session_id))
    found = [row for kind in MEMORY_KINDS for row in select(db, kind, clause, "r.id", NO_LIMIT)]
    return sorted(found, key=_place)


def touched_files(db: sqlite3.Connection, session_id: str) -> tuple[str, ...]:
    """Return the files of a session: written ones, then those only read; in both the last touched first."""
    found = db.execute(
        "SELECT f.path FROM observation_files AS f JOIN observations AS r ON r.id = f.observation_id "
        f"WHERE r.session_id = {_OF_SESSION} "
        "GROUP BY f.path ORDER BY max(f.is_modified) DESC, max(r.created_at_epoch) DESC, max(r.id) DESC, f.path",
        (clean(session_id),),
    )
    return tuple(row[0] for row in found.fetchall())


MAX_TRIES = 3
"""Most attempts to extract a use of a tool: a text that ends or stalls its reader must not do so for ever."""
N_TRIES = f"CASE tried_by WHEN '{__version__}' THEN n_tries ELSE 0 END"
"""SQL for the number of attempts by this version to extract a waiting use; above `MAX_TRIES` the use is set aside."""


def n_waiting(db: sqlite3.Connection, *, is_aside: bool = False) -> int:
    """Return the number of tool uses that wait for extraction, or that were set aside."""
    sign = ">" if is_aside else "<="
    return db.execute(f"SELECT count(*) FROM pending_events WHERE {N_TRIES} {sign} {MAX_TRIES}").fetchone()[0]


def waiting_tools(db: sqlite3.Connection, session_id: str) -> list[str]:
    """Return the names of the tools whose uses wait for extraction in a session, each once, in order."""
    is_waiting = f"{N_TRIES} <= {MAX_TRIES}"
    sql = f"SELECT tool FROM pending_events WHERE session_id = {_OF_SESSION} AND {is_waiting} ORDER BY id"
    return list(dict.fromkeys(tool for (tool,) in db.execute(sql, (clean(session_id),))))


def stats(db: sqlite3.Connection, n_bytes: int) -> MemoryStats:
    """Return the counts of all rows; `n_bytes` becomes their size."""
    tables = ("sessions", "observations", "session_summaries", "user_prompts")
    counts = tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
    by_type = dict(db.execute("SELECT type, count(*) FROM observations GROUP BY type").fetchall())
    ends = "SELECT min(created_at_epoch), max(created_at_epoch) FROM"
    times = [at for table in TABLES.values() for at in db.execute(f"{ends} {table}").fetchone() if at is not None]
    return MemoryStats(
        *counts,  # In the order of the fields.
        n_pending=n_waiting(db),
        n_aside=n_waiting(db, is_aside=True),
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
