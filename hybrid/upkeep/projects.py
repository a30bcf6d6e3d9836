"""Looks after whole projects: lists those with an index, accepts their records, forgets them, and holds the quota.

`hybrid projects`, `trust`, `init` and a `reindex` by hand call it, and each build holds the quota. What people wrote is
no index: no quota takes lessons, and those that stand in `$HYBRID_HOME` are put aside when a project is forgotten.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins

from hybrid.base.atomic import free_path, locked, make_private_folder
from hybrid.base.errors import BusyError, HybridError, ProjectError
from hybrid.config import load
from hybrid.knowledge.stores import COUNTERS, FILE, RecordFile, lock_of, open_stores, own_file, total, tree_records
from hybrid.log.events import log_folder
from hybrid.log.given_texts import GivenTexts
from hybrid.project import registry
from hybrid.project.trust import accept, accepted_trees, refuse_all
from hybrid.records.lessons.importing import import_lessons
from hybrid.records.types import OF_TREES
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date

    from hybrid.records.lessons.importing import LessonsImport
    from hybrid.workspace import Workspace

_SIGNATURE = "build.holder"
_WAIT_S = 10.0
"""Seconds to wait for another process that writes lessons or records."""


class IndexedProject(Struct, frozen=True):
    """A project that has an index, or lessons that stand in `$HYBRID_HOME`.

    Attributes:
        key: 16 hex digits.
        name: As last seen; empty when the registry does not know it.
        roots: Working trees, as last seen.
        size_bytes: Bytes of all files but lessons and locks.
        used_s: When a file of the project in `$HYBRID_HOME`, lessons too, was last written, seconds since 1970.
    """

    key: str
    name: str
    roots: tuple[str, ...]
    size_bytes: int
    used_s: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return to_builtins(self)


def indexed_projects(home: Path) -> list[IndexedProject]:
    """Return every project with an index or lessons in `$HYBRID_HOME`, the most recently written first."""
    entries = registry.load_registry(home)
    found: list[IndexedProject] = []
    for folder in sorted((home / "projects").glob("*/")):
        sizes: dict[tuple[int, int], int] = {}  # By file: trees share what they have in common.
        times: list[float] = []
        for path in _files(folder):
            with contextlib.suppress(OSError):
                stat = path.stat()
                if not _is_lock(path.name):
                    sizes[stat.st_dev, stat.st_ino] = 0 if is_lessons(path.name) else stat.st_size
                    times.append(stat.st_mtime)
        if not sizes:
            continue
        entry = entries.get(folder.name)
        found.append(
            IndexedProject(
                key=folder.name,
                name=entry.name if entry else "",
                roots=tuple(entry.paths) if entry else (),
                size_bytes=sum(sizes.values()),
                used_s=max(times),
            )
        )
    return sorted(found, key=lambda project: (-project.used_s, project.key))


def named_project(home: Path, name: str) -> IndexedProject:
    """Return the indexed project of a name or key.

    Raises:
        ProjectError: There is none, or there are several.
    """
    matching = [project for project in indexed_projects(home) if name in (project.name, project.key)]
    if not matching:
        raise ProjectError(f"no project is called {name}; `hybrid projects` lists them")
    if len(matching) > 1:
        keys = " or ".join(sorted(project.key for project in matching))
        raise ProjectError(f"{len(matching)} projects are called {name}: give a key, {keys}")
    return matching[0]


def workspaces_of(here: Workspace, keys: Collection[str] | None, environ: Mapping[str, str]) -> list[Workspace]:
    """Return a workspace of each indexed project whose working tree is there, in order of name.

    Args:
        here: Its own tree is that of its project; of the others it is the newest that the registry knows.
        keys: Only projects of these keys; None for all.
        environ: Environment variables, for the settings.
    """
    found: list[Workspace] = []
    for project in indexed_projects(here.home):
        if (keys is not None and project.key not in keys) or not project.size_bytes:
            continue
        if here.project is not None and here.project.key == project.key:
            found.append(here)
            continue
        for root in reversed(project.roots):
            workspace = open_workspace(Path(root), environ=environ)
            if workspace.project is not None and workspace.project.key == project.key:
                found.append(workspace)
                break
    return sorted(found, key=lambda one: (one.require_project().name, str(one.require_project().root)))


def enforce_quota(home: Path, *, quota_bytes: int, keep: str) -> None:
    """Delete the indexes of the least recently written projects until the rest fit; those being built now are kept.

    One of them without lessons in `$HYBRID_HOME` and without accepted trees leaves the registry too.

    Args:
        home: `$HYBRID_HOME`.
        quota_bytes: Bytes that all indexes of files may take together.
        keep: Key of the project that must stay.
    """
    projects = indexed_projects(home)
    total = sum(project.size_bytes for project in projects)
    for project in reversed(projects):
        if total <= quota_bytes:
            break
        if project.key == keep or not project.size_bytes:
            continue
        folder = home / "projects" / project.key
        with locked(folder / "build.lock", 0) as held:
            if not held:
                continue
            delete_index(folder)
            has_lessons = any(is_lessons(path.name) for path in _files(folder))
            if not (has_lessons or accepted_trees(project.key, home)):
                # Under the lock too: a build that begins after it gives the project its name again.
                registry.forget(project.key, home)
        total -= project.size_bytes


def delete_index(folder: Path) -> None:
    """Delete everything in a project's folder but lessons, their counters and locks; the caller holds the build lock.

    Locks stay, because a process that waits for one must not get a lock on a file that is gone. What cannot be deleted
    stays, silently.
    """
    for path in _files(folder):
        if not _is_lock(path.name) and not is_lessons(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            with contextlib.suppress(OSError):  # Not empty.
                Path(place, name).rmdir()


def is_lessons(name: str) -> bool:
    """Return whether a file of this name holds lessons or their counters, also under the name it was put aside with."""
    return name.startswith((FILE, COUNTERS)) and not _is_lock(name)


def _is_lock(name: str) -> bool:
    return name == _SIGNATURE or name.endswith(".lock")


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files and links in a folder and below; links are not followed."""
    for place, folders, names in os.walk(folder):
        yield from (Path(place, name) for name in names)
        yield from (path for name in folders if (path := Path(place, name)).is_symlink())


