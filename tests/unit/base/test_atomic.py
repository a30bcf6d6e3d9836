from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.base import atomic
from hybrid.base.atomic import append_line, locked, make_private_folder, read_regular, set_aside, write_atomic
from hybrid.base.sqlite import open_database
from tests.support.builders import python_process

if TYPE_CHECKING:
    from collections.abc import Iterator


needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and signals of POSIX")


def _unwritable(folder: Path) -> Path:
    """A path in which nobody, root included, can make a file: its parent is no folder."""
    (folder / "file").write_bytes(b"")
    return folder / "file" / "below"


def test_write_replaces_the_whole_file(tmp_path: Path) -> None:
    """A second, shorter write leaves nothing of the first."""
    path = tmp_path / "new" / "state.json"
    write_atomic(path, b"a long first version")

    write_atomic(path, b"second", durable=False)

    assert b"second" == path.read_bytes()
    assert ["state.json"] == [entry.name for entry in path.parent.iterdir()]


@needs_posix
def test_new_folders_and_logs_are_private(tmp_path: Path) -> None:
    """What a write makes is readable by its owner only; a folder that exists keeps its mode."""
    tmp_path.chmod(0o755)
    write_atomic(tmp_path / "a" / "b" / "state.json", b"x")
    append_line(tmp_path / "log", b"one")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "log")]

    assert [0o755, 0o700, 0o700, 0o600] == modes


def test_a_crash_between_write_and_rename_leaves_the_old_file(tmp_path: Path) -> None:
    """A process killed when the new bytes are written but not renamed leaves the old file whole."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    killed = python_process(
        """
        import os, signal, sys
        from pathlib import Path
        from hybrid.base.atomic import write_atomic
        Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        write_atomic(Path(sys.argv[1]), b"new")
        """,
        path,
    )

    assert 0 != _ended(killed)
    assert b"old" == path.read_bytes()


def test_a_crash_does_not_hinder_the_next_write(tmp_path: Path) -> None:
    """What a killed write left behind is in nobody's way."""
    path = tmp_path / "state.json"
    (tmp_path / ".state.json.1.1.tmp").write_bytes(b"half")

    write_atomic(path, b"new")

    assert b"new" == path.read_bytes()


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    """When the target cannot be replaced the error is raised, and nothing is left beside it."""
    target = tmp_path / "folder"
    (target / "full").mkdir(parents=True)

    with pytest.raises(OSError, match=r".+"):
        write_atomic(target, b"x")
    assert ["folder"] == [entry.name for entry in tmp_path.iterdir()]


def test_a_folder_that_cannot_be_written_raises(tmp_path: Path) -> None:
    """Writing and appending where no file can be made is an OSError; a lock is not had, and nothing is raised."""
    path = _unwritable(tmp_path)
    with pytest.raises(OSError, match=r".+"):
        write_atomic(path, b"x")
    with pytest.raises(OSError, match=r".+"):
        append_line(path / "log", b"x")
    with locked(path / "lock", 0) as held:
        assert held is False


@needs_posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_folder(tmp_path: Path) -> None:
    """In a read-only folder writes raise, the old file stays, and no lock is had."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError, match=r".+"):
            write_atomic(path, b"new")
        with locked(tmp_path / "lock", 0) as held:
            assert held is False
    finally:
        tmp_path.chmod(0o700)
    assert b"old" == path.read_bytes()


def test_a_lock_is_exclusive_and_freed(tmp_path: Path) -> None:
    """A held lock is refused to another holder, and had again after the block, even one that raised."""
    path = tmp_path / "lock"
    with locked(path, 0) as first, locked(path, 0) as second:
        assert (True, False) == (first, second)
    with pytest.raises(KeyError), locked(path, 0):
        raise KeyError

    with locked(path, 0) as again:
        assert again is True


def test_waiting_for_a_lock_ends(tmp_path: Path) -> None:
    """Waiting gives up after the time that was asked for."""
    path = tmp_path / "lock"
    with locked(path, 0):
        started = time.monotonic()
        with locked(path, 0.1) as held:
            assert held is False
        assert time.monotonic() - started >= 0.1


HOLDER = """
    import sys, time
    from pathlib import Path
    from hybrid.base.atomic import locked
    with locked(Path(sys.argv[1]), 10) as held:
        print(held, flush=True)
        sys.stdin.readline()
"""


def _holder(path: Path) -> subprocess.Popen[bytes]:
    process = python_process(HOLDER, path)
    assert process.stdout is not None
    assert b"True" == process.stdout.readline().strip()
    return process


def test_a_lock_is_held_against_another_process(tmp_path: Path) -> None:
    """While another process holds the lock it is refused; when that ends, waiting has it."""
    path = tmp_path / "lock"
    holder = _holder(path)
    try:
        with locked(path, 0) as held:
            assert held is False
        holder.communicate(b"go\n")
        with locked(path, 10) as held:
            assert held is True
    finally:
        holder.kill()
        holder.communicate()


@needs_posix
def test_kill_9_frees_a_lock(tmp_path: Path) -> None:
    """The lock of a process that was killed is free at once."""
    path = tmp_path / "lock"
    holder = _holder(path)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    with locked(path, 0) as held:
        assert held is True


def test_appends_of_four_processes_lose_no_line(tmp_path: Path) -> None:
    """Four processes that append 200 lines each at once leave 800 whole lines, each process's in order."""
    path = tmp_path / "log" / "lines"
    script = """
        import sys
        from pathlib import Path
        from hybrid.base.atomic import append_line
        for number in range(200):
            append_line(Path(sys.argv[1]), f"{sys.argv[2]} {number} {'x' * 300}".encode())
    """
    writers = [python_process(script, path, name) for name in "abcd"]

    assert [0, 0, 0, 0] == [_ended(writer) for writer in writers]
    lines = [line.split() for line in path.read_text().splitlines() if line]
    for name in "abcd":
        assert [str(number) for number in range(200)] == [line[1] for line in lines if line[0] == name]
    assert {"x" * 300} == {line[2] for line in lines}


