"""Sessions of work with small talk in between, as hooks tell them: what is remembered of them, and what is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import astuple

from hybrid.records.memory.types import Extracted, Owner, RowFilter, SessionSummary, Summarised
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

TALK = (
    (
        "thanks, that was great work!",
        "You're welcome! Happy to help with anything else in the payment client or elsewhere.",
    ),
    (
        "Write a haiku about autumn rain.",
        "Rain on yellow leaves,\nthe gutter sings all night long,\nmorning smells of earth.",
    ),
    ("What is the capital of France?", "Paris. It has been the capital for most of the time since the tenth century."),
    (
        "how do I center a div",
        "Use flexbox on the parent: `display: flex; justify-content: center; align-items: center;`.",
    ),
    (
        "Danke, das war's für heute, bis morgen!",
        "Gern geschehen! Einen schönen Abend, und bis morgen in alter Frische, wie immer.",
    ),
    ("Which of the planets is the largest, and how many moons does it have?", ""),
)
"""Six prompts of small talk and their answers, all of the length of a sentence or more; the last one has none."""

WORK = (
    (
        "Stop the retry loop of the payment client after some attempts",
        "src/payments/client.py",
        "The loop never ended. It stops after five attempts now.",
    ),
    (
        "Find users by their e-mail address without regard to case",
        "src/users/store.py",
        "`find_by_email` lowers both sides now; old rows are not migrated yet.",
    ),
    (
        "Add jitter to the waiting time before a retry",
        "src/payments/waiting.py",
        "`wait_before_retry` adds up to half a second at random.",
    ),
    (
        "Refuse charges in an unknown currency",
        "src/payments/client.py",
        "`charge` raises `UnknownCurrency` before anything is sent.",
    ),
)
"""Four turns of work: what was asked for, the file that was edited, and the answer."""


def session(talk: Talk, name: str) -> Talk:
    """Another session in the same project."""
    return Talk(talk.root, talk.home, session_id=name, flags=talk.flags, kinds=talk.kinds)


def chat(talk: Talk, name: str, prompt: str, answer: str) -> None:
    """A session of one turn without a use of a tool."""
    one = session(talk, name)
    one.ask(prompt)
    one.stop(answer)
    one.tell("SessionEnd", source="other")


def work(talk: Talk, name: str, prompt: str, path: str, answer: str) -> None:
    """A session of one turn that edits a file."""
    one = session(talk, name)
    one.ask(prompt)
    given = {"file_path": str(talk.root / path), "old_string": "pass", "new_string": f"raise ValueError({answer!r})"}
    one.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={"filePath": path})
    one.stop(answer)
    one.tell("SessionEnd", source="other")


def summaries(talk: Talk) -> list[str]:
    """The requests of all summaries, oldest first."""
    rows = talk.kinds.stores.memory(talk.workspace()).newest(RowFilter(kinds=("summary",)), 100)
    return [row.told.request for row in reversed(rows) if isinstance(row, SessionSummary)]


def given(talk: Talk, name: str, prompt: str) -> str:
    """What a new session gets of the memory for a prompt, with everything else."""
    return session(talk, name).ask(prompt).text


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """The payments project, indexed, without records."""
    return new_talk(tmp_path, {}, is_indexed=True, memory_batch_window_ms=0)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Four sessions of work, and six of small talk before, between and after them; tests ask in sessions of their own."""
    talk = new_talk(tmp_path_factory.mktemp("week"), {}, is_indexed=True, memory_batch_window_ms=0)
    chat(talk, "t0", *TALK[0])
    for number, one in enumerate(WORK):
        work(talk, f"w{number}", *one)
        chat(talk, f"t{number + 1}", *TALK[number + 1])
    chat(talk, "t5", *TALK[5])
    return talk


def test_small_talk_leaves_no_summary(week: Talk) -> None:
    """Neither thanks nor a haiku, in whatever language, nor a question of common knowledge, however long its answer."""
    assert [asked for asked, _, _ in WORK] == summaries(week)


def test_the_last_session_is_the_last_that_did_something(week: Talk) -> None:
    """Small talk after it changes nothing; the two last summaries come, the newest first, each with its own text."""
    text = given(week, "later", "what happened in the last session?")
    shown = [line for line in text.split("\n") if line.startswith("[memory]")]

    assert [WORK[3][0], WORK[2][0]] == [line.split(" summary ")[1].partition(" (")[0] for line in shown]
    assert text.index(WORK[3][0]) < text.index("UnknownCurrency") < text.index(WORK[2][0]) < text.index("at random")


@pytest.mark.parametrize(
    ("prompt", "number"),
    [
        ("continue where we left off with the retry loop", 0),
        ("what did we do about e-mail addresses?", 1),
        ("What did we change last time in the jitter of the waiting time?", 2),
        ("continue where we left off with unknown currencies", 3),
    ],
)
def test_a_topic_finds_its_own(week: Talk, prompt: str, number: int) -> None:
    """A prompt about earlier work that names a topic is a search, whatever was done last."""
    text = given(week, f"about {number}", prompt)
    first = next(line for line in text.split("\n") if line.startswith("[memory]"))
    told = [line for line in text.split("\n") if WORK[number][0] in line or WORK[number][1].rpartition("/")[2] in line]

    assert first in told


def test_a_topic_of_no_session_finds_nothing(week: Talk) -> None:
    """What was done last is no answer to a question about something else."""
    text = given(week, "elsewhere", "what did we do about the wedding cake and the invitations?")

    assert "[memory]" not in text


