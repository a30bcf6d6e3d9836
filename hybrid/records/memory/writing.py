"""Writes sessions, prompts, observations and summaries; functions of an open transaction, called by the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.records.memory.duplicates import find_repeated
from hybrid.records.memory.texts import (
    as_json,
    clean,
    clean_summary,
    clean_told,
    content_digest,
    digest_of,
    iso,
    short_key,
    summary_parts,
)

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.types import Extracted, Owner, SessionStatus, Summarised

_RETRY_MS = 2_000
"""A hook that is tried again sends the same prompt at once; a person types it again later."""
NO_USE = -1
"""Stands in `seen_events` for the observation of an event that is no use of a tool: it was taken in, that is all."""


class OpenSession(Struct, frozen=True):
    """A session as a writer needs it: its row and the number of its last prompt."""

    id: int
    prompt_number: int


class NewObservation(Struct, frozen=True):
    """An observation that may be stored; `created_ms` and the rest as of an `Observation`."""

    session: int
    owner: Owner
    told: Extracted
    prompt_number: int
    discovery_tokens: int
    created_ms: int
    digest: str
    repeat_count: int = 0


def open_session(db: sqlite3.Connection, owner: Owner, now_ms: int) -> OpenSession:
    """The session's row, made when missing; one that was completed and goes on is active again."""
    row = db.execute(
        "SELECT id, prompt_counter, status FROM sessions WHERE claude_session_id = ?", (owner.session_id,)
    ).fetchone()
    if row is None:
        cursor = db.execute(
            "INSERT INTO sessions(claude_session_id, project_key, project, started_at, started_at_epoch) "
            "VALUES (?, ?, ?, ?, ?)",
            (owner.session_id, owner.key, owner.project, iso(now_ms), now_ms),
        )
        return OpenSession(cursor.lastrowid or 0, 0)
    if row[2] != "active":
        db.execute(
            "UPDATE sessions SET status = 'active', completed_at = NULL, completed_at_epoch = NULL WHERE id = ?",
            row[:1],
        )
    return OpenSession(row[0], row[1])


def turn_at(db: sqlite3.Connection, session: int, at_ms: int) -> int:
    """Number of the last prompt of a session at a time; 0 before the first. An event may come in late."""
    row = db.execute(
        "SELECT prompt_number FROM user_prompts WHERE session_id = ? AND created_at_epoch <= ? "
        "ORDER BY created_at_epoch DESC, id DESC LIMIT 1",
        (session, at_ms),
    ).fetchone()
    return row[0] if row else 0


def is_first_time(db: sqlite3.Connection, key: str, now_ms: int) -> bool:
    """Note that an event is taken in; False when it was before. An event without a key is always new."""
    if not key:
        return True
    cursor = db.execute(
        "INSERT OR IGNORE INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?)",
        (short_key(digest_of("event", key)), NO_USE, now_ms),
    )
    return cursor.rowcount == 1


def add_prompt(db: sqlite3.Connection, owner: Owner, text: str, now_ms: int, *, key: str = "") -> int:
    """Store a prompt and return its number; the last one once more within two seconds is the same one.

    Args:
        db: The database.
        owner: Whose it is.
        text: Of the prompt.
        now_ms: When it was typed.
        key: Of its event: the same event a second time is not stored again.
    """
    session, text = open_session(db, owner, now_ms), clean(text)
    if not is_first_time(db, key, now_ms):
        return session.prompt_number
    last = db.execute(
        "SELECT prompt_number, prompt_text, created_at_epoch FROM user_prompts WHERE session_id = ? "
        "ORDER BY prompt_number DESC, id DESC LIMIT 1",
        (session.id,),
    ).fetchone()
    if last is not None and last[1] == text and abs(now_ms - last[2]) <= _RETRY_MS:
        return last[0]
    number = session.prompt_number + 1
    db.execute(
        "UPDATE sessions SET prompt_counter = ?, user_prompt = CASE user_prompt WHEN '' THEN ? ELSE user_prompt END "
        "WHERE id = ?",
        (number, text, session.id),
    )
    insert_prompt(db, session.id, owner, text, number, now_ms)
    return number


def insert_prompt(db: sqlite3.Connection, session: int, owner: Owner, text: str, number: int, now_ms: int) -> None:
    """Store a prompt under its number."""
    digest = prompt_digest(owner.session_id, number, text)
    db.execute(
        "INSERT INTO user_prompts(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, prompt_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (session, owner.key, owner.project, now_ms, iso(now_ms), number, digest, text),
    )


def prompt_digest(session_id: str, number: int, text: str) -> str:
    """What makes a prompt the same."""
    return digest_of("prompt", session_id, number, text)


def summary_digest(session_id: str, number: int, told: Summarised) -> str:
    """What makes a summary the same."""
    return digest_of("summary", session_id, number, summary_parts(told))


def session_digest(session_id: str) -> str:
    """What a forgotten session is known by."""
    return digest_of("session", session_id)


def is_known(db: sqlite3.Connection, digest: str) -> bool:
    """True when an observation has this digest."""
    return db.execute("SELECT 1 FROM observations WHERE digest = ?", (digest,)).fetchone() is not None


