"""Lessons that came where they do not belong: by one word in another sense, or by none (#16)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.records import ids, lesson_file, new_talk

if TYPE_CHECKING:
    from tests.support.records import Talk

TITLES = {
    "Silent hook failures": "Always log errors before returning from hooks, external hooks too. Silent failures make debugging "
    "impossible: the hook of the session start returned early before it logged, and the injecting hook swallowed errors.",
    "Type checks": "always use tox -e typing",
    "Short answers": "Keep answers short, and write no summary at the end.",
    "Consistent state folder": "Take the folder of state files from the reader instead of working it out again.",
    "Two-phase file updates": "Collect the items to change first, then apply updates with fresh reads.",
    "Delimiter conflicts": "Before a character goes into a display format, look whether the parser splits at it.",
    "Tests and HOME": "When tests override HOME, link the manager into the test folder or they fail silently.",
    "Background commands": "Redirect both stdout and stderr of commands that run in the background.",
    "Money in cents": "Amounts are whole cents, never floats.",
    "Migrations": "Never edit a migration that was applied.",
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """A session in a project with ten lessons."""
    lessons = [(f"L{number:03d}", title, text) for number, (title, text) in enumerate(TITLES.items(), 1)]
    return new_talk(tmp_path_factory.mktemp("team"), {".hybrid/LESSONS.md": lesson_file(*lessons)})


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("react useEffect hook fires twice", ""),
        ("fix the tokio runtime shutdown deadlock", ""),
        ("cache the product list", ""),
        ("add a --json flag to the list command", ""),
        ("the chart of monthly sales has no legend", ""),
        ("upgrade the docker base image to debian 13", ""),
        ("our hook returns early when python fails and nobody sees an error in the log", "Silent hook failures"),
        ("should I store the amounts of the invoice as floats or as cents?", "Money in cents"),
        ("may I edit the migration that was applied yesterday?", "Migrations"),
    ],
)
def test_a_task_gets_the_lesson_that_is_meant_for_it(team: Talk, prompt: str, title: str) -> None:
    """One word in another sense, or a lesson that is merely short, is no reason to speak; what fits comes alone."""
    expected = [f"L{list(TITLES).index(title) + 1:03d}"] if title else []

    assert expected == ids(replace(team, session_id=prompt).ask(prompt))
