from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from hybrid.records.lessons.importing import import_lessons
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lessons.types import Draft
from hybrid.records.types import LessonsError, LessonsFileError
from tests.support.cases import project

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.records.lessons.types import Level

TODAY = date(2026, 3, 1)

SOURCE = project("lessons/source.txt")["LESSONS.md"]


def _targets(folder: Path) -> dict[Level, LessonStore]:
    return {
        "project": LessonStore(
            folder / "tree/.hybrid/LESSONS.md", folder / "home/p.json", level="project", keeps_inline=False
        ),
        "system": LessonStore(folder / "home/LESSONS.md", folder / "home/s.json", level="system", keeps_inline=False),
    }


def _source(folder: Path, text: str = SOURCE) -> Path:
    path = folder / "old" / ".claude-recall" / "LESSONS.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("where", ["old", "old/.claude-recall", "old/.claude-recall/LESSONS.md"])
def test_a_folder_or_file_is_taken_over(tmp_path: Path, where: str) -> None:
    """Free ids stay, counters come along, what is superseded stays there, and what is malformed is told with its line."""
    path, targets = _source(tmp_path), _targets(tmp_path)

    report = import_lessons(tmp_path / where, targets, today=TODAY)

    assert ["L001", "L007"] == [one.lesson_id for one in report.imported]
    assert (("L002",), [11]) == (report.inactive, [problem.line for problem in report.problems])
    lesson = targets["project"].find("L001")
    assert (12, 1.5, "2026-02-01", "2026-01-02", "correction") == (
        lesson.uses,
        lesson.velocity,
        lesson.last,
        lesson.learned,
        lesson.category,
    )
    assert "2026-03-01" == targets["project"].find("L007").learned
    assert SOURCE == path.read_text(encoding="utf-8")


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    """Not even a folder."""
    path, targets = _source(tmp_path), _targets(tmp_path)

    report = import_lessons(path, targets, today=TODAY, is_dry=True)

    assert ["L001", "L007"] == [one.lesson_id for one in report.imported]
    assert not (tmp_path / "tree").exists()
    assert not (tmp_path / "home").exists()


def test_ids_that_are_used_here_are_changed(tmp_path: Path) -> None:
    """To the next free ones above all of both files; what was deleted here does not come back."""
    path, targets = _source(tmp_path), _targets(tmp_path)
    targets["project"].add(Draft("Something else", "entirely"), today=TODAY)
    targets["project"].add(Draft("Name branches", "after issues"), today=TODAY)
    targets["project"].delete("L002")

    report = import_lessons(path, targets, today=TODAY)

    assert [("L001", "L008")] == [(one.lesson.id, one.lesson_id) for one in report.imported]
    assert [("L007", "L002")] == [(one.lesson.id, one.duplicate_of) for one in report.duplicates]


def test_a_second_import_finds_everything_here(tmp_path: Path) -> None:
    """It changes nothing."""
    path, targets = _source(tmp_path), _targets(tmp_path)
    import_lessons(path, targets, today=TODAY)
    before = targets["project"].file.read_bytes()

    report = import_lessons(path, targets, today=TODAY)

    assert ((), 2) == (report.imported, len(report.duplicates))
    assert before == targets["project"].file.read_bytes()


def test_a_state_folder_gives_lessons_of_all_projects_with_their_counters(tmp_path: Path) -> None:
    """Ids with S go to the store of all projects; counters in a `stats.json` beside the file count."""
    path, targets = _source(tmp_path, "### [S004] Be brief\n> always\n"), _targets(tmp_path)
    stats = {"S004": {"uses": 7, "velocity": 0.5, "last": "2026-02-02"}}
    path.with_name("stats.json").write_text(json.dumps(stats), encoding="utf-8")

    import_lessons(path.parent, {"project": None, "system": targets["system"]}, today=TODAY)

    lesson = targets["system"].find("S004")
    assert (7, 0.5, "2026-02-02") == (lesson.uses, lesson.velocity, lesson.last)


def test_a_projects_lessons_need_a_project(tmp_path: Path) -> None:
    """Outside of any they have no place."""
    path, targets = _source(tmp_path), _targets(tmp_path)

    with pytest.raises(LessonsError, match="--project"):
        import_lessons(path, {"project": None, "system": targets["system"]}, today=TODAY)


def test_a_path_without_lessons_is_an_error(tmp_path: Path) -> None:
    """It names the path."""
    with pytest.raises(LessonsFileError, match="holds none"):
        import_lessons(tmp_path, _targets(tmp_path), today=TODAY)


@pytest.mark.parametrize("is_beside", [False, True], ids=["tombstone", "removed by hand"])
def test_ids_that_were_deleted_there_are_not_used_here(tmp_path: Path, is_beside: bool) -> None:
    """Somebody's notes may name them; a second import changes nothing."""
    deleted = "\n### [L012] Gone\n- **Superseded**: deleted\n> c\n"
    path = _source(tmp_path, f"### [L002] Name branches\n> after issues\n{'' if is_beside else deleted}")
    targets = _targets(tmp_path)
    if is_beside:
        highest = {"meta": {"highest": {"L": 12, "S": 0}}}
        path.with_name("lessons.stats.json").write_text(json.dumps(highest), encoding="utf-8")

    first = import_lessons(path, targets, today=TODAY)
    before = targets["project"].counters.read_bytes()
    import_lessons(path, targets, today=TODAY)

    assert ["L002"] == [one.lesson_id for one in first.imported]
    assert before == targets["project"].counters.read_bytes()
    assert "L013" == getattr(targets["project"].add(Draft("New", "rule"), today=TODAY).lesson, "id", None)


def test_a_source_of_tombstones_alone_reserves_their_ids(tmp_path: Path) -> None:
    """Nothing is imported, and the next lesson has another id."""
    path, targets = _source(tmp_path, "### [L004] Gone\n- **Superseded**: deleted\n> c\n"), _targets(tmp_path)

    report = import_lessons(path, targets, today=TODAY)

    assert ((), ("L004",)) == (report.imported, report.inactive)
    assert "L005" == getattr(targets["project"].add(Draft("New", "rule"), today=TODAY).lesson, "id", None)
