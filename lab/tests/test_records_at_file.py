"""Whether records come with the files that they are about: the measure of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from hybrid_lab.at_file.events import read_recorded, shell_events
from hybrid_lab.at_file.given import read_definitions, read_file_records, read_made_sessions
from hybrid_lab.at_file.replay import share_of
from tests.support.builders import write_files

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parents[1] / "data" / "at_file"
PROJECT = "harbour/boats"
ANCHOR, SAILS = "src/anchor.py", "src/sails.py"


def record(name: str, text: str, how: str, *about: str) -> dict[str, Any]:
    """A lesson as a line has it."""
    return {"project": PROJECT, "kind": "lesson", "how": how, "about": about, "name": name, "text": text}


def step(command: str, rc: int | None = 0) -> dict[str, Any]:
    """A command of a recorded session."""
    return {"command": command, "rc": rc, "output": "", "n_output": 0}


def lines(*objects: object) -> str:
    """Objects as JSON lines."""
    return "".join(json.dumps(one) + "\n" for one in objects)


RECORDS = (
    record("Depths", f"{ANCHOR} counts in fathoms.", "path", ANCHOR),
    record("Chains", "Chains are greased in spring.", "none", ANCHOR),
    record("Winds", f"Sails hang on the mast; see {SAILS}.", "none", SAILS),
)
SESSIONS = (
    {
        "id": "harbour__boats-1",
        "set": "Multi",
        "task": "x",
        "steps": [step("ls src"), step(f"cd /home/boats && cat {ANCHOR}")],
    },
    {"id": "harbour__boats-2", "set": "Pro", "task": "x", "steps": [step(f"cat /app/{SAILS}"), step("sleep 9", None)]},
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with three records and an invented session, and two recorded ones beside it."""
    made = {"id": "made-1", "project": PROJECT, "task": "x", "steps": [f"R {ANCHOR}", f"E {SAILS} hoist", "F make~no"]}
    files = {
        "records.jsonl": lines(*RECORDS),
        "files.jsonl": lines({"project": PROJECT, "files": {ANCHOR: ["drop_anchor"], SAILS: ["hoist_sails"]}}),
        "sessions.jsonl": lines(made),
        "recorded.jsonl": lines(*SESSIONS),
    }
    write_files(tmp_path / "data", files)
    return tmp_path / "data"


def evaluate(data: Path, repos: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """The output for these recorded sessions."""
    args = ["eval", "at-file", str(data), "--sessions", str(data / "recorded.jsonl"), "--repos", str(repos), *more]
    assert 0 == run([*args, "--tools-alone", "--json"], started_s=0.0)
    return json.loads(capsys.readouterr().out)


def test_a_session_is_judged_by_what_came_at_its_first_file(
    data: Path, boats: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record that names the anchor comes in time; what comes at the sails is out of place."""
    told = evaluate(data, boats, capsys)
    recorded, invented = told["figures"]["recorded"], told["figures"]["invented"]

    assert (1, 1.0) == (recorded["first_in_time"]["of"], recorded["first_in_time"]["share"])
    assert (2, 0.5) == (recorded["not_about"]["of"], recorded["not_about"]["share"])
    assert (1, 0.0) == (recorded["silent_others"]["of"], recorded["silent_others"]["share"])
    assert (1, 2) == (invented["sessions"], invented["not_about"]["of"])
    assert 0 == evaluate(data, boats, capsys, "--part", "dev")["figures"]["recorded"]["first_in_time"]["of"]


def test_the_cases_are_shown(data: Path, boats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is out of place is listed with what the agent did."""
    args = ["eval", "at-file", str(data), "--sessions", str(data / "recorded.jsonl"), "--repos", str(boats), "--cases"]
    assert 0 == run([*args, "--tools-alone"], started_s=0.0)

    shown = capsys.readouterr().out
    assert f"out of place: harbour__boats-2: L003 at {SAILS}" in shown
    assert "missed" not in shown


@pytest.mark.parametrize(
    ("command", "is_opened"),
    [
        pytest.param(f"sed -n 1,9p /app/{ANCHOR}", True, id="absolute"),
        pytest.param("cd src && grep -n depth anchor.py", True, id="from a folder"),
        pytest.param(f"python3 - <<'E'\ntext = open('{ANCHOR}').read()\nE", True, id="in a script"),
        pytest.param(f"cat > {ANCHOR} <<'E'\nx\nE", True, id="written"),
        pytest.param(f"ls {ANCHOR}", False, id="listed"),
        pytest.param("cat anchor.py", False, id="another file of the name"),
    ],
)
def test_what_a_command_opens(tmp_path: Path, command: str, is_opened: bool) -> None:
    """Told without the engine that is measured."""
    write_files(tmp_path, {"s.jsonl": lines({"id": "a__b-1", "set": "Pro", "task": "x", "steps": [step(command)]})})
    _, told = shell_events(read_recorded(tmp_path / "s.jsonl")[0], tmp_path, [ANCHOR])

    assert is_opened == (ANCHOR in told.opens)


def test_what_was_not_there_is_left_out(tmp_path: Path) -> None:
    """The tree that stands in for the session's may have a file that the session did not find."""
    steps = [step(f"cat {ANCHOR}", 1) | {"output": f"cat: {ANCHOR}: No such file or directory"}, step("make", 2)]
    write_files(tmp_path, {"s.jsonl": lines({"id": "a__b-1", "set": "Pro", "task": "x", "steps": steps})})

    shown = [one.shown for one in shell_events(read_recorded(tmp_path / "s.jsonl")[0], tmp_path, [ANCHOR])]
    assert ["prompt", "make"] == shown


def test_a_share_has_its_interval() -> None:
    """Wilson's, which does not end at the share when that is 0 or 1."""
    cases: Sequence[bool] = [True] * 10
    found = share_of(cases)

    assert (10, 1.0) == (found.of, found.share)
    assert found.low is not None
    assert 0.7 < found.low < 0.75
    assert None is share_of(()).share


def test_the_data_is_whole() -> None:
    """Every file that a record is about has its line, a third is kept, and each session's project has records."""
    records, files = read_file_records(DATA), read_definitions(DATA)

    assert [] == [file for one in records for file in one.about if file not in files[one.project]]
    assert records[::3] == read_file_records(DATA, "kept")
    assert {one.project for one in read_made_sessions(DATA)} <= {one.project for one in records}
