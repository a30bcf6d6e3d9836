"""Installs into one file and uninstalls from it, with the record that makes the way back exact.

`hybrid hook install` and `uninstall` call this; it asks no question and prints nothing.
"""

from __future__ import annotations

import contextlib
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, ProjectError
from hybrid.hooks.install import files
from hybrid.hooks.install.clients import CLIENTS, parts_of
from hybrid.hooks.install.command import command_text
from hybrid.hooks.install.files import InstallJournal, InstallRecord, digest_of
from hybrid.hooks.install.jsonc import is_object
from hybrid.hooks.install.merge import commands, may_hold_ours, read
from hybrid.hooks.install.parts import SettingsError, label_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from hybrid.hooks.install.client import Client
    from hybrid.hooks.install.parts import Part, Scope, SettingsRoots, Wanted

_LOCK_S = 10.0
_TRIES = 5
"""Times that settings are read and written: a client that runs may write its own between the two."""


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
        return files.real_path(self.path, self.scope, self.root)


class FileChange(Struct, frozen=True):
    """The change that was made to a file, or would be.

    Attributes:
        client: Name of the client, or of several with commas between them.
        kinds: The parts that were asked for, each once.
        scope: Which of its files.
        path: The file.
        action: `installed`, `updated`, `unchanged`, `removed` (our entries only), `restored` (the bytes from before
            us), `deleted` (there was no file before us) or `absent`.
        diff: Unified, of the text.
        missing: Hooks of other systems, as `event: command`, that `--replace` took out and that are not back.
        copies: Files that hold the settings with them, oldest first; empty when nothing is missing.
    """

    client: str
    kinds: tuple[str, ...]
    scope: str
    path: Path
    action: str
    diff: str = ""
    missing: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


class Removal(Struct, frozen=True):
    """A file with and without some hooks of other systems.

    Attributes:
        target: The file.
        old: Bytes of the file as they are.
        new: The bytes without the hooks.
        taken: (event, command) of each hook.
    """

    target: Target
    old: bytes
    new: bytes
    taken: tuple[tuple[str, str], ...]


def target_of(client: Client, part: Part, scope: Scope, roots: SettingsRoots) -> Target:
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
    raise ProjectError(f"{client.label} has no {scope} scope{what}: use {known}")


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
    with _held(home, is_dry_run=is_dry_run) as journal:
        return _again(lambda: _installed(target, wanted, journal, is_dry_run=is_dry_run))


def _again(change: Callable[[], FileChange]) -> FileChange:
    """Return what a change of a file gives; it is made anew when another program wrote the file meanwhile.

    Raises:
        ChangedError: One wrote it each time.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(files.ChangedError):
            return change()
    return change()


def _installed(target: Target, wanted: Wanted, journal: InstallJournal, *, is_dry_run: bool) -> FileChange:
    path, name = target.real, str(target.path)
    data = files.read_bytes(path)
    text = files.decoded(data, target.path)
    had = target.hold_in(text)
    new = text
    for part in target.parts:
        new = part.with_us(new, wanted, name=name)
    action = "unchanged" if new == text else "updated" if had else "installed"
    if new != text and not is_dry_run:
        record, original = _record(target, path, data, journal, had=had)
        _write(target, replace(record, written=digest_of(new.encode())), original, (data, new.encode()), journal)
    return _change(target, action, diff(text, new, name))


def uninstall(target: Target, *, home: Path, is_dry_run: bool = False) -> FileChange:
    """Take our parts out of a file: the bytes from before us where nobody wrote since, else ours alone are removed.

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
        if may_hold_ours((files.read_bytes(target.path) or b"").decode("utf-8", "replace")):
            raise
        return absent
    if not path.exists() and InstallJournal(home).get(path) is None:
        return absent
    with _held(home, is_dry_run=is_dry_run) as journal:
        return _again(lambda: _uninstalled(target, path, journal, is_dry_run=is_dry_run))


