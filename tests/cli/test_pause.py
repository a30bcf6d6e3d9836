from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hybrid.base.clients import clients

if TYPE_CHECKING:
    from tests.support.builders import Shop

FITS = "How does the payment client retry?"


def test_a_project_is_paused_until_it_is_resumed(new_project: Shop) -> None:
    """Without an option the project of the working directory is meant; status shows it."""
    paused = new_project.out("pause")
    state = new_project.json("status")["paused"]
    resumed = new_project.out("resume")

    assert "paused in project shop: `hybrid resume`\n" == paused
    assert [("project", new_project.json("status")["project"]["key"], None, None, True)] == [
        (entry["scope"], entry["name"], entry["until"], entry["left_s"], entry["is_endless"]) for entry in state
    ]
    assert "resumed\n" == resumed
    assert [] == new_project.json("status")["paused"]


def test_everything_is_paused_for_a_time(new_project: Shop) -> None:
    """`--all` holds everywhere, `--for` says how long; `resume --all` ends every pause there is."""
    new_project.out("pause")
    new_project.out("pause", "--session", "s9")
    said = new_project.out("pause", "--all", "--for", "2h")
    form = new_project.json("pause", "--all", "--for", "2h")["pauses"]

    assert re.fullmatch(r"paused everywhere until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: `hybrid resume --all`\n", said)
    assert [("all", None, 0), ("project", "shop", None), ("session", "s9", 30)] == [
        (
            entry["scope"],
            "shop" if entry["scope"] == "project" else entry["name"],
            None if entry["is_endless"] else round(entry["left_s"] / 86_400),
        )
        for entry in form
    ]
    assert new_project.out("resume").startswith("resumed; still paused everywhere until ")
    assert "resumed\n" == new_project.out("resume", "--all")
    assert {"pauses": []} == new_project.json("resume", "--all", code=1)


@pytest.mark.parametrize("variable", [client.session for client in clients().values() if client.session])
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


def test_the_end_of_a_pause_stands_in_the_json_of_every_command(new_project: Shop) -> None:
    """`pause`, `resume` and `status` say when a pause ends, how many seconds are left, and whether it ends at all."""
    entry = new_project.json("pause", "--for", "2h")["pauses"][0]
    state = new_project.json("status")["paused"][0]
    left = new_project.json("resume", "--session", "s9", code=1)["pauses"][0]
    table = new_project.out("status", "--table")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry["until"])
    assert [entry["until"]] * 2 == [state["until"], left["until"]]
    assert [False] * 3 == [each["is_endless"] for each in (entry, state, left)]
    assert all(0 < each["left_s"] <= 7200 for each in (entry, state, left))
    assert f"until {entry['until']}" in " ".join(table.split())


def test_a_pause_of_no_time_is_refused(new_project: Shop) -> None:
    """`--for 0m` paused for ever."""
    done = new_project.run("pause", "--for", "0m")

    assert 2 == done.returncode
    assert b"argument --for: '0m' is no time for a pause; the least is 1s, the most 3650d" in done.stderr
    assert [] == new_project.json("status")["paused"]


def test_an_end_that_is_no_date_is_none(new_project: Shop) -> None:
    """A pause whose end in the file cannot be a date lasts until it is resumed; no command fails over it."""
    entries = {"all:": {"since": float("inf"), "until": float("inf")}, "session:s1": {"since": 1e300, "until": -1}}
    new_project.home.mkdir(parents=True, exist_ok=True)
    (new_project.home / "pauses.json").write_text(json.dumps({"pauses": entries}))

    paused = new_project.json("status")["paused"]

    assert [("all", True)] == [(entry["scope"], entry["is_endless"]) for entry in paused]


@pytest.mark.parametrize("text", ["2", "-1h", "0s", "9999d", "9" * 400 + "d"])
def test_a_time_needs_a_number_and_a_unit(new_project: Shop, text: str) -> None:
    """What is no time is refused with code 2."""
    done = new_project.run("pause", f"--for={text}")

    assert 2 == done.returncode
    assert b"is no time" in done.stderr


PROMPT = "How does the payment client retry?"


def test_session_with_a_long_name_is_paused(begun: Shop) -> None:
    """Events name such a session in short; a pause that kept the long name paused nothing, and said that it did."""
    session = "s" * 300
    begun.out("pause", "--session", session)

    assert "" == begun.hook(PROMPT, session=session)
    assert begun.reasons()[-1].startswith("paused")
