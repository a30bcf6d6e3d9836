"""The memory's database: opened for threads and processes that use it at once, repaired, and its rows as values.

Work is given as a function of the connection: one write and one read run at a time in this process, each inside one
transaction, and once more after a damaged file was repaired. The functions that select rows are such work. Rows that
`forgetting` has not masked yet by the present rules are masked as they are read.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid import __version__
from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, IndexMismatchError
from hybrid.base.sqlite import open_database, set_database_aside
from hybrid.records.memory.types import (
    MEMORY_KINDS,
    Extracted,
    MemoryKind,
    Observation,
    Owner,
    Session,
    SessionSummary,
    Summarised,
    UserPrompt,
    clean,
    from_json,
)
from hybrid.records.types import MemoryBusyError, MemoryDatabaseError, MemoryFormatError, NoFullTextError
from hybrid.redact import REDACT_VERSION, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.records.memory.types import Row, RowFilter


FULL_TEXT_TABLES = ("observations_fts", "summaries_fts", "prompts_fts")

_T = TypeVar("_T")
_REPAIR_LOCK_S = 30.0
_CACHE_KIB = 16_000
_CHECKPOINT_PAGES = 4_000
"""Pages of 4 KiB in the log after which it is copied into the file, which takes some ten milliseconds."""
_DAMAGED = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB; `sqlite3` names them since Python 3.11."""
_DAMAGED_WORDS = ("malformed", "not a database", "corruption found")
"""What SQLite says of them; of a damaged full text it says other words since 3.53."""


class Database:
    """The connections of a store, one that writes and one that reads; see `_Line`.

    A reader never waits for a writer, neither here nor in another process: the write-ahead log gives it the state
    before the writer's transaction.
    """

    def __init__(self, path: Path) -> None:
        """Set the path of the file; nothing is opened or made yet."""
        self.path = path
        self._writer = _Line(path)
        self._reader = _Line(path, is_reader=True)

    @property
    def exists(self) -> bool:
        """True if the file of the database is there."""
        return self.path.is_file()

    def read(self, work: Callable[[sqlite3.Connection], _T], missing: _T) -> _T:
        """Return the result of work that reads one consistent state; `missing` when there is no file. Makes none.

        The work sees committed changes only: nothing of a `write` that is not done.

        Raises:
            MemoryDatabaseError: The database cannot be read.
        """
        return self._tried(self._reader, work, "BEGIN") if self.exists else missing

    def write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do the work in one transaction and return its result, which a kill of the process does not take back.

        Raises:
            MemoryDatabaseError: The database cannot be written; nothing of the work is stored.
        """
        # Never a read that becomes a write: two of those wait for one another.
        return self._tried(self._writer, work, "BEGIN IMMEDIATE")

    def outside(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do work that cannot run in a transaction, a checkpoint for example, and return its result.

        Raises:
            MemoryDatabaseError: The database cannot be used.
        """
        return self._tried(self._writer, work, "")

    def close(self) -> None:
        """Release the file, once the threads at work with it are done; the next use opens it again."""
        for line in (self._reader, self._writer):
            line.close()

    def _tried(self, line: _Line, work: Callable[[sqlite3.Connection], _T], begin: str) -> _T:
        try:
            return line.done(work, begin)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise self._told(line, error) from error
        self._repair(line)
        try:
            return line.done(work, begin)
        except sqlite3.DatabaseError as error:
            raise self._told(line, error) from error

    def _told(self, line: _Line, error: sqlite3.DatabaseError) -> MemoryDatabaseError:
        text = str(error)
        if "locked" in text or "busy" in text:
            return MemoryBusyError(f"the memory {self.path} is in use by another process; try again when it is done")
        if not isinstance(error, (sqlite3.IntegrityError, sqlite3.ProgrammingError)):
            line.close()
        return MemoryDatabaseError(f"the memory {self.path} cannot be used: {text}; see `hybrid doctor`")

    def _repair(self, found_by: _Line) -> None:
        """Make the full text of the database anew where only that is damaged; otherwise rename the database's file.

        A renamed file is for a person to look at. One process at a time does it; a file that is whole by then, as
        another one has replaced it, stays. Both connections are closed first, but for one that another thread is using.

        Args:
            found_by: The connection that met the damage.
        """
        found_by.close()
        other = self._reader if found_by is self._writer else self._writer
        # Some systems rename no file that is open. One that is at work is not waited for, since it may be waiting here:
        # it finds out by itself.
        other.close(waits=False)
        with locked(self.path.with_name(f"{self.path.name}.repair.lock"), _REPAIR_LOCK_S):
            if self.exists and not _is_whole(self.path):
                set_database_aside(self.path)


