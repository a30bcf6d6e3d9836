"""What records beside the code do to the decisions of the gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from hybrid.cli.main import run
from hybrid_lab.gate.prompts import IN_FORCE, GatePlan, evaluate_gate
from hybrid_lab.gate.with_records import WITH_RECORDS, compare_records
from hybrid_lab.judged_prompts import read_prompts
from hybrid_lab.records.setup import GivenRecord
from lab.tests.gate.reports import asked, report, wanted
from tests.unit.evaluation.conftest import write_lines

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = (
    GivenRecord("lesson", "L001", "Which planets have rings", "Planets with rings around them are far away."),
    GivenRecord("lesson", "S002", "Stars", "Stars have no rings."),
    GivenRecord("pattern", "pat-000001-aaaaaaaa", "Rings around planets", "Rings\nAround planets\nPlanets have rings"),
)
SETTINGS = ("model.name=hashing-256", "hooks.gate_threshold=0.3")


def test_every_repository_has_the_records(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """A prompt that only records fit is silent without them, and gets them with them; trees and indexes stay clean."""
    before = sorted(repos.rglob("*"))
    plan = GatePlan(
        {"prompts": read_prompts(prompts_file)},
        repos,
        settings=SETTINGS,
        variants=(IN_FORCE, WITH_RECORDS),
        records=RECORDS,
    )
    found = evaluate_gate(plan, tmp_path / "home")
    without, beside = found[IN_FORCE.label]["prompts"], found[WITH_RECORDS.label]["prompts"]
    planets = [one for one in beside.asked if one.prompt.id == "p4"]

    assert [("bakery", "injected"), ("boats", "injected")] == [(one.repo, one.reason) for one in planets]
    assert all({"lesson", "pattern"} <= {*one.given} for one in planets)
    assert not any(one.is_injected for one in without.asked if one.prompt.id == "p4")
    assert without.true_rate == beside.true_rate
    assert before == sorted(repos.rglob("*"))
    assert not list((tmp_path / "home").rglob("LESSONS.md"))


def test_the_rows_count_both_runs() -> None:
    """Strict prompts are summed; different prompts are counted beside prompts × repositories."""
    without = report(asked(-1, of="a"), asked(-1, of="a", repo="bakery"), asked(1, of="b"), wanted(1))
    first, second, third, task = without.asked
    beside = replace(
        without,
        asked=(
            replace(first, reason="injected", given=("lesson",)),
            replace(second, reason="injected", given=("decision", "lesson")),
            replace(third, given=("code",)),
            task,
        ),
    )
    rows = compare_records(without, beside)

    assert [(False, "all"), (False, "small_talk"), (True, "all"), (True, "task")] == [
        (row.is_wanted, row.kind) for row in rows
    ]
    assert (3, 1, 3, 2, 1, 2, 1) == (
        rows[0].n,
        rows[0].without,
        rows[0].with_records,
        rows[0].lessons,
        rows[0].lore,
        rows[0].prompts,
        rows[0].prompts_given,
    )
    assert (1 / 3, 1.0) == (rows[0].as_json()["without_rate"], rows[0].as_json()["with_rate"])


def test_the_command_tells_both(
    repos: Path, prompts_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--records` adds a table for people and rows for programs; what it cannot be combined with is said."""
    lines = [{"kind": one.kind, "id": one.id, "name": one.name, "text": one.text} for one in RECORDS]
    records = write_lines(tmp_path / "records.jsonl", lines)
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    args = ["eval", "gate", str(prompts_file), "--repos", str(repos), "--records", str(records), *settings]
    codes = run(args, started_s=0.0), run([*args, "--json"], started_s=0.0)
    shown, _, told = capsys.readouterr().out.partition("\n{")
    rows = {(row["is_wanted"], row["kind"]): row for row in json.loads("{" + told)["records"]}

    assert (0, 0) == codes
    assert "without and with the records" in shown
    assert (0, 2) == (rows[False, "small_talk"]["without"], rows[False, "small_talk"]["with"])
    assert (1, 1) == (rows[False, "small_talk"]["prompts"], rows[False, "small_talk"]["prompts_given"])
    assert 2 == run([*args, "--ablation"], started_s=0.0)
    assert "one at a time" in capsys.readouterr().err


def test_records_need_judged_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Marks know nothing of records."""
    assert 2 == run(["eval", "gate", "--marks", "--records", str(tmp_path / "r.jsonl")], started_s=0.0)
    assert "--records needs GATE.jsonl" in capsys.readouterr().err
