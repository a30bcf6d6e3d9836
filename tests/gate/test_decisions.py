"""The whole decision over an invented project: what fits opens however it is wrapped, what does not stays silent."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from hybrid.answer.decide import decide
from hybrid.answer.turn import Turn
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.types import HookEvent
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import open_workspace
from tests.gate.prompts import FITTING, PROJECT, UNFITTING
from tests.gate.wrappings import REQUESTS, WRAPPINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.answer.turn import Decision

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
NOT_TOLD_APART = {"the reverb plugin": "its sample rate and delay lines read like the rates and delays of this project"}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Decision]:
    """Asks the indexed project with the shipped model and the shipped settings, each time in a new session."""
    root, home = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("home")
    shutil.copytree(PROJECT, root, dirs_exist_ok=True)
    (root / ".hybrid").mkdir()
    workspace = open_workspace(root, environ={"HYBRID_HOME": str(home)}, user_home=home / "user")
    reindex(workspace)
    kinds = OpenKinds({})

    def decision(prompt: str) -> Decision:
        event = HookEvent("claude", "UserPromptSubmit", prompt[:40], "", str(root), prompt)
        return decide(Turn(workspace, event, kinds, {}))

    return decision


def expected_to_fail(text: str, known: dict[str, str]) -> list[pytest.MarkDecorator]:
    """What the shipped model does not manage yet, by name: when it learns it, the test says so."""
    return [pytest.mark.xfail(reason=why, strict=True) for begin, why in known.items() if text.startswith(begin)]


@pytest.mark.parametrize(
    "prompt", [pytest.param(text, marks=expected_to_fail(text, NOT_FOUND), id=text[:40]) for text, _ in FITTING]
)
def test_a_fitting_prompt_opens(ask: Callable[[str], Decision], prompt: str):
    """Whatever is said around it."""
    decision = ask(prompt)

    assert decision.is_injected, (decision.reason, decision.verdict)


@pytest.mark.parametrize(
    "prompt", [pytest.param(text, marks=expected_to_fail(text, NOT_TOLD_APART), id=text[:40]) for text in UNFITTING]
)
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


@pytest.mark.parametrize(("name", "wrapping"), WRAPPINGS.items(), ids=list(WRAPPINGS))
def test_what_opens_alone_opens_in_any_wrapping(ask: Callable[[str], Decision], name: str, wrapping: str):
    """Politeness, greetings, deadlines, wishes about style and stories silence nothing."""
    silenced = [request for request in REQUESTS if not ask(wrapping.format(request)).is_injected]

    assert all(ask(request).is_injected for request in REQUESTS)
    assert silenced == [], name


def test_a_story_is_left_out_of_the_search(ask: Callable[[str], Decision]):
    """What opened the gate is what is searched for."""
    alone, wrapped = ask(REQUESTS[0]), ask(WRAPPINGS["story"].format(REQUESTS[0]))

    assert alone.searched is not None
    assert wrapped.searched is not None
    assert wrapped.searched.hits[0].path == alone.searched.hits[0].path
