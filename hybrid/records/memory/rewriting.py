"""Masks once more what rows hold, when the rules for secrets are newer than the rows.

One pass over all rows: nothing is locked while they are read and masked, and a row without a secret is not written. The
pass notes nothing about its progress, so a killed one is begun again and finds less to do.
"""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hybrid.records.memory.forgetting import for_good, merge_words
from hybrid.records.memory.reading import are_rows_masked, told_of_observation
from hybrid.records.memory.texts import clean_told, marks
from hybrid.records.memory.types import Summarised
from hybrid.records.memory.writing import insert_lists, prompt_digest, summary_digest
from hybrid.redact import REDACT_VERSION, mask, redact

if TYPE_CHECKING:
    import sqlite3

    from hybrid.records.memory.database import Database

_TEXTS = {
    "sessions": "user_prompt",
    "pending_events": "payload",
    "user_prompts": "prompt_text",
    "observations": "title, subtitle, narrative, facts, concepts, files_read, files_modified",
    "session_summaries": "request, investigated, learned, completed, next_steps, notes",
}
"""Table → its columns of texts, some of which are JSON."""
_OF_JSON = frozenset({"payload", "facts", "concepts", "files_read", "files_modified"})
_AT_ONCE = 200


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
    sql = f"SELECT id, {_TEXTS[table]} FROM {table} WHERE id > ? ORDER BY id LIMIT {_AT_ONCE}"
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
        else:
            digest = summary_digest(session, number, Summarised(*found))
        # By the digest an import knows the row. Another prompt that has it says the same: both stay.
        db.execute(f"UPDATE OR IGNORE {table} SET digest = ? WHERE id = ?", (digest, identity))
