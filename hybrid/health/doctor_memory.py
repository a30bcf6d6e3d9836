"""Checks of the memory for `hybrid doctor`: is the database whole, and how far does its index reach? Reads only."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError, IndexMismatchError, IndexMissingError
from hybrid.base.sqlite import open_for_reading
from hybrid.health.doctor import Finding
from hybrid.health.memory_figures import FAMILY, in_words, read_counts
from hybrid.ipc.spool import Spool
from hybrid.knowledge.stores import RecordStores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryStats
    from hybrid.workspace import Workspace

_AREA = "memory"
_MANY_BEHIND = 1_000
_LONG_S = 3_600
"""An event that waits longer than this waits for somebody to use an agent again."""


def check_memory(workspace: Workspace) -> Iterator[Finding]:
    """Everything about the memory that its owner should know."""
    settings = workspace.config.memory
    store = RecordStores().memory(workspace)
    if not settings.enabled:
        yield Finding("ok", _AREA, "switched off (memory.enabled)")
        return
    if not store.exists:
        kept = "nothing yet" if settings.capture else "nothing, and nothing is kept (memory.capture)"
        yield Finding("ok", _AREA, kept)
        return
    counted, problem = read_counts(store)
    if problem:
        yield Finding("problem", _AREA, problem, "hybrid memory stats" if "newer" not in problem else "")
        return
    damage = _damage(store.path)
    if damage:
        what = f"{store.path} is damaged ({damage})"
        remedy = "hybrid memory export FILE saves what can be read; then move the database away"
        yield Finding("problem", _AREA, what, remedy)
        return
    what = in_words(counted.n_observations, counted.n_summaries)
    yield Finding("ok", _AREA, f"{what}, whole; {counted.size_bytes / 1e6:,.1f} MB")
    yield from _of_index(workspace, store, counted)


def check_waiting(workspace: Workspace) -> Iterator[Finding]:
    """What hooks kept because they ran out of time, and nobody took in yet."""
    spool = Spool(str(workspace.home))
    waiting = spool.waiting()
    if not waiting:
        return
    count = "1 event waits" if len(waiting) == 1 else f"{len(waiting):,} events wait"
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(waiting[0].at_ms / 1000))
    what = f"{count} in {spool.folder}, the oldest since {at}: the service or the next hook takes them in"
    is_old = time.time() - waiting[0].at_ms / 1000 > _LONG_S
    yield Finding("warning" if is_old else "ok", _AREA, what, "hybrid daemon start" if is_old else "")


def _damage(path: Path) -> str:
    """What `PRAGMA integrity_check` finds first; empty for a whole database."""
    try:
        with closing(open_for_reading(path, FAMILY)) as db:
            (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    except (HybridError, OSError, sqlite3.DatabaseError) as error:
        return str(error)
    return "" if found == "ok" else str(found)


def _of_index(workspace: Workspace, store: MemoryStore, counted: MemoryStats) -> Iterator[Finding]:
    """How far the indexes reach, and whether they can be opened."""
    from hybrid.index.snapshot import open_snapshot
    from hybrid.knowledge.memory_views import n_behind, places_of_store
    from hybrid.models.registry import embedder_info

    if not counted.n_observations + counted.n_summaries:
        return
    places = places_of_store(workspace.home, store)
    if not places:
        yield Finding("warning", _AREA, "not indexed yet", 'hybrid memory search "words" does it, the next prompt too')
    model = embedder_info(workspace.config.model.name, home=workspace.home)
    for place, key in places:
        name = f"the index of {key}" if key else "the index"
        try:
            open_snapshot(place.folder, model=model.key)
        except (IndexMissingError, IndexMismatchError):
            yield Finding("warning", _AREA, f"{name} is of another model or missing", 'hybrid memory search "words"')
            continue
        except (HybridError, OSError) as error:
            yield Finding(
                "warning", _AREA, f"{name} cannot be used ({error})", f"rm -r '{place.folder}'; it is made again"
            )
            continue
        n = n_behind(place, store)
        behind = f"{n:,} {'row' if n == 1 else 'rows'} behind" if n is not None else "behind by more than is counted"
        if n is None or n > _MANY_BEHIND:
            yield Finding("warning", _AREA, f"{name} is {behind}", 'hybrid memory search "words" brings it up to date')
        else:
            yield Finding("ok", _AREA, f"{name} is up to date" if n == 0 else f"{name} is {behind}: the next prompt")
