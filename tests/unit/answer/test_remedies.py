"""What made a failed command pass comes with the same failure in a later session."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.upkeep.purging import purge_index
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.events import Reply

MISSING = (
    "Traceback (most recent call last):\n  File \"run.py\", line 3\nModuleNotFoundError: No module named 'payments_api'"
)
OTHER = (
    'Traceback (most recent call last):\n  File "run.py", line 9\nConnectionRefusedError: [Errno 111] no database there'
)


_NUMBERS = count()


def session(talk: Talk, name: str) -> Talk:
    """Another session in the same project."""
    return Talk(talk.root, talk.home, name, kinds=talk.kinds, flags=talk.flags)


def run(talk: Talk, command: str, error: str = "", output: str = "", **flags: Any) -> Reply:
    """What an agent gets with the result of a command, as Claude Code tells it."""
    given: dict[str, Any] = {"tool": "Bash", "tool_input": {"command": command}, "name": "PostToolUse"}
    given["tool_use_id"] = f"t{next(_NUMBERS)}"
    if error:
        given |= {"error": f"Exit code 1\n{error}", "name": "PostToolUseFailure"}
    else:
        given["tool_response"] = {"stdout": output or "All is well, and it took a while to find out.", "stderr": ""}
    return talk.tell("PostToolUse", **given, flags=flags)


def edit(talk: Talk) -> None:
    """An edit of a file."""
    arguments = {
        "file_path": str(talk.root / "setup.cfg"),
        "old_string": "[options]",
        "new_string": "install_requires = x",
    }
    talk.tell("PostToolUse", tool="Edit", tool_input=arguments, tool_response="The file was updated as asked for.")


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A first session, in which `python run.py` failed and passed after an installation."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    assert not run(talk, "python run.py", MISSING).text
    run(talk, "pip install payments-api")
    run(talk, "python run.py")
    return talk


def test_a_remedy_comes_with_the_same_failure_in_a_later_session(talk: Talk) -> None:
    """Its text and the steps, once a session, in the log; not in the session that found it, nor for another failure."""
    later = session(talk, "s2")
    assert not run(later, "python run.py", OTHER).text

    given = run(later, "cd src && python run.py", MISSING)
    assert "`python` failed like this before (ModuleNotFoundError: No module named 'payments_api')" in given.text
    assert "It passed after: ran `pip install payments-api` (1 time)." in given.text
    assert "at_failure" == later.log()[0]["reason"]
    assert not run(later, "python run.py", MISSING).text
    assert not run(talk, "python run.py", MISSING).text


def test_a_remedy_is_a_row_of_the_memory(talk: Talk) -> None:
    """It is found, shown and forgotten as any other."""
    store = talk.kinds.stores.memory(talk.workspace())
    [row] = [one for one in store.all_rows("observation") if "problem-solution" in one.told.concepts]
    assert "`python` passed after: ran `pip install payments-api`" == row.told.title

    store.forget([("observation", row.id)])
    purge_index(talk.workspace(), store)
    assert not run(session(talk, "s2"), "python run.py", MISSING).text


@pytest.mark.parametrize(
    ("between", "is_kept"),
    [
        pytest.param([], False, id="nothing was done: it is not stable"),
        pytest.param(["ls src", "git status"], False, id="looked only"),
        pytest.param(["pytest tests/test_other.py"], False, id="tests of something else"),
        pytest.param(["npm ci"], True, id="a command"),
        pytest.param([f"npm run step-{name}" for name in "abcdefg"], False, id="too many steps"),
    ],
)
def test_only_what_was_seen_to_work_is_kept(tmp_path: Path, between: list[str], is_kept: bool) -> None:
    """A step between failure and success that changes something, and few of them."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    run(talk, "make site", MISSING)
    for command in between:
        run(talk, command)
    run(talk, "make site")

    assert is_kept == bool(run(session(talk, "s2"), "make site", MISSING).text)


@pytest.mark.parametrize(
    ("failed", "passed", "is_kept"),
    [
        pytest.param("make site", "make docs", False, id="another command"),
        pytest.param("python a.py", "python b.py", False, id="on something else"),
        pytest.param("python a.py", "python --version", False, id="on nothing"),
        pytest.param("pytest tests/a", "pytest tests/ab.py", False, id="a name that begins alike"),
        pytest.param("pytest tests/a.py", "pytest --collect-only", False, id="no run at all"),
        pytest.param("pytest tests/unit/test_a.py", "pytest tests/unit", True, id="on all that holds it"),
        pytest.param("pytest tests/unit/test_a.py -x", "pytest -q", True, id="on everything"),
    ],
)
def test_it_must_pass_where_it_failed(tmp_path: Path, failed: str, passed: str, is_kept: bool) -> None:
    """A success elsewhere proves nothing."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    run(talk, failed, MISSING)
    edit(talk)
    run(talk, passed)

    given = run(session(talk, "s2"), failed, MISSING).text
    assert is_kept == bool(given)
    assert is_kept == ("edited setup.cfg" in given)


def test_a_remedy_is_counted_replaced_and_dropped(talk: Talk) -> None:
    """It works again; in vain as often as it worked it goes; what works instead takes its place."""
    second = session(talk, "s2")
    run(second, "python run.py", MISSING)
    run(second, "pip install payments-api")
    edit(second)
    run(second, "python run.py")
    assert "(2 times)" in run(session(talk, "s3"), "python run.py", MISSING).text

    for name in ("s4", "s5"):
        vain = session(talk, name)
        run(vain, "python run.py", MISSING)
        run(vain, "pip install payments-api")
        run(vain, "python run.py", MISSING)
    assert not run(session(talk, "s6"), "python run.py", MISSING).text

    other = session(talk, "s7")
    run(other, "python run.py", MISSING)
    edit(other)
    run(other, "python run.py")
    assert "edited setup.cfg" in run(session(talk, "s8"), "python run.py", MISSING).text


def test_it_can_be_switched_off(talk: Talk) -> None:
    """By its own setting, with the memory, and for a private prompt."""
    assert not run(session(talk, "s2"), "python run.py", MISSING, memory_remedies=False).text
    assert not run(session(talk, "s3"), "python run.py", MISSING, memory_enabled=False).text
    private = session(talk, "s4")
    private.ask("[no-hybrid] run it")
    assert not run(private, "python run.py", MISSING).text