def is_forgotten(db: sqlite3.Connection, digest: str) -> bool:
    """True when the row with this digest was wanted forgotten."""
    return db.execute("SELECT 1 FROM forgotten WHERE row = ?", (short_key(digest),)).fetchone() is not None


def add_observation(
    db: sqlite3.Connection,
    owner: Owner,
    told: Extracted,
    now_ms: int,
    *,
    digest: str,
    discovery_tokens: int,
    prompt_number: int | None,
) -> int | None:
    """Store what somebody tells; None for what is there or was forgotten, and for a repeat, which is counted."""
    told = clean_told(told)
    is_given, digest = bool(digest), clean(digest) or _own_digest(owner, told, now_ms)
    if is_forgotten(db, digest) or (is_given and is_known(db, digest)):
        return None
    session = open_session(db, owner, now_ms)
    number = session.prompt_number if prompt_number is None else prompt_number
    new = NewObservation(session.id, owner, told, number, discovery_tokens, now_ms, digest)
    identity, is_new = keep(db, new)
    return identity if is_new else None


def _own_digest(owner: Owner, told: Extracted, now_ms: int) -> str:
    return digest_of(owner.session_id, owner.key, now_ms, content_digest(told))


def keep(db: sqlite3.Connection, new: NewObservation) -> tuple[int, bool]:
    """Store an observation, or count it at the one that it repeats.

    Returns:
        Id of its row, and whether the row is new.
    """
    repeated = find_repeated(db, new.owner.key, new.told, new.created_ms)
    if repeated is None:
        return insert_observation(db, new), True
    db.execute("UPDATE observations SET repeat_count = repeat_count + 1 WHERE id = ?", (repeated,))
    return repeated, False


def insert_observation(db: sqlite3.Connection, new: NewObservation) -> int:
    """Store an observation with its files and concepts; what is told is clean."""
    told, owner = new.told, new.owner
    cursor = db.execute(
        "INSERT INTO observations(session_id, project_key, project, type, created_at_epoch, created_at, prompt_number, "
        "discovery_tokens, repeat_count, digest, title, subtitle, narrative, facts, concepts, files_read, "
        "files_modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(new.session, owner.key, owner.project, told.type, new.created_ms, iso(new.created_ms)),
            *(new.prompt_number, new.discovery_tokens, new.repeat_count, new.digest),
            *(told.title, told.subtitle, told.narrative, as_json(told.facts), as_json(told.concepts)),
            *(as_json(told.files_read), as_json(told.files_modified)),
        ),
    )
    identity = cursor.lastrowid or 0
    insert_lists(db, identity, told)
    return identity


def insert_lists(db: sqlite3.Connection, identity: int, told: Extracted) -> None:
    """Store the files and concepts of an observation, by which it is found."""
    if told.files:
        modified = frozenset(told.files_modified)
        db.executemany(
            "INSERT INTO observation_files(observation_id, path, is_modified) VALUES (?, ?, ?)",
            [(identity, path, int(path in modified)) for path in told.files],
        )
    if told.concepts:
        db.executemany(
            "INSERT INTO observation_concepts(observation_id, concept) VALUES (?, ?)",
            [(identity, concept) for concept in told.concepts],
        )


def add_summary(db: sqlite3.Connection, owner: Owner, told: Summarised, now_ms: int) -> int | None:
    """Store the summary of the session's present prompt in place of an earlier one; None when it says nothing."""
    told = clean_summary(told)
    if not any(summary_parts(told)):
        return None
    session = open_session(db, owner, now_ms)
    number = turn_at(db, session.id, now_ms)
    row = db.execute(
        "SELECT id, digest FROM session_summaries WHERE session_id = ? AND prompt_number = ?", (session.id, number)
    ).fetchone()
    if row is None:
        return insert_summary(db, session.id, owner, told, number, now_ms)
    digest = summary_digest(owner.session_id, number, told)
    if row[1] != digest:
        db.execute(
            "UPDATE session_summaries SET project_key = ?, project = ?, created_at_epoch = ?, created_at = ?, "
            "digest = ?, request = ?, investigated = ?, learned = ?, completed = ?, next_steps = ?, notes = ? "
            "WHERE id = ?",
            (owner.key, owner.project, now_ms, iso(now_ms), digest, *summary_parts(told), row[0]),
        )
    return row[0]


def insert_summary(
    db: sqlite3.Connection, session: int, owner: Owner, told: Summarised, number: int, now_ms: int
) -> int:
    """Store a summary of a prompt that has none."""
    cursor = db.execute(
        "INSERT INTO session_summaries(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, request, investigated, learned, completed, next_steps, notes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, now_ms, iso(now_ms), number),
            *(summary_digest(owner.session_id, number, told), *summary_parts(told)),
        ),
    )
    return cursor.lastrowid or 0


def complete_session(db: sqlite3.Connection, session_id: str, now_ms: int, status: SessionStatus) -> None:
    """Say how a session ended; one that nothing is known of stays unknown."""
    db.execute(
        "UPDATE sessions SET status = ?, completed_at = ?, completed_at_epoch = ? WHERE claude_session_id = ?",
        (status, *((None, None) if status == "active" else (iso(now_ms), now_ms)), clean(session_id)),
    )