# --- accepting --------------------------------------------------------------------------------------------


class Moved(Struct, frozen=True):
    """The result of taking over lessons that were learned before their tree was accepted.

    Attributes:
        file: The file that holds the lessons now.
        report: Lessons that were taken over, stood there already, or could not be read.
        aside: The old file, under another name; it still holds all of these lessons.
    """

    file: Path
    report: LessonsImport
    aside: Path

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        report = self.report
        return {
            "file": str(self.file),
            "imported": [{"from": one.lesson.id, "id": one.lesson_id} for one in report.imported],
            "duplicates": [{"from": one.lesson.id, "duplicate_of": one.duplicate_of} for one in report.duplicates],
            "malformed": [{"line": one.line, "message": one.message} for one in report.problems],
            "aside": str(self.aside),
        }


class Accepted(Struct, frozen=True):
    """A tree that was accepted.

    Attributes:
        is_new: False when it was accepted before.
        files: The record files of the tree.
        moved: Lessons that were learned before and taken over; None when there were none, or they stay where they are.
        problem: Reason for which lessons learned before stay where they are; empty when all is well.
        settings: `section.key` → value of the tree's settings file that waited for this and count now.
    """

    is_new: bool
    files: tuple[RecordFile, ...]
    moved: Moved | None = None
    problem: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def counts(self) -> Mapping[str, int]:
        """Records that are given out from now on, by kind."""
        return total(self.files)

    def as_json(self) -> dict[str, Any]:
        """Stable keys; absent values are None."""
        return {
            "is_new": self.is_new,
            **self.counts,
            "files": [file.as_json() for file in self.files],
            "moved": self.moved.as_json() if self.moved else None,
            "settings": dict(self.settings),
            "problem": self.problem or None,
        }


def accept_tree(workspace: Workspace, *, today: date, stamp: str) -> Accepted:
    """Accept the record files of a workspace's working tree, and move lessons learned before into the tree's file.

    Args:
        workspace: Opened after `.hybrid/` was made, if it was.
        today: Day on which lessons without a date count as learned.
        stamp: Present time as text, for the name of the file that is put aside.

    Raises:
        ProjectError: There is no project.
        OSError: `$HYBRID_HOME` cannot be written.
    """
    project = workspace.require_project()
    is_new = accept(project, workspace.home)
    moved, problem = None, ""
    try:
        moved = _move_own(workspace, today, stamp)
    except (HybridError, OSError) as error:
        problem = f"{own_file(project, workspace.home)} was not taken over: {error}"
    waited: Mapping[str, object] = {}
    if is_new and project.has_folder:
        waited = load(home=workspace.home, project_folder=project.root / ".hybrid", environ={}).waiting
    return Accepted(is_new, tree_records(project, workspace.home), moved, problem, waited)


