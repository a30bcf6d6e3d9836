"""Remembers the origins and paths of each key, so that a project keeps its first key; builds write, everyone reads.

`$HYBRID_HOME/projects/registry.json`:

    {"version": 1, "projects": {KEY: {"name": …, "origins": […], "paths": […], "identities": […]}}}

Beside it an empty file `DIGEST.forgotten` stands for each mark of a project that its owner forgot on purpose, and
`groups.json` holds the projects of named groups, which `hybrid search --group` searches together.

A project is known again by its identity (moved, renamed, another remote), else by its origin (another clone), else,
without an origin, by its path. What is not known gets the key of its origin or path. A move to another disk changes
the identity: without an origin that is a new project.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict

from hybrid.base.atomic import locked, make_private_folder, set_aside, write_atomic
from hybrid.base.errors import BusyError
from hybrid.base.text import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


_VERSION = 1
_LOCK_TIMEOUT_S = 2.0
_FORGOTTEN = ".forgotten"
_MAX_REMEMBERED = 32
"""The most origins, paths and identities each that are kept of a key, the newest; each clone adds one."""


class Marks(Struct, frozen=True):
    """The marks that a project can be known by.

    Attributes:
        name: The name of the project as shown.
        origin: Normalised URL of the remote, empty when there is none.
        path: Real path of the main working tree.
        identity: See `find.identity_of`; empty when it cannot be had.
    """

    name: str
    origin: str
    path: str
    identity: str


class RegistryEntry(Struct, frozen=True):
    """The marks that the registry remembers of a key; the newest of each sort stands last."""

    name: str
    origins: tuple[str, ...]
    paths: tuple[str, ...]
    identities: tuple[str, ...]


_NOTHING = RegistryEntry("", (), (), ())


class KeyChoice(Struct, frozen=True):
    """The key of a project, and the reason for it.

    Attributes:
        key: 16 hex digits.
        reason: `origin URL`, `main working tree path` or `registered`.
        known_by: The mark by which the registry knows the project, `identity`, `origin` or `path`; empty for none.
    """

    key: str
    reason: str
    known_by: str = ""


def registry_path(home: Path) -> Path:
    """Return the path of the registry."""
    return home / "projects" / "registry.json"


def choose_key(marks: Marks, home: Path) -> KeyChoice:
    """Return the key of a project: the remembered one, else that of its origin, else that of its path."""
    entries = load_registry(home)
    known, known_by = _known_key(marks, entries)
    origin_key = _digest(marks.origin.encode("utf-8", "surrogatepass")) if marks.origin else None
    key = known or origin_key or _free_path_key(marks, entries)
    if key == origin_key:
        return KeyChoice(key, "origin URL", known_by)
    is_own_path = known is None or key == path_key(marks.path)
    return KeyChoice(key, "main working tree path" if is_own_path else "registered", known_by)


def load_registry(home: Path) -> dict[str, RegistryEntry]:
    """Return key → marks of all remembered projects; empty when the registry is missing or damaged."""
    return _load(registry_path(home)) or {}


def is_damaged(home: Path) -> bool:
    """Return whether there is a registry that cannot be read; the next build sets it aside."""
    return _load(registry_path(home)) is None


def remember(marks: Marks, key: str, home: Path) -> None:
    """Remember the marks of a project under its key, and drop the notes of `mark_forgotten` for them.

    A damaged registry is set aside and started anew. A failed write raises nothing, nor does a wait for another writer
    of more than two seconds: the key is then found again the way it was found now.
    """
    for path in _forgotten_paths(key, _grown(marks, key, {}), home):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    _change(home, lambda entries: {**entries, key: _grown(marks, key, entries)})


def forget(key: str, home: Path) -> None:
    """Remove a key from the registry, so that the next build takes its project for a new one; fails silently."""
    _change(home, lambda entries: {other: entry for other, entry in entries.items() if other != key})


def mark_forgotten(key: str, home: Path) -> None:
    """Note that the owner wants a project forgotten: nothing indexes it until `remember` is called for it.

    The notes are empty files, named by digests of its key and its remembered marks: they tell nobody its name or place.

    Raises:
        OSError: `$HYBRID_HOME` cannot be written.
    """
    for path in _forgotten_paths(key, load_registry(home).get(key, _NOTHING), home):
        make_private_folder(path.parent)
        path.touch(mode=0o600)


def is_forgotten(key: str, marks: Marks, home: Path) -> bool:
    """Return whether the owner forgot a project with this key or with one of these marks."""
    return any(path.exists() for path in _forgotten_paths(key, _grown(marks, key, {}), home))


def _forgotten_paths(key: str, entry: RegistryEntry, home: Path) -> list[Path]:
    """Return the files of `mark_forgotten` for a key and each mark; the newest path counts only without an origin."""
    texts = [f"key {key}", *(f"identity {identity}" for identity in entry.identities)]
    texts += [f"origin {origin}" for origin in entry.origins] or [f"path {path}" for path in entry.paths[-1:]]
    folder = registry_path(home).parent
    return [folder / f"{_digest(text.encode('utf-8', 'surrogatepass'))}{_FORGOTTEN}" for text in texts]


def path_key(path: str) -> str:
    """Return 16 hex digits of a path: the name of a working tree, and the key of a project without an origin."""
    return _digest(os.fsencode(path))


def _known_key(marks: Marks, entries: dict[str, RegistryEntry]) -> tuple[str | None, str]:
    """Return the remembered key of a project, or None, and the mark by which it is known, or an empty text."""
    for key, entry in entries.items():
        if marks.identity and marks.identity in entry.identities:
            return key, "identity"
    for key, entry in entries.items():
        if marks.origin and marks.origin in entry.origins:
            return key, "origin"
    for key, entry in entries.items():
        # Restored or made anew in the same place. With an origin on either side it is another project.
        if not marks.origin and not entry.origins and entry.paths[-1:] == (marks.path,):
            return key, "path"
    return None, ""


def _digest(data: bytes) -> str:
    return sha256_hex(data)[:16]


def _free_path_key(marks: Marks, entries: dict[str, RegistryEntry]) -> str:
    """Return the key of a path; when another project has this key, one made of path and identity."""
    key = path_key(marks.path)
    return key if key not in entries else path_key(f"{marks.path}\n{marks.identity}")


def _change(home: Path, change: Callable[[dict[str, RegistryEntry]], dict[str, RegistryEntry]]) -> None:
    path = registry_path(home)
    with contextlib.suppress(OSError), locked(path.with_suffix(".lock"), _LOCK_TIMEOUT_S) as is_held:
        if not is_held:
            return
        before = _load(path)
        if before is None:
            set_aside(path)
        after = change(before or {})
        if after != before:
            write_atomic(path, _dump(after))


def _grown(marks: Marks, key: str, entries: dict[str, RegistryEntry]) -> RegistryEntry:
    known = entries.get(key, _NOTHING)
    # An origin leads to one key only: that of the project that had it first.
    is_taken = any(marks.origin in entry.origins for other, entry in entries.items() if other != key)
    return RegistryEntry(
        name=marks.name,
        origins=known.origins if is_taken else _with(known.origins, marks.origin),
        paths=_with(known.paths, marks.path),
        identities=_with(known.identities, marks.identity),
    )


def _with(values: tuple[str, ...], newest: str) -> tuple[str, ...]:
    if not newest:
        return values
    return (*(value for value in values if value != newest), newest)[-_MAX_REMEMBERED:]


def _dump(entries: dict[str, RegistryEntry]) -> bytes:
    projects = {key: asdict(entry) for key, entry in sorted(entries.items())}
    # ASCII only: paths may hold bytes that are not UTF-8, which JSON escapes carry as lone surrogates.
    return (json.dumps({"version": _VERSION, "projects": projects}, indent=1) + "\n").encode("ascii")


def _load(path: Path) -> dict[str, RegistryEntry] | None:
    """Read the entries of a registry file; empty when it is missing, None when it is damaged."""
    try:
        raw = path.read_bytes()
    except OSError:
        return {}
    try:
        return convert(json.loads(raw)["projects"], dict[str, RegistryEntry])
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None


# --- groups -----------------------------------------------------------------------------------------------


def load_groups(home: Path) -> dict[str, tuple[str, ...]]:
    """Return name → keys of the projects of each group, in order of name; empty when the file cannot be read.

    A key that no project has any more is passed over by who reads it.
    """
    try:
        found = convert(json.loads(_file(home).read_bytes()), dict[str, tuple[str, ...]])
    except (OSError, ValueError, ValidationError, RecursionError):
        return {}
    return dict(sorted(found.items()))


def put_group(home: Path, name: str, keys: Sequence[str]) -> None:
    """Store a group in place of one of this name; without keys it is deleted.

    A damaged file is set aside.

    Raises:
        BusyError: Another process writes the groups.
        OSError: They cannot be written.
    """
    make_private_folder(_file(home).parent)
    with locked(_file(home).with_suffix(".lock"), _LOCK_TIMEOUT_S) as held:
        if not held:
            raise BusyError("another process changes the groups; try again")
        groups = load_groups(home)
        if not groups and _file(home).exists() and _file(home).read_bytes().strip() not in (b"{}", b""):
            set_aside(_file(home))
        groups.pop(name, None)
        if keys:
            groups[name] = tuple(dict.fromkeys(keys))
        write_atomic(_file(home), json.dumps(dict(sorted(groups.items())), indent=1).encode())


def _file(home: Path) -> Path:
    return home / "projects" / "groups.json"
