"""The real Claude Code, without a screen, with hooks written by our installer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.desk import ANSWER, OTHER_ANSWER, OTHER_QUESTION, QUESTION
from tests.clients.mock_api import Called, Rule, Said
from tests.clients.seat import hook_answers

if TYPE_CHECKING:
    from tests.clients.conftest import OpenSeat

pytestmark = [pytest.mark.clients, pytest.mark.slow]

OLDER_MODEL = "claude-sonnet-4-5"
DELEGATE = "Let a helper of yours find out what happens when a deployment goes wrong."
TASK = "SUBTASK: say what to do after a deployment that went wrong."
REPORT = "To roll back a release, point the load balancer at the previous image and run the down migrations."

WRITE = "Write down in the documents how a customer is refunded."
REFUNDS = "# Refunds\n\nTo refund a customer, open the receipt of the charge and press the refund button twice.\n"
REFUND_QUESTION = "How do I refund a customer who was charged twice, starting from the receipt?"


# Newer models get the text as a message of the system, older ones as part of the user's.
@pytest.mark.parametrize(
    ("scope", "model"),
    [("project", ""), ("project", OLDER_MODEL), ("user", ""), ("local", OLDER_MODEL)],
    ids=["project-default-model", "project-sonnet-4-5", "user-default-model", "local-sonnet-4-5"],
)
def test_answer_reaches_the_model_once(open_seat: OpenSeat, scope: str, model: str) -> None:
    """The first request holds the chunk that answers the prompt; the same question again adds none to it."""
    seat = open_seat("claude", model=model)
    seat.install(scope=scope)

    talk = seat.talk(QUESTION, QUESTION)

    assert [1, 1] == seat.given(QUESTION, ANSWER)
    assert 2 == len(hook_answers(talk, "UserPromptSubmit"))


def test_other_question_gets_its_own_answer(open_seat: OpenSeat) -> None:
    """Each question of a session gets the chunk it asks for, and the earlier one stays in the history."""
    seat = open_seat("claude")
    seat.install()

    seat.talk(QUESTION, OTHER_QUESTION)

    assert [1] == seat.given(OTHER_QUESTION, ANSWER)
    assert [1] == seat.given(OTHER_QUESTION, OTHER_ANSWER)


def test_after_compaction_the_answer_is_given_again(open_seat: OpenSeat) -> None:
    """A compaction drops what was injected, so the same question brings it back."""
    seat = open_seat("claude")
    seat.install()

    seat.talk(QUESTION, "/compact", QUESTION)

    last = seat.api.asked(QUESTION)[-1]
    assert "<command-name>/compact</command-name>" in "".join(message.text for message in last.messages)
    assert any(ANSWER in frame for frame in last.frames)


def test_after_clear_the_answer_is_given_again(open_seat: OpenSeat) -> None:
    """A cleared conversation is a new one."""
    seat = open_seat("claude")
    seat.install()

    seat.talk(QUESTION, "/clear", QUESTION)

    assert [1, 1] == seat.given(QUESTION, ANSWER)


def test_report_of_a_subagent_gets_what_fits_it(open_seat: OpenSeat) -> None:
    """The agent that reads a subagent's report gets the chunk that the report is about, once; the subagent goes on alone."""
    seat = open_seat("claude")
    seat.install()
    arguments = {
        "description": "look at deployments",
        "prompt": TASK,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    seat.api.rules = (Rule(TASK, Said(REPORT)), Rule(DELEGATE, Called("Agent", arguments)))

    seat.talk(DELEGATE)

    parent = [request for request in seat.api.asked(REPORT) if request.newest.role == "tool"]
    assert [1] == [sum(OTHER_ANSWER in frame for frame in request.frames) for request in parent]
    subagent = [request for request in seat.api.requests if TASK in request.newest.text]
    assert 1 == len(subagent)


def test_file_that_the_agent_writes_is_found(open_seat: OpenSeat) -> None:
    """What the agent wrote into a new file answers a question some seconds later."""
    seat = open_seat("claude")
    seat.install()
    path = seat.desk.project / "docs" / "refunds.md"
    seat.api.rules = (Rule(WRITE, Called("Write", {"file_path": str(path), "content": REFUNDS})),)

    seat.talk(WRITE)
    seat.desk.wait_until_found("refund a customer", "docs/refunds.md")
    seat.talk(REFUND_QUESTION)

    assert [1] == seat.given(REFUND_QUESTION, "[doc] docs/refunds.md:")


def test_disabled_hybrid_is_silent(open_seat: OpenSeat) -> None:
    """`HYBRID_DISABLE=1` in the client's environment switches everything off."""
    seat = open_seat("claude")
    seat.install()

    seat.talk(QUESTION, HYBRID_DISABLE="1")

    assert [[]] == [request.frames for request in seat.api.asked(QUESTION)]


@pytest.mark.parametrize("scope", ["project", "user", "local"])
def test_uninstalled_leaves_nothing(open_seat: OpenSeat, scope: str) -> None:
    """After install, a conversation and uninstall every file of the project is as it was, and no hook is left."""
    seat = open_seat("claude")
    before = seat.desk.files()
    seat.install(scope=scope)
    seat.talk(QUESTION)
    seat.uninstall(scope=scope)

    seat.api.requests.clear()
    talk = seat.talk(QUESTION)

    assert before == seat.desk.files()
    assert {} == seat.settings_texts()
    assert ([], [[]]) == (hook_answers(talk), [request.frames for request in seat.api.asked(QUESTION)])


def test_colleague_without_hybrid_sees_nothing(open_seat: OpenSeat) -> None:
    """Hooks of a shared project are silent where `hybrid` is not installed."""
    seat = open_seat("claude")
    seat.install()

    talk = seat.talk(QUESTION, PATH="/usr/local/bin:/usr/bin:/bin")

    assert [""] == [answer["output"] for answer in hook_answers(talk, "UserPromptSubmit")]
