"""Joins tool uses that follow one another closely into one observation; functions of an open transaction.

A use waits in the database until it is known what follows it: a killed process loses none. Uses and what they are
turned into change places in one transaction, so that none counts twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid.records.memory.texts import clean, clean_told, digest_of_events, one_line, short_key
from hybrid.records.memory.types import Extracted, Owner, PendingEvent
from hybrid.records.memory.values import Flushed
from hybrid.records.memory.writing import (
    NewObservation,
    insert_observation,
    is_forgotten,
    is_known,
    keep,
    open_session,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from hybrid.records.memory.values import Make

MAX_BATCH_EVENTS = 100
"""Uses after which a batch ends, however close they follow: its extraction holds the lock that writers wait for."""
_BARE_CHARS = 1_200

_COLUMNS = (
    "p.id, p.session_id, s.claude_session_id, p.project_key, p.project, p.prompt_number, p.tool, p.payload, p.digest, "
    "p.discovery_tokens, p.created_at_epoch FROM pending_events AS p CROSS JOIN sessions AS s ON s.id = p.session_id"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending tool use: its row, whose it is, and of which prompt."""

    id: int
    session: int
    owner: Owner
    prompt_number: int
    event: PendingEvent


def batches(waiting: Iterable[Waiting], window_ms: int) -> list[list[Waiting]]:
    """Cut the uses of one session into batches.

    Args:
        waiting: In the order in which they came.
        window_ms: The longest pause within a batch, in milliseconds.

    Returns:
        Runs of the given order, none empty, that together are all of it.
    """
    found: list[list[Waiting]] = []
    for one in waiting:
        if found and len(found[-1]) < MAX_BATCH_EVENTS and _goes_on(found[-1][-1], one, window_ms):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _goes_on(last: Waiting, one: Waiting, window_ms: int) -> bool:
    return (
        last.event.tool == one.event.tool
        and last.owner.key == one.owner.key
        and last.prompt_number == one.prompt_number
        # Two processes may report a little out of order.
        and abs(one.event.created_ms - last.event.created_ms) <= window_ms
    )


def add_event(
    db: sqlite3.Connection, owner: Owner, event: PendingEvent, *, window_ms: int, make: Make
) -> tuple[bool, Flushed]:
    """Let a tool use wait for those that follow; a batch that it ends is stored first.

    Returns:
        Whether the use was new, and what became of the batch before it.
    """
    event = replace(event, tool=clean(event.tool), payload=clean(event.payload), digest=clean(event.digest))
    if _is_seen(db, event.digest):
        return False, Flushed(0)
    session = open_session(db, owner, event.created_ms)
    new = Waiting(0, session.id, owner, session.prompt_number, event)
    before = _waiting(db, "p.session_id = ?", (session.id,))
    # With the new use at the end, all batches but the last have ended.
    done = batches([*before, new], window_ms)[:-1]
    flushed = _flush(db, done, make)
    db.execute(
        "INSERT INTO pending_events(session_id, project_key, project, created_at_epoch, prompt_number, "
        "discovery_tokens, tool, digest, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session.id, owner.key, owner.project, event.created_ms, session.prompt_number),
            *(event.discovery_tokens, event.tool, event.digest, event.payload),
        ),
    )
    return True, flushed


def flush_session(db: sqlite3.Connection, session_id: str, *, make: Make, window_ms: int) -> Flushed:
    """Store everything of a session that waits."""
    return _flush(db, batches(_waiting(db, "s.claude_session_id = ?", (clean(session_id),)), window_ms), make)


def waiting_sessions(db: sqlite3.Connection) -> list[int]:
    """The sessions with uses that wait, oldest first."""
    rows = db.execute("SELECT session_id FROM pending_events GROUP BY session_id ORDER BY min(id)").fetchall()
    return [row[0] for row in rows]


def flush_ended(db: sqlite3.Connection, session: int, *, make: Make, now_ms: int, window_ms: int) -> Flushed:
    """Store the batches of a session that nothing can join any more: the window has passed, or others follow."""
    found = batches(_waiting(db, "p.session_id = ?", (session,)), window_ms)
    if found and abs(now_ms - found[-1][-1].event.created_ms) <= window_ms:
        found.pop()
    return _flush(db, found, make)


def _is_seen(db: sqlite3.Connection, digest: str) -> bool:
    row = db.execute(
        "SELECT 1 FROM seen_events WHERE event = ? UNION ALL SELECT 1 FROM pending_events WHERE digest = ?",
        (short_key(digest), digest),
    ).fetchone()
    return row is not None


def _waiting(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> list[Waiting]:
    rows = db.execute(f"SELECT {_COLUMNS} WHERE {condition} ORDER BY p.id", values).fetchall()
    return [Waiting(row[0], row[1], Owner(*row[2:5]), row[5], PendingEvent(*row[6:])) for row in rows]


def _flush(db: sqlite3.Connection, done: Sequence[Sequence[Waiting]], make: Make) -> Flushed:
    failures = tuple(failure for batch in done for failure in _store(db, batch, make))
    return Flushed(len(done), failures)


def _store(db: sqlite3.Connection, batch: Sequence[Waiting], make: Make) -> tuple[str, ...]:
    """Turn a batch into an observation; the failures of its extractor."""
    events = [one.event for one in batch]
    failure = ""
    try:
        told = make(events, _prompt_text(db, batch[0]))
        told = None if told is None else clean_told(told)
    except Exception as error:  # noqa: BLE001 - the extractor may be anybody's; what was observed is kept whatever it does
        failure = one_line(f"{events[0].tool}: {type(error).__name__}: {error}")
        told = _bare(events, failure)
    identity = None if told is None else _observe(db, batch, told, is_bare=bool(failure))
    db.executemany(
        "INSERT OR IGNORE INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?)",
        [(short_key(event.digest), identity, event.created_ms) for event in events],
    )
    db.executemany("DELETE FROM pending_events WHERE id = ?", [(one.id,) for one in batch])
    return (failure,) if failure else ()


def _observe(db: sqlite3.Connection, batch: Sequence[Waiting], told: Extracted, *, is_bare: bool) -> int | None:
    first, last = batch[0], batch[-1]
    digest = digest_of_events(one.event.digest for one in batch)
    if is_known(db, digest) or is_forgotten(db, digest):
        # It came by an import while its uses waited here.
        return None
    tokens = sum(one.event.discovery_tokens for one in batch)
    new = NewObservation(first.session, first.owner, told, first.prompt_number, tokens, last.event.created_ms, digest)
    # A bare title says too little to call two the same.
    return insert_observation(db, new) if is_bare else keep(db, new)[0]


def _bare(events: Sequence[PendingEvent], failure: str) -> Extracted:
    """What can be told without an extractor: the tool, and the beginning of what it was given and gave."""
    payload = "\n".join(event.payload for event in events)
    return clean_told(
        Extracted("change", f"Use {events[0].tool}", f"extraction failed: {failure}"[:200], payload[:_BARE_CHARS])
    )


def _prompt_text(db: sqlite3.Connection, one: Waiting) -> str:
    row = db.execute(
        "SELECT prompt_text FROM user_prompts WHERE session_id = ? AND prompt_number = ? ORDER BY id LIMIT 1",
        (one.session, one.prompt_number),
    ).fetchone()
    return row[0] if row else ""
