"""Writes sessions, prompts, observations and summaries; functions of an open transaction, called by the store.

An observation that repeats an earlier one is counted, not stored. Titles that differ in a number, an error code or a
word of outcome are never the same, however much else they share: `… 2 failed` and `… 3 failed` are two observations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from hybrid.records.memory.reading import TOLD_COLUMNS, told_of_observation
from hybrid.records.memory.texts import (
    as_json,
    clean,
    clean_summary,
    clean_told,
    content_digest,
    digest_of,
    iso,
    short_key,
)
from hybrid.records.memory.types import Observation, SessionSummary, Summarised, UserPrompt
from hybrid.records.scoring import jaccard

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.types import Extracted, Owner


_RETRY_MS = 2_000
"""Milliseconds within which the same prompt again is the same one: a hook tries again at once, a person later."""
NO_USE = -1
"""The `observation_id` in `seen_events` of an event that is no use of a tool and so has no observation."""
FORGOTTEN = 0
"""Stands there for an observation that was forgotten: no row has this id, and the event never counts again."""


class OpenSession(Struct, frozen=True):
    """The id of the row of a session, and the number of its last prompt, 0 before the first."""

    id: int
    prompt_number: int


def open_session(db: sqlite3.Connection, owner: Owner, now_ms: int) -> OpenSession:
    """Return the row of the owner's session, made when missing; a completed session becomes active again."""
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
    """Return the number of the last prompt of a session at a time, as an event may be late; 0 before the first."""
    row = db.execute(
        "SELECT prompt_number FROM user_prompts WHERE session_id = ? AND created_at_epoch <= ? "
        "ORDER BY created_at_epoch DESC, id DESC LIMIT 1",
        (session, at_ms),
    ).fetchone()
    return row[0] if row else 0


def is_first_time(db: sqlite3.Connection, key: str, now_ms: int) -> bool:
    """Note that the event of a key is taken in; return False if it was before, True for an event without a key."""
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
        owner: Session and project.
        text: Text of the prompt.
        now_ms: When it was typed.
        key: Key of its event: the same event is not stored again, and gives the number of the last prompt.
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
    insert_prompt(db, session.id, UserPrompt(0, owner, text, number, now_ms))
    return number


def insert_prompt(db: sqlite3.Connection, session: int, prompt: UserPrompt) -> None:
    """Store a prompt under its number, in the session with this row."""
    owner, now_ms, number = prompt.owner, prompt.created_ms, prompt.prompt_number
    digest = prompt_digest(owner.session_id, number, prompt.text)
    db.execute(
        "INSERT INTO user_prompts(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, prompt_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (session, owner.key, owner.project, now_ms, iso(now_ms), number, digest, prompt.text),
    )


def prompt_digest(session_id: str, number: int, text: str) -> str:
    """Return the digest by which a prompt is known again."""
    return digest_of("prompt", session_id, number, text)


def summary_digest(session_id: str, number: int, told: Summarised) -> str:
    """Return the digest by which a summary is known again."""
    return digest_of("summary", session_id, number, astuple(told))


def session_digest(session_id: str) -> str:
    """Return the digest by which a forgotten session is known."""
    return digest_of("session", session_id)


def is_known(db: sqlite3.Connection, digest: str) -> bool:
    """Return whether an observation has this digest."""
    return db.execute("SELECT 1 FROM observations WHERE digest = ?", (digest,)).fetchone() is not None


def is_forgotten(db: sqlite3.Connection, digest: str) -> bool:
    """Return whether the row with this digest was forgotten."""
    return db.execute("SELECT 1 FROM forgotten WHERE row = ?", (short_key(digest),)).fetchone() is not None


def add_observation(db: sqlite3.Connection, owner: Owner, told: Extracted, now_ms: int, digest: str) -> int | None:
    """Store an observation and return its id; None if it is there, was forgotten, or is a repeat, which is counted.

    Args:
        db: The database.
        owner: Session and project; the session is opened, and its last prompt is that of the observation.
        told: What is told; it is made clean.
        now_ms: When it was made.
        digest: Digest by which the observation is known again; empty to make one of all the rest.
    """
    told, given = clean_told(told), clean(digest)
    digest = given or digest_of(owner.session_id, owner.key, now_ms, content_digest(told))
    if is_forgotten(db, digest) or (given and is_known(db, digest)):
        return None
    session = open_session(db, owner, now_ms)
    new = Observation(0, owner, told, session.prompt_number, 0, 0, now_ms, digest)
    identity, is_new = keep(db, session.id, new)
    return identity if is_new else None


def keep(db: sqlite3.Connection, session: int, new: Observation) -> tuple[int, bool]:
    """Store a clean observation in the session with this row, or count it at the one that it repeats.

    Returns:
        The id of the stored or the repeated row, and True if the row is new.
    """
    repeated = find_repeated(db, new.owner.key, new.told, new.created_ms)
    if repeated is None:
        return insert_observation(db, session, new), True
    db.execute("UPDATE observations SET repeat_count = repeat_count + 1 WHERE id = ?", (repeated,))
    return repeated, False


def insert_observation(db: sqlite3.Connection, session: int, new: Observation) -> int:
    """Store a clean observation with its files and concepts, in the session with this row; return its id."""
    told, owner = new.told, new.owner
    cursor = db.execute(
        "INSERT INTO observations(session_id, project_key, project, type, created_at_epoch, created_at, prompt_number, "
        "discovery_tokens, repeat_count, digest, title, subtitle, narrative, facts, concepts, files_read, "
        "files_modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, told.type, new.created_ms, iso(new.created_ms)),
            *(new.prompt_number, new.discovery_tokens, new.repeat_count, new.digest, *told_values(told)),
        ),
    )
    identity = cursor.lastrowid or 0
    insert_lists(db, identity, told)
    return identity


