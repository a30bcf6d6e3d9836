"""Installs into one settings file of a client and uninstalls from it, with a record and a backup of each.

`hybrid hook install` and `uninstall` call this; it asks no question and prints nothing. A link of the user's own is
followed, a link of a project never. Record and backup are outside of the clients' folders, from the first change of a
file to the removal of our entries.
"""

from __future__ import annotations

import contextlib
import difflib
import glob
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, convert
from msgspec.structs import replace

from hybrid.base.atomic import locked, read_regular, write_atomic
from hybrid.base.clients import Client, Scope
from hybrid.base.errors import BusyError, ProjectError
from hybrid.hooks.install.merge import ExistingHook, Part, commands, may_hold_ours, parts_of, put_back, read
from hybrid.hooks.install.parts import Files, SettingsError, command_text, is_ours
from hybrid.project.installs import InstallJournal, InstallRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hybrid.hooks.install.parts import SettingsRoots, Wanted


_T = TypeVar("_T")

_MAX_BYTES = 50_000_000
"""Claude Code keeps what it knows of every project in one file of settings, which grows to some megabytes."""

_LOCK_S = 10.0
_TRIES = 5
"""Times that settings are read and written: a client that runs may write its own between the two."""
_TEMPORARY = re.compile(r"\d+\.\d+\.tmp")


def _real_path(path: Path, scope: Scope, root: Path | None) -> Path:
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


def _write_file(path: Path, data: bytes, *, before: bytes | None, is_shared: bool) -> None:
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
    write_atomic(path, data, before_replace=lambda: _require_as_before(path, before))
    if is_new and is_shared:
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)


def _require_as_before(path: Path, before: bytes | None) -> None:
    """Do nothing when a file still has these bytes.

    Raises:
        ChangedError: It has others.
    """
    if read_bytes(path) != before:
        raise ChangedError(f"{path} was written by another program meanwhile: end the client, and try again")


def _sweep(path: Path) -> None:
    """Delete what a write of ours that was killed left beside a file; for the holder of the lock on all writes."""
    with contextlib.suppress(OSError):
        for file in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            if _TEMPORARY.fullmatch(file.name.removeprefix(f".{path.name}.")):
                file.unlink()


def _remove_folders(folders: Sequence[str]) -> None:
    """Delete those of the folders that are empty."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106 - the text of a path, as it was recorded


# --- changes of a file ------------------------------------------------------------------------------------


class Target(Struct, frozen=True):
    """A file of one or several clients, and the parts of it that are asked for.

    Attributes:
        parts: The parts to write or to take out, at least one.
        scope: Which of the client's files it is.
        path: Path of the file, as the client names it.
        root: Root of the project, for a file of a project.
    """

    parts: tuple[Part, ...]
    scope: Scope
    path: Path
    root: Path | None

    @property
    def has_hooks(self) -> bool:
        """True when hooks are among the parts."""
        return any(part.kind == "hooks" for part in self.parts)

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of the clients whose parts these are, each once."""
        return tuple(dict.fromkeys(part.owner for part in self.parts))

    def hold_in(self, text: str) -> bool:
        """Return whether a text holds one of the parts.

        Raises:
            SettingsError: The text does not parse.
        """
        return any(part.found_in(text, name=str(self.path)) for part in self.parts)

    @property
    def real(self) -> Path:
        """The file to write.

        Raises:
            ProjectError: A link stands in a project's file or folder.
        """
        return _real_path(self.path, self.scope, self.root)


class FileChange(Struct, frozen=True):
    """The change that was made to a file, or would be.

    Attributes:
        client: Name of the client, or of several with commas between them.
        kinds: The parts that were asked for, each once.
        scope: Which of its files.
        path: The file.
        action: `installed`, `updated`, `unchanged`, `removed` (our entries), `deleted` (the file, which was ours alone)
            or `absent`.
        diff: Unified, of the text.
    """

    client: str
    kinds: tuple[str, ...]
    scope: str
    path: Path
    action: str
    diff: str = ""