class _Line:
    """One connection and its lock, as one thread at a time may use it.

    The connection is opened when first needed, and anew when its file was replaced.
    """

    def __init__(self, path: Path, *, is_reader: bool = False) -> None:
        self._path = path
        self._is_reader = is_reader
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def __del__(self) -> None:
        """Close the database of a store that nobody holds any more; Python 3.13 warns of one left open."""
        if self._connection is not None:
            self._connection.close()

    def done(self, work: Callable[[sqlite3.Connection], _T], begin: str) -> _T:
        """Return the result of work in a transaction: one that this thread has begun, else one begun by `begin`.

        An empty `begin` starts no transaction. An error of the work undoes the transaction.
        """
        with self._lock:
            connection = self._opened()
            if not begin or connection.in_transaction:
                return work(connection)
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                # A full disk has ended the transaction already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def close(self, *, waits: bool = True) -> None:
        """Close the connection; without `waits` it stays open while another thread is at work."""
        if not self._lock.acquire(blocking=waits):
            return
        try:
            connection, self._connection, self._file = self._connection, None, None
            if connection is not None:
                connection.close()
        finally:
            self._lock.release()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and self._file != _identity(self._path):
            # Another process set the file aside, or its owner deleted it: what is written there is seen by nobody.
            self.close()
        if self._connection is None:
            self._connection = _open(self._path)
            self._file = _identity(self._path)
            if self._is_reader:
                self._connection.execute("PRAGMA query_only = ON")
        return self._connection


def size_bytes(path: Path) -> int:
    """Return the bytes of a database and its log; 0 when there is none."""
    total = 0
    for name in (path.name, f"{path.name}-wal"):
        with contextlib.suppress(OSError):
            total += path.with_name(name).stat().st_size
    return total


def _open(path: Path) -> sqlite3.Connection:
    is_new = size_bytes(path) == 0
    try:
        connection = open_database(path, "memory", is_shared=True, shrinks=True)
    except BusyError as error:
        raise MemoryBusyError(str(error)) from error
    except IndexMismatchError as error:
        raise MemoryFormatError(str(error)) from error
    except OSError as error:
        if "fts5" in str(error):
            raise NoFullTextError(
                f"the SQLite {sqlite3.sqlite_version} of this Python has no FTS5, which the memory needs: use a Python "
                "whose sqlite3 has it (those of python.org, uv, conda and the usual distributions do)"
            ) from error
        raise MemoryDatabaseError(f"the memory {path} cannot be opened: {error}") from error
    # What was committed survives the end of this process; only a failure of power may take the last moments back.
    connection.execute("PRAGMA synchronous = NORMAL")
    # What is forgotten is overwritten in the file.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    if is_new:
        # Whatever is stored from now on is stored under the present rules.
        connection.execute(
            "INSERT OR IGNORE INTO cleaned SELECT 1, ?, '', 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM sessions)",
            (REDACT_VERSION,),
        )
    return connection


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file or its full text is damaged: by the code of SQLite (since Python 3.11), or its words."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _DAMAGED  # The bits above tell which kind of damage it is.
    return any(words in str(error) for words in _DAMAGED_WORDS)


def _is_whole(path: Path) -> bool:
    """Return whether the tables are sound, and make the full text anew from them; a busy file counts as sound.

    The full text comes first: from SQLite 3.44 on, a damaged one counts as damage of the file. A file whose tables are
    not sound stays as it was.
    """
    try:
        connection = _open(path)
    except MemoryDatabaseError:
        return False
    try:
        connection.execute("BEGIN IMMEDIATE")
        for table in FULL_TEXT_TABLES:
            connection.execute(f"INSERT INTO {table}({table}) VALUES('rebuild')")
        is_sound = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        connection.execute("COMMIT" if is_sound else "ROLLBACK")
    except sqlite3.OperationalError as error:
        # Busy or full is not damage.
        return not _is_damage(error)
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()
    return is_sound


