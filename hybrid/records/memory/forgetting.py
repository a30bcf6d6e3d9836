"""Forgets rows for good, prunes old ones, and masks once more what rows hold when the rules for secrets are newer.

What is forgotten leaves nothing in the file: the pages are overwritten (`secure_delete`), the full text is merged anew
(its segments otherwise keep the words of rows that are gone), and the log is emptied into the file. Its digest stays,
so that neither an event that is sent again nor an import brings it back; a text cannot be made of it.

Rows are masked in one pass: nothing is locked while they are read and masked, and a row without a secret is not
written. The pass notes nothing about its progress, so a killed one is begun again and finds less to do.
"""

from __future__ import annotations

import contextlib
import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hybrid.records.memory.database import FULL_TEXT_TABLES, TABLES, are_rows_masked, told_of_observation
from hybrid.records.memory.types import ForgetReport, Summarised, chunked, clean, clean_told, marks, short_key
from hybrid.records.memory.writing import FORGOTTEN, insert_lists, prompt_digest, session_digest, turn_digest
from hybrid.redact import REDACT_VERSION, mask, redact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import MemoryKind


_ALL_TABLES = ("observations", "session_summaries", "user_prompts")
_SEEN_FOR_NOTHING_MS = 30 * 86_400_000
"""Milliseconds for which an event that told nothing stays known; a hook sends one again within minutes."""
_PRUNED_AT_ONCE = 1_000
_ROOM = 0.1
"""Share of a size limit that pruning leaves free, so that it is not needed again at once."""


def for_good(database: Database, work: Callable[[sqlite3.Connection], int]) -> ForgetReport:
    """Do one of the works below in a transaction, then take the forgotten texts out of the file and its log."""
    if not database.exists:
        return ForgetReport(0, True)
    n = database.write(work)
    database.outside(shrink)
    return ForgetReport(n, database.outside(wipe))


def forget(db: sqlite3.Connection, ids: Sequence[tuple[MemoryKind, int]]) -> int:
    """Forget rows, each by its kind and id; return how many were there."""
    n = 0
    for kind, table in TABLES.items():
        n += _delete(db, table, [number for one, number in ids if one == kind], is_forgotten=True)
    return merge_words(db, n)


def forget_session(db: sqlite3.Connection, session_id: str) -> int:
    """Forget a session with its rows and waiting tool uses, and merge the full text.

    Returns:
        The number of rows, that of the session itself among them; 0 for an unknown session.
    """
    found = db.execute("SELECT id FROM sessions WHERE claude_session_id = ?", (clean(session_id),)).fetchone()
    if found is None:
        return 0
    n = _forget_where(db, "session_id = ?", found)
    return merge_words(db, n + _forget_sessions(db, "id = ?", found))


def forget_project(db: sqlite3.Connection, key: str) -> int:
    """Forget all rows and waiting tool uses of a project; return the number of rows.

    A session that went on in another project stays, as a session of that one.
    """
    values = (clean(key),)
    ids = [row[0] for row in db.execute("SELECT id FROM sessions WHERE project_key = ?", values).fetchall()]
    n = _forget_where(db, "project_key = ?", values)
    for identity in ids:
        _leave_project(db, identity)
    return merge_words(db, n + _forget_sessions(db, "project_key = ?", values))


def forget_everything(db: sqlite3.Connection) -> int:
    """Forget all rows, and which rows were forgotten before, so that an export can be imported again.

    Returns:
        The number of rows.
    """
    n = _forget_where(db, "1", ())
    n += db.execute("DELETE FROM sessions").rowcount
    db.execute("DELETE FROM forgotten")
    return merge_words(db, n)


def _leave_project(db: sqlite3.Connection, session: int) -> None:
    """Move a session to a project that still has rows of it, if one has, and drop the text of its first prompt."""
    for table in (*_ALL_TABLES, "pending_events"):
        row = db.execute(
            f"SELECT project_key, project FROM {table} WHERE session_id = ? LIMIT 1", (session,)
        ).fetchone()
        if row is not None:
            db.execute(
                "UPDATE sessions SET project_key = ?, project = ?, user_prompt = '' WHERE id = ?", (*row, session)
            )
            return