def _uninstalled(target: Target, path: Path, journal: InstallJournal, *, is_dry_run: bool) -> FileChange:
    if not is_dry_run:
        files.sweep(path)
    data = files.read_bytes(path)
    known = journal.get(path)
    left = _left_parts(target, known[0]) if known else ()
    action, text, new = _without(target, data, known, left, str(target.path))
    if not is_dry_run:
        if action == "deleted":
            files.require_as_before(path, data)
            files.remove(path, known[0].folders if known else ())
        elif action in ("removed", "restored"):
            files.write(path, new, before=data, is_shared=target.scope != "user")
        is_there = data is not None and action in ("removed", "absent")
        _note_removal(target, path, journal, left if is_there else (), data, new)
        if known and action == "deleted":
            journal.hand_on(known[0].folders)
    shown = "" if action == "absent" else diff(text, new.decode("utf-8", "replace"), str(target.path))
    has_hooks = any(part.kind == "hooks" for part in target.parts)
    missing = _missing(known[0], new.decode("utf-8", "replace")) if known and has_hooks else ()
    if known and has_hooks and not missing and not is_dry_run:
        journal.drop_copies(known[0])
    copies = known[0].copies if known and missing else ()
    return replace(_change(target, action, shown), missing=missing, copies=copies)


def _change(target: Target, action: str, shown: str = "") -> FileChange:
    """Return the change of a file that lacks nothing."""
    kinds = tuple(dict.fromkeys(part.kind for part in target.parts))
    return FileChange(", ".join(target.clients), kinds, target.scope, target.path, action, shown)


def _note_removal(
    target: Target, path: Path, journal: InstallJournal, left: tuple[str, ...], data: bytes | None, new: bytes
) -> None:
    """Drop the record of a file, or note that some parts are left in it.

    Args:
        target: The parts that were taken out.
        path: The file.
        journal: The records.
        left: Labels of the parts that are left.
        data: The bytes from before the removal.
        new: The bytes that the file has now.
    """
    known = journal.get(path)
    if known is None:
        return
    if not left:
        journal.drop(path)
        return
    is_as_written = data is not None and digest_of(data) == known[0].written
    # What was not in the record came with the file: its original holds it, and is not to be given back.
    is_known = new == data or {label_of(part) for part in target.parts} <= set(known[0].parts)
    written = digest_of(new) if is_as_written and is_known else ""
    journal.put(replace(known[0], parts=left, written=written), known[1])


def take_out(removal: Removal, copy: Path, *, home: Path) -> None:
    """Write settings without some hooks of other systems, so that our removal gives them back.

    Args:
        removal: The file with and without them.
        copy: A copy of the file as it is.
        home: `HYBRID_HOME`, for the record.

    Raises:
        HybridError: The file is not to be changed, for a reason that is said.
        OSError: The file cannot be written; it is as it was.
    """
    target, data, new = removal.target, removal.old, removal.new
    with _held(home, is_dry_run=False) as journal:
        path = target.real
        had = target.hold_in(files.decoded(data, target.path))
        record, original = _record(target, path, data, journal, had=had)
        record = replace(
            record,
            written=digest_of(new),
            taken=(*record.taken, *removal.taken),
            copies=(*record.copies, str(copy)),
        )
        _write(target, record, original, (data, new), journal)


def _missing(record: InstallRecord, text: str) -> tuple[str, ...]:
    """Return the hooks, as `event: command`, that `--replace` took out of a file and that its text does not hold."""
    if not record.taken:
        return ()
    try:
        root = read(text, record.path)
    except SettingsError:
        return tuple(f"{event}: {command}" for event, command in record.taken)
    there = {(hook.event, command_text(hook.handler)) for hook in commands(root)}
    plugins: object = root.value.get("enabledPlugins")
    if is_object(plugins):
        there |= {("plugin", name) for name, is_on in plugins.items() if is_on}
    return tuple(
        f"{event}: {command}" for event, command in dict.fromkeys(record.taken) if (event, command) not in there
    )


def _without(
    target: Target,
    data: bytes | None,
    known: tuple[InstallRecord, bytes] | None,
    left: tuple[str, ...],
    name: str,
) -> tuple[str, str, bytes]:
    """Return the action of an uninstall, the present text of the file, and the bytes to write."""
    if data is None:
        return "absent", "", b""
    text = data.decode("utf-8", "replace")
    if known and not left and digest_of(data) == known[0].written:
        return ("restored" if known[0].existed else "deleted"), text, known[1]
    try:
        if not target.hold_in(files.decoded(data, target.path)):
            return "absent", text, data
    except SettingsError:
        if may_hold_ours(text):
            raise
        return "absent", text, data
    new, is_empty = _stripped(target.parts, text, known, name)
    return ("deleted", text, b"") if is_empty else ("removed", text, new.encode())


