"""Keeps, outside of the clients' folders, what a settings file held before us and the digest of what we wrote.

A record lives from the first change of a file to the removal of our entries. `install` and `uninstall` call this.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from hybrid.base.atomic import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator


class Record(Struct, frozen=True):
    """What we know of a file that we changed.

    Attributes:
        path: Absolute, links resolved.
        client: Whose file it is.
        scope: As it was installed.
        written: Hex digest of the bytes we wrote.
        existed: Whether there was a file before us.
        folders: Folders that we made for it, outermost first.
        taken: (event, command) of other systems' hooks that `--replace` took out; for a plugin `plugin` and its name.
        copies: Files that hold the settings as they were before that, oldest first.
    """

    path: str
    client: str
    scope: str
    written: str
    existed: bool
    folders: tuple[str, ...]
    taken: tuple[tuple[str, str], ...] = ()
    copies: tuple[str, ...] = ()

    def with_written(self, digest: str) -> Record:
        """The same after another write of ours."""
        return replace(self, written=digest)


class Records:
    """The records of a `HYBRID_HOME`.

    Args:
        home: That folder; nothing is made in it before the first record.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "installs"

    @property
    def lock(self) -> Path:
        """Held while settings are changed."""
        return self._folder / "lock"

    def get(self, path: Path) -> tuple[Record, bytes] | None:
        """The record of a file and its original bytes; None also when either cannot be read."""
        try:
            record = _read(self._at(path))
            original = self._original(path).read_bytes()
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record, original

    def put(self, record: Record, original: bytes) -> None:
        """Remember; the original is on disk before the record says so."""
        path = Path(record.path)
        write_atomic(self._original(path), original)
        write_atomic(self._at(path), json.dumps(asdict(record), indent=1).encode())

    def drop(self, path: Path) -> None:
        """Forget a file; the folder goes with the last one."""
        for file in (self._at(path), self._original(path)):
            file.unlink(missing_ok=True)

    @property
    def copies(self) -> Path:
        """Folder of settings as they were before `--replace`."""
        return self._folder / "replaced"

    def drop_copies(self, record: Record) -> None:
        """Remove the copies of a file that lacks nothing of them: they hold all its settings, secrets too.

        Two projects with the same settings share a copy; it goes with the last of them.
        """
        needed = {copy for other in self.all() if other.path != record.path for copy in other.copies}
        for copy in map(Path, record.copies):
            if str(copy) not in needed and copy.parent == self.copies:
                copy.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.copies.rmdir()

    def clear(self) -> None:
        """Remove the folder when no record is left in it, with what a process that was killed left there."""
        if not any(True for _ in self.all()):
            with contextlib.suppress(OSError):
                for file in (*self._folder.glob("*.original"), *self._folder.glob(".*.tmp")):
                    file.unlink()
                self.lock.unlink(missing_ok=True)
                self._folder.rmdir()

    def all(self) -> Iterator[Record]:
        """Every record that can be read, by path."""
        found: list[Record] = []
        for file in sorted(self._folder.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                found.append(_read(file))
        yield from sorted(found, key=lambda record: record.path)

    def _at(self, path: Path) -> Path:
        return self._folder / f"{digest_of(str(path).encode('utf-8', 'surrogateescape'))[:16]}.json"

    def _original(self, path: Path) -> Path:
        return self._at(path).with_suffix(".original")


def digest_of(data: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def _read(file: Path) -> Record:
    fields: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    fields["folders"] = tuple(fields["folders"])
    fields["taken"] = tuple((str(event), str(command)) for event, command in fields.get("taken", ()))
    fields["copies"] = tuple(map(str, fields.get("copies", ())))
    return Record(**fields)