def _move_own(workspace: Workspace, today: date, stamp: str) -> Moved | None:
    stores = open_stores(workspace)
    own = own_file(workspace.require_project(), workspace.home)
    target = stores.project
    if target is None or target.file == own or not own.is_file():
        return None
    # Whoever waits for this lock to add a lesson there writes a new file, which the next acceptance takes over.
    with locked(lock_of(own), _WAIT_S) as is_held:
        if not is_held:
            raise HybridError("another process writes it; run `hybrid trust` when it is done")
        report = import_lessons(own, {"project": target, "system": stores.system}, today=today)
        aside = free_path(own.with_name(f"{own.name}.adopted-{stamp}"))
        with contextlib.suppress(FileNotFoundError):
            own.rename(aside)
        return Moved(target.file, report, aside)


# --- forgetting -------------------------------------------------------------------------------------------


FOLDER = "forgotten"
"""Folder in a `$HYBRID_HOME` that lessons of forgotten projects are moved to."""


class ForgottenProject(Struct, frozen=True):
    """A project that was forgotten.

    Attributes:
        was_accepted: True when the records of one of its working trees were accepted.
        kept: Files of lessons, at the paths that they were moved to.
    """

    was_accepted: bool
    kept: tuple[Path, ...]

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return to_builtins(self, enc_hook=str)


def forget(home: Path, project: IndexedProject, *, stamp: str) -> ForgottenProject:
    """Delete index, views, acceptance and registry entry of a project, and move its lessons in `home` aside.

    The working trees and the files in them stay.

    Args:
        home: `$HYBRID_HOME`.
        project: To forget.
        stamp: Present time as text, for the name of the folder that lessons are put into.

    Raises:
        BusyError: Its index, its records or its lessons are being written; nothing or only a part was forgotten.
        OSError: Lessons cannot be put aside; its index stays.
    """
    folder = home / "projects" / project.key
    accepted = accepted_trees(project.key, home)
    with locked(folder / "build.lock", 0) as held:
        if not held:
            raise BusyError(f"{project.name} is being indexed; try again when that is done")
        # First of all: a service that watches the project asks for this before it builds.
        registry.mark_forgotten(project.key, home)
        trees = {*accepted, *_trees_in(folder), *map(registry.path_key, project.roots)}
        _forget_views(home, sorted(trees))
        kept = _put_aside(folder, free_path(home / FOLDER / f"{project.key}-{stamp}"))
        delete_index(folder)
        # Under the lock too: what a build accepts and remembers after it is that of another index.
        refuse_all(project.key, home)
        registry.forget(project.key, home)
        GivenTexts(log_folder(home), days=0).forget(lambda text: text.project == project.key)
    return ForgottenProject(bool(accepted), kept)


def _trees_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "trees").glob("*") if path.is_dir())


def _forget_views(home: Path, trees: Sequence[str]) -> None:
    """Delete the views of working trees, and what the catalog of the records holds for no other tree.

    A damaged catalog is set aside.

    Raises:
        BusyError: The records are being indexed.
    """
    from hybrid.base.sqlite import set_database_aside
    from hybrid.index.catalog import Catalog
    from hybrid.knowledge.record_indexes import place_of  # Brings numpy.

    places = [place_of(home, f"{kind}-{tree}") for kind in OF_TREES for tree in trees]
    if not places or not places[0].catalog.exists():
        return
    with locked(places[0].lock, _WAIT_S) as held:
        if not held:
            raise BusyError("the records are being indexed; try again when that is done")
        for place in places:
            shutil.rmtree(place.folder, ignore_errors=True)
        catalog_file = places[0].catalog
        try:
            with Catalog(catalog_file, tree=places[0].tree, root=places[0].root) as catalog:
                catalog.begin()
                catalog.forget_trees(place.tree for place in places)
                catalog.collect(spare=0)
                catalog.commit()
        except sqlite3.DatabaseError:  # Everything in it can be made again.
            set_database_aside(catalog_file)


def _put_aside(folder: Path, aside: Path) -> tuple[Path, ...]:
    """Move every file of lessons with its counters to `aside`; delete counters that belong to no lessons.

    Returns:
        The new paths of the files of lessons.

    Raises:
        BusyError: Another process is writing lessons.
        OSError: A file cannot be moved; it is where it was.
    """
    owners = [folder / "trees" / tree for tree in _trees_in(folder)]
    kept: list[Path] = []
    with ExitStack() as stack:
        for owner in (folder, *owners):
            found = sorted(path for path in owner.glob("*") if is_lessons(path.name))
            if found and not stack.enter_context(locked(lock_of(owner / FILE), _WAIT_S)):
                raise BusyError(f"lessons in {owner} are being written; try again when that is done")
            has_lessons = any(path.name.startswith(FILE) for path in found)
            for path in found:
                if not has_lessons and path.name.startswith(COUNTERS):
                    path.unlink(missing_ok=True)
                    continue
                target = aside / path.relative_to(folder)
                make_private_folder(target.parent)
                path.replace(target)
                if path.name.startswith(FILE):
                    kept.append(target)
    return tuple(kept)
