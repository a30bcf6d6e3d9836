"""Takes out of the indexes what may not stand there any more, with its bytes: chunks, words, names and vectors.

That is what the memory forgot, and what was kept under other rules for secrets. What is found in an index is compared
with the store before it is given, so none of that was shown; here its bytes are deleted. A working tree that is still
there is indexed again, and keeps each vector whose text is the same; the index of any other tree is deleted.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, HybridError, RefusedError
from hybrid.index.analysis import REDACT_RULES
from hybrid.index.catalog import Catalog
from hybrid.index.plan import silent
from hybrid.knowledge.memory_views import MemoryIndex, changed_part, places_of_store
from hybrid.knowledge.reading import NAME as READING
from hybrid.knowledge.views import FOLDER
from hybrid.sources.memory import MemorySource
from hybrid.upkeep.indexing import BuildRequest, bring_up_to_date, was_indexed
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping

    from hybrid.index.place import Place
    from hybrid.index.plan import Progress
    from hybrid.records.memory.store import MemoryStore
    from hybrid.workspace import Workspace

_LOCK_S = 2.0
_WAIT_S = 30.0
"""Seconds to wait for another process that builds records: a hook's build of them takes far less."""
_OF_INDEX = ("segment-*.safetensors", "manifest.json", "links.json", "history.safetensors", READING)


class IndexesCleaned(Struct):
    """Counts of the indexes that were cleaned.

    Attributes:
        n_rebuilt: Working trees that were indexed again.
        n_dropped: Indexes and views that were deleted; the next prompt or `hybrid reindex` makes them again.
        problems: What still stands under other rules, and why, a sentence each.
    """

    n_rebuilt: int = 0
    n_dropped: int = 0
    problems: list[str] = field(default_factory=list[str])


def older_indexes(home: Path) -> list[str]:
    """Return the catalogs that hold something kept under other rules, or cannot be read, as paths below the home."""
    return [path.relative_to(home).as_posix() for path in _catalogs(home) if not _is_clean(path)]


def clean_projects(workspace: Workspace, environ: Mapping[str, str], done: IndexesCleaned) -> None:
    """Index all trees kept under other rules again, delete the indexes of those that cannot be, and count in `done`.

    A project that fails is named in `done.problems`, and the others go on.
    """
    for path in _catalogs(workspace.home):
        if path.parent.name != FOLDER and not _is_clean(path):
            with _noted(path, done):
                for tree, root in _trees(path).items():
                    done.n_rebuilt += _is_rebuilt(Path(root), tree, environ)
                done.n_dropped += _drop_rest(path, path.parent / "trees")


def clean_records(workspace: Workspace, store: MemoryStore, done: IndexesCleaned, *, is_changed: bool) -> None:
    """Clean the indexes of the records, unless they are clean and no row changed; count in `done`.

    Views of lessons and lore are deleted: they are small, and the next prompt makes them again. Those of the memory
    are made again here.

    Args:
        workspace: Any workspace of the home.
        store: The store of the memory.
        done: Takes the counts and the problems.
        is_changed: Whether rows of the memory were cleaned, whatever the rules under which they were indexed.
    """
    path = workspace.home / FOLDER / "catalog.db"
    if not path.is_file() or (_is_clean(path) and not is_changed):
        return
    own = {place.tree for place, _ in places_of_store(workspace.home, store)}
    with _noted(path, done):
        done.n_dropped += _drop_rest(path, path.parent / "views", kept=own)
        problems = purge_index(workspace, store) if own else ()
        done.problems += problems
        # All are made again by the next cleaning, and counted then.
        done.n_rebuilt += 0 if problems else len(own)
        _drop_rest(path, path.parent / "views")


def _catalogs(home: Path) -> list[Path]:
    found = [home / FOLDER / "catalog.db", *sorted((home / "projects").glob("*/catalog.db"))]
    return [path for path in found if path.is_file()]


