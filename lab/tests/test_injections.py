"""What is injected for prompts with judged files, beside plain searches."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from hybrid.evaluation.measures import QrelsError
from hybrid.evaluation.retrieval import settings_in_force
from hybrid_lab.injection import IN_FORCE, PLAIN, RULES, evaluate_injections
from hybrid_lab.judged_prompts import JudgedPlace, JudgedPrompt, read_prompts

if TYPE_CHECKING:
    from pathlib import Path

OPEN = "hooks.gate_threshold=0.0"


def prompt(text: str, *files: str, **changes: Any) -> JudgedPrompt:
    """A wanted prompt of the boats."""
    values: dict[str, Any] = {"id": text, "repo": "boats", "text": text, "is_wanted": True, "kind": "task"}
    return JudgedPrompt(**{**values, "is_strict": True, "files": files, **changes})


def load(*assignments: str) -> Any:
    """Settings with the gate open."""
    return lambda more: settings_in_force([OPEN, *assignments, *more], environ={})


def test_the_right_file_counts(boats: Path, tmp_path: Path) -> None:
    """A prompt whose file is injected counts as found, one whose judged file is another does not."""
    right = prompt("where do we hoist the sails into the wind?", "src/sails.py")
    wrong = prompt("where do we lower the anchor to the sea bed?", "src/missing.py")

    found = evaluate_injections({"both": [right, wrong]}, boats, tmp_path / "home", load())["both"].rows

    assert [IN_FORCE.label, *RULES, *(way.label for way in PLAIN)] == [row.label for row in found]
    ours = found[0]
    assert (2, 0.5, 0.5, 0.5, 0.0) == (ours.prompts, ours.gold, ours.first, ours.early, ours.until)
    assert all(row.chars <= ours.chars for row in found if row.label in RULES)
    assert 0 < ours.precision <= 0.5
    assert (0.0, 0.0, 0.0) == (ours.gain, ours.low, ours.high)


def test_what_is_shown_of_a_definition_counts(boats: Path, tmp_path: Path) -> None:
    """Of the sails all lines are shown; of the galley, which is not injected, nothing; both count the same."""
    sails = JudgedPlace("src/sails.py", 1, 3, "hoist_sails", (1, 3))
    galley = JudgedPlace("src/galley.py", 1, 3, "boil_potatoes", (3,))
    asked = [prompt("hoist_sails into the wind", "src/sails.py", places=(sails, galley))]

    (found, *others) = evaluate_injections({"set": asked}, boats, tmp_path / "home", load())["set"].rows

    assert (0.5, 0.5) == (found.named, found.lines)
    assert 1_000 / found.chars < found.per_thousand
    assert len(others) == len(RULES) + len(PLAIN)


def test_prompts_are_told_apart_by_length_and_kind(boats: Path, tmp_path: Path) -> None:
    """A long and a short prompt, a task and a question: a row for each length and kind."""
    short = prompt("hoist the sails into the wind", "src/sails.py")
    long = prompt("lower the anchor to the sea bed. " * 10, "src/missing.py", kind="question")

    groups = evaluate_injections({"set": [short, long]}, boats, tmp_path / "home", load())["set"].groups

    assert ["up to 100 characters", "up to 400 characters", "task", "question"] == [group.label for group in groups]
    assert [1.0, 0.0, 1.0, 0.0] == [group.gold for group in groups]
    assert all(group.low <= group.gold <= group.high for group in groups)


def test_silence_finds_nothing(boats: Path, tmp_path: Path) -> None:
    """Behind a gate that never opens nothing is found, and there is no item to be right or wrong."""
    asked = [prompt("where do we hoist the sails into the wind?", "src/sails.py")]

    found = evaluate_injections({"set": asked}, boats, tmp_path / "home", load("hooks.gate_threshold=0.99"))["set"].rows

    assert {0.0} == {row.gold for row in found}
    assert all(math.isnan(row.precision) and math.isnan(row.items) for row in found)


def test_what_is_not_judged_is_passed_over(boats: Path, tmp_path: Path) -> None:
    """Prompts that want nothing, belong to no repository or have no judged file are not asked."""
    unwanted = prompt("merge it please, and thank you", "src/sails.py", is_wanted=False)
    homeless = prompt("hoist the sails", "src/sails.py", repo=None)
    unknown = prompt("hoist the sails now")

    with pytest.raises(QrelsError):
        evaluate_injections({"set": [unwanted, homeless, unknown]}, boats, tmp_path / "home", load())


def test_judged_definitions_are_read(tmp_path: Path) -> None:
    """A target with lines is a definition; the lines that matter are all of them unless they are named."""
    gold = [{"path": "a.py", "start_line": 3, "end_line": 5}, {"path": "b.py", "start_line": 1, "lines": [2]}, "c.py"]
    line = {"id": "a", "prompt": "hoist", "repo": "boats", "expect": "inject", "kind": "task", "gold": gold}
    (tmp_path / "p.jsonl").write_text(json.dumps(line))

    (read,) = read_prompts(tmp_path / "p.jsonl")
    assert ("a.py", "b.py", "c.py") == read.files
    assert (JudgedPlace("a.py", 3, 5, "", (3, 4, 5)), JudgedPlace("b.py", 1, 1, "", (2,))) == read.places


@pytest.mark.parametrize("gold", [["src/sails.py"], [{"path": "src/sails.py"}, {"path": "src/sails.py"}]])
def test_judged_files_are_read(tmp_path: Path, gold: list[Any]) -> None:
    """A target is a path or has one; the same path counts once."""
    line = {"id": "a", "prompt": "hoist", "repo": "boats", "expect": "inject", "kind": "task", "gold": gold}
    (tmp_path / "p.jsonl").write_text(json.dumps(line))

    assert ("src/sails.py",) == read_prompts(tmp_path / "p.jsonl")[0].files


def test_the_command_prints_a_table_and_json(
    boats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hybrid eval injection` tells the share of prompts that got the right file, for a person and a program."""
    line = {"id": "a", "prompt": "where do we hoist the sails into the wind?", "repo": "boats", "expect": "inject"}
    (tmp_path / "p.jsonl").write_text(json.dumps(line | {"kind": "task", "gold": ["src/sails.py"]}))
    args = ["eval", "injection", str(tmp_path / "p.jsonl"), "--repos", str(boats), "--set", OPEN]

    codes = run(args, started_s=0.0), run([*args, "--json"], started_s=0.0)

    assert (0, 0) == codes
    shown, _, told = capsys.readouterr().out.partition("{")
    assert "p: 1 prompts" in shown
    rows = json.loads("{" + told)["sets"]["p"]["rows"]
    assert [1.0, *RULES, "fusion alone"] == [rows[0]["gold"], *(row["label"] for row in rows[1:4])]