# --- rows as values ----------------------------------------------------------------------------------------

MAX_TRIES = 3
"""Most attempts to extract a use of a tool: a text that ends or stalls its reader must not do so for ever."""
N_TRIES = f"CASE tried_by WHEN '{__version__}' THEN n_tries ELSE 0 END"
"""SQL for the number of attempts by this version to extract a waiting use; above `MAX_TRIES` the use is set aside."""

TABLES: dict[MemoryKind, str] = {"observation": "observations", "summary": "session_summaries"}

TOLD_COLUMNS = "r.type, r.title, r.subtitle, r.narrative, r.facts, r.concepts, r.files_read, r.files_modified"
_COLUMNS: dict[MemoryKind, str] = {
    "observation": f"{TOLD_COLUMNS}, r.prompt_number, r.discovery_tokens, r.repeat_count, r.created_at_epoch, r.digest",
    "summary": "r.request, r.investigated, r.learned, r.completed, r.next_steps, r.notes, r.prompt_number, "
    "r.created_at_epoch, r.turns",
}
_OWNER = "r.id, s.claude_session_id, r.project_key, r.project"
_SESSION = "JOIN sessions AS s ON s.id = r.session_id"
_SESSION_COLUMNS = (
    "claude_session_id, project_key, project, user_prompt, started_at_epoch, completed_at_epoch, status, prompt_counter"
)
OF_SESSION = "(SELECT id FROM sessions WHERE claude_session_id = ?)"
WORKED = (
    "(r.investigated <> '' OR EXISTS "
    "(SELECT 1 FROM observations AS o WHERE o.session_id = r.session_id "
    "AND (r.turns <> '' OR o.prompt_number = r.prompt_number)))"
)
"""Condition on a summary `r`: a tool was used in its session, or in its turn if it tells of one."""


class Clause:
    """Conditions of SQL, joined by AND, with their values."""

    def __init__(self) -> None:
        """Begin without a condition, which holds for every row."""
        self.parts: list[str] = []
        self.values: list[object] = []

    def add(self, part: str, *values: object) -> Clause:
        """Add a condition with its values, and return this clause."""
        self.parts.append(part)
        self.values += values
        return self

    @property
    def sql(self) -> str:
        """The conditions as SQL after `WHERE`; `1` without any."""
        return " AND ".join(self.parts) or "1"


def kinds_of(wanted: RowFilter) -> list[MemoryKind]:
    """Return the kinds of which rows can be among the wanted, observations first; a summary has no file."""
    kinds: tuple[MemoryKind, ...] = MEMORY_KINDS[:1] if wanted.files else MEMORY_KINDS
    if wanted.types:
        named = {"summary" if name == "summary" else "observation" for name in wanted.types}
        kinds = tuple(kind for kind in kinds if kind in named)
    return [kind for kind in kinds if not wanted.kinds or kind in wanted.kinds]


def where(wanted: RowFilter, kind: MemoryKind | None = None, *, not_key: str = "") -> Clause:
    """Return the conditions on a row `r` of one of `kinds_of` the filter.

    Args:
        wanted: The filter; its kinds are not looked at.
        kind: The kind of the rows; None where the filter has no `answer_chars`, or for a table of another kind.
        not_key: A project to leave out; empty for none.
    """
    clause = Clause()
    if wanted.key:
        clause.add("r.project_key = ?", clean(wanted.key))
    if not_key:
        clause.add("r.project_key <> ?", clean(not_key))
    if wanted.since_ms is not None:
        clause.add("r.created_at_epoch >= ?", wanted.since_ms)
    if wanted.session_id:
        clause.add(f"r.session_id = {OF_SESSION}", clean(wanted.session_id))
    if wanted.not_session:
        clause.add(f"r.session_id IS NOT {OF_SESSION}", clean(wanted.not_session))
    if wanted.types and kind != "summary":
        clause.add(f"r.type IN ({','.join('?' * len(wanted.types))})", *map(clean, wanted.types))
    if wanted.files:
        _add_files(clause, wanted.files)
    if wanted.answer_chars is not None and kind == "summary":
        clause.add(
            f"({WORKED} OR length(r.learned || r.completed || r.next_steps || r.notes) >= ?)", wanted.answer_chars
        )
    return clause