def _forget_where(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> int:
    """Forget the rows and the waiting tool uses for which a condition holds; return the number of rows."""
    n = 0
    for table in _ALL_TABLES:
        ids = [row[0] for row in db.execute(f"SELECT id FROM {table} WHERE {condition}", values).fetchall()]
        n += _delete(db, table, ids, is_forgotten=True)
    waiting = db.execute(f"SELECT digest, created_at_epoch FROM pending_events WHERE {condition}", values).fetchall()
    db.executemany(
        "INSERT OR IGNORE INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?)",
        [(short_key(digest), FORGOTTEN, created) for digest, created in waiting],
    )
    db.execute(f"DELETE FROM pending_events WHERE {condition}", values)
    return n


def _forget_sessions(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> int:
    """Forget the sessions for which a condition holds, which have no row any more; return their number."""
    found = db.execute(f"SELECT claude_session_id FROM sessions WHERE {condition}", values).fetchall()
    _remember_forgotten(db, [session_digest(row[0]) for row in found])
    return db.execute(f"DELETE FROM sessions WHERE {condition}", values).rowcount


def _delete(db: sqlite3.Connection, table: str, ids: Sequence[int], *, is_forgotten: bool) -> int:
    n = 0
    for some in chunked(list(dict.fromkeys(ids))):
        condition = f"({marks(some)})"
        if is_forgotten:
            digests = db.execute(f"SELECT digest FROM {table} WHERE id IN {condition}", some).fetchall()
            _remember_forgotten(db, [row[0] for row in digests])
        if table == "observations":
            forgotten = f"UPDATE seen_events SET observation_id = {FORGOTTEN}"
            change = forgotten if is_forgotten else "DELETE FROM seen_events"
            db.execute(f"{change} WHERE observation_id IN {condition}", some)
        if table == "user_prompts":
            # The session repeats its first prompt.
            db.execute(
                "UPDATE sessions SET user_prompt = '' WHERE id IN "
                f"(SELECT session_id FROM user_prompts WHERE id IN {condition} AND prompt_number = 1)",
                some,
            )
        n += db.execute(f"DELETE FROM {table} WHERE id IN {condition}", some).rowcount
    return n


def _remember_forgotten(db: sqlite3.Connection, digests: Sequence[str]) -> None:
    db.executemany("INSERT OR IGNORE INTO forgotten(row) VALUES (?)", [(short_key(digest),) for digest in digests])


def merge_words(db: sqlite3.Connection, n: int) -> int:
    """Merge the full text, unless `n` is 0, so that it holds no word of rows that are gone; return `n`."""
    if n:
        for table in FULL_TEXT_TABLES:
            db.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
    return n


def wipe(db: sqlite3.Connection) -> bool:
    """Empty the log into the file, outside of a transaction; return False when a reader was in the way."""
    return db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def shrink(db: sqlite3.Connection) -> None:
    """Give the free pages of the file back to the file system, outside of a transaction."""
    # It gives back one page at each step, and only a script is stepped to its end: there are no rows to fetch.
    db.executescript("PRAGMA incremental_vacuum")


# --- pruning -----------------------------------------------------------------------------------------------


def prune(database: Database, before_ms: int | None, max_bytes: int | None, now_ms: int) -> int:
    """Delete rows older than a time, then the oldest until the file is small enough; see `MemoryStore.prune`.

    Returns how many rows went; it leaves a tenth of the limit free.
    """
    n = 0
    if before_ms is not None:
        while some := database.write(lambda db: _prune_before(db, before_ms)):
            n += some
        database.write(lambda db: _finish_pruning(db, before_ms, now_ms))
    if max_bytes is not None and database.outside(_used_bytes) > max_bytes:
        n += _prune_to(database, max_bytes * (1 - _ROOM))
        database.write(lambda db: _finish_pruning(db, now_ms, now_ms))
    if n:
        database.outside(shrink)
        database.outside(wipe)
    return n


def _prune_to(database: Database, max_bytes: float) -> int:
    n = 0
    while (used := database.outside(_used_bytes)) > max_bytes:
        some = database.write(lambda db, share=1 - max_bytes / used: _prune_share(db, share))
        if not some:
            break
        n += some
    return n


def _prune_before(db: sqlite3.Connection, before_ms: int) -> int:
    """Delete at most a thousand rows of each table that are older; return the number, 0 when there are no more."""
    n = 0
    for table in _ALL_TABLES:
        found = db.execute(
            f"SELECT id FROM {table} WHERE created_at_epoch < ? ORDER BY created_at_epoch, id LIMIT ?",
            (before_ms, _PRUNED_AT_ONCE),
        )
        n += _delete(db, table, [row[0] for row in found.fetchall()], is_forgotten=False)
    return n


def _prune_share(db: sqlite3.Connection, share: float) -> int:
    """Delete a share of the rows, the oldest, and at least one; return the number, 0 when there are none.

    Args:
        db: The database.
        share: Share of the rows, in [0, 1].
    """
    union = " UNION ALL ".join(
        f"SELECT '{table}' AS t, id, created_at_epoch AS at FROM {table}" for table in _ALL_TABLES
    )
    (count,) = db.execute(f"SELECT count(*) FROM ({union})").fetchone()
    oldest = db.execute(
        f"SELECT t, id FROM ({union}) ORDER BY at, id LIMIT ?", (max(1, math.ceil(count * share)),)
    ).fetchall()
    n = sum(
        _delete(db, table, [identity for name, identity in oldest if name == table], is_forgotten=False)
        for table in _ALL_TABLES
    )
    return merge_words(db, n)


def _finish_pruning(db: sqlite3.Connection, before_ms: int, now_ms: int) -> None:
    """Drop sessions without rows, events seen long ago that told nothing, and the words of rows that are gone."""
    is_unused = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} AS t WHERE t.session_id = sessions.id)"
        for table in (*_ALL_TABLES, "pending_events")
    )
    db.execute(f"DELETE FROM sessions WHERE status <> 'active' AND started_at_epoch < ? AND {is_unused}", (before_ms,))
    db.execute(
        "DELETE FROM seen_events WHERE (observation_id IS NULL OR observation_id < 0) AND seen_at_epoch < ?",
        (now_ms - _SEEN_FOR_NOTHING_MS,),
    )
    merge_words(db, 1)


