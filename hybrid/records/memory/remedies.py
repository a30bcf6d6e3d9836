"""Keeps what made a failed command pass, so that it comes with the same failure in a later session.

A command that fails waits in its session, with what is done after it. When it passes there, that is its remedy: an
observation, and a row that finds it by the form of the command and its error. A remedy is counted each time it works;
one that was tried again in vain as often as it worked is dropped, and another one that works takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, json

from hybrid.base.text import cut, sha256_hex
from hybrid.records.memory import writing
from hybrid.records.memory.types import MAX_TITLE_CHARS, REMEDY, Extracted, Observation, Run, clean_told

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.types import Owner

_ONE = "session_id = ? AND form = ? AND target = ?"
_OF = "project_key = ? AND form = ? AND error = ?"
MOST_STEPS = 6
"""Steps between failure and success: after more nobody knows which one helped."""


class Remedy(Struct, frozen=True):
    """The steps that made a failure pass.

    Attributes:
        observation_id: The observation that tells it.
        steps: What was done, in order.
        n_worked: Times that it worked.
    """

    observation_id: int
    steps: tuple[str, ...]
    n_worked: int


def note(db: sqlite3.Connection, owner: Owner, run: Run | None, step: str, now_ms: int) -> None:
    """Take in a use of a tool: a run of a command, and a step that may help a command that failed before.

    Args:
        db: The database, in a transaction.
        owner: Session and project.
        run: The run; None for another tool.
        step: What it did, for a person; empty for what changes nothing.
        now_ms: When it was.
    """
    session, _ = writing.open_session(db, owner, now_ms)
    waiting = _waiting(db, session)
    if run and run.error:
        for form, target, error, steps in waiting:
            if (form, target, error) == (run.form, run.target, run.error) and steps:
                _count_failure(db, owner.key, run, steps)
        db.execute(
            "INSERT OR REPLACE INTO failures(session_id, form, target, error) VALUES (?, ?, ?, ?)",
            (session, run.form, _as_text(run.target), run.error),
        )
    for form, target, error, steps in waiting:
        is_same = bool(run) and form == run.form
        if run and is_same and not run.error and run.covers(target):
            if steps and len(steps) <= MOST_STEPS:
                _record(db, owner, Run(form, target, error), steps, now_ms)
            db.execute(
                f"DELETE FROM failures WHERE {_ONE}",
                (session, form, _as_text(target)),
            )
        elif step and not is_same:
            db.execute(
                f"UPDATE failures SET steps = ? WHERE {_ONE}",
                (_as_text((*steps, step)[: MOST_STEPS + 1]), session, form, _as_text(target)),
            )


def is_waiting(db: sqlite3.Connection, session_id: str) -> bool:
    """Return whether a command of a session failed and did not pass since."""
    found = db.execute(
        "SELECT 1 FROM failures JOIN sessions ON sessions.id = failures.session_id WHERE claude_session_id = ? LIMIT 1",
        (session_id,),
    ).fetchone()
    return found is not None


def find(db: sqlite3.Connection, key: str, run: Run, not_session: str) -> Remedy | None:
    """Return the remedy of a failure in a project, if it worked in another session; else None."""
    row = db.execute(
        "SELECT observation_id, steps, n_worked FROM remedies LEFT JOIN sessions ON sessions.id = session_id "
        "WHERE remedies.project_key = ? AND form = ? AND error = ? AND claude_session_id IS NOT ?",
        (key, run.form, run.error, not_session),
    ).fetchone()
    return Remedy(row[0], _as_tuple(row[1]), row[2]) if row else None


def _waiting(db: sqlite3.Connection, session: int) -> list[tuple[str, tuple[str, ...], str, tuple[str, ...]]]:
    """Return form, target, error and steps of the commands that failed in a session and did not pass since."""
    rows = db.execute("SELECT form, target, error, steps FROM failures WHERE session_id = ?", (session,)).fetchall()
    return [(form, _as_tuple(target), error, _as_tuple(steps)) for form, target, error, steps in rows]


def _record(db: sqlite3.Connection, owner: Owner, failed: Run, steps: tuple[str, ...], now_ms: int) -> None:
    """Count a remedy that worked again, or let it take the place of another one."""
    session, number = writing.open_session(db, owner, now_ms)
    names = owner.key, failed.form, failed.error
    row = db.execute(f"SELECT observation_id, steps FROM remedies WHERE {_OF}", names).fetchone()
    if row and set(_as_tuple(row[1])) <= set(steps):  # Something else was done beside it.
        db.execute(f"UPDATE remedies SET n_worked = n_worked + 1, session_id = ? WHERE {_OF}", (session, *names))
        return
    if row:
        db.execute(f"DELETE FROM remedies WHERE {_OF}", names)
    told = Extracted(
        type="bugfix",
        title=cut(f"`{failed.form}` passed after: {steps[-1]}", MAX_TITLE_CHARS),
        narrative=f"`{failed.form}` failed: {failed.error}. It passed after: {'; '.join(steps)}.",
        facts=(failed.error,),
        concepts=("problem-solution", REMEDY),
    )
    digest = sha256_hex("\0".join(("remedy", *names, *steps)).encode("utf-8", "replace"))
    if writing.is_forgotten(db, digest):
        return
    known = db.execute("SELECT id FROM observations WHERE digest = ?", (digest,)).fetchone()
    if known is None:
        new = Observation(0, owner, clean_told(told), number, 0, 0, now_ms, digest)
        known = (writing.insert_observation(db, session, new),)
    db.execute(
        "INSERT OR REPLACE INTO remedies(observation_id, project_key, form, error, steps, session_id) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (known[0], *names, _as_text(steps), session),
    )


def _count_failure(db: sqlite3.Connection, key: str, run: Run, steps: tuple[str, ...]) -> None:
    """Count that the steps of a remedy did not help; one that failed as often as it worked goes."""
    names = key, run.form, run.error
    row = db.execute(f"SELECT steps, n_worked, n_failed FROM remedies WHERE {_OF}", names).fetchone()
    if row is None or not set(_as_tuple(row[0])) <= set(steps):
        return
    if row[2] + 1 >= row[1]:
        db.execute(f"DELETE FROM remedies WHERE {_OF}", names)
    else:
        db.execute(f"UPDATE remedies SET n_failed = n_failed + 1 WHERE {_OF}", names)


def _as_text(words: tuple[str, ...]) -> str:
    return json.encode(words).decode()


def _as_tuple(text: str) -> tuple[str, ...]:
    return json.decode(text, type=tuple[str, ...])
