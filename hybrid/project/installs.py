"""The records of what was installed into the settings of clients, in `$HYBRID_HOME/installs`.

The installers write them (`hooks.install.changes`); an injection asks whether its client has our tools. A record says
what was written; whether it is there still, only the settings say: people and clients take it out without us.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, convert
from msgspec.structs import asdict, astuple, replace

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.clients import Scope, clients
from hybrid.base.stamps import Stamp, stamp_of

_MAX_BYTES = 1_000_000
"""Bytes of a record that are read: a longer file is none."""
_MAX_JSON_BYTES = 16_000_000
_MAX_OTHER_BYTES = 500_000
"""Bytes of settings that are read, with comments or in TOML fewer: reading takes some milliseconds. Of longer ones, the
record is believed. Claude Code keeps megabytes in its file, and writes it many times in a session."""
_NOT_JSON = re.compile(r'("(?:[^"\\]+|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\]+|\\.)*"?)|,(?=\s*[\]}])', re.DOTALL)
"""Strings, which stay, and what stands in settings beside JSON. A string without an end ends with the text, else each
of its quotes would be tried as a beginning."""
_SERVER = "hybrid"
"""The name of our server in every client (`hooks.install.merge`)."""


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
        root: Root of the project of the file; empty for a file of the user, and in records until November 2026.
        copies: Files with the settings as they were before `--replace`; only in records until November 2026.
    """

    path: str
    scope: Scope
    existed: bool
    folders: tuple[str, ...]
    parts: tuple[str, ...] = ()
    taken: tuple[tuple[str, Any], ...] = ()
    root: str = ""
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
            import shutil  # Slow to load, and no prompt has need of it.

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
    try:
        return convert(json.loads(read_regular(file, _MAX_BYTES)), InstallRecord)
    except RecursionError as error:
        raise ValueError(f"{file} is no record") from error


@cache
def _maps() -> type[Struct]:
    """Return the type of the maps of servers in settings of any client; all else in them is passed over, unread."""
    keys = sorted({client.mcp.at for client in clients().values() if client.mcp and client.mcp.form != "yaml"})
    fields = [(f"map_{number}", Any, msgspec.field(default=None, name=key)) for number, key in enumerate(keys)]
    return msgspec.defstruct("_Maps", fields)


def _start_us(settings: Struct) -> bool:
    """Return whether one of the maps has a server of our name that is not switched off."""
    entries: list[Any] = [servers.get(_SERVER) for servers in astuple(settings) if isinstance(servers, dict)]
    return any(
        isinstance(entry, dict) and entry.get("enabled") is not False and entry.get("disabled") is not True
        for entry in entries
    )


def has_tools(home: Path, client: str, root: Path | None) -> bool:
    """Return whether a client has our MCP server: it was installed for all projects or for this one, and is there.

    Never raises and never waits; while no settings change, it only asks the system for their stamps.

    Args:
        home: The `HYBRID_HOME`.
        client: Name of the client.
        root: Root of the project; None outside of one.
    """
    try:
        changed_ns = (home / "installs").stat().st_mtime_ns
    except OSError:
        return False
    within = ("", str(root))
    return any(place in within and _is_there(path) for place, path in _files_with_tools(home, client, changed_ns))


@lru_cache(maxsize=64)
def _files_with_tools(home: Path, client: str, changed_ns: int) -> list[tuple[str, Path]]:
    """Return the settings into which our MCP server was written: root of the project, empty for all, and path."""
    records = [record for record in InstallJournal(home).all() if f"{client} mcp" in record.parts]
    return [(record.root, Path(record.path)) for record in records if record.root or record.scope == "user"]


def _is_there(path: Path) -> bool:
    """Return whether settings start our server, as `_starts_us`; they are read again once they changed."""
    stamp = stamp_of(path, follows_links=True)
    if stamp is None:
        return False
    is_proof = stamp.is_proof_at(time.time_ns())
    return _starts_us(path, stamp) if is_proof else _starts_us.__wrapped__(path, stamp)


@lru_cache(maxsize=64)
def _starts_us(path: Path, stamp: Stamp) -> bool:
    """Return whether a settings file starts our server.

    False for one that cannot be read or does not parse, as for the client; True, as the record says, where it is too
    long to be read, or in a language that is not read here: no client with hooks has such.

    Args:
        path: The file.
        stamp: Its stamp, by which the answer is kept.
    """
    form = path.suffix
    most = _MAX_OTHER_BYTES if form == ".toml" else _MAX_JSON_BYTES
    if form not in (".json", ".jsonc", ".toml") or stamp.size_bytes > most:
        return True
    try:
        data = read_regular(os.path.realpath(path), most).removeprefix(b"\xef\xbb\xbf")
        if form != ".toml":
            return _start_us(_of_json(data))
        import tomli

        return _start_us(convert(tomli.loads(data.decode().replace("\r\n", "\n")), _maps()))
    except (OSError, ValueError, RecursionError):
        return False


def _of_json(data: bytes) -> Struct:
    """Return the maps of servers in settings that may have comments.

    Raises:
        ValueError: They do not parse.
        RecursionError: They are nested too deeply.
    """
    try:
        return msgspec.json.decode(data, type=_maps())
    except ValueError:
        if len(data) > _MAX_OTHER_BYTES:
            raise
    text = _NOT_JSON.sub(r"\1", data.decode())
    return msgspec.json.decode(_LAST_COMMA.sub(r"\1", text), type=_maps())