def _is_clean(path: Path) -> bool:
    try:
        with Catalog(path, tree="", root="", is_read_only=True) as catalog:
            return not (catalog.trees_of_other_rules(REDACT_RULES) or catalog.n_of_other_rules(REDACT_RULES))
    except (HybridError, OSError, sqlite3.DatabaseError):
        return False


def _trees(path: Path) -> dict[str, str]:
    """Return the working trees of a catalog that were indexed under other rules, id → root."""
    with Catalog(path, tree="", root="", is_read_only=True) as catalog:
        return catalog.trees_of_other_rules(REDACT_RULES)


def _is_rebuilt(root: Path, tree: str, environ: Mapping[str, str]) -> bool:
    """Index a working tree again, if it is there and has an index; return whether that was done.

    `[index] auto` and the folder do not count: who made an index by hand keeps it, without its secrets.
    """
    if not root.is_dir():
        return False
    workspace = open_workspace(root, environ=environ)
    project = workspace.project
    if project is None or workspace.place.tree != tree or not was_indexed(workspace):
        return False

    def reason() -> str:
        return "" if was_indexed(workspace) else "no_index"

    try:
        request = BuildRequest(is_forced=True, workers=1, wait_s=_LOCK_S)
        bring_up_to_date(workspace, request, reason_against=reason)
    except RefusedError:  # Its owner forgot it meanwhile.
        return False
    return True


def _drop_rest(path: Path, folders: Path, *, kept: Collection[str] = ()) -> int:
    """Delete the indexes of a catalog's trees of other rules, forget the trees, and write the catalog anew.

    Args:
        path: The catalog; what no other tree needs goes from it.
        folders: Folder of the trees' indexes.
        kept: Ids of trees that stay.

    Returns:
        The number of trees that were forgotten.

    Raises:
        BusyError: The index is being written.
    """
    with locked(path.parent / "build.lock", _LOCK_S) as held:
        if not held:
            raise BusyError("it is being written")
        trees = {tree: root for tree, root in _trees(path).items() if tree not in kept}
        for tree in trees:
            _remove(folders / tree)
        any_tree, root = next(iter(trees.items()), ("", ""))
        with Catalog(path, tree=any_tree, root=root) as catalog:
            catalog.forget_other_rules(REDACT_RULES, [*trees, any_tree])
    return len(trees)


def _remove(folder: Path) -> None:
    """Delete the files of a tree's index, and the folder if nothing else, such as lessons, stands there."""
    for pattern in _OF_INDEX:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _noted(path: Path, done: IndexesCleaned) -> Generator[None]:
    try:
        yield
    except (HybridError, OSError, sqlite3.DatabaseError) as error:
        if os.path.lexists(path):  # Else its project was forgotten meanwhile, and there is nothing to clean.
            done.problems.append(f"{path}: {error}")


# --- what the memory forgot -------------------------------------------------------------------------------


def purge_index(workspace: Workspace, store: MemoryStore, *, progress: Progress = silent) -> tuple[str, ...]:
    """Write the indexes of a memory anew, without rows that the memory does not hold any more.

    Each index is read once; no row that stays is read or embedded again.

    Returns:
        What went wrong, a sentence each: that index still holds what was forgotten.
    """
    problems: list[str] = []
    places = places_of_store(workspace.home, store)
    for place, key in places:
        try:
            source = MemorySource(store, key)
            part = changed_part(place, store, source)
            index = MemoryIndex(workspace, place, source)
            index.write(part=part, wait_s=_WAIT_S, progress=progress, is_purged=True)
            (place.folder / READING).unlink(missing_ok=True)  # Vectors of rows, which versions before 0.3 wrote.
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            problems.append(str(error))
    if places and not problems:
        problems += _compacted(places[0][0])
    return tuple(problems)


def _compacted(place: Place) -> list[str]:
    """Write the catalog of the records anew, without texts that no record has any more; return what went wrong."""
    with locked(place.lock, _WAIT_S) as held:
        if not held:
            return ["another process is indexing records"]
        try:
            with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
                catalog.compact()
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            return [f"{place.catalog}: {error}"]
    return []