def _ended(process: subprocess.Popen[bytes]) -> int:
    process.communicate()
    return process.returncode


def test_a_line_is_appended_with_one_line_end(tmp_path: Path) -> None:
    """Whether it came with one or without; a half line that a killed process left costs only itself."""
    append_line(tmp_path / "log", b"one")
    append_line(tmp_path / "log", b"two\n")
    (tmp_path / "half").write_bytes(b'one\n{"half')
    append_line(tmp_path / "half", b"two")

    assert b"one\ntwo\n" == (tmp_path / "log").read_bytes()
    assert b'one\n{"half\ntwo\n' == (tmp_path / "half").read_bytes()


def test_set_aside_keeps_every_damaged_file(tmp_path: Path) -> None:
    """Files that are set aside one after another, within a second too, are all kept under a name with a timestamp; one that is gone is not."""
    path = tmp_path / "state.json"
    for number in range(3):
        path.write_text(str(number))
        set_aside(path)

    kept = sorted(tmp_path.glob("state.json.corrupt-*"))
    assert ["0", "1", "2"] == sorted(copy.read_text() for copy in kept)
    assert set_aside(path) is None
    assert not path.exists()


def test_making_a_folder_twice(tmp_path: Path) -> None:
    """A folder that exists is no error; a file in its place is."""
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file" / "below")


@needs_posix
def test_no_write_and_no_lock_goes_through_a_link(tmp_path: Path) -> None:
    """A link in a cloned folder made a lock, or a line, create the file outside that it names."""
    outside = tmp_path / "outside"
    link = tmp_path / "file"
    link.symlink_to(outside)

    with locked(link, 0) as held:
        assert held is False
    with pytest.raises(OSError, match=r"symbolic link"):
        append_line(link, b"line")
    assert not outside.exists()


@needs_posix
def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    """An atomic write takes the place of a link; neither content nor rights of its target matter."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"outside")
    outside.chmod(0o666)
    link = tmp_path / "file"
    link.symlink_to(outside)
    write_atomic(link, b"inside", durable=False)

    assert (b"outside", b"inside", False) == (outside.read_bytes(), link.read_bytes(), link.is_symlink())
    assert 0o600 == link.stat().st_mode & 0o777


@needs_posix
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A link, a pipe and a folder are refused at once; of a long file one byte more than the limit is read."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    assert (b"12345", b"1234") == (read_regular(tmp_path / "file", 9), read_regular(tmp_path / "file", 3))
    for name in ("link", "folder", "pipe", "missing"):
        with pytest.raises(OSError, match=name):
            read_regular(tmp_path / name, 9)


def test_a_file_that_is_open_elsewhere_is_replaced_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to replace a file while somebody reads it: then the rename is tried again."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    refusals = iter([True, True, False])
    rename = Path.replace

    def replace(source: Path, target: Path) -> Path:
        if next(refusals):
            raise PermissionError(13, "Access is denied", str(target))
        return rename(source, target)

    monkeypatch.setattr(atomic, "_SHARED_S", 60.0)
    monkeypatch.setattr(Path, "replace", replace)
    atomic.write_atomic(path, b"new")

    assert b"new" == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_a_folder_that_may_not_be_written_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a refusal has another reason the error is raised at the end of the wait, and nothing is left behind."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")

    def replace(source: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(target))

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(PermissionError):
        atomic.write_atomic(path, b"new")

    assert [path] == list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on files is tried on Linux")
@pytest.mark.parametrize("family", ["catalog", "memory"])
def test_a_full_disk_is_named_as_such_while_a_database_is_made(tmp_path: Path, family: str) -> None:
    """A disk that fills while tables are made was told as a rollback that fails, for SQLite had rolled back itself."""
    with files_of_at_most(32_768), pytest.raises(OSError, match="disk") as caught:
        open_database(tmp_path / "some.db", family)

    assert "rollback" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on files is tried on Linux")
def test_a_write_that_fails_names_the_file(tmp_path: Path) -> None:
    """A full disk was told as "No space left on device" alone; the old file stays, and no other one."""
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")

    with files_of_at_most(10), pytest.raises(OSError) as caught:  # noqa: PT011 - its text is the system's
        write_atomic(path, b"new" * 10)

    assert str(path) == caught.value.filename
    assert [path] == list(tmp_path.iterdir())
    assert b"old" == path.read_bytes()


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond that, as on a disk that is full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
