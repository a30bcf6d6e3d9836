"""Opens SQLite databases and brings them to the newest numbered migration; every database of the product uses it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from typing import TYPE_CHECKING

from hybrid.base.atomic import make_private_folder, set_aside
from hybrid.base.errors import BusyError, IndexCorruptError, IndexMismatchError
from hybrid.base.resources import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY_TIMEOUT_MS = 10_000


def migrations(family: str) -> list[tuple[int, str]]:
    """Return the migrations of a family, lowest number first: (number, SQL) of each `index/schema/FAMILY-NNNN.sql`."""
    found = sorted(shipped("index", "schema").glob(f"{family}-[0-9][0-9][0-9][0-9].sql"))
    return [(int(path.stem[-4:]), path.read_text(encoding="utf-8")) for path in found]


def open_database(path: Path, family: str, *, is_shared: bool = False, shrinks: bool = False) -> sqlite3.Connection:
    """Open a database, in WAL mode where the file system allows it, and migrate it to the newest format.

    The files are made readable by their owner only. A database of the newest format is opened without waiting for a
    process that writes to it.
    A file that is not a database is set aside with a timestamp and started anew: what it held can be made again, or
    is kept beside it for a person to look at.

    Args:
        path: The file; it is made when missing, with its folder.
        family: Name of the family of migrations.
        is_shared: Several threads use the connection, one at a time: the caller holds a lock.
        shrinks: A new file can give back the pages of what is deleted (`PRAGMA incremental_vacuum`).

    Raises:
        IndexMismatchError: The file was written by a newer version of this program.
        BusyError: Another process holds it for longer than ten seconds.
        OSError: The folder cannot be written.
    """
    make_private_folder(path.parent)
    try:
        return _open(path, family, is_shared, shrinks)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            if "locked" in str(error):
                raise BusyError(f"{path} is in use by another process; try again when it is done") from error
            raise OSError(f"{path}: {error}") from error
        if not set_database_aside(path):
            raise OSError(f"{path} is damaged ({error}) and cannot be set aside") from error
        return _open(path, family, is_shared, shrinks)


def open_for_reading(path: Path, family: str) -> sqlite3.Connection:
    """Open a database that exists without changing anything: neither migrated nor set aside.

    Raises:
        IndexMismatchError: It has another format than this version writes.
        IndexCorruptError: It is not a database, or damaged.
        OSError: It is not there or cannot be read.
    """
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_MS / 1000)
        (current,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{path}: {error}") from error
        raise IndexCorruptError(f"{path} is damaged ({error}): run `hybrid reindex`") from error
    newest = migrations(family)[-1][0]
    if current != newest:
        connection.close()
        raise IndexMismatchError(f"{path} has format {current}, not {newest}: run `hybrid reindex`")
    return connection


def set_database_aside(path: Path) -> bool:
    """Rename a damaged database and its write-ahead log, and delete its `-shm` file; False when it stays."""
    if set_aside(path) is None:
        return False
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size == 0:  # Who reads only leaves an empty one.
        log.unlink(missing_ok=True)
    set_aside(log)
    # Holds locks only, and would be taken for that of the new file.
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return True


def _open(path: Path, family: str, is_shared: bool, shrinks: bool) -> sqlite3.Connection:
    if not path.exists():
        # One that appeared meanwhile is not opened: closing it would free the locks that this process has on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        _make_private(path.with_name(name))
    is_new = path.stat().st_size == 0
    connection = sqlite3.connect(
        path, timeout=_BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=not is_shared
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        if shrinks and is_new:
            # Before anything is written, or never: switching to the write-ahead log writes the first page. Of a file
            # that has pages it changes nothing, and waits for who writes there.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        if _use_wal(connection):
            # Whatever is made durable later takes the tables with it: they need not be waited for alone.
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path, family)
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Take the rights of all but the owner from a regular file, not through a link; errors are ignored."""
    with contextlib.suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            path.chmod(stat.S_IMODE(mode) & ~0o077)


def _use_wal(connection: sqlite3.Connection) -> bool:
    """Try to switch a database to a write-ahead log, without waiting for a process that holds a lock on it.

    Returns:
        True when it is known to be in use.
    """
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return mode == "wal"


def _migrate(connection: sqlite3.Connection, path: Path, family: str) -> None:
    steps = migrations(family)
    newest = steps[-1][0]
    (current,) = connection.execute("PRAGMA user_version").fetchone()
    if current > newest:
        raise IndexMismatchError(f"{path} has format {current}, this version knows up to {newest}: upgrade hybrid")
    if current == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it while this one waited for the lock.
        (current,) = connection.execute("PRAGMA user_version").fetchone()
        for number, sql in steps:
            if number > current:
                for statement in _statements(sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already, and is what is to be told of.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(sql: str) -> Iterator[str]:
    """Yield the statements of a script one by one; `executescript` would commit the transaction they belong to."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
