"""`hybrid eval speed`, whose figures come from hooks and services that it starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from tests.support.builders import write_files
from tests.unit.evaluation.conftest import FILES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def boats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project; hooks that are timed have the patience of a slow machine."""
    monkeypatch.setenv("HYBRID_HOOKS_DEADLINE_MS", "60000")
    return write_files(tmp_path / "boats", FILES["boats"])


def _measured(project: Path, capsys: pytest.CaptureFixture[str], *options: object) -> dict[str, Any]:
    """Return the figures that the command prints."""
    assert 0 == run(["eval", "speed", str(project), *map(str, options), "--json"], started_s=0.0)
    return json.loads(capsys.readouterr().out)


def test_a_copy_is_measured(boats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part gives its figures, and the repository stays as it is."""
    before = {path: path.stat().st_mtime_ns for path in boats.rglob("*")}
    parts = [word for part in ("build", "search", "synthetic", "lexical", "hook", "files") for word in ("--part", part)]
    sizes = ("--synthetic", 50, "--lexical", 50, "--files", 5, "--rounds", 1, "--set", "model.name=hashing-64")
    form = _measured(boats, capsys, *parts, *sizes)

    assert {"machine", "model", "bare_start", "build", "search", "synthetic", "lexical", "hook", "files"} == form.keys()
    assert (3, 5) == (form["build"]["documents"], form["files"]["documents"])
    assert (50, 50) == (form["synthetic"]["chunks"], form["lexical"]["chunks"])
    assert form["lexical"]["largest_score_difference"] < 1e-9
    assert form["hook"]["injected"] == 1.0
    assert before == {path: path.stat().st_mtime_ns for path in boats.rglob("*")}


def test_a_service_is_measured(boats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Round trips, memory and freshness of a service, and 200 prompts at once, of which none gets a chunk twice."""
    form = _measured(boats, capsys, "--part", "service", "--part", "load", "--files", 5, "--rounds", 1, "--idle", 1)
    service, load = form["service"], form["load"]

    assert (1.0, 10, 4) == (service["injected"], service["saved_to_found_s"]["n"], service["loaded"]["open_indexes"])
    assert (200, 0, True, True) == tuple(
        load[key] for key in ("prompts", "given_twice", "counts_are_right", "same_service")
    )


def test_cold_starts_are_measured(boats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each start is a hook that finds no service; the report says what was given, with which records, and by whom."""
    form = _measured(boats, capsys, "--part", "cold", "--rounds", 2, "--beside", 1)["cold"]

    assert (2, 2, 1) == (form["cold_start"]["n"], sum(form["answered_by"].values()), form["beside"])
    assert form["with_records"] > 0
    assert form["listening_per_bare"] > 0