def target_of(part: Part, scope: Scope, roots: SettingsRoots) -> Target:
    """Return the file of a part in a scope.

    Raises:
        ProjectError: The client has no such scope, or the scope needs a project and there is none.
    """
    path = part.files.file(scope, roots)
    if path is not None:
        return Target((part,), scope, path, roots.project_root)
    if scope in part.files.places or (scope != "user" and roots.project_root is None):
        raise ProjectError(f"there is no project here for the {scope} scope; use --scope user, or --project DIR")
    known = " or ".join(f"--scope {each}" for each in part.files.places)
    what = {"hooks": "", "mcp": " for MCP servers", "rules": " for rules"}[part.kind]
    raise ProjectError(f"{part.client.label} has no {scope} scope{what}: use {known}")


def install(target: Target, wanted: Wanted, *, home: Path, is_dry_run: bool = False) -> FileChange:
    """Write our parts into a file; what is there already is changed only where it differs.

    Args:
        target: The file.
        wanted: What the parts are to say; other entries of ours are removed.
        home: `HYBRID_HOME`, for the record.
        is_dry_run: Only say what would be done.

    Raises:
        HybridError: The file is not to be changed, for a reason that is said.
        OSError: The file cannot be written; it is as it was.
    """

    def change(journal: InstallJournal) -> FileChange:
        name = str(target.path)
        data = read_bytes(target.real)
        text = new = decoded(data, target.path)
        for part in target.parts:
            new = part.with_us(new, wanted, name=name)
        action = "unchanged" if new == text else "updated" if target.hold_in(text) else "installed"
        # What came with a clone has no record here, by which an injection knows that its client has our tools.
        is_known = set(map(label_of, target.parts)).issubset(known.parts if (known := journal.get(target.real)) else ())
        if (new != text or not is_known) and not is_dry_run:
            _write(target, data, new, journal)
        return _change(target, action, diff(text, new, name))

    return _locked(home, change, is_dry_run=is_dry_run)


def uninstall(target: Target, *, home: Path, is_dry_run: bool = False) -> FileChange:
    """Take our parts out of a file as it is now, and put back the hooks that `--replace` took out.

    Args:
        target: The file; parts of ours that it does not name stay.
        home: `HYBRID_HOME`, for the record.
        is_dry_run: Only say what would be done.

    Raises:
        HybridError: The file holds entries of ours but cannot be read as settings, or is reached by a project's link.
        OSError: The file cannot be written.
    """
    absent = _change(target, "absent")
    try:
        path = target.real
    except ProjectError:
        if may_hold_ours((read_bytes(target.path) or b"").decode("utf-8", "replace")):
            raise
        return absent
    if not path.exists() and InstallJournal(home).get(path) is None:
        return absent
    return _locked(
        home, lambda journal: _uninstalled(target, path, journal, is_dry_run=is_dry_run), is_dry_run=is_dry_run
    )


def take_out(target: Target, data: bytes, new: str, taken: Sequence[tuple[str, Any]], *, home: Path) -> Path:
    """Write settings without some hooks of other systems, so that our removal puts them back; return the backup.

    Args:
        target: The file.
        data: Bytes of the file as they are.
        new: The text without the hooks.
        taken: (event, element of its list) of each hook, as in `InstallRecord`.
        home: `HYBRID_HOME`, for the record.

    Raises:
        HybridError: The file is not to be changed, for a reason that is said.
        OSError: The file cannot be written; it is as it was.
    """

    def change(journal: InstallJournal) -> Path:
        _write(target, data, new, journal, taken)
        return journal.backup(target.real)

    return _locked(home, change, is_dry_run=False)


