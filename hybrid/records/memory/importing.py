"""Stores rows of other memories: what `transfer` wrote and `parsing` read, and what `claude_mem` read.

A row that is there already is passed over, by its digest, so that importing twice changes nothing.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from hybrid.records.memory.texts import iso
from hybrid.records.memory.types import Observation, Session, SessionSummary, UserPrompt
from hybrid.records.memory.values import Imported
from hybrid.records.memory.writing import (
    NewObservation,
    insert_observation,
    insert_prompt,
    insert_summary,
    is_forgotten,
    prompt_digest,
    session_digest,
    summary_digest,
)
from hybrid.records.types import Problem

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from hybrid.records.memory.opening import Database
    from hybrid.records.memory.parsing import AnyRow, Numbered

_AT_ONCE = 200
_MAX_PROBLEMS = 100
_T = TypeVar("_T")


def import_rows(database: Database, rows: Iterable[Numbered], *, is_dry: bool = False) -> Imported:
    """Store rows that are new.

    Args:
        database: Where to.
        rows: Redacted and clean; parents need not come first.
        is_dry: Store nothing, say what would be stored.
    """
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    n_problems = 0
    seen: set[str] = set()
    for some in _runs(rows):
        unread = [row for _, row in some if isinstance(row, Problem)]
        n_problems += len(unread)
        problems += unread[: _MAX_PROBLEMS - len(problems)]
        values = [row for _, row in some if not isinstance(row, Problem)]
        if is_dry:
            counts += database.read(lambda db, values=values: _would_keep(db, values, seen), None) or _new(values, seen)
        else:
            counts += database.write(lambda db, values=values: Counter(_keep(db, row) for row in values))
    return Imported(
        n_sessions=counts["session"],
        n_prompts=counts["prompt"],
        n_observations=counts["observation"],
        n_summaries=counts["summary"],
        n_duplicates=counts["duplicate"],
        n_forgotten=counts["forgotten"],
        problems=tuple(problems),
        n_unread=n_problems,
    )


def _runs(rows: Iterable[_T]) -> Iterator[list[_T]]:
    source = iter(rows)
    while some := list(islice(source, _AT_ONCE)):
        yield some


def _would_keep(db: sqlite3.Connection, rows: Iterable[AnyRow], seen: set[str]) -> Counter[str]:
    new = [(row, _refused(db, row)) for row in rows]
    return Counter(reason for _, reason in new if reason) + _new([row for row, reason in new if not reason], seen)


def _new(rows: Iterable[AnyRow], seen: set[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        digest = _digest(row)
        counts["duplicate" if digest in seen else _kind(row)] += 1
        seen.add(digest)
    return counts


def _kind(row: AnyRow) -> str:
    names = {Session: "session", UserPrompt: "prompt", Observation: "observation", SessionSummary: "summary"}
    return names[type(row)]


def _digest(row: AnyRow) -> str:
    session = row.owner.session_id
    if isinstance(row, Observation):
        return row.digest
    if isinstance(row, UserPrompt):
        return prompt_digest(session, row.prompt_number, row.text)
    return session_digest(session) if isinstance(row, Session) else summary_digest(session, row.prompt_number, row.told)


def _refused(db: sqlite3.Connection, row: AnyRow) -> str:
    """`duplicate` for a row that is there, `forgotten` for one that was wanted forgotten, empty for a new one."""
    digest = _digest(row)
    if isinstance(row, (Observation, UserPrompt)):
        table = "observations" if isinstance(row, Observation) else "user_prompts"
        sql, values = f"SELECT 1 FROM {table} WHERE digest = ?", (digest,)
    elif isinstance(row, Session):
        sql, values = "SELECT 1 FROM sessions WHERE claude_session_id = ?", (row.owner.session_id,)
    else:
        # A prompt has one summary; the one that is here stays.
        sql = (
            "SELECT 1 FROM session_summaries AS r JOIN sessions AS s ON s.id = r.session_id "
            "WHERE s.claude_session_id = ? AND r.prompt_number = ?"
        )
        values = (row.owner.session_id, row.prompt_number)
    if db.execute(sql, values).fetchone() is not None:
        return "duplicate"
    return "forgotten" if is_forgotten(db, digest) else ""


def _keep(db: sqlite3.Connection, row: AnyRow) -> str:
    reason = _refused(db, row)
    if reason:
        return reason
    if isinstance(row, Session):
        _insert_session(db, row)
        return "session"
    session = _session_of(db, row)
    if isinstance(row, Observation):
        insert_observation(
            db,
            NewObservation(
                *(session, row.owner, row.told, row.prompt_number, row.discovery_tokens, row.created_ms, row.digest),
                row.repeat_count,
            ),
        )
    elif isinstance(row, UserPrompt):
        insert_prompt(db, session, row.owner, row.text, row.prompt_number, row.created_ms)
    else:
        insert_summary(db, session, row.owner, row.told, row.prompt_number, row.created_ms)
    return _kind(row)


def _insert_session(db: sqlite3.Connection, session: Session) -> int:
    done = session.completed_ms
    cursor = db.execute(
        "INSERT INTO sessions(claude_session_id, project_key, project, user_prompt, started_at, started_at_epoch, "
        "completed_at, completed_at_epoch, status, prompt_counter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session.owner.session_id, session.owner.key, session.owner.project, session.user_prompt),
            *(iso(session.started_ms), session.started_ms, None if done is None else iso(done), done),
            *(session.status, session.prompt_counter),
        ),
    )
    return cursor.lastrowid or 0


def _session_of(db: sqlite3.Connection, row: UserPrompt | Observation | SessionSummary) -> int:
    """The session's row, made when missing; its next prompt gets a number beyond the row's."""
    found = db.execute("SELECT id FROM sessions WHERE claude_session_id = ?", (row.owner.session_id,)).fetchone()
    if found is None:
        ended = Session(row.owner, "", row.created_ms, row.created_ms, "completed", row.prompt_number)
        return _insert_session(db, ended)
    db.execute("UPDATE sessions SET prompt_counter = max(prompt_counter, ?) WHERE id = ?", (row.prompt_number, *found))
    return found[0]
