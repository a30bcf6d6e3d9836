from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.prompting.content import paths
from hybrid.prompting.project_questions import files_that_answer, may_answer, said_beside, terms_of, topic_of
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case

PATHS = (
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
    "package.json",
    ".github/workflows/ci.yml",
    "docs/release-process.rst",
    "LICENSE",
    "src/readme.py",
    "packages/shop/README.md",
    "tests/data/Makefile",
)


@cases("prompting/project_questions.txt")
def test_a_question_about_the_project_has_a_topic(case: Case) -> None:
    """By the form of the question and its words, in many wordings."""
    assert case.expected == topic_of(case.text)


@cases("prompting/no_project_questions.txt")
def test_other_prompts_have_none(case: Case) -> None:
    """Turns, tasks, questions about code that tests, builds, runs or releases something, and about the world."""
    assert "" == topic_of(case.text)


@cases("prompting/said_beside.txt")
def test_a_prompt_about_a_file_as_a_whole_says_nothing_beside_it(case: Case) -> None:
    """Its words are those of tasks and questions about any file."""
    assert case.expected.split() == sorted(said_beside(case.text, paths(case.text)))


def test_a_long_prompt_has_none() -> None:
    """It says itself what it is about."""
    assert "" == topic_of("how do I run the tests here?" + " please" * 40)


def test_files_at_the_top_may_answer() -> None:
    """Those of the project, its pages and its workflows; not those of a package, of sources or of tests."""
    assert PATHS[:7] == tuple(filter(may_answer, PATHS))


@pytest.mark.parametrize(
    ("topic", "holding", "expected"),
    [
        ("tests", PATHS[:4], ["CONTRIBUTING.md", "Makefile", "README.md", "package.json"]),
        ("tests", (), []),
        ("release", (), ["docs/release-process.rst"]),
        ("ci", (), [".github/workflows/ci.yml"]),
        ("licence", ("README.md",), ["LICENSE", "README.md"]),
        ("overview", (), ["README.md"]),
    ],
)
def test_files_that_have_a_word_of_the_topic_answer(topic: str, holding: tuple[str, ...], expected: list[str]) -> None:
    """The likeliest first; a file that is about the topic by its name answers without."""
    paths = dict(enumerate(filter(may_answer, PATHS)))
    found = files_that_answer(topic, paths, {number for number, path in paths.items() if path in holding})
    best = sorted(found, key=lambda number: (-found[number], paths[number]))

    assert expected == [paths[number] for number in best]


def test_the_terms_of_a_topic_are_those_of_an_index() -> None:
    """Stems, as chunks are indexed by; what the project is says no word for sure."""
    assert {"test", "spec", "check"} == terms_of("tests")
    assert frozenset() == terms_of("overview")
