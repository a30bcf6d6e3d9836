from __future__ import annotations

import sqlite3
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hybrid.base.errors import BusyError, IndexMismatchError
from hybrid.base.sqlite import migrations, open_database, set_database_aside
from tests.support.builders import python_process

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = ["catalog"]


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_migrations_are_numbered_from_one(family: str) -> None:
    """The migrations of a family are numbered without a gap."""
    numbers = [number for number, _ in migrations(family)]

    assert list(range(1, len(numbers) + 1)) == numbers


def test_a_new_database_has_the_newest_format(tmp_path: Path) -> None:
    """A new database is made with its folder, in WAL mode, with foreign keys, at the newest format."""
    connection = open_database(tmp_path / "new" / "catalog.db", "catalog")
    try:
        assert len(migrations("catalog")) == _version(connection)
        assert "wal" == connection.execute("PRAGMA journal_mode").fetchone()[0]
        assert 1 == connection.execute("PRAGMA foreign_keys").fetchone()[0]
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (0,)
    finally:
        connection.close()


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_new_database_is_private(tmp_path: Path) -> None:
    """A database and its folder are readable by their owner only."""
    open_database(tmp_path / "new" / "catalog.db", "catalog").close()

    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "new", tmp_path / "new" / "catalog.db")]
    assert [0o700, 0o600] == modes


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_database_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    """The file and its log lose the rights of others, its owner's stay; what a link points to keeps its own."""
    path, link = tmp_path / "catalog.db", tmp_path / "link.db"
    open_database(path, "catalog").close()
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO models(key) VALUES('m')")
    writer.commit()
    names = [path, tmp_path / "catalog.db-wal", tmp_path / "catalog.db-shm"]
    link.symlink_to(path)
    for name in names:
        name.chmod(0o644)

    open_database(link, "catalog").close()
    assert 0o644 == path.stat().st_mode & 0o777
    open_database(path, "catalog").close()
    modes = [name.stat().st_mode & 0o777 for name in names]
    writer.close()

    assert [0o600] * 3 == modes


def test_opening_does_not_wait_for_who_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of the newest format is opened and read while another connection writes; a new one can shrink."""
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "memory.db"
    writer = open_database(path, "memory", shrinks=True)
    writer.execute("BEGIN IMMEDIATE")
    try:
        connection = open_database(path, "memory", shrinks=True)
        found = connection.execute("SELECT count(*) FROM sessions").fetchone()
        (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
        connection.close()
    finally:
        writer.close()

    assert (0,) == found
    assert 2 == mode


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    """Opening a database of the newest format changes nothing in it."""
    path = tmp_path / "catalog.db"
    connection = open_database(path, "catalog")
    connection.execute("INSERT INTO models(key) VALUES('m')")
    connection.close()

    connection = open_database(path, "catalog")
    rows = connection.execute("SELECT key FROM models").fetchall()
    connection.close()

    assert [("m",)] == rows


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path) -> None:
    """A damaged file is kept beside the new database."""
    path = tmp_path / "catalog.db"
    path.write_bytes(b"not a database " * 100)

    connection = open_database(path, "catalog")
    version = _version(connection)
    connection.close()

    assert 1 == version
    assert [b"not a database " * 100] == [copy.read_bytes() for copy in tmp_path.glob("catalog.db.corrupt-*")]


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A database of a newer version is neither read nor set aside."""
    path = tmp_path / "catalog.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(IndexMismatchError, match=r"format 99.*upgrade"):
        open_database(path, "catalog")
    assert [] == list(tmp_path.glob("*.corrupt-*"))


def test_a_killed_migration_leaves_no_half_format(tmp_path: Path) -> None:
    """Tables and format number of a migration are made together or not at all."""
    path = tmp_path / "catalog.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE trees (id INTEGER PRIMARY KEY)")
    connection.close()

    connection = open_database(path, "catalog")
    version = _version(connection)
    connection.close()

    assert 1 == version


def test_four_processes_open_a_new_database_at_once(tmp_path: Path) -> None:
    """Processes that make the same database at the same time all get it, at the newest format."""
    script = """
        import sys, time
        from pathlib import Path
        from hybrid.base.sqlite import open_database
        while time.time() < float(sys.argv[2]):
            pass
        open_database(Path(sys.argv[1]), "catalog").close()
    """
    start = time.time() + 0.7
    for round_ in range(3):
        processes = [python_process(script, tmp_path / f"{round_}.db", start + round_ / 2) for _ in range(4)]

        assert [0, 0, 0, 0] == [process.wait() for process in processes if process.communicate() is not None]


def test_what_is_in_the_way_of_a_database_is_an_os_error(tmp_path: Path) -> None:
    """A file in the place of its folder, or a folder in its own, is named; a file of no bytes is a new database."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "catalog.db").mkdir()
    for path in (tmp_path / "file" / "catalog.db", tmp_path / "catalog.db"):
        with pytest.raises(OSError, match=r"catalog\.db"):
            open_database(path, "catalog")

    open_database(tmp_path / "file", "catalog").close()
    assert [] == list(tmp_path.glob("*.corrupt-*"))


def test_a_database_that_stays_locked_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that another connection holds all the time is reported as in use."""
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "catalog.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(BusyError, match="in use by another process"):
            open_database(path, "catalog")
    finally:
        holder.close()


def test_a_database_is_set_aside_with_its_log(tmp_path: Path) -> None:
    """The write-ahead log of a damaged database is kept like the database itself."""
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"catalog.db{suffix}").write_text(suffix)

    assert [True, False] == [set_database_aside(tmp_path / "catalog.db") for _ in range(2)]
    assert ["", "-wal"] == sorted(path.read_text() for path in tmp_path.iterdir())
