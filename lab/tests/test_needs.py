"""Sessions of agents that search in vain, replayed: what they are given, and whether it is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from hybrid.evaluation.qrels import QrelsError
from hybrid_lab.needs import count, evaluate_needs, read_sessions
from tests.support.builders import write_files

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "src/anchor.py": 'def drop_anchor(depth):\n    """Lower the anchor to the sea bed."""\n    return depth * 3\n',
    "src/sails.py": 'def hoist_sails(wind):\n    """Hoist the sails into the wind."""\n    return wind > 2\n',
    "src/galley.py": 'def boil_potatoes(count):\n    """Cook potatoes for the crew."""\n    return count * 20\n',
}
SEARCHES = ({"grep": "raise_sails"}, {"run": "rg pull_sails_up"})
OPEN = ["hooks.gate_threshold=0.0"]


@pytest.fixture
def boats(tmp_path: Path) -> Path:
    """A folder that holds one small repository."""
    write_files(tmp_path / "repos" / "boats", FILES)
    return tmp_path / "repos"


def made(folder: Path, **changes: Any) -> Path:
    """A file with one made session, whose prompt fits nothing."""
    line = {"project": "boats", "kind": "words", "prompt": "Thanks!", "uses": SEARCHES, "gold": ["src/sails.py"]}
    path = folder / "made.jsonl"
    path.write_text(json.dumps({**line, **changes}) + "\n", encoding="utf-8")
    return path


def recorded(folder: Path) -> Path:
    """A folder with a recorded session that reads the sails two uses after its second search in vain."""
    about = {"session_id": "s1", "cwd": "$PROJECT", "hook_event_name": "PostToolUse"}
    events = [{**about, "hook_event_name": "UserPromptSubmit", "prompt": "Thanks!"}]
    for use in SEARCHES:
        text = use.get("grep", "pull_sails_up")
        events.append({**about, "tool_name": "Grep", "tool_input": {"pattern": text}, "tool_response": ""})
    events.append({**about, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "src"})
    given = {"file_path": "$PROJECT/src/sails.py"}
    events.append({**about, "tool_name": "Read", "tool_input": given, "tool_response": FILES["src/sails.py"]})
    write_files(folder / "recorded", {"boats-1.jsonl": "".join(json.dumps(event) + "\n" for event in events)})
    return folder / "recorded"


def test_a_made_session_is_judged_by_its_files(boats: Path, tmp_path: Path) -> None:
    """The help after the second search names the file that the session is after."""
    sessions = read_sessions(made(tmp_path))
    (told,) = evaluate_needs(sessions, boats, tmp_path / "home", OPEN, lambda _: None)

    assert (2, 2, 0) == (told.n_uses, told.n_vain, told.n_failed)
    assert [("search", ("src/sails.py",), 2, None)] == [
        (one.cause, one.right, one.calls, one.ahead) for one in told.helps
    ]


def test_another_file_is_no_right_one(boats: Path, tmp_path: Path) -> None:
    """A session that is after a file that is not there is helped wrongly."""
    sessions = read_sessions(made(tmp_path, gold=["src/rudder.py"]))
    of_search, of_failure = count(list(evaluate_needs(sessions, boats, tmp_path / "home", OPEN, lambda _: None)))

    assert (1, 0, 2.0) == (of_search.spoke, of_search.right, of_search.late)
    assert (0, None) == (of_failure.spoke, of_failure.late)


def test_a_recorded_session_is_judged_by_what_it_opens_later(boats: Path, tmp_path: Path) -> None:
    """The read that follows makes the help right, two uses ahead of it."""
    sessions = read_sessions(recorded(tmp_path))
    (told,) = evaluate_needs(sessions, boats, tmp_path / "home", OPEN, lambda _: None)

    assert [(("src/sails.py",), 2)] == [(one.right, one.ahead) for one in told.helps]


def test_a_second_run_gives_the_same(boats: Path, tmp_path: Path) -> None:
    """A kept home holds indexes, and nothing of the sessions that were replayed before."""
    sessions = read_sessions(made(tmp_path))
    first, second = (list(evaluate_needs(sessions, boats, tmp_path / "home", OPEN, lambda _: None)) for _ in range(2))

    assert first == second
    assert not (boats / "boats" / ".git").exists()


def test_the_command_prints_and_leaves_out(boats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each kind and cause; a session without its tree is counted."""
    path = made(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    code = run(
        ["eval", "need", str(path), str(made(other, project="trains")), "--repos", str(boats), "--json"], started_s=0.0
    )
    found = json.loads(capsys.readouterr().out)

    assert (0, 1) == (code, found["n_without_tree"])
    assert ["words", "words"] == [row["kind"] for row in found["counts"]]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """A line without uses is an error that names the file."""
    (tmp_path / "made.jsonl").write_text('{"project": "boats"}\n', encoding="utf-8")

    with pytest.raises(QrelsError, match=r"made\.jsonl"):
        read_sessions(tmp_path / "made.jsonl")
