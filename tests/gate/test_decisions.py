"""The whole decision over an invented project: what fits opens however it is wrapped, what does not stays silent."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.answer.decide import Turn, decide
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import prompt_event
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import open_workspace
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.answer.decide import Decision
    from tests.support.cases import Case

PROJECT = Path(__file__).parents[1] / "fixtures" / "gate" / "project"
REQUESTS = (
    "add a max delay setting to the exponential backoff of the carrier client",
    "the circuit breaker never closes again after a carrier time-out",
    "how does the rate limit refill the token bucket of a shop?",
    "which postcodes count as islands for the surcharge?",
    "verify the webhook signature before the payload is parsed",
)
"""Requests to the project that open the gate alone."""

NOT_FOUND = {
    "teh geocoder asks": "three of its words are slips, and the model knows none of them",
    "A customer wrote this morning": "most of it is a letter, and its question has common words: hour, expected, day",
    "Bonjour, désolé": "half of its words are politeness; it misses the bar of talk by 0.01",
}
OWNED = (
    "what does my geocoder do",
    "how does your scanner work here",
    "explain my tariff to me please",
    "why is my scanner not doing anything",
)
OF_PROJECT = {
    "CONTRIBUTING.md": "# Contributing\n\nFork, branch, open a pull request.\n\n## Development environment\n\n"
    "Install Python, then `pip install -e .[dev]`.\n\n## Running the tests\n\n`make check` runs pytest over all tests.\n",
    "Makefile": "check:\n\tpytest\n\ndocs:\n\tmkdocs build\n",
    "LICENSE": "MIT License\n\nPermission is hereby granted, free of charge, to any person.\n",
    "pyproject.toml": '[project]\nname = "parceltrail"\nrequires-python = ">=3.10"\n',
    ".github/workflows/checks.yml": "on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n",
}
"""Path → text of the files that say something about the project itself."""
NOT_TOLD_APART = {"the reverb plugin": "its sample rate and delay lines read like the rates and delays of this project"}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Decision]:
    """Asks the indexed project with the shipped model and the shipped settings, each time in a new session."""
    return asking(tmp_path_factory, {})


@pytest.fixture(scope="module")
def ask_with_pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Decision]:
    """The same, where files tell of the project itself."""
    return asking(tmp_path_factory, OF_PROJECT)


def asking(tmp_path_factory: pytest.TempPathFactory, more: Mapping[str, str]) -> Callable[[str], Decision]:
    """Index the project, with more files of the given texts, and return what asks it."""
    root, home = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("home")
    shutil.copytree(PROJECT, root, dirs_exist_ok=True)
    for path, text in more.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / ".hybrid").mkdir()
    workspace = open_workspace(root, environ={"HYBRID_HOME": str(home)}, user_home=home / "user")
    reindex(workspace)
    kinds = OpenKinds({})

    def decision(prompt: str) -> Decision:
        event = prompt_event("claude", prompt[:40], str(root), prompt)
        return decide(Turn(workspace, event, kinds, {}))

    return decision


def prompts(file: str, known: dict[str, str]) -> pytest.MarkDecorator:
    """Give a test each prompt of a file; what the shipped model does not manage yet is expected to fail, by its beginning."""
    rows = []
    for case in read(file):
        marks = [
            pytest.mark.xfail(reason=why, strict=True) for begin, why in known.items() if case.text.startswith(begin)
        ]
        rows.append(pytest.param(case.text, marks=marks, id=case.text[:40]))
    return pytest.mark.parametrize("prompt", rows)


@prompts("gate/fitting.txt", NOT_FOUND)
def test_a_fitting_prompt_opens(ask: Callable[[str], Decision], prompt: str):
    """Whatever is said around it."""
    decision = ask(prompt)

    assert decision.is_injected, (decision.reason, decision.verdict)


@prompts("gate/unfitting.txt", NOT_TOLD_APART)
def test_an_unfitting_prompt_stays_silent(ask: Callable[[str], Decision], prompt: str):
    """However long it is, and whatever words it shares with the project."""
    decision = ask(prompt)

    assert not decision.is_injected, (decision.verdict, [item.hit.path for item in decision.items])


@pytest.mark.parametrize("prompt", OWNED)
def test_a_part_of_the_project_is_found_whoever_owns_it(ask: Callable[[str], Decision], prompt: str):
    """People say `my` and `your` of the code they work on: that is the same question as one about `the` scanner."""
    plain = ask(re.sub(r"\b(my|your)\b", "the", prompt))
    decision = ask(prompt)

    assert plain.is_injected, (plain.reason, plain.verdict)
    assert decision.is_injected, (decision.reason, decision.verdict)


@cases("gate/wrappings.txt")
def test_what_opens_alone_opens_in_any_wrapping(ask: Callable[[str], Decision], case: Case):
    """Politeness, greetings, deadlines, wishes about style and stories silence nothing."""
    silenced = [request for request in REQUESTS if not ask(case.text.format(request)).is_injected]

    assert all(ask(request).is_injected for request in REQUESTS)
    assert [] == silenced


def test_a_story_is_left_out_of_the_search(ask: Callable[[str], Decision]):
    """What opened the gate is what is searched for."""
    (story,) = (case.text for case in read("gate/wrappings.txt") if case.name == "story")
    alone, wrapped = ask(REQUESTS[0]), ask(story.format(REQUESTS[0]))

    assert alone.searched is not None
    assert wrapped.searched is not None
    assert wrapped.searched.hits[0].path == alone.searched.hits[0].path


@cases("gate/project.txt")
def test_a_question_about_the_project_opens_the_file_that_answers(
    ask_with_pages: Callable[[str], Decision], case: Case
) -> None:
    """That file is the first."""
    decision = ask_with_pages(case.text)

    assert [case.expected] == [item.hit.path for item in decision.items[:1]]


def test_a_question_that_no_file_answers_stays_silent(
    ask: Callable[[str], Decision], ask_with_pages: Callable[[str], Decision]
) -> None:
    """A page on something else is no answer."""
    assert not ask_with_pages("what is the release process?").is_injected
    assert not ask("how do I run the tests here?").is_injected
    assert not ask("what is the licence of this project?").is_injected


@prompts("gate/unfitting.txt", NOT_TOLD_APART)
def test_pages_of_the_project_open_nothing_else(ask_with_pages: Callable[[str], Decision], prompt: str) -> None:
    """What is no question about the project stays silent."""
    assert not ask_with_pages(prompt).is_injected
