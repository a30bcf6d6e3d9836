"""Writes the memory as JSON Lines; `importing` reads it.

The first line is `{"kind": "header", "format": "hybrid-memory", "version": 1}`. Every further line is one row, parents
first: sessions, prompts, observations, summaries. Times are `…_ms`, milliseconds since 1970; `created_at` is the same
for people. All kinds but the header have `session_id` (the client's), `project_key` and `project`.

session:
    `user_prompt`, `started_ms`, `completed_ms` (null while active), `status`, `prompt_counter`
prompt:
    `prompt_number`, `text`, `created_ms`, `created_at`
observation:
    `type`, `title`, `subtitle`, `narrative`, `facts`, `concepts`, `files_read`, `files_modified`, `prompt_number`,
    `discovery_tokens`, `repeat_count`, `created_ms`, `created_at`, `digest`
summary:
    `request`, `investigated`, `learned`, `completed`, `next_steps`, `notes`, `prompt_number`, `created_ms`,
    `created_at`
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import asdict, replace

from hybrid.records.memory.reading import TABLES, Clause, kinds_of, select, select_prompts, select_sessions, where
from hybrid.records.memory.texts import clean, iso
from hybrid.records.memory.types import Observation, Session, SessionSummary, UserPrompt

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import MemoryKind, Row, RowFilter


FORMAT = "hybrid-memory"
VERSION = 1
_AT_ONCE = 500

AnyRow = Session | UserPrompt | Observation | SessionSummary
KIND_NAMES: dict[type, str] = {
    Session: "session",
    UserPrompt: "prompt",
    Observation: "observation",
    SessionSummary: "summary",
}
_Found = TypeVar("_Found", bound=AnyRow)


def export_lines(database: Database, wanted: RowFilter) -> Iterator[str]:
    """Yield the header, then the wanted rows, as lines without line ends; rows written meanwhile may be among them.

    Sessions are those that the rows belong to. Prompts are left out when kinds, types or files are restricted, and
    tool uses that still wait for their batch always: flush first.
    """
    yield json.dumps({"kind": "header", "format": FORMAT, "version": VERSION})
    for record in _records(database, wanted):
        yield json.dumps(record, ensure_ascii=False)


def _records(database: Database, wanted: RowFilter) -> Iterator[dict[str, Any]]:
    sessions = _paged(database, lambda db, last: _sessions_after(db, wanted, last.owner.session_id if last else ""))
    yield from map(_record_of, sessions)
    if _has_prompts(wanted):
        yield from map(_record_of, _paged(database, lambda db, last: _prompts_after(db, wanted, last)))
    yield from map(_record_of, all_rows(database, wanted))


def all_rows(database: Database, wanted: RowFilter) -> Iterator[Row]:
    """Yield the wanted rows, observations first, in the order of their ids; nothing is locked between two of them."""
    for kind in kinds_of(wanted):
        yield from _paged(database, lambda db, last, kind=kind: _rows_after(db, kind, wanted, last))


def _paged(database: Database, read: Callable[[sqlite3.Connection, _Found | None], list[_Found]]) -> Iterator[_Found]:
    """Yield what `read` gives after a value, None for the first, until that is fewer than `_AT_ONCE`."""
    last: _Found | None = None
    while True:
        found = database.read(lambda db, last=last: read(db, last), [])
        yield from found
        if len(found) < _AT_ONCE:
            return
        last = found[-1]


def _rows_after(db: sqlite3.Connection, kind: MemoryKind, wanted: RowFilter, last: Row | None) -> list[Row]:
    return select(db, kind, where(wanted).add("r.id > ?", last.id if last else 0), "r.id", _AT_ONCE)


def _prompts_after(db: sqlite3.Connection, wanted: RowFilter, last: UserPrompt | None) -> list[UserPrompt]:
    return select_prompts(db, where(wanted).add("r.id > ?", last.id if last else 0), "r.id", _AT_ONCE)


def _has_prompts(wanted: RowFilter) -> bool:
    return not (wanted.types or wanted.files or wanted.kinds)


def _sessions_after(db: sqlite3.Connection, wanted: RowFilter, after: str) -> list[Session]:
    parts: list[str] = []
    clause = Clause().add("claude_session_id > ?", after)
    rows = where(wanted)
    for table in [*(TABLES[kind] for kind in kinds_of(wanted)), *(["user_prompts"] if _has_prompts(wanted) else [])]:
        parts.append(f"id IN (SELECT r.session_id FROM {table} AS r WHERE {rows.sql})")
        clause.values += rows.values
    if _has_prompts(wanted):
        # A session that has nothing yet is wanted by what is known of it.
        empty = where(replace(wanted, session_id="", not_session=""))
        bare = empty.sql.replace("r.", "").replace("created_at_epoch", "started_at_epoch")
        parts.append(f"({bare})")
        clause.values += empty.values
        for part, value in (("= ?", wanted.session_id), ("<> ?", wanted.not_session)):
            if value:
                parts[-1] += f" AND claude_session_id {part}"
                clause.values.append(clean(value))
    clause.parts.append("(" + " OR ".join(f"({part})" for part in parts) + ")" if parts else "0")
    return select_sessions(db, clause, "claude_session_id", _AT_ONCE)


def _record_of(row: AnyRow) -> dict[str, Any]:
    """Return a row as the object of its line, with its keys in the order of the format."""
    owner = row.owner
    record = {"kind": KIND_NAMES[type(row)], "session_id": owner.session_id, "project_key": owner.key}
    record |= {"project": owner.project}
    if isinstance(row, Session):
        return record | {name: value for name, value in asdict(row).items() if name != "owner"}
    number = {"prompt_number": row.prompt_number}
    when = {"created_ms": row.created_ms, "created_at": iso(row.created_ms)}
    if isinstance(row, UserPrompt):
        return record | number | {"text": row.text} | when
    record |= asdict(row.told) | number
    if isinstance(row, SessionSummary):
        return record | when
    counts = {"discovery_tokens": row.discovery_tokens, "repeat_count": row.repeat_count}
    return record | counts | when | {"digest": row.digest}
