from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.builders import Shop

FITS = "How does the payment client retry?"


def test_a_project_is_paused_until_it_is_resumed(new_project: Shop) -> None:
    """Without an option the project of the working directory is meant; status shows it."""
    paused = new_project.out("pause")
    state = new_project.json("status")["paused"]
    resumed = new_project.out("resume")

    assert "paused in project shop: `hybrid resume`\n" == paused
    assert [{"scope": "project", "name": new_project.json("status")["project"]["key"]}] == state
    assert "resumed\n" == resumed
    assert [] == new_project.json("status")["paused"]


def test_everything_is_paused_for_a_time(new_project: Shop) -> None:
    """`--all` holds everywhere, `--for` says how long; `resume --all` ends every pause there is."""
    new_project.out("pause")
    new_project.out("pause", "--session", "s9")
    said = new_project.out("pause", "--all", "--for", "2h")
    form = new_project.json("pause", "--all", "--for", "2h")["pauses"]

    assert re.fullmatch(r"paused everywhere until \d{4}-\d\d-\d\d \d\d:\d\d: `hybrid resume --all`\n", said)
    assert [("all", None, True), ("session", "s9", False)] == [
        (entry["scope"], entry["name"], entry["until"] is not None) for entry in form if entry["scope"] != "project"
    ]
    assert new_project.out("resume").startswith("resumed; still paused everywhere until ")
    assert "resumed\n" == new_project.out("resume", "--all")
    assert {"pauses": []} == new_project.json("resume", "--all", code=1)


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID", "QWEN_CODE_SESSION_ID"])
def test_the_session_that_runs_the_command_is_meant(new_project: Shop, variable: str) -> None:
    """`--session` without an id is the agent session in whose shell the command runs."""
    paused = new_project.out("pause", "--session", **{variable: "abc-1"})
    resumed = new_project.out("resume", "--session", "abc-1")

    assert "paused in session abc-1: `hybrid resume --session abc-1`\n" == paused
    assert "resumed\n" == resumed


def test_outside_of_a_session_an_id_is_needed(new_project: Shop) -> None:
    """Without an agent around `--session` needs an id; the error says where ids are found."""
    said = new_project.error("pause", "--session", CLAUDE_CODE_SESSION_ID="", GEMINI_SESSION_ID="")

    assert "hybrid: `--session` needs an ID here: no agent session runs this command; `hybrid log` shows ids" == said


def test_what_is_not_paused_cannot_be_resumed(new_project: Shop) -> None:
    """Code 1 tells that there was nothing to end."""
    assert "nothing was paused here\n" == new_project.out("resume", code=1)


@pytest.mark.parametrize("text", ["2", "h", "-1h", "1w", "2 h"])
def test_a_time_needs_a_number_and_a_unit(new_project: Shop, text: str) -> None:
    """What is no time is refused with code 2."""
    done = new_project.run("pause", f"--for={text}")

    assert 2 == done.returncode
    assert b"write 90s, 30m, 2h or 1d" in done.stderr
