"""A memory that several processes write, of which some are killed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted, PendingEvent
from tests.support.builders import python_process
from tests.support.memories import WINDOW_MS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ADD = """
    import json
    import sys
    from pathlib import Path
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Extracted, Owner
    from tests.support.memories import NOW_MS, event

    def make(events, prompt):
        return Extracted("change", "", narrative=" ".join(json.loads(one.payload)["name"] for one in events))

    path, who, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with MemoryStore(path) as store:
        for number in range(n):
            # Every event is sent twice, and both processes work in one session and in one of their own.
            for session in (who, "shared"):
                name = f"{who}.{session}.{number}"
                use = event(name, "Read" if number % 3 else "Edit", NOW_MS + 1000 * number)
                added = [store.add_event(Owner(session, "k", "p"), use, window_ms=3000, make=make) for _ in range(2)]
                assert added == [True, False], added
                print(name, flush=True)
"""


def _make(events: Sequence[PendingEvent], prompt: str) -> Extracted:
    return Extracted("change", "", narrative=" ".join(json.loads(one.payload)["name"] for one in events))


def _stored(path: Path) -> list[str]:
    """The names of all uses, of those that waited too."""
    with MemoryStore(path) as store:
        ended = store.flush(make=_make, now_ms=10**15, window_ms=WINDOW_MS)
        assert () == ended.failures
        return sorted(name for row in store.all_rows("observation") for name in row.told.narrative.split())


def _check(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA integrity_check").fetchall()


@pytest.mark.slow
def test_two_processes_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """What each reported is there once, whoever wrote to the same session between."""
    path = tmp_path / "memory.db"
    processes = [python_process(_ADD, path, who, 100) for who in ("ann", "bob")]
    told = [line for process in processes for line in process.communicate()[0].decode().split()]

    assert [0, 0] == [process.returncode for process in processes]
    assert 400 == len(told)
    assert sorted(told) == _stored(path)
    assert [("ok",)] == _check(path)


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    """Whenever it dies: what was reported is there once, the database is sound, and the next one goes on."""
    path = tmp_path / "memory.db"
    told: list[str] = []
    for run, n_lines in enumerate((1, 7, 40)):
        process = python_process(_ADD, path, f"run{run}", 5_000)
        assert process.stdout is not None
        told += [process.stdout.readline().decode().strip() for _ in range(n_lines)]
        process.kill()
        process.communicate()
        assert [("ok",)] == _check(path)
    stored = _stored(path)

    assert set(told) <= set(stored)
    assert len(set(stored)) == len(stored)
