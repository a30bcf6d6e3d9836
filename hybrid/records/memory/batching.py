"""Joins tool uses that follow one another closely into one observation.

A use waits in the database until it is known what follows it: a killed process loses none. A batch is read, what is
told of it is made outside of any transaction and lock, and then the two change places in one transaction, if the uses
are still there: whoever is second has worked for nothing, and no use counts twice. It is always the first batch of a
session, so that observations stand in the order of their events.

A try is counted before it begins. Uses whose tries did not come to an end, as a text ended or stalled its reader, are
tried each alone, and then set aside: they stay in the database, and another version tries them anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid import __version__
from hybrid.records.memory.reading import MAX_TRIES, N_TRIES
from hybrid.records.memory.texts import clean, clean_line, clean_told, digest_of_events, marks, short_key
from hybrid.records.memory.types import MAX_INT, Extracted, Flushed, Observation, Owner, PendingEvent
from hybrid.records.memory.writing import (
    FORGOTTEN,
    REPEAT_WINDOW_MS,
    insert_observation,
    is_forgotten,
    is_known,
    keep,
    open_session,
    turn_at,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import Make

MAX_BATCH_EVENTS = 30
"""The most uses in a batch, however close they follow. Chosen by hand."""
_TRIES_TOGETHER = 2
"""Times that uses are tried together: a second process or thread may be at the same batch, and makes the same of it."""
_BARE_CHARS = 1_200
"""As long as a narrative (`hybrid.capture.extraction.extract.NARRATIVE_CHARS`), which lies in a layer above."""

_SEEN_MS = 30 * 86_400_000
"""Milliseconds for which an event that became part of an observation stays known; it counts again long before."""
_DROP_EACH = 1_000
"""Number of new events after which the known events that are older than `_SEEN_MS` are dropped."""

# SQLite keeps the order of a CROSS JOIN: it reads the uses that wait, which are few, and looks up the session of each.
_COLUMNS = (
    "p.id, p.session_id, s.claude_session_id, p.project_key, p.project, p.prompt_number, p.tool, '', p.digest, "
    f"p.discovery_tokens, p.created_at_epoch, {N_TRIES} "
    "FROM pending_events AS p CROSS JOIN sessions AS s ON s.id = p.session_id"
)


class Waiting(Struct, frozen=True):
    """A pending tool use: its row, the row of its session, its owner, the number of its prompt, and earlier tries."""

    id: int
    session: int
    owner: Owner
    prompt_number: int
    event: PendingEvent
    n_tries: int = 0


class Due(Struct, frozen=True):
    """The first batch of a session, which has ended, and the text of its prompt."""

    batch: Sequence[Waiting]
    prompt: str


def batches(waiting: Iterable[Waiting], window_ms: int) -> list[list[Waiting]]:
    """Cut the uses of one session into batches.

    Args:
        waiting: In the order in which they came.
        window_ms: The longest pause within a batch, in milliseconds.

    Returns:
        The batches: runs of `waiting` in its order, none empty, which together hold every use.
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
        # The one that ends its reader is to be known from the others.
        and max(last.n_tries, one.n_tries) < _TRIES_TOGETHER
        # Two processes may report a little out of order.
        and abs(one.event.created_ms - last.event.created_ms) <= window_ms
    )


def add_event(db: sqlite3.Connection, owner: Owner, event: PendingEvent) -> int | None:
    """Let a tool use wait for those that follow, in an open transaction.

    Returns:
        The row of its session; None when the use waits already, was told within the last hour, or was forgotten.
    """
    event = replace(event, tool=clean(event.tool), payload=clean(event.payload), digest=clean(event.digest))
    if _is_seen(db, event):
        return None
    session = open_session(db, owner, event.created_ms)
    cursor = db.execute(
        "INSERT INTO pending_events(session_id, project_key, project, created_at_epoch, prompt_number, "
        "discovery_tokens, tool, digest, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session.id, owner.key, owner.project, event.created_ms, turn_at(db, session.id, event.created_ms)),
            *(event.discovery_tokens, event.tool, event.digest, event.payload),
        ),
    )
    if (cursor.lastrowid or 0) % _DROP_EACH == 0:
        db.execute(
            f"DELETE FROM seen_events WHERE seen_at_epoch < ? AND observation_id IS NOT {FORGOTTEN}",
            (event.created_ms - _SEEN_MS,),
        )
    return session.id


