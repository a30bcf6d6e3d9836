"""`hybrid eval memory` on made recordings: what it prints, as a table, explained, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from lab.tests.memory.recordings import BOATS, SHOP, write_sessions
from tests.unit.evaluation.conftest import write_lines

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS: list[dict[str, Any]] = [
    {"id": "a", "project": "shop", "question": "MAX_ATTEMPTS NameError", "kind": "failure", "gold": ["shop-1.jsonl:5"]},
    {
        "id": "b",
        "project": "shop",
        "question": "what stood on the todo list about MAX_ATTEMPTS?",
        "kind": "list",
        "gold": ["shop-1.jsonl:4"],
    },
    {
        "id": "c",
        "project": "boats",
        "question": "which function has oakum?",
        "kind": "file",
        "gold": ["boats-1.jsonl:1"],
    },
]
PROMPTS: list[dict[str, Any]] = [
    {
        "id": "pa",
        "project": "shop",
        "prompt": "the tests of the payment client fail, MAX_ATTEMPTS is not defined in tests/test_pay.py",
        "gold": ["shop-1.jsonl:5"],
    },
    {"id": "pb", "project": "shop", "prompt": "yes, please go on", "gold": []},
]
OPEN = ["--set", "model.name=hashing-256", "--set", "hooks.gate_threshold=0.1"]


@pytest.fixture
def data(tmp_path: Path) -> list[object]:
    """Arguments that name questions, sessions and prompts."""
    questions = write_lines(tmp_path / "questions.jsonl", QUESTIONS)
    prompts = write_lines(tmp_path / "prompts.jsonl", PROMPTS)
    sessions = write_sessions(tmp_path / "sessions", shop_1=SHOP, boats_1=BOATS)
    return [questions, "--sessions", sessions, "--prompts", prompts]


def evaluate(*arguments: object) -> int:
    """Run `hybrid eval memory` in this process."""
    return run(["eval", "memory", *map(str, arguments), *OPEN], started_s=0.0)


def test_it_compares_three_ways(data: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    """The search, full text over the raw events, and the newest rows, by kind and project."""
    code = evaluate(*data, "--json")
    form = json.loads(capsys.readouterr().out)
    found = {(row["way"], row["group"]): row["r5"] for row in form["rows"]}

    assert 0 == code
    assert {"boats": {"events": 3, "untold": 0, "rows": 2}, "shop": {"events": 6, "untold": 1, "rows": 3}} == form[
        "counts"
    ]
    assert 1.0 == found["hybrid memory search", "kind failure"] == found["FTS5 over the raw events", "kind list"]
    assert 0.0 == found["hybrid memory search", "kind list"]
    assert {"FTS5 over the raw events", "the newest of the project"} == form["gains"].keys()
    assert [] == form["problems"]
    assert "asked" not in form


def test_prompts_go_through_the_whole_decision(data: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    """One that fits gets its record, an acknowledgement gets nothing."""
    evaluate(*data, "--json", "--explain")
    form = json.loads(capsys.readouterr().out)
    first, second = form["asked_prompts"]

    assert (True, None) == (first["is_open"], first["missed"])
    assert first["gold"][0]["id"] in [row["id"] for row in first["given"]]
    assert ("prompt", []) == (second["reason"], second["given"])
    assert [1.0, 0.0] == [row["given"] for row in form["prompts"] if row["project"] == "all"]


def test_what_was_missed_is_explained(data: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    """A missed question stands with what was wanted and the five rows that were found, with their parts."""
    evaluate(*data, "--explain")
    shown = capsys.readouterr().out

    for part in (
        "all: 3 questions",
        "prompts that a row fits",
        "b shop list: what stood on the todo list about MAX_ATTEMPTS?",
    ):
        assert part in shown
    assert "wanted nothing that was kept" in shown
    assert "similarity=" in shown
    assert "a shop failure" not in shown


def test_only_some_projects_are_asked(data: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others' questions, prompts and recordings are passed over, unread."""
    (tmp_path / "sessions" / "shop-2.jsonl").write_bytes(b"\xff\xfe")

    assert 0 == evaluate(*data, "--only", "boats", "--json")
    form = json.loads(capsys.readouterr().out)

    assert ["boats"] == list(form["counts"])
    assert [] == form["prompts"]


def test_a_folder_in_use_is_refused(data: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it remembers would count too."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory.db").touch()

    assert 2 == evaluate(*data, "--home", tmp_path / "home")
    assert "is not empty" in capsys.readouterr().err


def test_a_judgement_of_no_event_is_an_error(
    data: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named with the form that is expected."""
    wrong = write_lines(tmp_path / "wrong.jsonl", [{**QUESTIONS[0], "gold": ["shop-1.jsonl:99"]}])

    assert 2 == evaluate(wrong, *data[1:])
    assert "a: shop-1.jsonl:99 is no event" in capsys.readouterr().err