def _locked(home: Path, change: Callable[[InstallJournal], _T], *, is_dry_run: bool) -> _T:
    """Return what a change of a file gives; it is made anew when another program wrote the file meanwhile.

    Raises:
        BusyError: The records cannot be locked, or another program wrote the file each time.
    """
    journal = InstallJournal(home)
    if is_dry_run:
        return change(journal)
    with locked(journal.lock, _LOCK_S) as is_held:
        if not is_held:
            raise BusyError(
                f"{journal.lock} cannot be locked: is its folder writable, is another `hybrid hook` running?"
            )
        try:
            for _ in range(_TRIES - 1):
                with contextlib.suppress(ChangedError):
                    return change(journal)
            return change(journal)
        finally:
            journal.clear()


def _uninstalled(target: Target, path: Path, journal: InstallJournal, *, is_dry_run: bool) -> FileChange:
    known, data = journal.get(path), read_bytes(path)
    has_taken = known is not None and bool(known.taken) and target.has_hooks
    text = (data or b"").decode("utf-8", "replace")
    new: str | None = text
    try:
        if data is not None and (target.hold_in(decoded(data, target.path)) or has_taken):
            new = _without(target, text, known, journal.original(path))
    except SettingsError:
        if may_hold_ours(text) or has_taken:
            raise
    if not is_dry_run:
        _sweep(path)
        if new is None:
            _require_as_before(path, data)
            path.unlink()
        elif new != text:
            _write_file(path, new.encode(), before=data, is_shared=target.scope != "user")
        if known is not None:
            _note_removal(target, known, journal)
    action = "deleted" if new is None else "absent" if new == text else "removed"
    return _change(target, action, diff(text, new or "", str(target.path)))


def _without(target: Target, text: str, known: InstallRecord | None, original: str) -> str | None:
    """Return a text without our parts and with the hooks that `--replace` took out; None when nothing is left.

    Args:
        target: The parts to take out.
        text: Text of the file.
        known: Its record.
        original: The text from before us; empty when it is not known.

    Raises:
        SettingsError: The text does not parse.
    """
    name = str(target.path)
    for part in target.parts:
        text = part.without_us(text, original=original, name=name)
    if known is not None and target.has_hooks:
        text = put_back(text, _taken(known), name=name)
    is_empty = all(part.is_left_empty(text) for part in target.parts)
    if known is None or not known.existed:
        return None if is_empty else text
    # The end of a last line without one that we added goes too, and the braces that we put into an empty file.
    return original if text.rstrip() == original.rstrip() or (is_empty and not original.strip()) else text


def _taken(known: InstallRecord) -> list[tuple[str, Any]]:
    """Return the hooks to put back; the records until November 2026 have their commands, and copies with the hooks."""
    hooks: list[ExistingHook] = []
    for copy in known.copies:
        with contextlib.suppress(OSError, SettingsError):
            hooks += commands(read(Path(copy).read_text(encoding="utf-8"), copy))
    entries: dict[object, Any] = {(hook.event, command_text(hook.handler)): hook.alone for hook in hooks}
    return [
        (event, entries.get((event, entry), entry) if isinstance(entry, str) else entry) for event, entry in known.taken
    ]


def _note_removal(target: Target, known: InstallRecord, journal: InstallJournal) -> None:
    """Take parts out of a file's record; with the last one, or with the file, the record and our folders go."""
    path = Path(known.path)
    gone = [label_of(part) for part in target.parts]
    left = tuple(label for label in known.parts if label not in gone)
    if left and path.exists():
        journal.put(replace(known, parts=left, taken=() if target.has_hooks else known.taken))
        return
    if not path.exists():
        _remove_folders(known.folders)
    journal.drop(known)


def _change(target: Target, action: str, shown: str = "") -> FileChange:
    """Return the change of a file."""
    kinds = tuple(dict.fromkeys(part.kind for part in target.parts))
    return FileChange(", ".join(target.clients), kinds, target.scope, target.path, action, shown)


