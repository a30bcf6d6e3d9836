"""A simulated week: the events that are made, and that a small one loses nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.capture.tools import is_skipped
from hybrid.cli.main import run
from hybrid_lab.commands.week import is_sound
from hybrid_lab.week.events import make_sessions, project_names
from hybrid_lab.week.simulation import logged_errors

if TYPE_CHECKING:
    from pathlib import Path

SOUND: dict[str, Any] = {
    "uses": {"missing": 0, "unknown_in_store": 0},
    "lessons": {"missing": 0, "twice": 0},
    "rows": {"events_in_two_rows": 0, "seen_and_pending": 0, "digests_twice": 0},
    "integrity": ["ok"],
    "set_aside": [],
}


def test_sessions_hold_all_uses_between_start_and_end() -> None:
    """Each use once, with an id and a word of its own, after a prompt; sessions are spread over the projects."""
    sessions = make_sessions(203, 8, 3)
    uses = [sent for session in sessions for sent in session if sent.use_id]

    assert (203, 203, 203) == (len(uses), len({one.use_id for one in uses}), len({one.mark for one in uses}))
    assert 8 == len({session[0].session_id for session in sessions})
    assert set(project_names(3)) == {one.project for one in uses}
    for session in sessions:
        assert ["SessionStart", "UserPromptSubmit"] == [sent.event for sent in session[:2]]
        assert ["Stop", "SessionEnd"] == [sent.event for sent in session[-2:]]


def test_the_same_seed_gives_the_same_week() -> None:
    """And another one another week."""
    assert make_sessions(50, 4, 2, seed=7) == make_sessions(50, 4, 2, seed=7)
    assert make_sessions(50, 4, 2, seed=7) != make_sessions(50, 4, 2, seed=8)


def test_each_prompt_may_hold_a_lesson_of_its_own() -> None:
    """No two of them are alike, so that none is taken for another one."""
    sessions = make_sessions(60, 3, 2, uses_of_a_prompt=2, with_lessons=True)
    titles = [sent.lesson for session in sessions for sent in session if sent.event == "UserPromptSubmit"]

    assert (30, 30) == (len(titles), len({word for title in titles for word in title.split()}) // 4)
    assert [] == [sent for session in make_sessions(60, 3, 2) for sent in session if sent.lesson]


def test_every_use_is_worth_keeping() -> None:
    """It has its word in its text, names the project by its path, and no rule passes it over."""
    for sent in (sent for session in make_sessions(300, 5, 2) for sent in session if sent.use_id):
        event = json.loads(sent.as_json("/home/me/bakery"))
        told = json.dumps([event["tool_input"], event.get("tool_response"), event.get("error")])

        assert sent.mark in told
        assert "$ROOT" not in json.dumps(event)
        assert not is_skipped(sent.tool, len(told), ())
        assert ("error" in event) == (sent.event == "PostToolUseFailure")


def test_more_projects_than_names_have_names_of_their_own() -> None:
    """They are numbered."""
    assert 12 == len(set(project_names(12)))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"uses": {"missing": 1, "unknown_in_store": 0}}, id="missing"),
        pytest.param({"uses": {"missing": 0, "unknown_in_store": 1}}, id="unknown"),
        pytest.param({"rows": {**SOUND["rows"], "events_in_two_rows": 1}}, id="twice"),
        pytest.param({"lessons": {"missing": 1, "twice": 0}}, id="lesson missing"),
        pytest.param({"lessons": {"missing": 0, "twice": 1}}, id="lesson twice"),
        pytest.param({"integrity": ["row 1 missing from index"]}, id="damaged"),
        pytest.param({"set_aside": ["memory.db.corrupt-1"]}, id="set aside"),
    ],
)
def test_a_week_is_sound_only_as_a_whole(change: dict[str, Any]) -> None:
    """Anything missing, doubled or damaged is a failure of the command."""
    assert is_sound(SOUND)
    assert not is_sound({**SOUND, **change})


def test_errors_of_the_log_are_counted(tmp_path: Path) -> None:
    """Figures in them do not tell them apart; lines that are cut off are passed over."""
    (tmp_path / "log").mkdir()
    lines = [
        '{"reason": "error", "error": "not done after 1.5 s"}',
        '{"reason": "error", "error": "not done after 2.0 s"}',
    ]
    lines += ['{"reason": "injected"}', '{"reason": "late"}', '{"reason": "err']
    (tmp_path / "log" / "events.jsonl").write_text("\n".join(lines), encoding="utf-8")

    assert {"not done after #.# s": 2, "late": 1} == logged_errors(tmp_path)


@pytest.mark.slow
def test_a_small_week_loses_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a hook acknowledged is there, once, although hooks and the service were killed.

    The deadline is far away: on a slow machine it would end hooks that are only waiting for the processor.
    """
    settings = ["--set", "model.name=hashing-64", "--set", "hooks.deadline_ms=10000"]
    plan = ["--events", "36", "--sessions", "4", "--projects", "2", "--kills", "3"]

    code = run(["eval", "week", str(tmp_path / "week"), *plan, *settings, "--json"], started_s=0.0)
    form = json.loads(capsys.readouterr().out)

    assert (0, 0, ["ok"]) == (code, form["uses"]["missing"], form["integrity"]), form
    assert (36, 0) == (form["uses"]["different"], form["uses"]["pending"])
    assert form["kills"]["services"] > 0
    assert form["sessions"]["acknowledged"] == form["sessions"]["completed"]
    assert 4 == form["sessions"]["sent"] <= form["sessions"]["acknowledged"] + 3  # Three hooks were killed.
    assert {"PostToolUse", "UserPromptSubmit", "bare_start"} <= form["times"].keys()
    assert not list((tmp_path / "week" / "home" / "run").glob("*.sock")), "the service was left running"