def told_values(told: Extracted) -> tuple[str, ...]:
    """Return the values of the columns from `title` to `files_modified`."""
    lists = map(as_json, (told.facts, told.concepts, told.files_read, told.files_modified))
    return told.title, told.subtitle, told.narrative, *lists


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
    """Store the summary of the prompt at a time, in place of an earlier one, and return its id; None if it is empty."""
    told = clean_summary(told)
    if told == Summarised():
        return None
    session = open_session(db, owner, now_ms)
    number = turn_at(db, session.id, now_ms)
    row = db.execute(
        "SELECT id, digest FROM session_summaries WHERE session_id = ? AND prompt_number = ?", (session.id, number)
    ).fetchone()
    if row is None:
        return insert_summary(db, session.id, SessionSummary(0, owner, told, number, now_ms))
    digest = summary_digest(owner.session_id, number, told)
    if row[1] != digest:
        db.execute(
            "UPDATE session_summaries SET project_key = ?, project = ?, created_at_epoch = ?, created_at = ?, "
            "digest = ?, request = ?, investigated = ?, learned = ?, completed = ?, next_steps = ?, notes = ? "
            "WHERE id = ?",
            (owner.key, owner.project, now_ms, iso(now_ms), digest, *astuple(told), row[0]),
        )
    return row[0]


def insert_summary(db: sqlite3.Connection, session: int, summary: SessionSummary) -> int:
    """Store a summary of a prompt that has none, in the session with this row; return the id of the summary."""
    owner, told, number, now_ms = summary.owner, summary.told, summary.prompt_number, summary.created_ms
    cursor = db.execute(
        "INSERT INTO session_summaries(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, request, investigated, learned, completed, next_steps, notes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, now_ms, iso(now_ms), number),
            *(summary_digest(owner.session_id, number, told), *astuple(told)),
        ),
    )
    return cursor.lastrowid or 0


def complete_session(db: sqlite3.Connection, session_id: str, now_ms: int) -> None:
    """Note the end of a session; nothing for an unknown one."""
    db.execute(
        "UPDATE sessions SET status = 'completed', completed_at = ?, completed_at_epoch = ? "
        "WHERE claude_session_id = ?",
        (iso(now_ms), now_ms, clean(session_id)),
    )


REPEAT_WINDOW_MS = 3_600_000
NEWEST_ROWS = 20
MIN_OVERLAP = 0.8
"""The share of common title tokens above which, not at which, two titles are the same."""

_PUNCTUATION = re.compile(r"[^\w\s]")
_NUMBER = re.compile(r"(?<!\w)[-−]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Zµ]{1,3})?(?!\w)|\b[A-Z]{1,4}-?\d{2,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_TELLING = frozenset(
    "pass passes passed passing fail fails failed failing failure failures ok okay error errors errored succeed "
    "succeeds succeeded success successful timeout timed crash crashes crashed abort aborted killed panic panicked "
    "broken works working fixed green red found missing empty nothing none no not never without cannot revert reverts "
    "reverted undo add adds added remove removes removed delete deletes deleted enable enables enabled disable "
    "disables disabled true false on off allow allows allowed deny denies denied refuse refuses refused increase "
    "decrease raise lower".split()
)
"""Words of outcome and direction, which tell two otherwise equal titles apart."""


def title_tokens(title: str) -> frozenset[str]:
    """Return the words of a title in lower case without punctuation."""
    return frozenset(_PUNCTUATION.sub("", title.lower()).split())


def is_repeat(told: Extracted, earlier: Extracted) -> bool:
    """Return whether a clean observation has the title and the files of a clean earlier one.

    Titles without a word are compared by all parts of the observations.
    """
    if not _is_same_title(told.title, earlier.title):
        return False
    if not title_tokens(told.title):
        return content_digest(told) == content_digest(earlier)
    return frozenset(told.files) == frozenset(earlier.files)


def find_repeated(db: sqlite3.Connection, key: str, told: Extracted, created_ms: int) -> int | None:
    """Return the id of the row that an observation repeats; None without one.

    Compared are the project's 20 newest rows of the hour up to its time, the oldest of them first. A later row, as when
    a kept event or an import comes late, repeats this one and not the reverse.
    """
    rows = db.execute(
        "SELECT id, title FROM observations "
        "WHERE project_key = ? AND created_at_epoch BETWEEN ? AND ? ORDER BY created_at_epoch DESC, id DESC LIMIT ?",
        (key, created_ms - REPEAT_WINDOW_MS, created_ms, NEWEST_ROWS),
    ).fetchall()
    for identity, title in reversed(rows):
        # The rest is read of the few whose title says the same.
        if _is_same_title(told.title, title):
            sql = f"SELECT {TOLD_COLUMNS} FROM observations AS r WHERE id = ?"
            if is_repeat(told, told_of_observation(db.execute(sql, (identity,)).fetchone())):
                return identity
    return None


def _is_same_title(title: str, earlier: str) -> bool:
    """Return whether two titles share enough words, and all numbers and words of outcome; True if both have no word."""
    tokens, others = title_tokens(title), title_tokens(earlier)
    if not tokens and not others:
        return True
    return jaccard(tokens, others) > MIN_OVERLAP and _telling(title) == _telling(earlier)


def _telling(title: str) -> tuple[list[str], list[str]]:
    """Return the numbers and codes of a title, and its words of outcome, both in their order."""
    return _NUMBER.findall(title), [word for word in _WORD.findall(title.lower()) if word in _TELLING]
