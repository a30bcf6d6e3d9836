"""Brings the rows that earlier versions stored under the present rules for secrets; the engine gives the rules.

The database notes how far that is, in the transactions that change rows: a killed process costs one batch, and two at
once do the same work twice. Nothing is locked while rows are read and looked through. At the end the words of the old
texts are merged out of the full text, and the old bytes leave the file and its log.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from hybrid.records.memory.database import FULL_TEXT_TABLES
from hybrid.records.memory.forgetting import shrink, wipe
from hybrid.records.memory.reading import TOLD_COLUMNS, told_of_observation, told_of_summary
from hybrid.records.memory.texts import clean_summary, clean_told
from hybrid.records.memory.writing import insert_lists, prompt_digest, summary_digest, told_values
from hybrid.redact import REDACT_VERSION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import Extracted, Summarised

_AT_ONCE = 200
_MERGED_PAGES = 500
"""Pages of the full text that one transaction merges: it takes some ten milliseconds, for which other writers wait."""
_EMPTY_MS = 300
_TABLES = ("sessions", "user_prompts", "observations", "session_summaries", "pending_events")
_WORDS = "words"
_FILE = "file"
STAGES = (*_TABLES, _WORDS, _FILE, "")
"""The stages of cleaning in their order; the empty one is the end."""


class Rules(Struct, frozen=True):
    """Functions that clean what rows hold; each gives its argument back, equal, when there is nothing to hide.

    Attributes:
        text: Cleans the text of a prompt.
        told: Cleans an observation.
        summary: Cleans a summary of a turn.
        payload: Cleans the JSON of a use of a tool that waits.
    """

    text: Callable[[str], str]
    told: Callable[[Extracted], Extracted]
    summary: Callable[[Summarised], Summarised]
    payload: Callable[[str], str]


class CleaningState(Struct, frozen=True):
    """The state of cleaning the rows of a database.

    Attributes:
        rules: Version of the rules that rows are cleaned by; empty when cleaning never began.
        stage: One of `STAGES`; empty at the end.
        up_to: The last row of the stage's table that was looked at.
        n_rows: Number of rows that were changed under these rules.
        at_ms: Time of the last step, milliseconds since 1970.
    """

    rules: str = ""
    stage: str = STAGES[0]
    up_to: int = 0
    n_rows: int = 0
    at_ms: int = 0

    @property
    def is_done(self) -> bool:
        """True if all rows are clean under the present rules and no old text is left in the file."""
        return self.rules == REDACT_VERSION and not self.stage


def progress_of(db: sqlite3.Connection) -> CleaningState:
    """Return the state that the database notes; the initial one when it notes none."""
    row = db.execute("SELECT rules, stage, up_to, n_rows, at_epoch FROM cleaned").fetchone()
    return CleaningState() if row is None else CleaningState(*row)


def clean_some(database: Database, rules: Rules, now_ms: int) -> CleaningState:
    """Do the next piece of cleaning: clean a batch of rows, merge some pages, or empty the log into the file.

    Returns:
        The state after it: the same as before at the end, or when another process reads during the last stage.
    """
    before = database.read(progress_of, CleaningState(REDACT_VERSION, ""))
    if before.rules != REDACT_VERSION:
        before = CleaningState(REDACT_VERSION)
    if before.is_done:
        return before
    if before.stage == _FILE:
        database.outside(shrink)
        if not database.outside(_emptied):
            return before
        after = _next(before)
        database.write(lambda db: _note(db, replace(after, at_ms=now_ms)))
        # The note itself is in the log; old texts are in neither.
        return after
    if before.stage == _WORDS:
        after = _next(before) if database.write(_merge) else before
        database.write(lambda db: _note(db, replace(after, at_ms=now_ms)))
        return after
    return _clean_batch(database, rules, before, now_ms)


def _clean_batch(database: Database, rules: Rules, before: CleaningState, now_ms: int) -> CleaningState:
    table = before.stage
    doing = _WORK[table]
    clean = getattr(rules, doing.rule)
    rows = database.read(
        lambda db: db.execute(
            f"SELECT id, {doing.columns} FROM {table} AS r WHERE id > ? ORDER BY id LIMIT ?", (before.up_to, _AT_ONCE)
        ).fetchall(),
        [],
    )
    pairs = ((row, doing.value(row[1:])) for row in rows)
    changed = [(row, cleaned) for row, value in pairs if (cleaned := clean(value)) != value]

    def work(db: sqlite3.Connection) -> CleaningState:
        n_rows = before.n_rows + sum(doing.write(db, table, row, cleaned) for row, cleaned in changed)
        after = replace(before, n_rows=n_rows, at_ms=now_ms)
        after = replace(after, up_to=rows[-1][0]) if len(rows) == _AT_ONCE else _next(after)
        _note(db, after)
        return after

    return database.write(work)


def _next(before: CleaningState) -> CleaningState:
    """Return the state at the next stage; at the end when no row was changed, so that nothing must be merged."""
    stage = STAGES[STAGES.index(before.stage) + 1]
    return replace(before, stage="" if stage == _WORDS and not before.n_rows else stage, up_to=0)


def _note(db: sqlite3.Connection, progress: CleaningState) -> None:
    db.execute(
        "INSERT OR REPLACE INTO cleaned(id, rules, stage, up_to, n_rows, at_epoch) VALUES (1, ?, ?, ?, ?, ?)",
        (progress.rules, progress.stage, progress.up_to, progress.n_rows, progress.at_ms),
    )


def _emptied(db: sqlite3.Connection) -> bool:
    """Empty the log into the file as `wipe` does, with a short wait; False when a reader was in the way."""
    (waits_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {_EMPTY_MS}")
    try:
        return wipe(db)
    finally:
        db.execute(f"PRAGMA busy_timeout = {waits_ms}")


def _merge(db: sqlite3.Connection) -> bool:
    """Merge some pages of the full text; True when nothing is left to merge, and so no word of an old text.

    A negative number of pages begins a merge of all segments into one, as `optimize` does at one go.
    """
    for table in FULL_TEXT_TABLES:
        before = db.total_changes
        db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (-_MERGED_PAGES,))
        # SQLite counts the statement itself as a change, and one more is bookkeeping.
        if db.total_changes - before >= 2:
            return False
    return True


# --- rows: what is read of each, which rule cleans it, how it is written ---------------------------------------


def _write_text(db: sqlite3.Connection, table: str, row: Sequence[Any], text: str) -> int:
    # The digest of a use that waits stays: by it the same event is known when it comes again.
    column = _WORK[table].columns.partition(",")[0]
    sql = f"UPDATE {table} SET {column} = ? WHERE id = ? AND {column} = ?"
    return db.execute(sql, (text, row[0], row[1])).rowcount


def _write_prompt(db: sqlite3.Connection, table: str, row: Sequence[Any], text: str) -> int:
    n = _write_text(db, table, row, text)
    if n:
        # Another row of this digest says the same under the same number: both stay.
        digest = prompt_digest(row[2], row[3], text)
        db.execute("UPDATE OR IGNORE user_prompts SET digest = ? WHERE id = ?", (digest, row[0]))
    return n


def _write_observation(db: sqlite3.Connection, _table: str, row: Sequence[Any], told: Extracted) -> int:
    told = clean_told(told)
    n = db.execute(
        "UPDATE observations SET title = ?, subtitle = ?, narrative = ?, facts = ?, concepts = ?, files_read = ?, "
        "files_modified = ? WHERE id = ? AND title = ? AND subtitle = ? AND narrative = ? AND facts = ?",
        (*told_values(told), row[0], *row[2:6]),
    ).rowcount
    if n:
        db.execute("DELETE FROM observation_files WHERE observation_id = ?", (row[0],))
        db.execute("DELETE FROM observation_concepts WHERE observation_id = ?", (row[0],))
        insert_lists(db, row[0], told)
    return n


def _write_summary(db: sqlite3.Connection, _table: str, row: Sequence[Any], told: Summarised) -> int:
    told = clean_summary(told)
    return db.execute(
        "UPDATE session_summaries SET digest = ?, request = ?, investigated = ?, learned = ?, completed = ?, "
        "next_steps = ?, notes = ? WHERE id = ? AND request = ? AND completed = ? AND notes = ?",
        (summary_digest(row[7], row[8], told), *astuple(told), row[0], row[1], row[4], row[6]),
    ).rowcount


class _Work(Struct, frozen=True):
    """The cleaning of the rows of a table.

    Attributes:
        columns: The columns that are read behind the id.
        value: Makes of them what is cleaned.
        rule: The name of the rule that cleans it.
        write: Writes a cleaned value in the place of what was read, unless that changed since; returns 1 or 0.
    """

    columns: str
    value: Callable[[Sequence[Any]], Any]
    rule: str
    write: Callable[[sqlite3.Connection, str, Sequence[Any], Any], int]


_FIRST: Callable[[Sequence[Any]], Any] = itemgetter(0)
_OF_SESSION = "(SELECT claude_session_id FROM sessions AS s WHERE s.id = session_id), prompt_number"
_SUMMARY_COLUMNS = "request, investigated, learned, completed, next_steps, notes"
_WORK = {
    "sessions": _Work("user_prompt", _FIRST, "text", _write_text),
    "user_prompts": _Work(f"prompt_text, {_OF_SESSION}", _FIRST, "text", _write_prompt),
    "observations": _Work(TOLD_COLUMNS, told_of_observation, "told", _write_observation),
    "session_summaries": _Work(f"{_SUMMARY_COLUMNS}, {_OF_SESSION}", told_of_summary, "summary", _write_summary),
    "pending_events": _Work("payload", _FIRST, "payload", _write_text),
}
