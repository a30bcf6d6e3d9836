"""Takes what the memory forgot out of the record index: chunks, postings and vectors leave every file.

The store has forgotten already. What is found in an index is compared with the store before it is given, so nothing was
shown since; here the bytes go.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked
from hybrid.base.errors import HybridError
from hybrid.index.catalog import Catalog
from hybrid.index.plan import silent
from hybrid.knowledge.memory_views import changed_part, places_of_store, write_index
from hybrid.sources.memory import MemorySource

if TYPE_CHECKING:
    from hybrid.index.place import Place
    from hybrid.index.plan import Progress
    from hybrid.records.memory.store import MemoryStore
    from hybrid.workspace import Workspace

_WAIT_S = 30.0
"""Seconds to wait for another process that builds: a hook's build of records takes far less."""


def purge_index(workspace: Workspace, store: MemoryStore, *, progress: Progress = silent) -> tuple[str, ...]:
    """Write the indexes of a memory anew without what it does not hold any more.

    Costs a pass over what is indexed; no row that stays is read or embedded again.

    Returns:
        What went wrong, a sentence each: that index still holds what was forgotten.
    """
    problems: list[str] = []
    places = places_of_store(workspace.home, store)
    for place, key in places:
        try:
            source = MemorySource(store, key)
            part = changed_part(place, store, source)
            write_index(workspace, place, source, part=part, wait_s=_WAIT_S, progress=progress, is_purged=True)
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            problems.append(str(error))
    if places and not problems:
        problems += _compacted(places[0][0])
    return tuple(problems)


def _compacted(place: Place) -> list[str]:
    """The catalog without the texts that nobody has any more; every kind of records has its texts there."""
    with locked(place.lock, _WAIT_S) as held:
        if not held:
            return ["another process is indexing records"]
        try:
            with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
                catalog.compact()
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            return [f"{place.catalog}: {error}"]
    return []
