"""The judged record sets in `lab/data/records`: they parse, their gold exists, and their halves are balanced."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.records.lessons.store import LessonStore
from hybrid.records.lore.store import LoreFolder, LoreShelf, LoreStore
from hybrid.records.lore.types import ProjectNames
from hybrid_lab.records.report import read_record_prompts
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from hybrid.records.lessons.store import Lessons

SETS = CHECKOUT / "lab" / "data" / "records"
PROJECTS = ("larkshop", "tillbridge", "voltkeel")
OTHER_TASKS = SETS / "other_tasks.jsonl"
SIZES = {"fits": 40, "none_same_project": 40, "none_other": 30, "none_talk": 10}


def lines_of(file: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def prompts_of(project: str) -> list[dict[str, Any]]:
    """The judged prompts of a project."""
    return lines_of(SETS / project / "prompts.jsonl")


def background_of(project: str) -> dict[str, list[str]]:
    """The texts that lie around in a project."""
    return json.loads((SETS / project / "background.json").read_text(encoding="utf-8"))


def lessons_of(project: str, scratch: Path) -> Lessons:
    """The lessons of a project; the counters would lie in the scratch folder."""
    file, counters = SETS / project / "LESSONS.md", scratch / "lessons.stats.json"
    return LessonStore(file, counters, level="project", keeps_inline=False).read()


def lore_of(project: str) -> LoreShelf:
    """The lore of a project."""
    return LoreShelf([LoreStore(LoreFolder(SETS / project / "lore", "project"))])


@pytest.mark.parametrize("project", PROJECTS)
def test_every_record_is_read_as_it_was_meant(project: str, tmp_path: Path) -> None:
    """The product's own stores find no problem, 20 lessons and 30 records of lore that may be given."""
    lessons, shelf = lessons_of(project, tmp_path), lore_of(project)
    (lore,) = shelf.read()

    assert ((), ()) == (lessons.problems, lore.problems)
    assert (20, 30) == (len(lessons.active), len(shelf.records(ProjectNames(project))))
    assert 2 == len(lore.handoffs)


@pytest.mark.parametrize("project", PROJECTS)
def test_every_gold_id_is_a_record_that_may_be_given(project: str, tmp_path: Path) -> None:
    """A prompt that fits names records that can be given; the others name none."""
    given = {lesson.id for lesson in lessons_of(project, tmp_path).active}
    given |= {record.id for record in lore_of(project).records(ProjectNames(project))}
    prompts = prompts_of(project)

    assert set() == {gold for prompt in prompts for gold in prompt["gold"]} - given
    assert all(bool(prompt["gold"]) is (prompt["kind"] == "fits") for prompt in prompts)
    assert all(len(prompt["gold"]) == len(set(prompt["gold"])) for prompt in prompts)


@pytest.mark.parametrize("project", PROJECTS)
def test_kinds_and_halves_are_balanced(project: str) -> None:
    """Each kind of prompt has its size, and each kind and way of fitting is halved."""
    prompts = prompts_of(project)
    halves = Counter((prompt["kind"], prompt["how"], prompt["half"]) for prompt in prompts)
    ways = {("fits", "meaning"): 10, ("fits", "words"): 5, ("fits", "mixed"): 5}
    ways |= {(kind, "none"): size // 2 for kind, size in SIZES.items() if kind != "fits"}

    assert SIZES == Counter(prompt["kind"] for prompt in prompts)
    assert {(*way, half): size for way, size in ways.items() for half in ("dev", "kept")} == halves


def test_tasks_of_other_kinds_fit_nothing() -> None:
    """The 35 tasks for any collection name no record, and both halves hold some."""
    tasks = lines_of(OTHER_TASKS)

    assert [("any", [], "none_other")] * 35 == [(task["set"], task["gold"], task["kind"]) for task in tasks]
    assert {"dev": 18, "kept": 17} == Counter(task["half"] for task in tasks)


@pytest.mark.parametrize(
    "file", [*(SETS / name / "prompts.jsonl" for name in PROJECTS), OTHER_TASKS], ids=[*PROJECTS, "other"]
)
def test_the_command_reads_every_line(file: Path) -> None:
    """`hybrid eval records` takes each file as it is; the further fields do not disturb it."""
    assert [line["id"] for line in lines_of(file)] == [prompt.id for prompt in read_record_prompts(file)]


def test_no_text_stands_twice() -> None:
    """No prompt of any set is another one, and no text of a background is a prompt of its project."""
    files = [*(SETS / name / "prompts.jsonl" for name in PROJECTS), OTHER_TASKS]
    texts = [line["prompt"].casefold() for file in files for line in lines_of(file)]
    ids = [line["id"] for file in files for line in lines_of(file)]

    assert [] == [text for text, n in Counter(texts).items() if n > 1]
    assert [] == [name for name, n in Counter(ids).items() if n > 1]
    for project in PROJECTS:
        around = [text.casefold() for part in background_of(project).values() for text in part]

        assert [] == [text for text, n in Counter(around).items() if n > 1]
        assert set() == set(around) & {prompt["prompt"].casefold() for prompt in prompts_of(project)}


@pytest.mark.parametrize("project", PROJECTS)
def test_the_background_has_its_parts(project: str) -> None:
    """About 150 commits, of which ten speak of what a record speaks of, 60 headings and 60 prompts."""
    sizes = {name: len(texts) for name, texts in background_of(project).items()}

    assert 145 <= sizes.pop("commits") + sizes.pop("commits_near_records") <= 155
    assert {"headings": 60, "prompts": 60} == sizes


def test_the_sets_stay_small() -> None:
    """They are part of the sdist, so together they stay under 400,000 bytes."""
    assert sum(file.stat().st_size for file in SETS.rglob("*") if file.is_file()) < 400_000