def _add_files(clause: Clause, files: Sequence[str]) -> None:
    paths = tuple(dict.fromkeys(_normalised(path) for path in files))
    if "" in paths:
        clause.add("EXISTS (SELECT 1 FROM observation_files AS f WHERE f.observation_id = r.id)")
        return
    # `0` follows `/`: whatever begins with `path/` lies between the two.
    clause.add(
        f"r.id IN (WITH wanted(path) AS (VALUES {','.join(['(?)'] * len(paths))}) "
        "SELECT f.observation_id FROM wanted AS w CROSS JOIN observation_files AS f ON f.path = w.path UNION "
        "SELECT f.observation_id FROM wanted AS w CROSS JOIN observation_files AS f "
        "ON f.path > w.path || '/' AND f.path < w.path || '0')",
        *paths,
    )


def _normalised(path: str) -> str:
    """Return a path in the form in which it is stored; empty for the project itself."""
    path = clean(path).replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/") or path[:1]
    return "" if path == "." else path


def select(db: sqlite3.Connection, kind: MemoryKind, clause: Clause, order: str, limit: int) -> list[Row]:
    """Return at most `limit` rows of one kind that fulfil a clause; `order` may name columns of `r`."""
    # The rows are chosen first: to sort many with all their text takes ten times as long.
    chosen = f"SELECT r.id FROM {TABLES[kind]} AS r CROSS {_SESSION} WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    sql = (
        f"SELECT {_OWNER}, {_COLUMNS[kind]} FROM {TABLES[kind]} AS r CROSS {_SESSION} "
        f"WHERE r.id IN ({chosen}) ORDER BY {order}"
    )
    hide = _hiding(db)
    return [_row(kind, values, hide) for values in db.execute(sql, (*clause.values, limit)).fetchall()]


def are_rows_masked(db: sqlite3.Connection) -> bool:
    """Return whether all rows were stored or masked by the present rules; old texts may be left in the file."""
    sql = "SELECT 1 FROM cleaned WHERE rules = ? AND stage IN ('file', '')"
    return db.execute(sql, (REDACT_VERSION,)).fetchone() is not None


def _hiding(db: sqlite3.Connection) -> Callable[[str], str]:
    """Return the function that takes secrets out of texts that are read; `str` once all rows are masked."""
    return str if are_rows_masked(db) else redact


def _row(kind: MemoryKind, values: tuple[Any, ...], hide: Callable[[str], str]) -> Row:
    owner = Owner(*values[1:4])
    if kind == "summary":
        number, created_ms, turns = values[10:]
        return SessionSummary(values[0], owner, Summarised(*map(hide, values[4:10])), number, created_ms, hide(turns))
    return Observation(values[0], owner, told_of_observation(values[4:12], hide), *values[12:])


def told_of_observation(values: Sequence[Any], hide: Callable[[str], str] = str) -> Extracted:
    """Return the observation that the columns from `type` to `files_modified` hold.

    Args:
        values: The values of these columns.
        hide: Function that is applied to each text.
    """
    title, subtitle, narrative = map(hide, values[1:4])
    lists = (tuple(map(hide, from_json(value))) for value in values[4:8])
    return Extracted(values[0], title, subtitle, narrative, *lists)


def select_sessions(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[Session]:
    """Return the sessions that fulfil a clause; it and `order` name columns of `sessions`."""
    sql = f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [Session(Owner(*row[:3]), hide(row[3]), *row[4:]) for row in rows]


def select_prompts(db: sqlite3.Connection, clause: Clause, order: str, limit: int) -> list[UserPrompt]:
    """Return the prompts that fulfil a clause; it and `order` name columns of `r`."""
    sql = (
        f"SELECT {_OWNER}, r.prompt_text, r.prompt_number, r.created_at_epoch FROM user_prompts AS r CROSS {_SESSION} "
        f"WHERE {clause.sql} ORDER BY {order} LIMIT ?"
    )
    rows = db.execute(sql, (*clause.values, limit)).fetchall()
    hide = _hiding(db)
    return [UserPrompt(row[0], Owner(*row[1:4]), hide(row[4]), *row[5:]) for row in rows]