class Batcher:
    """Turns the batches of a database into observations.

    Args:
        database: The database of the memory.
        make: Turns a batch into an observation, or None.
        window_ms: The longest pause within a batch, in milliseconds.
    """

    def __init__(self, database: Database, make: Make, window_ms: int) -> None:
        self._database = database
        self._make = make
        self._window_ms = window_ms

    def flush_first(self, session: int, now_ms: int) -> None:
        """Turn the first batch of a session into an observation if it has ended; one batch only, as a caller waits.

        One that was tried before is left to a flush.
        """
        due = self._first_due(session, now_ms, MAX_INT)
        if due is not None and not due.batch[0].n_tries:
            self._tell(due)

    def flush(self, now_ms: int, session_id: str, most: int | None) -> Flushed:
        """Turn the ended batches of all sessions, or all batches of one, into observations; see `MemoryStore.flush`.

        Uses that come meanwhile are left to the next flush.
        """
        n_made, done = 0, list[Flushed]()
        by_ms = math.inf if session_id else now_ms
        for session, last in self._database.read(lambda db: _waiting_sessions(db, session_id), []):
            while most is None or n_made < most:
                due = self._first_due(session, by_ms, last)
                if due is None:
                    break
                n_made += 1
                done.append(self._tell(due))
        return Flushed(sum(one.n for one in done), tuple(failure for one in done for failure in one.failures))

    def _first_due(self, session: int, now_ms: float, last: int) -> Due | None:
        return self._database.read(lambda db: _first_due(db, session, now_ms, self._window_ms, last), None)

    def _tell(self, due: Due) -> Flushed:
        """Put an observation in the place of a batch, a bare one if `make` raises; none if another was first.

        Sets a use aside instead that was tried often enough.
        """
        events = [one.event for one in due.batch]
        self._database.write(lambda db: _count_try(db, due.batch))
        first = due.batch[0]
        if first.n_tries >= MAX_TRIES:
            said = f"telling of it did not come to an end {MAX_TRIES} times; it is set aside"
            return Flushed(0, (clean_line(f"{events[0].tool} (use {first.id}): {said}"),))
        failure = ""
        try:
            told = self._make(events, due.prompt)
            told = None if told is None else clean_told(told)
        except Exception as error:  # noqa: BLE001 - the extractor may be anybody's; what was observed is kept whatever it does
            failure = clean_line(f"{events[0].tool}: {type(error).__name__}: {error}")
            told = _bare(events, failure)
        if not self._database.write(lambda db: _store(db, due.batch, told, is_bare=bool(failure))):
            return Flushed(0)
        return Flushed(1, (failure,) if failure else ())


def _is_seen(db: sqlite3.Connection, event: PendingEvent) -> bool:
    """Return whether an event waits, was forgotten, or was told within the last hour."""
    row = db.execute(
        f"SELECT 1 FROM seen_events WHERE event = ? AND (observation_id = {FORGOTTEN} OR seen_at_epoch >= ?) "
        "UNION ALL SELECT 1 FROM pending_events WHERE digest = ?",
        (short_key(event.digest), event.created_ms - REPEAT_WINDOW_MS, event.digest),
    ).fetchone()
    return row is not None


def _waiting_sessions(db: sqlite3.Connection, session_id: str) -> list[tuple[int, int]]:
    """Return (session, last waiting use), as rows, of all sessions with waiting uses or of one, oldest first."""
    condition, values = ("WHERE s.claude_session_id = ?", (clean(session_id),)) if session_id else ("", ())
    return db.execute(
        "SELECT p.session_id, max(p.id) FROM pending_events AS p CROSS JOIN sessions AS s ON s.id = p.session_id "
        f"{condition} GROUP BY p.session_id ORDER BY min(p.id)",
        values,
    ).fetchall()


