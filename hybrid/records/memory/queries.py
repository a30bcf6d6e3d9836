"""The SQL of what is wanted, and rows as values; the readers share it.

Rows of earlier versions that are not cleaned yet (`cleaning`) are read without their secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.records.memory.texts import clean, from_json
from hybrid.records.memory.types import (
    Extracted,
    MemoryKind,
    Observation,
    Owner,
    Row,
    Session,
    SessionSummary,
    Summarised,
    UserPrompt,
    Wanted,
)
from hybrid.redact import REDACT_VERSION, redact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

TABLES: dict[MemoryKind, str] = {"observation": "observations", "summary": "session_summaries"}

_COLUMNS: dict[MemoryKind, str] = {
    "observation": "r.type, r.title, r.subtitle, r.narrative, r.facts, r.concepts, r.files_read, r.files_modified, "
    "r.prompt_number, r.discovery_tokens, r.repeat_count, r.created_at_epoch, r.digest",
    "summary": "r.request, r.investigated, r.learned, r.completed, r.next_steps, r.notes, r.prompt_number, "
    "r.created_at_epoch",
}
_OWNER = "r.id, s.claude_session_id, r.project_key, r.project"
_SESSION = "JOIN sessions AS s ON s.id = r.session_id"
_SESSION_COLUMNS = (
    "claude_session_id, project_key, project, user_prompt, started_at_epoch, completed_at_epoch, status, prompt_counter"
)
_OF_SESSION = "(SELECT id FROM sessions WHERE claude_session_id = ?)"


class Clause:
    """Conditions that all hold, with their values."""

    def __init__(self) -> None:
        """Nothing is restricted yet."""
        self.parts: list[str] = []
        self.values: list[object] = []

    def add(self, part: str, *values: object) -> Clause:
        """One more condition."""
        self.parts.append(part)
        self.values += values
        return self

    @property
    def sql(self) -> str:
        """To stand after WHERE."""
        return " AND ".join(self.parts) or "1"


def is_wanted(kind: MemoryKind, wanted: Wanted) -> bool:
    """Return whether rows of a kind can be among the wanted; summaries have neither types nor files."""
    if wanted.kinds and kind not in wanted.kinds:
        return False
    return kind == "observation" or not (wanted.types or wanted.files)


def where(wanted: Wanted, *, not_key: str = "") -> Clause:
    """The conditions on a row `r` of a kind that `is_wanted`.

    Args:
        wanted: What restricts; its kinds are the caller's.
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
    """A path as it is stored; empty for the project itself."""
    path = clean(path).replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/") or path[:1]
    return "" if path == "." else path


def select(db: sqlite3.Connection, kind: MemoryKind, clause: Clause, order: str, limit: int) -> list[Row]:
    """Rows of one kind; `order` may name columns of `r`."""
    # The rows are chosen first: to sort many with all their text takes ten times as long.
    chosen = f"SELECT r.id FROM {TABLES[kind]} AS r CROSS {_SESSION} WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    sql = (
        f"SELECT {_OWNER}, {_COLUMNS[kind]} FROM {TABLES[kind]} AS r CROSS {_SESSION} "
        f"WHERE r.id IN ({chosen}) ORDER BY {order}"
    )
    hide = _hiding(db)
    return [_row(kind, values, hide) for values in db.execute(sql, (*clause.values, limit)).fetchall()]


def _hiding(db: sqlite3.Connection) -> Callable[[str], str]:
    """What takes secrets out of a text that is read: nothing is left to do once the rows are cleaned."""
    sql = "SELECT 1 FROM cleaned WHERE rules = ? AND stage IN ('words', 'file', '')"
    return redact if db.execute(sql, (REDACT_VERSION,)).fetchone() is None else str


def _row(kind: MemoryKind, values: tuple[Any, ...], hide: Callable[[str], str]) -> Row:
    owner = Owner(*values[1:4])
    if kind == "summary":
        return SessionSummary(values[0], owner, told_of_summary(values[4:10], hide), *values[10:])
    return Observation(values[0], owner, told_of_observation(values[4:12], hide), *values[12:])


def told_of_observation(values: Sequence[Any], hide: Callable[[str], str] = str) -> Extracted:
    """What is told by the columns from `type` to `files_modified`.

    Args:
        values: Of the columns.
        hide: Is applied to each text.
    """
    title, subtitle, narrative = map(hide, values[1:4])
    lists = (tuple(map(hide, from_json(value))) for value in values[4:8])
    return Extracted(values[0], title, subtitle, narrative, *lists)


def told_of_summary(values: Sequence[Any], hide: Callable[[str], str] = str) -> Summarised:
    """The same of a summary, by the columns from `request` to `notes`."""
    return Summarised(*map(hide, values[:6]))


def select_sessions(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[Session]:
    """Sessions; conditions and order name columns of `sessions`."""
    sql = f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [Session(Owner(*row[:3]), hide(row[3]), *row[4:]) for row in rows]


def select_prompts(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[UserPrompt]:
    """Prompts; conditions and order name columns of `r`."""
    sql = (
        f"SELECT {_OWNER}, r.prompt_text, r.prompt_number, r.created_at_epoch FROM user_prompts AS r CROSS {_SESSION} "
        f"WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    )
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [UserPrompt(row[0], Owner(*row[1:4]), hide(row[4]), *row[5:]) for row in rows]