def _stripped(
    parts: Sequence[Part], text: str, known: tuple[InstallRecord, bytes] | None, name: str
) -> tuple[str, bool]:
    """Return a text without some parts, and whether the file is to be deleted: nobody but us made or filled it.

    Raises:
        SettingsError: The text does not parse.
    """
    existed = known is not None and known[0].existed
    original = known[1].decode("utf-8", "replace") if known and existed else ""
    for part in parts:
        text = part.without_us(text, original=original, name=name)
    is_ours = all(part.has_own_file for part in parts) or (known is not None and not existed)
    return text, is_ours and all(part.is_left_empty(text) for part in parts)


def _parts_in(record: InstallRecord) -> list[Part]:
    """Return the parts that a record names; one of a version before there were several is of hooks."""
    labels = record.parts or (f"{record.client} hooks",)
    known = {label_of(part): part for client in CLIENTS.values() for part in parts_of(client)}
    return [known[label] for label in labels if label in known]


def _left_parts(target: Target, record: InstallRecord) -> tuple[str, ...]:
    """Return the labels of a record's parts that are not to be taken out."""
    gone = {label_of(part) for part in target.parts}
    return tuple(label for part in _parts_in(record) if (label := label_of(part)) not in gone)


def _record(
    target: Target, path: Path, data: bytes | None, journal: InstallJournal, *, had: bool
) -> tuple[InstallRecord, bytes]:
    """Return the record to keep, and the bytes of the file as it was, or would be, without us."""
    known = journal.get(path)
    all_parts = [*(_parts_in(known[0]) if known else ())]
    all_parts += [part for part in target.parts if part not in all_parts]
    labels = tuple(label_of(part) for part in all_parts)
    if known and data is not None and digest_of(data) == known[0].written:
        return replace(known[0], parts=labels), known[1]
    fresh = InstallRecord(
        str(path), target.clients[0], target.scope, "", data is not None, files.missing_folders(path), parts=labels
    )
    if known:
        # Someone wrote since. What was taken out of the file before is still to be told of.
        fresh = replace(fresh, taken=known[0].taken, copies=known[0].copies)
    if data is None or not (had or known):
        return fresh, data or b""
    # Someone wrote since, or a colleague brought our entries: what stays without them is the original.
    text, is_empty = _stripped(all_parts, data.decode(), known, str(target.path))
    return replace(fresh, existed=not is_empty, folders=known[0].folders if known else ()), text.encode()


def _write(
    target: Target, record: InstallRecord, original: bytes, change: tuple[bytes | None, bytes], journal: InstallJournal
) -> None:
    """Write the record, then the file; a file that cannot be written takes its record back.

    Args:
        target: The file.
        record: Its record.
        original: The bytes from before us.
        change: The bytes that the file has, None for no file, and those that it gets.
        journal: The records.
    """
    data, new = change
    path = Path(record.path)
    before = journal.get(path)
    journal.put(record, original)
    try:
        files.write(path, new, before=data, is_shared=target.scope != "user")
    except BaseException:
        if before is None:
            journal.drop(path)
            files.remove_folders(record.folders)
        else:
            journal.put(*before)
        raise


@contextlib.contextmanager
def _held(home: Path, *, is_dry_run: bool) -> Generator[InstallJournal]:
    """Give the journal for the block, locked unless nothing is to be written."""
    journal = InstallJournal(home)
    if is_dry_run:
        yield journal
        return
    with locked(journal.lock, _LOCK_S) as is_held:
        if not is_held:
            raise BusyError(
                f"{journal.lock} cannot be locked: is its folder writable, is another `hybrid hook` running?"
            )
        try:
            yield journal
        finally:
            journal.clear()


def diff(old: str, new: str, name: str) -> str:
    """Return the unified diff of two texts of a file."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="")
    return "\n".join(lines)


def recorded_targets(client: Client, *, home: Path) -> list[Target]:
    """Return the files with parts of a client that we changed, in any project, so that a removal leaves none behind."""
    targets: list[Target] = []
    for record in InstallJournal(home).all():
        parts = tuple(part for part in _parts_in(record) if part.owner == client.name)
        if parts:
            targets.append(Target(parts, record.scope, Path(record.path), None))
    return targets