def _first_due(db: sqlite3.Connection, session: int, now_ms: float, window_ms: int, last: int) -> Due | None:
    """Return the first batch of a session if it has ended: another follows it, or the window has passed. Else None.

    Args:
        db: The database.
        session: Row of the session.
        now_ms: The present; infinite to end every batch.
        window_ms: The longest pause within a batch, in milliseconds.
        last: Row of the last use that is looked at.
    """
    # One more than a batch can have shows whether others follow. Payloads are long, and most often it has not ended.
    rows = db.execute(
        f"SELECT {_COLUMNS} WHERE p.session_id = ? AND p.id <= ? AND {N_TRIES} <= {MAX_TRIES} ORDER BY p.id LIMIT ?",
        (session, last, MAX_BATCH_EVENTS + 1),
    ).fetchall()
    waiting = [Waiting(row[0], row[1], Owner(*row[2:5]), row[5], PendingEvent(*row[6:11]), row[11]) for row in rows]
    found = batches(waiting, window_ms)
    # After a clock was set back a use may lie far ahead of now: it would wait until the clock is there again.
    if not found or (len(found) == 1 and abs(now_ms - found[0][-1].event.created_ms) <= window_ms):
        return None
    ids = [one.id for one in found[0]]
    payloads = dict(db.execute(f"SELECT id, payload FROM pending_events WHERE id IN ({marks(ids)})", ids).fetchall())
    batch = [replace(one, event=replace(one.event, payload=payloads[one.id])) for one in found[0]]
    return Due(batch, _prompt_text(db, batch[0]))


def _count_try(db: sqlite3.Connection, batch: Sequence[Waiting]) -> None:
    db.executemany(
        f"UPDATE pending_events SET n_tries = {N_TRIES} + 1, tried_by = ? WHERE id = ?",
        [(__version__, one.id) for one in batch],
    )


def _store(db: sqlite3.Connection, batch: Sequence[Waiting], told: Extracted | None, *, is_bare: bool) -> bool:
    """Put an observation, or nothing for None, in the place of a batch; return True.

    Return False and change nothing when a use of the batch waits no more.
    """
    ids = [one.id for one in batch]
    rows = db.execute(f"SELECT id, digest FROM pending_events WHERE id IN ({marks(ids)}) ORDER BY id", ids).fetchall()
    # The digests too: another file may have been put in the place of the one that was read.
    if rows != [(one.id, one.event.digest) for one in batch]:
        return False
    identity = None if told is None else _observe(db, batch, told, is_bare=is_bare)
    db.executemany(
        "INSERT INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?) ON CONFLICT(event) DO UPDATE "
        "SET observation_id = excluded.observation_id, seen_at_epoch = excluded.seen_at_epoch "
        f"WHERE observation_id IS NOT {FORGOTTEN}",
        [(short_key(one.event.digest), identity, one.event.created_ms) for one in batch],
    )
    db.executemany("DELETE FROM pending_events WHERE id = ?", [(one.id,) for one in batch])
    return True


def _observe(db: sqlite3.Connection, batch: Sequence[Waiting], told: Extracted, *, is_bare: bool) -> int | None:
    first, last = batch[0], batch[-1]
    digest = digest_of_events(one.event.digest for one in batch)
    if is_forgotten(db, digest):
        return None
    if is_known(db, digest) and _were_seen(db, batch):
        # All of it was told here long ago, and is told once more.
        digest = digest_of_events([digest, str(first.event.created_ms)])
    if is_known(db, digest) or is_forgotten(db, digest):
        # It came by an import while its uses waited here.
        return None
    tokens = sum(one.event.discovery_tokens for one in batch)
    new = Observation(0, first.owner, told, first.prompt_number, tokens, 0, last.event.created_ms, digest)
    # A bare title says too little to call two the same.
    return insert_observation(db, first.session, new) if is_bare else keep(db, first.session, new)[0]


def _were_seen(db: sqlite3.Connection, batch: Sequence[Waiting]) -> bool:
    keys = [short_key(one.event.digest) for one in batch]
    (n,) = db.execute(f"SELECT count(*) FROM seen_events WHERE event IN ({marks(keys)})", keys).fetchone()
    return n == len(keys)


def _bare(events: Sequence[PendingEvent], failure: str) -> Extracted:
    """Return an observation made without an extractor: the tool, the failure, and the beginning of the payloads."""
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
