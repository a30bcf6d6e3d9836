from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid.answer.at_file import CHARS
from hybrid.workspace import session_key
from tests.support.builders import write_files
from tests.support.records import Talk, lesson_file, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.events import Reply

CLIENT, STORE = "src/payments/client.py", "src/payments/store.py"
LESSONS = lesson_file(
    ("L001", "Retries live in src/payments/client.py", "Only idempotent requests may be tried again."),
    ("L002", "Git commit format", "Use type(scope): description."),
)


def read(talk: Talk, path: str, **fields: Any) -> Reply:
    """What an agent gets with the result of reading a file."""
    text = (talk.root / path).read_text(encoding="utf-8") if (talk.root / path).is_file() else ""
    given = {"tool": "Read", "tool_input": {"file_path": str(talk.root / path)}, "tool_response": text}
    return talk.tell("PostToolUse", **given | fields)


def edit(talk: Talk, path: str) -> Reply:
    """What an agent gets with the result of an edit."""
    arguments = {"file_path": str(talk.root / path), "old_string": "a", "new_string": "b"}
    return talk.tell("PostToolUse", tool="Edit", tool_input=arguments, tool_response="The file has been updated.")


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A session in the payments project with two lessons, of which one names a file."""
    return new_talk(tmp_path, {".hybrid/LESSONS.md": LESSONS}, is_indexed=True)


def test_a_file_that_is_read_brings_the_records_that_name_it(talk: Talk) -> None:
    """The record comes with its text, once a session; another file brings nothing."""
    assert not read(talk, "README.md").text

    reply = read(talk, CLIENT)
    assert ["L001"] == [item.hit.path for item in reply.decision.items]
    assert "Only idempotent requests may be tried again." in reply.text
    assert "Git commit format" not in reply.text

    assert not read(talk, CLIENT).text
    assert ["at_file"] == [line["reason"] for line in talk.log()]


def test_a_record_that_the_prompt_brought_is_not_repeated(talk: Talk) -> None:
    """What the session has does not come again with the file, until its context is cleared."""
    assert "L001" in talk.ask("May every request of the payment client be tried again?").text
    assert not read(talk, CLIENT).text

    talk.start("clear", flags={"lessons_session_start": 0})
    assert "L001" in read(talk, CLIENT).text


def test_a_subagent_is_told_too(talk: Talk) -> None:
    """A subagent knows nothing of what its session was given."""
    assert read(talk, CLIENT).text

    assert "L001" in read(Talk(talk.root, talk.home, agent_id="a1", kinds=talk.kinds), CLIENT).text


SHORT, LONG = "Only here.", "Only here. " + "It was so from the beginning and will stay so. " * 40


@pytest.mark.parametrize(
    ("title", "content", "is_given"),
    [
        pytest.param("Where retries are", f"`PaymentFailed` ends them. {SHORT}", True, id="a symbol defined there"),
        pytest.param("Where retries are", f"See client.py. {SHORT}", True, id="the name of the file alone"),
        pytest.param("Where users are", f"`UserStore` keeps them. {SHORT}", False, id="a symbol of another file"),
        pytest.param("Where retries are", f"`retry_forever` in {CLIENT}. {SHORT}", False, id="a symbol that is gone"),
        pytest.param("How it was", f"`retry_forever` was in {CLIENT}, now gone. {SHORT}", True, id="tells of the past"),
        pytest.param("Where users are", f"Plain words. {SHORT}", False, id="no name"),
        pytest.param("Where retries are", f"See {CLIENT}. {LONG}", True, id="longer than its room"),
    ],
)
def test_a_record_is_about_a_file_by_what_it_names(tmp_path: Path, title: str, content: str, is_given: bool) -> None:
    """It names the file, or what that alone defines, and what it marks as code is there; it comes with its text."""
    records = {".hybrid/LESSONS.md": lesson_file(("L001", title, content))}
    reply = read(new_talk(tmp_path, records, is_indexed=True), CLIENT)

    assert is_given == bool(reply.text)
    assert is_given == (SHORT.rstrip(".") in reply.text)
    assert len(reply.text) < CHARS + 200


def test_two_records_come_at_a_time(tmp_path: Path) -> None:
    """The surest first, those whose title names the file; the others with later uses."""
    lessons = [("L001", "Receipts", f"`PaymentClient` of {CLIENT} gives them back.")]
    lessons += [(f"L00{n}", f"Rule {n} of {CLIENT}", f"Keep rule {n} in mind.") for n in range(2, 6)]
    talk = new_talk(tmp_path, {".hybrid/LESSONS.md": lesson_file(*lessons)}, is_indexed=True)

    given = [[item.hit.path for item in read(talk, CLIENT).decision.items] for _ in range(4)]
    assert [["L002", "L003"], ["L004", "L005"], ["L001"], []] == given


@pytest.mark.parametrize(
    ("fields", "is_given"),
    [
        pytest.param({"tool": "Bash", "tool_input": {"command": f"sed -n 1,9p {CLIENT}"}}, True, id="a shell reads"),
        pytest.param({"tool": "Bash", "tool_input": {"command": "ls src"}}, False, id="a shell lists"),
        pytest.param({"error": "File does not exist."}, False, id="a read failed"),
        pytest.param(
            {"tool": "Grep", "tool_input": {"pattern": "retry"}, "tool_response": f"{CLIENT}:17:    def retry(self"},
            True,
            id="a search found it",
        ),
        pytest.param(
            {
                "tool": "Grep",
                "tool_input": {"pattern": "a"},
                "tool_response": "\n".join([f"{CLIENT}:1:a", *(f"src/a{n}.py:1:a" for n in range(9))]),
            },
            False,
            id="one of many that a search found",
        ),
    ],
)
def test_what_counts_as_opened(talk: Talk, fields: dict[str, Any], is_given: bool) -> None:
    """Reads by any tool, edits, and searches that found few files."""
    assert is_given == bool(read(talk, CLIENT, **fields).text)


TESTED = {
    "src/payments/client.py": "class PaymentClient: ...\n",
    "src/users/client.py": "class UserClient: ...\n",
    "tests/payments/test_client.py": "def test_it(): ...\n",
    "tests/users/test_client.py": "def test_it(): ...\n",
}


def test_the_first_edit_of_a_file_brings_its_tests(tmp_path: Path) -> None:
    """Those that are called as it is, from the folder that is called as its own; once a session."""
    talk = new_talk(tmp_path, {}, code=TESTED, is_indexed=True)

    assert not read(talk, CLIENT).text
    assert "[tests] tests/payments/test_client.py (of src/payments/client.py)" in edit(talk, CLIENT).text
    assert not edit(talk, CLIENT).text
    assert not edit(talk, "tests/users/test_client.py").text


@pytest.mark.parametrize("name", ["hooks_at_file", "lessons_enabled"])
def test_it_can_be_switched_off(talk: Talk, name: str) -> None:
    """By its own setting, and with its kind."""
    assert not read(talk, CLIENT, flags={name: False}).text


def test_nothing_waits_for_a_hook_of_the_same_session(talk: Talk) -> None:
    """While another hook holds the ledger, a use of a tool is silent, and no error is logged."""
    workspace = talk.workspace()
    with workspace.ledgers.hold(session_key(workspace, talk.event("Stop")), 1.0):
        assert not read(talk, CLIENT).text

    assert read(talk, CLIENT).text
    assert ["at_file"] == [line["reason"] for line in talk.log()]


def test_records_of_a_private_turn_are_not_looked_up(talk: Talk) -> None:
    """Nothing of what an agent does for a private prompt is searched for or logged."""
    talk.ask("[no-hybrid] What about the payment client?")

    assert not read(talk, CLIENT).text


def test_records_of_other_projects_are_not_about_this_ones_files(tmp_path: Path) -> None:
    """A lesson for all projects may name a file that only looks the same."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    lessons = lesson_file(("S001", f"All about {CLIENT}", "It is said of any project."))
    write_files(talk.home, {"LESSONS.md": lessons})

    assert ["S001"] == [one.id for one in talk.kinds.stores.records(talk.workspace(), "lessons")]
    assert not read(talk, CLIENT).text