@pytest.mark.parametrize(
    "prompt",
    [
        "what happened in the last session?",
        "what did we do about the capital of France?",
        "did we center a div last week?",
    ],
)
def test_small_talk_of_earlier_times_is_not_given(talk: Talk, prompt: str) -> None:
    """A memory that holds it from before keeps it, and neither a prompt nor the start of a session gets it."""
    store, key = talk.kinds.stores.memory(talk.workspace()), talk.workspace().require_project().key
    work(talk, "w", *WORK[0])
    for number, (asked, answer) in enumerate(TALK):
        owner = Owner(f"old{number}", key, "shop")
        store.add_prompt(owner, asked, 1_900_000_000_000 + number)
        store.add_summary(owner, Summarised(request=asked, completed=answer or "Done."), 1_900_000_000_000 + number)
    text = given(talk, "later", prompt)
    start = session(talk, "start").start("startup").text

    assert 7 == len(summaries(talk))
    assert not [asked for asked, _ in TALK if asked in text]
    assert WORK[0][0] in start
    assert (WORK[0][0] in text) == ("happened" in prompt)
    assert TALK[1][0] not in start.partition("hybrid memory show")[0].partition(WORK[0][0])[0]


def test_an_answer_about_the_project_is_a_summary_without_a_tool(talk: Talk) -> None:
    """A finding from the given context is worth keeping; a short answer and a question back are not."""
    found = "`retry` sends again after a timeout alone; any other error of the provider ends the charge at once."
    one = session(talk, "asked")
    assert one.ask("When does PaymentClient.retry send a request again?").text
    one.stop(found)
    chat(talk, "short", "Is PaymentFailed raised by PaymentClient.retry?", "Yes.")
    chat(
        talk,
        "named",
        "How are refunds to be made?",
        "First README.md gets a section on refunds, then the client learns to make them.",
    )
    chat(talk, "back", "where did we stop last time with PaymentClient.retry?", f"Last time we found that {found}")

    assert ["When does PaymentClient.retry send a request again?", "How are refunds to be made?"] == summaries(talk)


@pytest.mark.parametrize(
    "answer",
    [
        "`charge` in src/payments/client.py reads the key of the sandbox, even at night. I did not fix it yet.",
        " ".join(f"Step {n} in src/payments/client.py hands its charge to the next one." for n in range(12)),
    ],
    ids=["short, half of it to do", "long, of plain statements"],
)
def test_an_answer_whose_sentences_fit_no_field_is_remembered(talk: Talk, answer: str) -> None:
    """It was dropped as small talk, since its summary had none of it."""
    chat(talk, "asked", "Which key does a charge use at night?", answer)

    assert ["Which key does a charge use at night?"] == summaries(talk)
    assert answer[:60] in given(talk, "later", "what happened in the last session?")


def test_facts_that_were_written_down_are_given(talk: Talk) -> None:
    """Not only who noted them."""
    key = talk.workspace().require_project().key
    told = Extracted(
        "discovery", "Tests of the payment client need a sandbox", "noted by claude", facts=("set SANDBOX_URL=local",)
    )
    talk.kinds.stores.memory(talk.workspace()).add_observation(Owner("old", key, "shop"), told, 1_780_000_000_000)

    assert "set SANDBOX_URL=local" in given(talk, "later", "what did we find out about tests of the payment client?")


def test_small_talk_within_a_session_is_no_part_of_its_summary(talk: Talk) -> None:
    """One summary tells of the session's work, whatever was said between and after it."""
    one = session(talk, "day")
    for number, (prompt, path, answer) in enumerate(WORK[:2]):
        one.ask(TALK[number][0])
        one.stop(TALK[number][1])
        one.ask(prompt)
        given = {"file_path": str(talk.root / path), "old_string": "pass", "new_string": f"x = {number}"}
        one.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={"filePath": path})
        one.stop(answer)
    one.ask(TALK[5][0])
    one.stop(TALK[5][1])

    [row] = talk.kinds.stores.memory(talk.workspace()).newest(RowFilter(kinds=("summary",)), 9)
    assert isinstance(row, SessionSummary)
    assert f"{WORK[0][0]}; then: {WORK[1][0]}" == row.told.request
    assert f"{WORK[0][2]} {WORK[1][2].partition(';')[0]}" in row.told.learned
    assert row.told.completed.startswith("Changed payments/client.py, users/store.py.")
    assert "old rows are not migrated yet." == row.told.next_steps
    told = " ".join(astuple(row.told))
    assert not [word for asked in TALK for word in asked if word and word in told]


def test_the_failures_of_a_turn_are_listed_first(talk: Talk) -> None:
    """At the start of the next session; other rows stand newest first, and one that says the same once."""
    one = session(talk, "day")
    one.ask(WORK[0][0])
    for code in (1, 0, 0):
        failed = "Exit code 1\n1 failed, 2 passed in 0.1s" if code else ""
        response = None if code else {"stdout": "3 passed in 0.1s"}
        given = {"command": "pytest -q"}
        one.tell("PostToolUse", tool="Bash", tool_input=given, tool_response=response, error=failed)
        one.tell("PostToolUse", tool="Write", tool_input={"file_path": "new.py", "content": "x = 1"})
    one.stop(WORK[0][2])
    lines = [line.strip() for line in session(talk, "next").start("startup").text.split("\n")]
    listed = [line.partition(" `")[2] for line in lines if " Run `" in line]

    assert ["pytest -q` → 1 failed, 2 passed", "pytest -q` → 3 passed"] == [line.partition(" (~")[0] for line in listed]
