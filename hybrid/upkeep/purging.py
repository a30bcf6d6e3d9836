"""Takes out of the indexes of a memory the rows that it forgot or rewrote, with their bytes: words, names and vectors.

What is found in an index is compared with the store before it is given, so none of that was shown; here its bytes are
deleted.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked
from hybrid.base.errors import HybridError
from hybrid.index.catalog import Catalog
from hybrid.index.plan import silent
from hybrid.knowledge.record_indexes import READING, indexes_of_store

if TYPE_CHECKING:
    from hybrid.index.manifest import Place
    from hybrid.index.plan import Progress
    from hybrid.records.memory.store import MemoryStore
    from hybrid.workspace import Workspace

_WAIT_S = 30.0
"""Seconds to wait for another process that builds records: a hook's build of them takes far less."""


def purge_index(workspace: Workspace, store: MemoryStore, *, progress: Progress = silent) -> tuple[str, ...]:
    """Write the indexes of a memory anew, without rows that the memory does not hold any more.

    Each index is read once; no row that stays is read or embedded again.

    Returns:
        What went wrong, a sentence each: that index still holds what was forgotten.
    """
    problems: list[str] = []
    indexes = [index for index, _ in indexes_of_store(workspace, store)]
    for index in indexes:
        try:
            index.rewrite(part=index.changed(), wait_s=_WAIT_S, progress=progress, is_purged=True)
            (index.place.folder / READING).unlink(missing_ok=True)  # Vectors of rows, which versions before 0.3 wrote.
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            problems.append(str(error))
    if indexes and not problems:
        problems += _compacted(indexes[0].place)
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