def _used_bytes(db: sqlite3.Connection) -> int:
    """Return the bytes of the pages of the file that are in use."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


# --- masking ------------------------------------------------------------------------------------------------

_TEXTS = {
    "sessions": "user_prompt",
    "pending_events": "payload",
    "user_prompts": "prompt_text",
    "observations": "title, subtitle, narrative, facts, concepts, files_read, files_modified",
    "session_summaries": "request, investigated, learned, completed, next_steps, notes, turns",
}
"""Table → its columns of texts, some of which are JSON."""
_OF_JSON = frozenset({"payload", "turns", "facts", "concepts", "files_read", "files_modified"})
_MASKED_AT_ONCE = 200


def is_masked(database: Database) -> bool:
    """Return whether all rows were stored or masked by the present rules for secrets; True without a memory."""
    sql = "SELECT 1 FROM cleaned WHERE rules = ? AND stage = ''"
    return database.read(lambda db: db.execute(sql, (REDACT_VERSION,)).fetchone() is not None, missing=True)


def note_masked(database: Database, stage: str = "") -> None:
    """Note that all rows are masked by the present rules; stage `file` when old texts may be left in the file."""
    sql = "INSERT OR REPLACE INTO cleaned(id, rules, stage, up_to, n_rows, at_epoch) VALUES (1, ?, ?, 0, 0, 0)"
    database.write(lambda db: db.execute(sql, (REDACT_VERSION, stage)))


def masked(value: Any) -> Any:
    """Return a value of JSON with the secrets taken out of each text, names of fields and texts of JSON too."""
    if isinstance(value, dict):
        return {redact(name): masked(item) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        items = [*map(masked, cast("list[object]", value))]
        if all(isinstance(item, str) and "\n" not in item for item in items):
            lines = "\n".join(items)
            return items if redact(lines) == lines else mask(lines).split("\n")  # A key may be a list of its lines.
        return items
    if isinstance(value, str) and value.startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            inner = json.loads(value)
            found = masked(inner)
            return value if found == inner else json.dumps(found, ensure_ascii=False)
    return redact(value) if isinstance(value, str) else value


def _masked_column(name: str, text: str) -> str:
    """Return the text of a column without secrets; what is JSON stays JSON."""
    if name not in _OF_JSON:
        return redact(text)
    inner = masked(text)
    whole = redact(inner)  # The name of a field says what its value is.
    if whole != inner:
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(whole)
            return whole
    return inner


def rewrite(database: Database) -> bool:
    """Mask the texts of all rows, then take the words of the old texts out of the full text, the file and its log.

    That the rows are masked is noted, so that a second call only does what is left.

    Returns:
        False when another process was reading all the time, so that the log still has old texts.
    """
    if not database.read(are_rows_masked, False):
        for table in _TEXTS:
            _mask_rows(database, table)
        # What failed is known again by texts that are masked in another way now.
        for table in ("failures", "remedies"):
            database.write(lambda db, table=table: db.execute(f"DELETE FROM {table}"))
        note_masked(database, "file")
    return for_good(database, lambda db: merge_words(db, 1)).is_wiped


def _mask_rows(database: Database, table: str) -> None:
    names = _TEXTS[table].split(", ")
    after = 0
    while rows := database.read(partial(_some, table, after), []):
        for row in rows:
            found = [*map(_masked_column, names, row[1:])]
            if found != row[1:]:
                database.write(partial(_write, table, row, found))
        after = rows[-1][0]


def _some(table: str, after: int, db: sqlite3.Connection) -> list[list[Any]]:
    sql = f"SELECT id, {_TEXTS[table]} FROM {table} WHERE id > ? ORDER BY id LIMIT {_MASKED_AT_ONCE}"
    return [*map(list, db.execute(sql, (after,)))]


def _write(table: str, row: list[Any], found: list[str], db: sqlite3.Connection) -> None:
    """Write the masked texts of a row, unless it was changed or forgotten since it was read."""
    columns, identity = _TEXTS[table], row[0]
    sql = f"UPDATE {table} SET ({columns}) = ({marks(found)}) WHERE (id, {columns}) = ({marks(row)})"
    if not db.execute(sql, (*found, *row)).rowcount:
        return
    if table == "observations":
        for name in ("observation_files", "observation_concepts"):
            db.execute(f"DELETE FROM {name} WHERE observation_id = ?", (identity,))
        insert_lists(db, identity, clean_told(told_of_observation(("", *found))))
    if table in ("user_prompts", "session_summaries"):
        name = "SELECT claude_session_id FROM sessions WHERE id = session_id"
        session, number = db.execute(
            f"SELECT ({name}), prompt_number FROM {table} AS r WHERE id = ?", (identity,)
        ).fetchone()
        if table == "user_prompts":
            digest = prompt_digest(session, number, found[0])
        elif found[6]:  # A session's summary is known by whose it is.
            return
        else:
            digest = turn_digest(session, number, Summarised(*found[:6]))
        # By the digest an import knows the row. Another prompt that has it says the same: both stay.
        db.execute(f"UPDATE OR IGNORE {table} SET digest = ? WHERE id = ?", (digest, identity))
