"""Reads and writes a client's settings files, and keeps a record and a backup of each file that we changed.

A link of the user's own is followed, a link of a project never. Record and backup are outside of the clients' folders,
from the first change of a file to the removal of our entries.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import BusyError, ProjectError
from hybrid.hooks.install.parts import Scope, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence


_MAX_BYTES = 50_000_000
"""Claude Code keeps what it knows of every project in one file of settings, which grows to some megabytes."""

_TEMPORARY = re.compile(r"\d+\.\d+\.tmp")


def real_path(path: Path, scope: Scope, root: Path | None) -> Path:
    """Return the file to write: people link their own settings from elsewhere; a link in a project may lead anywhere.

    Raises:
        ProjectError: A link stands in a project's file or folder.
    """
    if scope == "user":
        # `Path.resolve` raises for links in a circle, in some versions of Python what is no OSError.
        return type(path)(os.path.realpath(path))
    # Of a project elsewhere only the file and its folder are known to belong to it.
    inside = path.parent.parent if root is None else root
    for part in (path, *path.parents):
        if part == inside:
            break
        if part.is_symlink():
            raise ProjectError(f"{part} is a link: settings of a project are not written through links")
    return path


def read_bytes(path: Path) -> bytes | None:
    """Return the bytes of a file; None when there is none.

    Raises:
        SettingsError: Far too long for settings, or not a file.
    """
    if path.exists() and not path.is_file():
        raise SettingsError(f"{path} is not changed: it is no file")
    try:
        # People link their own settings from elsewhere. That of a clone may be a hole of any length.
        data = read_regular(os.path.realpath(path), _MAX_BYTES)
    except FileNotFoundError:
        return None
    if len(data) > _MAX_BYTES:
        raise SettingsError(f"{path} is not changed: more than {_MAX_BYTES:,} bytes are no settings file")
    return data


def decoded(data: bytes | None, path: Path) -> str:
    """Return the bytes of a file as text, line ends and byte order mark kept; empty for None.

    Raises:
        SettingsError: The bytes are not UTF-8.
    """
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not changed, for it is not UTF-8 ({error.reason}): repair it first") from error


class ChangedError(BusyError):
    """A client wrote its settings while ours were made of them; they are left as the client wrote them."""


def write(path: Path, data: bytes, *, before: bytes | None, is_shared: bool) -> None:
    """Replace a file in one step; its rights stay, and a new file of a project gets the usual rights there.

    Args:
        path: The file.
        data: Its new bytes.
        before: The bytes that it had when the new ones were made; None for no file.
        is_shared: It is a file of a project.

    Raises:
        ChangedError: It has other bytes by now; they stay.
    """
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, before_replace=lambda: require_as_before(path, before))
    if is_new and is_shared:
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)


def require_as_before(path: Path, before: bytes | None) -> None:
    """Do nothing when a file still has these bytes.

    Raises:
        ChangedError: It has others.
    """
    if read_bytes(path) != before:
        raise ChangedError(f"{path} was written by another program meanwhile: end the client, and try again")


def sweep(path: Path) -> None:
    """Delete what a write of ours that was killed left beside a file; for the holder of the lock on all writes."""
    with contextlib.suppress(OSError):
        for file in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            if _TEMPORARY.fullmatch(file.name.removeprefix(f".{path.name}.")):
                file.unlink()


def missing_folders(path: Path) -> tuple[str, ...]:
    """Return the folders that writing a file would make, outermost first."""
    missing = [str(folder) for folder in path.parents if not folder.exists()]
    return tuple(reversed(missing))


def remove_folders(folders: Sequence[str]) -> None:
    """Delete those of the folders that are empty."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106 - the text of a path, as it was recorded


# --- records of installations -----------------------------------------------------------------------------


class InstallRecord(Struct, frozen=True):
    """The facts about a file that we changed which removal cannot see in it.

    Attributes:
        path: The file, absolute, with links resolved.
        scope: The scope in which we were installed.
        existed: Whether there was a file before us.
        folders: Folders that we made for it, outermost first.
        parts: The parts of ours in the file, each as client and kind.
        taken: (event, element of its list) of other systems' hooks that `--replace` took out; for a plugin `plugin` and
            its name. Until November 2026 it was the command in place of the element.
        copies: Files with the settings as they were before `--replace`; only in records until November 2026.
    """

    path: str
    scope: Scope
    existed: bool
    folders: tuple[str, ...]
    parts: tuple[str, ...] = ()
    taken: tuple[tuple[str, Any], ...] = ()
    copies: tuple[str, ...] = ()


class InstallJournal:
    """The records of a `HYBRID_HOME`.

    Args:
        home: That folder; nothing is made in it before the first record.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "installs"

    @property
    def lock(self) -> Path:
        """The file that is locked while settings are changed."""
        return self._folder / "lock"

    def get(self, path: Path) -> InstallRecord | None:
        """Return the record of a file; None also when it cannot be read."""
        try:
            return _read_record(self._at(path))
        except (OSError, ValueError):
            return None

    def backup(self, path: Path) -> Path:
        """Return the file that has the bytes from before us."""
        return self._at(path).with_suffix(".original")

    def original(self, path: Path) -> str:
        """Return the text of the backup; empty without one."""
        try:
            return self.backup(path).read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    def put(self, record: InstallRecord, backup: bytes | None = None) -> None:
        """Store a record; a backup that comes with it is on disk before the record says so."""
        path = Path(record.path)
        if backup is not None:
            write_atomic(self.backup(path), backup)
        write_atomic(self._at(path), json.dumps(asdict(record), indent=1).encode())

    def drop(self, record: InstallRecord) -> None:
        """Forget a file; folders of ours that are still there go with other files of ours in them."""
        for file in (self._at(Path(record.path)), self.backup(Path(record.path))):
            file.unlink(missing_ok=True)
        others = self.all()
        for copy in set(record.copies).difference(*(other.copies for other in others)):
            (self._folder / "replaced" / Path(copy).name).unlink(missing_ok=True)
        left = set(filter(os.path.isdir, record.folders))
        for other in others:
            inside = left.intersection(map(str, Path(other.path).parents)).difference(other.folders)
            if inside:
                self.put(replace(other, folders=tuple(sorted((*other.folders, *inside), key=len))))

    def clear(self) -> None:
        """Remove the folder, with all that a killed process left there, when no record is in it; else do nothing."""
        if not any(self._folder.glob("*.json")):
            shutil.rmtree(self._folder, ignore_errors=True)

    def all(self) -> list[InstallRecord]:
        """Return every record that can be read, in order of path; none without the folder."""
        records: list[InstallRecord] = []
        for file in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError):
                records.append(_read_record(file))
        return sorted(records, key=lambda record: record.path)

    def _at(self, path: Path) -> Path:
        digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()
        return self._folder / f"{digest[:16]}.json"


def _read_record(file: Path) -> InstallRecord:
    """Return the record in a file of the journal.

    Raises:
        OSError: The file is not there or cannot be read.
        ValueError: The file is no record.
    """
    return convert(json.loads(file.read_text(encoding="utf-8")), InstallRecord)