# --- what became of it ---------------------------------------------------------------------------------------


def outcomes(talk: Talk) -> list[dict[str, Any]]:
    """What became of each turn, newest first."""
    return list(talk.workspace().outcomes.newest())


def test_the_end_of_a_turn_tells_what_became_of_it(talk: Talk) -> None:
    """The file that the prompt brought was edited, the lesson cited; the next turn begins anew."""
    given = talk.ask("How does the payment client retry a request after a timeout?")
    assert {CLIENT, "L001"} <= {item.hit.path for item in given.decision.items}
    edit(talk, CLIENT)
    talk.stop("I applied [L001].")

    [line] = outcomes(talk)
    became = {one["place"]: one["how"] for one in line["became"]}
    assert ("edited", "cited") == (became[CLIENT], became["L001"])
    assert {"edit": 1, "failed": 0, "repeated": 0} == line["did"]
    assert given.text == talk.workspace().texts.find(line["decisions"][0])

    talk.ask("thanks, looks good")
    talk.stop("You are welcome.")
    assert [line] == outcomes(talk)


def test_a_turn_without_an_end_is_told_by_the_next_prompt(talk: Talk) -> None:
    """A person who interrupts an agent ends the turn too, and a subagent's tools count."""
    talk.ask("How does the payment client retry a request after a timeout?")
    read(Talk(talk.root, talk.home, agent_id="a1", kinds=talk.kinds), CLIENT)
    talk.stop("The subagent is done.", agent_id="a1")
    assert not outcomes(talk)

    talk.ask("thanks, looks good")
    assert "opened" in {one["how"] for one in outcomes(talk)[0]["became"] if one["place"] == CLIENT}


def test_nothing_is_noted_of_a_private_turn_or_where_it_is_switched_off(talk: Talk) -> None:
    """No use of a tool, and no text."""
    talk.ask("[no-hybrid] How does the payment client retry?")
    edit(talk, CLIENT)
    talk.stop("Done.")
    off = {"log_outcomes": False, "log_text_days": 0}
    talk.ask("How does the payment client retry a request after a timeout?", flags=off)
    talk.tell("PostToolUse", tool="Read", tool_input={"file_path": CLIENT}, tool_response="x", flags=off)
    talk.stop("Done.", flags=off)

    assert not outcomes(talk)
    assert not list(talk.home.rglob("*.uses"))
    assert not (talk.home / "log" / "given.jsonl").exists()
