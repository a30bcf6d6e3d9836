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
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from hybrid.records.memory.reading import Clause, is_wanted, rows_after, select_prompts, select_sessions, where
from hybrid.records.memory.texts import clean, iso
from hybrid.records.memory.types import MEMORY_KINDS, Observation, RowFilter, Session, UserPrompt

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import Owner, Row


FORMAT = "hybrid-memory"
VERSION = 1
_AT_ONCE = 500


def export_lines(database: Database, wanted: RowFilter) -> Iterator[str]:
    """Yield the header, then the wanted rows, as lines without line ends; rows written meanwhile may be among them.

    Sessions are those that the rows belong to. Prompts are left out when kinds, types or files are restricted, and
    tool uses that still wait for their batch always: flush first.
    """
    yield json.dumps({"kind": "header", "format": FORMAT, "version": VERSION})
    for record in _records(database, wanted):
        yield json.dumps(record, ensure_ascii=False)


def _records(database: Database, wanted: RowFilter) -> Iterator[dict[str, Any]]:
    last = ""
    while True:
        sessions = database.read(lambda db, after=last: _sessions_after(db, wanted, after), [])
        yield from map(session_record, sessions)
        if len(sessions) < _AT_ONCE:
            break
        last = sessions[-1].owner.session_id
    for prompt in _prompts(database, wanted):
        yield prompt_record(prompt)
    for row in all_rows(database, wanted):
        yield row_record(row)


def all_rows(database: Database, wanted: RowFilter) -> Iterator[Row]:
    """Yield the wanted rows, observations first, in the order of their ids; nothing is locked between two of them."""
    for kind in MEMORY_KINDS:
        last = 0
        while True:
            found = database.read(lambda db, kind=kind, last=last: rows_after(db, kind, last, wanted, _AT_ONCE), [])
            yield from found
            if len(found) < _AT_ONCE:
                break
            last = found[-1].id


def _has_prompts(wanted: RowFilter) -> bool:
    return not (wanted.types or wanted.files or wanted.kinds)


def _prompts(database: Database, wanted: RowFilter) -> Iterator[UserPrompt]:
    last = 0
    while _has_prompts(wanted):
        found = database.read(
            lambda db, last=last: select_prompts(db, where(wanted).add("r.id > ?", last), "r.id", _AT_ONCE), []
        )
        yield from found
        if len(found) < _AT_ONCE:
            break
        last = found[-1].id


def _sessions_after(db: sqlite3.Connection, wanted: RowFilter, after: str) -> list[Session]:
    parts: list[str] = []
    clause = Clause().add("claude_session_id > ?", after)
    tables = ["observations"] if is_wanted("observation", wanted) else []
    tables += ["session_summaries"] if is_wanted("summary", wanted) else []
    tables += ["user_prompts"] if _has_prompts(wanted) else []
    for table in tables:
        rows = where(wanted)
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


def _owner_record(kind: str, owner: Owner) -> dict[str, Any]:
    return {"kind": kind, "session_id": owner.session_id, "project_key": owner.key, "project": owner.project}


def session_record(session: Session) -> dict[str, Any]:
    """Return a session as the object of its line."""
    return _owner_record("session", session.owner) | {
        "user_prompt": session.user_prompt,
        "started_ms": session.started_ms,
        "completed_ms": session.completed_ms,
        "status": session.status,
        "prompt_counter": session.prompt_counter,
    }


def prompt_record(prompt: UserPrompt) -> dict[str, Any]:
    """Return a prompt as the object of its line."""
    return _owner_record("prompt", prompt.owner) | {
        "prompt_number": prompt.prompt_number,
        "text": prompt.text,
        "created_ms": prompt.created_ms,
        "created_at": iso(prompt.created_ms),
    }


def row_record(row: Row) -> dict[str, Any]:
    """Return an observation or a summary as the object of its line."""
    is_observation = isinstance(row, Observation)
    record = _owner_record("observation" if is_observation else "summary", row.owner) | asdict(row.told)
    record["prompt_number"] = row.prompt_number
    if is_observation:
        record |= {"discovery_tokens": row.discovery_tokens, "repeat_count": row.repeat_count}
    record |= {"created_ms": row.created_ms, "created_at": iso(row.created_ms)}
    return record | ({"digest": row.digest} if is_observation else {})
