"""A file of lessons that several processes write, of which some are killed."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from hybrid.records.lessons.store import LessonStore
from tests.support.builders import python_process

if TYPE_CHECKING:
    from pathlib import Path

_ADD = """
    import sys
    from datetime import date
    from pathlib import Path
    from hybrid.records.lessons.types import Draft
    from hybrid.records.lessons.store import LessonStore

    folder, who, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    store = LessonStore(
        folder / "tree/.hybrid/LESSONS.md", folder / "stats.json", level="project", keeps_inline=False, lock_s=60
    )
    for number in range(n):
        draft = Draft(f"{who}{number} first{number}{who}", f"rule{number}{who} why{number}{who}")
        added = store.add(draft, today=date(2026, 3, 1))
        print(added.lesson.id, draft.title, flush=True)
"""


def _store(folder: Path) -> LessonStore:
    return LessonStore(
        folder / "tree" / ".hybrid" / "LESSONS.md", folder / "stats.json", level="project", keeps_inline=False
    )


@pytest.mark.slow
def test_two_processes_adding_60_lessons_each_lose_none(tmp_path: Path) -> None:
    """120 lessons, every id once, each under the id that its process was told."""
    processes = [python_process(_ADD, tmp_path, who, 60) for who in ("ann", "bob")]
    told = [line for process in processes for line in process.communicate()[0].decode().splitlines()]

    assert [0, 0] == [process.returncode for process in processes]
    assert sorted(told) == sorted(f"{lesson.id} {lesson.title}" for lesson in _store(tmp_path).read().lessons)
    assert 120 == len({line.split()[0] for line in told})


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    """Whenever it dies, what it said is in the file, the file is whole, and the next write works."""
    for n_lines in (1, 4, 9):
        process = python_process(_ADD, tmp_path, f"run{n_lines}", 500)
        assert process.stdout is not None
        told = [process.stdout.readline().decode().split(" ", 1)[1].strip() for _ in range(n_lines)]
        process.kill()
        process.communicate()

        found = _store(tmp_path).read()
        assert set(told) <= {lesson.title for lesson in found.lessons}
        assert () == found.problems
        assert found.lessons[-1].content.startswith("rule")
    from hybrid.records.lessons.types import Draft

    assert _store(tmp_path).add(Draft("after", "all of it"), today=date(2026, 3, 1)).lesson is not None
