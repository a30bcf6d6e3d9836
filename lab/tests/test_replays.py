"""What recorded sessions are given, beside what their agents read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from hybrid.evaluation.retrieval import settings_in_force
from hybrid_lab.memory.replay import Recording
from hybrid_lab.replays import evaluate_replays
from lab.tests.conftest import BOATS
from lab.tests.memory.recordings import event, read

if TYPE_CHECKING:
    from pathlib import Path

OPEN = "hooks.gate_threshold=0.0"
SESSION = Recording(
    "boats-1.jsonl",
    "boats",
    (
        event("UserPromptSubmit", session="b1", prompt="how do we lower the anchor to the sea bed? see sails.py"),
        read("b1", "t1", "src/sails.py", BOATS["src/sails.py"]),
        read("b1", "t2", "src/anchor.py", BOATS["src/anchor.py"]),
    ),
)


def load(more: Any) -> Any:
    """Settings with an open gate."""
    return settings_in_force([OPEN, *more], environ={})


def test_what_was_read_counts_as_read(boats: Path, tmp_path: Path) -> None:
    """The anchor was named before it was read; asked once more, nothing that was read is given unless all is."""
    trees = {"boats": boats / "boats"}
    told, *others = evaluate_replays([SESSION], trees, tmp_path / "home", load, every=1)

    assert [] == others
    assert ({"src/anchor.py", "src/sails.py"}, {"src/sails.py"}) == (told.opened, told.told)
    assert "src/anchor.py" in told.foreseen <= told.named
    assert (2, 2) == (told.uses, told.asked)
    assert 0 == told.read < told.read_all <= told.items_all
    assert told.calls == (0 if "src/sails.py" in told.named else 1)


def test_a_session_without_a_tree_is_left_out(boats: Path, tmp_path: Path) -> None:
    """Only sessions of projects that are there are replayed."""
    assert [] == list(evaluate_replays([SESSION], {"ships": boats / "boats"}, tmp_path / "home", load))


def test_the_command_prints_a_row_for_each_session(
    boats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hybrid eval replay` reads a folder of recordings; sums stand below, and `--json` counts files."""
    for name in ("boats-1", "ships-1"):
        (tmp_path / "sessions").mkdir(exist_ok=True)
        (tmp_path / "sessions" / f"{name}.jsonl").write_text("\n".join(SESSION.lines) + "\n")
    args = ["eval", "replay", str(tmp_path / "sessions"), "--repos", str(boats), "--set", OPEN]

    assert 0 == run(args, started_s=0.0)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("boats-1", "together", "1 sessions are left out"))
    assert 0 == run([*args, "--json"], started_s=0.0)
    (row,) = json.loads(capsys.readouterr().out)["sessions"]
    assert (2, 2, 1) == (row["uses"], row["opened"], row["told"])
