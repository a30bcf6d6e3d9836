"""Forgets a project on purpose: its index, its views of the records, its acceptance and its counters.

Lessons are never deleted: those that stand in `$HYBRID_HOME` are put aside there.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.atomic import locked, make_private_folder
from hybrid.base.errors import BusyError
from hybrid.knowledge.record_files import COUNTERS, FILE, lock_of
from hybrid.project import registry
from hybrid.project.trust import accepted_trees, refuse_all
from hybrid.upkeep.projects import delete_index, is_lessons

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.upkeep.projects import IndexedProject

FOLDER = "forgotten"
"""Where lessons of forgotten projects lie in a `$HYBRID_HOME`."""

_WAIT_S = 10.0


class Forgotten(Struct, frozen=True):
    """What was forgotten.

    Attributes:
        was_accepted: Whether the records of one of its working trees were accepted.
        kept: Files of lessons, where they lie now.
    """

    was_accepted: bool
    kept: tuple[Path, ...]

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {"was_accepted": self.was_accepted, "kept": [str(path) for path in self.kept]}


def forget(home: Path, project: IndexedProject, *, stamp: str) -> Forgotten:
    """Delete what hybrid made of a project; its own files stay, and lessons that stand here are put aside.

    Args:
        home: `$HYBRID_HOME`.
        project: To forget.
        stamp: Of this moment, for the name of the folder that lessons are put into.

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
        kept = _put_aside(folder, _free(home / FOLDER / f"{project.key}-{stamp}"))
        delete_index(folder)
        # Under the lock too: what a build accepts and remembers after it is that of another index.
        refuse_all(project.key, home)
        registry.forget(project.key, home)
    return Forgotten(bool(accepted), kept)


def _trees_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "trees").glob("*") if path.is_dir())


def _forget_views(home: Path, trees: Sequence[str]) -> None:
    """Delete the views of working trees; what the catalog of the records knows for nobody else goes too."""
    from hybrid.base.sqlite import set_database_aside
    from hybrid.index.catalog import Catalog
    from hybrid.knowledge.views import KINDS, place_of  # Brings numpy.

    places = [place_of(home, f"{kind}-{tree}") for kind in KINDS for tree in trees]
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
    """Move every file of lessons with its counters; counters that belong to none go.

    Returns:
        The files of lessons.

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


def _free(path: Path) -> Path:
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
