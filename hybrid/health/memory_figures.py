"""The state of the memory: its part of `hybrid status`, and the figures of `hybrid memory stats`.

The status changes nothing: a damaged database is reported, and set aside by whoever uses it next.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import IndexCorruptError, IndexMismatchError
from hybrid.base.sqlite import migrations, open_for_reading
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.database import size_bytes
from hybrid.records.memory.store import stats
from hybrid.records.memory.types import NO_STATS, iso
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryStats
    from hybrid.workspace import Workspace

FAMILY = "memory"


def memory_status(workspace: Workspace) -> dict[str, Any]:
    """Return the `memory` part of the status."""
    store = RecordStores().memory(workspace)
    counted, problem = read_counts(store)
    settings = workspace.config.memory
    return {
        "enabled": settings.enabled,
        "capture": settings.capture,
        **_counts(counted),
        "path": str(store.path),
        "set_aside": [path.name for path in store.set_aside],
        "problems": [problem] if problem else [],
    }


def figures_form(workspace: Workspace, store: MemoryStore, counted: MemoryStats) -> dict[str, Any]:
    """Return the JSON of `hybrid memory stats`."""
    return {
        **_counts(counted),
        "by_type": dict(counted.by_type),
        "by_project": [
            {
                "key": project.key,
                "project": project.project,
                "observations": project.n_observations,
                "summaries": project.n_summaries,
            }
            for project in counted.by_project
        ],
        "path": str(store.path),
        "index_bytes": _index_bytes(workspace.home, store),
    }


def rows_in_words(n_observations: int, n_summaries: int) -> str:
    """Return the counts in words: `3 observations, 1 summary`."""
    return f"{amount(n_observations, 'observation')}, {amount(n_summaries, 'summary', 'summaries')}"


def _counts(counted: MemoryStats) -> dict[str, Any]:
    return {
        "sessions": counted.n_sessions,
        "observations": counted.n_observations,
        "summaries": counted.n_summaries,
        "prompts": counted.n_prompts,
        "pending": counted.n_pending,
        "oldest": None if counted.oldest_ms is None else iso(counted.oldest_ms),
        "newest": None if counted.newest_ms is None else iso(counted.newest_ms),
        "size_bytes": counted.size_bytes,
    }


def read_counts(store: MemoryStore) -> tuple[MemoryStats, str]:
    """Return the memory's counts, 0 if it cannot be read, and what is wrong with it; nothing is changed or made."""
    if not store.exists:
        return NO_STATS, ""
    try:
        with closing(open_for_reading(store.path, FAMILY)) as db:
            return stats(db, size_bytes(store.path)), ""
    except IndexCorruptError:
        return NO_STATS, f"{store.path} is damaged; whoever uses it next sets it aside and starts a new one"
    except IndexMismatchError:
        return NO_STATS, _mismatch(store.path)
    except (OSError, sqlite3.DatabaseError) as error:
        return NO_STATS, f"{store.path} cannot be read: {error}"


def _mismatch(path: Path) -> str:
    """Return a sentence on a database of another format: a newer one needs an upgrade, an older one mends itself."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > migrations(FAMILY)[-1][0]:
        return f"{path} was written by a newer version: upgrade hybrid"
    return f"{path} has an older format, which its next use brings up to date"


def _index_bytes(home: Path, store: MemoryStore) -> int:
    """Return the bytes of the memory's segments; texts and vectors stand in the catalog that all records share."""
    from hybrid.knowledge.memory_views import places_of_store

    folders = [place.folder for place, _ in places_of_store(home, store)]
    return sum(path.stat().st_size for folder in folders for path in folder.glob("*") if path.is_file())
