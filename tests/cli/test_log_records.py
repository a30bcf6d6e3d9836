from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.log import line_of
from hybrid.health.explaining import advice
from hybrid.operations.sessions import lines_of_event
from tests.support.builders import default_config
from tests.support.records import DECISION, shop_with_records

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

COMMITS = "How should I format git commits in this repository?"
JOURNAL = "Where does the audit journal go, JSONL or Redis?"
RETRY = "How does the payment client retry?"
WINE = "Which wine goes with grilled salmon tonight?"

CLOSED: dict[str, Any] = {
    "is_open": False,
    "top_cosine": 0.1,
    "threshold": 0.12,
    "threshold_source": "auto",
    "score": 0.05,
    "bar": "tasks",
    "parts": {"cosine": 0.05},
}
OPEN = CLOSED | {"is_open": True, "score": 0.43}
LESSON: dict[str, Any] = {
    "key": "lesson:L001:aaaaaaaa",
    "kind": "lesson",
    "id": "L001",
    "path": None,
    "start_line": None,
    "end_line": None,
    "name": "Git commit format",
    "form": "full",
    **dict.fromkeys(("cosine", "cosine_rank", "bm25", "bm25_rank", "rrf", "relevance")),
}
FILE = LESSON | {"key": "a.py:1:2:bbbbbbbb", "kind": "code", "id": None, "path": "a.py", "start_line": 1, "end_line": 2}
EVENT: dict[str, Any] = {
    "id": "a1",
    "reason": "injected",
    "score": -0.1,
    "threshold": 0.09,
    "threshold_source": "auto",
    "bar": "talk",
    "gate_kind": "files",
    "kinds": {"lessons": OPEN, "lore": CLOSED},
    "items": [LESSON],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The payments project with records, after one prompt for a lesson, one for a decision, one for code and a wrong one."""
    shop = shop_with_records(tmp_path_factory.mktemp("told"))
    for prompt in (COMMITS, JOURNAL, RETRY, WINE):
        shop.hook(prompt)
    return shop


def test_the_event_log_keeps_what_each_kind_said(told: Shop) -> None:
    """A record has an id and no lines; each kind of records its score, its bar and whether it was open."""
    wine, retry, journal, commits = told.json("log")["events"]

    (item,) = commits["items"]
    assert ("lesson", "L001", None, None, None) == tuple(
        item[key] for key in ("kind", "id", "path", "start_line", "end_line")
    )
    assert [DECISION] == [item["id"] for item in journal["items"]]
    assert all(item["id"] is None and item["path"] for item in retry["items"])
    assert "files" == commits["gate_kind"]
    opened = [{kind: said["is_open"] for kind, said in event["kinds"].items()} for event in (commits, journal, wine)]
    assert [(True, False), (False, True), (False, False)] == [(one["lessons"], one["lore"]) for one in opened]
    assert all(
        (said["score"] > said["threshold"]) == said["is_open"] and said["bar"]
        for event in (wine, retry, journal, commits)
        for said in event["kinds"].values()
    )
    assert [None] * 4 == [event["problems"] for event in (wine, retry, journal, commits)]


def test_counters_and_hot_topics_hold_files_only(told: Shop) -> None:
    """Records are given, but no file: an injection of records counts, and names no chunk."""
    state = json.loads((told.root / ".hybrid" / "hook_state.json").read_text())

    assert 3 == state["injection_count"]
    assert ["src/payments/client.py"] == list(state["file_frequencies"])
    assert {"src/payments/client.py"} == {entry["file"] for entry in state["chunk_frequencies"].values()}
    assert all(key.startswith("src/") for key in state["last_injected_chunks"])


def test_log_shows_records_by_their_ids(told: Shop) -> None:
    """Of an injection of records alone the numbers are those of the kind that was open."""
    wine, retry, journal, commits = told.out("log").splitlines()

    assert re.search(r"injected \d\.\d\d/-?\d\.\d\d .*  L001$", commits)
    assert re.search(rf"injected \d\.\d\d/\d\.\d\d .*  {DECISION}$", journal)
    assert re.search(r"injected \d\.\d\d/\d\.\d\d .*  src/payments/client\.py:4\b", retry)
    assert "gate -" in wine


def test_explain_tells_why_each_kind_was_open_or_closed(told: Shop) -> None:
    """A row for each kind with score, bar and parts; a record by kind, id and name."""
    identity = told.json("log")["events"][3]["id"]

    shown = told.out("explain", identity)

    assert re.search(r"^  gate       score −?\d\.\d\d, opens above \d\.\d\d \(\w[\w ]+, auto\)$", shown, re.MULTILINE)
    assert re.search(r"^  lessons    open: score \d\.\d\d, opens above ", shown, re.MULTILINE)
    assert re.search(r"^  lore       closed: score −?\d\.\d\d, opens above ", shown, re.MULTILINE)
    assert "\n  full       [lesson] L001 Git commit format\n" in shown


def test_explain_of_a_silence_names_the_bars_of_every_kind(told: Shop) -> None:
    """By how much each kind missed, and the setting that sets its bar."""
    hints = told.json("explain")["advice"]

    assert any(re.match(r"Of the lessons it missed by \d\.\d\d .*: `lessons\.max_\w+_rate` \(0\.\d+\)", hint) for hint in hints)  # fmt: skip
    assert any(re.match(r"Of the lore it missed by \d\.\d\d .*: `lore\.max_\w+_rate` \(0\.\d+\)", hint) for hint in hints)  # fmt: skip


def test_context_tells_what_each_kind_said(told: Shop) -> None:
    """`--explain` has a gate row and a table for each kind, with rank, scores and fate of its records by id and name."""
    shown = told.out("context", COMMITS, "--explain")

    assert re.search(r"^gate        score −0\.\d\d, opens above ", shown, re.MULTILINE)
    assert re.search(r"^ +1 .* kind_closed  docs/deploy\.md:1-9 Deployment$", shown, re.MULTILINE)
    assert re.search(r"^lessons     open: score \d\.\d\d, opens above ", shown, re.MULTILINE)
    assert re.search(r"^   1   0\.\d+ \( +1\) .* full +L001 Git commit format$", shown, re.MULTILINE)
    assert re.search(r" bar +L002 Never edit an applied migration$", shown, re.MULTILINE)
    assert re.search(r"^lore        closed: score ", shown, re.MULTILINE)
    assert "L003" not in shown


def test_context_in_the_machine_form(told: Shop) -> None:
    """Items have the keys of a search; under `steps.kinds` stand gate and hits of each kind."""
    form = told.json("context", COMMITS, "--explain")
    lessons, lore = form["steps"]["kinds"]["lessons"], form["steps"]["kinds"]["lore"]

    (item,) = form["items"]
    assert ("L001", None, None, "shop", "full") == tuple(
        item[key] for key in ("id", "path", "start_line", "project", "form")
    )
    assert [("L001", "full"), ("L002", "bar")] == [(hit["id"], hit["fate"]) for hit in lessons["hits"]]
    assert {"rank", "kind", "name", "cosine", "bm25", "relevance"} <= set(lessons["hits"][0])
    assert (True, False, []) == (lessons["is_open"], lore["is_open"], lore["hits"])
    assert [] == form["problems"]


def test_a_handoff_that_nobody_searched_for_is_explained(tmp_path: Path) -> None:
    """The latest handoff that comes with the first injection stands in the table of its kind, without a rank."""
    shop = shop_with_records(tmp_path)
    shop.out("lore", "handoff", "Token refresh is missing", "--quiet")

    shown = shop.out("context", RETRY, "--explain")
    form = shop.json("context", RETRY, "--explain")

    assert re.search(r"^   –  .* full +session-\S+ ", shown, re.MULTILINE)
    (handoff,) = [hit for hit in form["steps"]["kinds"]["lore"]["hits"] if hit["fate"] == "full"]
    assert ("handoff", None) == (handoff["kind"], handoff["rank"])


def test_what_went_wrong_with_a_kind_is_told(tmp_path: Path) -> None:
    """Records that cannot be searched keep the files from nothing; log, explain and context say why."""
    shop = shop_with_records(tmp_path)
    (shop.home / "records").write_text("not a folder")

    hooked = shop.hook(RETRY)

    assert "src/payments/client.py" in hooked
    assert ["lessons", "lore"] == [one.split(":")[0] for one in shop.json("log")["events"][0]["problems"]]
    assert 2 == shop.out("explain").count("\n  problem    ")
    assert 2 == shop.out("context", RETRY, "--explain").count("\nproblem     ")
    assert 2 == len(shop.json("context", RETRY)["problems"])


# --- lines of the log ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "injected 0.43/0.12"),
        ({"items": [FILE]}, "injected -0.10/0.09"),
        ({"items": [LESSON, FILE]}, "injected -0.10/0.09"),
        ({"items": [], "reason": "gate"}, "gate -0.10/0.09"),
        ({"kinds": {"lessons": OPEN, "lore": OPEN | {"score": 0.6}}}, "injected 0.60/0.12"),
        ({"kinds": None}, "injected -0.10/0.09"),
        ({"kinds": {"lessons": OPEN | {"score": None}}}, "injected -0.10/0.09"),
    ],
    ids=["lesson", "file", "both", "silent", "best-kind", "no-kinds", "nothing-compared"],
)
def test_whose_numbers_a_line_shows(change: dict[str, Any], expected: str) -> None:
    """Those of the files, or of an injection of records alone those of the kind that was open most clearly."""
    assert f"  {expected}  " in line_of(EVENT | change)


def test_the_gate_of_a_kind_is_told_once() -> None:
    """Without an index of the files the verdict of the best kind stands for all: it is not repeated."""
    shown = lines_of_event(EVENT | {"gate_kind": "lessons"})

    assert ["  lessons    open: score 0.43, opens above 0.12 (tasks of other projects, auto)"] == [
        line for line in shown if "opens above" in line and "closed" not in line
    ]


def test_a_line_of_before_there_were_records() -> None:
    """Without ids, kinds and problems an event is shown as it was."""
    new = {key: value for key, value in FILE.items() if key != "id"}
    event = {key: value for key, value in EVENT.items() if key not in ("kinds", "gate_kind")} | {"items": [new]}

    assert line_of(event).endswith("a.py:1")
    shown = lines_of_event(event)
    assert "  full       a.py:1-2 Git commit format" in shown
    assert not any("lessons" in line or "lore" in line or "problem" in line for line in shown)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"reason": "gate"}, "Of the lore it missed by 0.07 what tasks of other projects may reach there by chance"),
        ({"reason": "no_results"}, "The floor of the lessons: `lessons.threshold` ("),
        (
            {"reason": "gate", "best": {"key": "lesson:L001:aaaaaaaa", "kind": "lesson", "id": "L001", "name": "Git", "cosine": 0.2}},
            "The best candidate it held back: [lesson] L001 Git (cosine 0.2).",
        ),
    ],
    ids=["gate", "floor", "best"],
)  # fmt: skip
def test_advice_about_records(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    """The setting of the kind that stayed closed or gave nothing; a record is named by its id."""
    found = advice(EVENT | change, [], default_config(tmp_path))

    assert any(line.startswith(expected) for line in found), found
    assert not any(line.startswith("Of the lessons it missed") for line in found)


def test_injection_without_a_search_has_no_score(own_shop: Shop) -> None:
    """The log showed the score of the files, which were below their bar, for a prompt that looks back."""
    stop = {
        "hook_event_name": "Stop",
        "session_id": "s0",
        "cwd": str(own_shop.root),
        "last_assistant_message": "It is ignored because src/payments/client.py reads the wrong key. I did not fix it yet.",
    }
    asked = stop | {"hook_event_name": "UserPromptSubmit", "prompt": "Why is the cap of the retries ignored here?"}
    off = {"HYBRID_DAEMON_ENABLED": "false"}
    for name, event in (("UserPromptSubmit", asked), ("Stop", stop)):
        own_shop.out("hook", "run", "--client", "claude", "--event", name, stdin=json.dumps(event).encode(), **off)

    given = own_shop.hook("Where did we stop last time?", session="s2", **off)

    assert "I did not fix it yet" in given
    assert "Completed: " not in given
    assert re.search(r"  injected  +\d+ ms  ", own_shop.out("log", "--limit", "1"))
    assert "[summary] s1 Why is the cap of the retries ignored here?" in own_shop.out("explain")