def _write(
    target: Target, data: bytes | None, new: str, journal: InstallJournal, taken: Sequence[tuple[str, Any]] = ()
) -> None:
    """Write the record, then the file; a file that cannot be written takes its record back.

    Args:
        target: The file.
        data: The bytes that the file has; None for no file.
        new: The text that it gets.
        journal: The records.
        taken: Hooks of other systems that are not in the new text.
    """
    path = target.real
    before = journal.get(path)
    folders = [str(folder) for folder in path.parents if not folder.exists()][::-1]
    backup: bytes | None = None
    if before is not None and data is not None:
        record = before
    else:
        # Entries of ours without a record were written on another machine or with another home: they are no original.
        bare = text = decoded(data, target.path)
        for part in target.parts:
            bare = part.without_us(bare, original="", name=str(target.path))
        existed = data is not None and not (bare != text and all(part.is_left_empty(bare) for part in target.parts))
        made = (*(before.folders if before else ()), *folders)
        record, backup = InstallRecord(str(path), target.scope, existed, made), bare.encode()
    parts = dict.fromkeys((*record.parts, *map(label_of, target.parts)))
    taken = (*record.taken, *(each for each in taken if each not in record.taken))
    root = str(target.root or "") if target.scope != "user" else ""
    journal.put(replace(record, parts=tuple(parts), taken=taken, root=root), backup)
    try:
        if new.encode() != data:
            _write_file(path, new.encode(), before=data, is_shared=target.scope != "user")
    except BaseException:
        _remove_folders(folders)
        journal.drop(record) if before is None else journal.put(before)
        raise


def diff(old: str, new: str, name: str) -> str:
    """Return the unified diff of two texts of a file."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="")
    return "\n".join(lines)


def label_of(part: Part) -> str:
    """Return the name of a part in records of installations: client and kind."""
    return f"{part.owner} {part.kind}"


def recorded_targets(client: Client, *, home: Path) -> list[Target]:
    """Return the files with parts of a client that we changed, in any project, so that a removal leaves none behind."""
    targets: list[Target] = []
    for record in InstallJournal(home).all():
        parts = tuple(part for part in parts_of(client) if label_of(part) in record.parts)
        if parts:
            targets.append(Target(parts, record.scope, Path(record.path), None))
    return targets


# --- notes of a client -------------------------------------------------------------------------------------


def forget_trust(
    client: Client, roots: SettingsRoots, projects: Collection[str], *, is_dry_run: bool
) -> FileChange | None:
    """Remove our entries of some projects from a client's list of the hooks that it has seen.

    Gemini CLI writes the list by itself when it first runs the hooks of a project: root of the project → a list of
    `name:command`, as JSON that is indented by two spaces. A list that is empty then is deleted.

    Args:
        client: The client.
        roots: The folders in which settings lie.
        projects: Roots of the projects whose settings lost our hooks.
        is_dry_run: Only say what would be done.

    Returns:
        The change, made or not, `deleted` or `removed`; None without such a list or entry, or when it is no JSON.

    Raises:
        HybridError: The file is too long for settings, or is none.
        OSError: The file cannot be written.
    """
    path = Files(client.folder, {"user": (client.hooks.seen,)}).file("user", roots) if client.hooks else None
    if path is None or not client.hooks or not client.hooks.seen:
        return None
    old = (read_bytes(path) or b"{}").decode("utf-8", "replace")
    try:
        known: dict[str, list[str]] = convert(json.loads(old), dict[str, list[str]])
    except ValueError:
        return None  # The client does not read it either, and writes it anew.
    kept = {root: [each for each in known[root] if root not in projects or not _is_our_line(each)] for root in known}
    if kept == known:
        return None
    kept = {root: entries for root, entries in kept.items() if entries}
    new = json.dumps(kept, indent=2, ensure_ascii=False) if kept else ""
    if not is_dry_run:
        if kept:
            _write_file(_real_path(path, "user", None), new.encode(), before=old.encode(), is_shared=False)
        else:
            path.unlink()
    action = "removed" if kept else "deleted"
    return FileChange(client.name, ("hooks",), "user", path, action, diff(old, new, str(path)))


def _is_our_line(entry: str) -> bool:
    return is_ours({"command": entry.partition(":")[2]})
