"""What prompts get that follow another one: pairs, and places in recorded sessions."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from hybrid.evaluation.measures import QrelsError
from hybrid.evaluation.results import Configuration
from hybrid.evaluation.retrieval import settings_in_force
from hybrid_lab.followups import (
    IN_FORCE,
    Cut,
    Pair,
    evaluate_cuts,
    evaluate_follow_ups,
    follow_up_rows,
    read_cuts,
    read_pairs,
)
from hybrid_lab.memory.replay import Recording
from hybrid_lab.sessions import SeenTree, session_events
from lab.tests.conftest import BOATS
from lab.tests.memory.recordings import event, read

if TYPE_CHECKING:
    from pathlib import Path

ALL_PASS = ("hooks.gate_threshold=0.0", "hooks.threshold=0.0", "search.min_cosine=-1.0")
CLOSED = Configuration("closed", ("hooks.gate_threshold=0.99",))
FOLLOWING = "and the sails, is the wind lowered for them too?"


def load(*assignments: str) -> Any:
    """Settings with an open gate and no floor."""
    return lambda more: settings_in_force([*ALL_PASS, *assignments, *more], environ={})


def pair(prompt: str, *files: str, depends: bool = True) -> Pair:
    """A follow-up to a prompt that gets nothing, after which the agent reads of the anchor."""
    return Pair(prompt, "boats", "ok, thanks, go on", ("src/anchor.py",), prompt, files, depends)


def test_a_follow_up_is_asked_in_the_session_of_its_first_prompt(boats: Path, tmp_path: Path) -> None:
    """The right file counts, with the settings in force and with others."""
    found = evaluate_follow_ups([pair(FOLLOWING, "src/sails.py")], boats, tmp_path / "home", load(), against=[CLOSED])
    usual, closed = found[IN_FORCE.label][0], found[CLOSED.label][0]

    assert ("injected", 1, 1) == (usual.reason, usual.rank, usual.at)
    assert ("gate", usual.rank) == (closed.reason, closed.rank)


def test_both_kinds_have_a_row(boats: Path, tmp_path: Path) -> None:
    """Follow-ups that depend on what came before stand apart from the others; shares are of their number."""
    alone = pair("where do we hoist the sails into the wind?", "src/missing.py", depends=False)
    pairs = [pair(FOLLOWING, "src/sails.py"), alone]
    rows = follow_up_rows(evaluate_follow_ups(pairs, boats, tmp_path / "home", load()))

    assert [(True, 1, 1.0), (False, 1, 0.0)] == [(row.depends, row.prompts, row.hit) for row in rows]
    assert [1.0, 0.0] == [row.mrr for row in rows]


def test_a_closed_gate_counts_as_silent(boats: Path, tmp_path: Path) -> None:
    """A gate that opens for nothing gives nothing; what the search found is measured all the same."""
    asked = [pair(FOLLOWING, "src/sails.py")]
    row = follow_up_rows(evaluate_follow_ups(asked, boats, tmp_path / "home", load("hooks.gate_threshold=0.99")))[0]

    assert (1.0, 0.0, 0.0, 1.0) == (row.closed, row.spoken, row.hit, row.first)
    assert math.isnan(row.items)


def recording(*lines: str) -> Recording:
    """A session of the boats."""
    return Recording("boats-1.jsonl", "boats", lines)


SESSION = recording(
    event("UserPromptSubmit", session="b1", prompt="where do we lower the anchor to the sea bed?"),
    read("b1", "t1", "src/anchor.py", "def weigh_anchor():\n    return 1\n"),
    event(
        "PostToolUse",
        session="b1",
        tool_name="Edit",
        tool_use_id="t2",
        tool_input={"file_path": "$PROJECT/src/anchor.py", "old_string": "return 1", "new_string": "return 2"},
        tool_response={},
    ),
)


def test_a_prompt_is_asked_in_the_middle_of_a_recorded_session(boats: Path, tmp_path: Path) -> None:
    """It knows the reads before it and not those behind it; the tree that was given stays as it is."""
    cuts = [
        Cut("before", "boats-1", 0, FOLLOWING, ("src/sails.py",), True),
        Cut("behind", "boats-1", 2, FOLLOWING, ("src/sails.py",), True),
        Cut("elsewhere", "ships-1", 2, FOLLOWING, ("src/sails.py",), True),
    ]
    trees = {"boats": boats / "boats"}
    silent = load("hooks.gate_threshold=0.3")
    found = evaluate_cuts(cuts, [SESSION], trees, tmp_path / "home", silent, against=[CLOSED])

    assert ["before", "behind"] == [one.id for one in found[IN_FORCE.label]]
    assert BOATS == {path: (boats / "boats" / path).read_text() for path in BOATS}


def test_the_tree_is_as_the_session_saw_it(boats: Path) -> None:
    """A file that was read whole is put there as it was read, an edit is made, and everything is put back."""
    root = boats / "boats"
    events, tree = session_events(SESSION, root), SeenTree(root)
    tree.overlay(events)
    seen = (root / "src/anchor.py").read_text()
    tree.follow(events[2].fields)
    edited = (root / "src/anchor.py").read_text()
    tree.restore()

    assert "def weigh_anchor():\n    return 1\n" == seen
    assert "def weigh_anchor():\n    return 2\n" == edited
    assert BOATS["src/anchor.py"] == (root / "src/anchor.py").read_text()


def test_the_command_reads_both_forms(boats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`hybrid eval followups` asks pairs, and with `--sessions` places in recordings; `--json` gives the rows."""
    fields = {"id": "1", "prompt": FOLLOWING, "files": ["src/sails.py"], "depends": True}
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({**fields, "repo": "boats", "first": "where is the anchor?", "read": []}) + "\n")
    cuts = tmp_path / "cuts.jsonl"
    cuts.write_text(json.dumps({**fields, "session": "boats-1", "after_event": 1}) + "\n")
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "boats-1.jsonl").write_text("\n".join(SESSION.lines) + "\n")
    common = ["--repos", str(boats), "--set", ALL_PASS[0], "--json"]

    assert 0 == run(["eval", "followups", str(pairs), *common, "--unread"], started_s=0.0)
    assert 1 == json.loads(capsys.readouterr().out)["sets"]["pairs"][0]["prompts"]
    assert 0 == run(["eval", "followups", str(cuts), *common, "--sessions", str(tmp_path / "sessions")], started_s=0.0)
    assert 1 == json.loads(capsys.readouterr().out)["sets"]["cuts"][0]["prompts"]


def test_a_line_of_another_form_is_named(tmp_path: Path) -> None:
    """A field that is missing is said with its line."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"id": "1"}\n')

    for read_file in (read_pairs, read_cuts):
        with pytest.raises(QrelsError, match="line 1"):
            read_file(path)
