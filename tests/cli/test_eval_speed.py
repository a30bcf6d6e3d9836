"""`hybrid eval speed`, whose figures come from hooks and services that it starts: one run of the smallest size."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from tests.support.builders import write_files
from tests.unit.evaluation.conftest import FILES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PARTS = ("build", "search", "synthetic", "lexical", "hook", "service", "cold", "load", "files")
SIZES = {
    "measure._N_QUERIES": 2,
    "service._N_PROJECTS": 1,
    "service._N_SAVES": 1,
    "cold._N_OBSERVATIONS": 20,
    "load._N_PROJECTS": 2,
    "load._SESSIONS_OF_A_PROJECT": 2,
    "load._PROMPTS_OF_A_SESSION": 4,
    "load._SETTLE_S": 0.1,
}
"""Of the tool, whose own are those of a measurement."""


@pytest.fixture(scope="module")
def boats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project."""
    return write_files(tmp_path_factory.mktemp("speed") / "boats", FILES["boats"])


@pytest.fixture(scope="module")
def form(boats: Path) -> dict[str, Any]:
    """The figures that the command prints; hooks that are timed have the patience of a slow machine."""
    before = _stamps(boats)
    parts = [word for part in PARTS for word in ("--part", part)]
    sizes = {"synthetic": 50, "lexical": 50, "files": 5, "rounds": 1, "idle": 1, "beside": 1}
    options = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setenv("HYBRID_HOME", str(boats.parent / "user"))
        patch.setenv("HYBRID_HOOKS_DEADLINE_MS", "60000")
        patch.setattr("hybrid_lab.service_process._STARTED_S", 120.0)
        patch.setattr("hybrid_lab.service_process._ANSWER_S", 120.0)
        for name, value in SIZES.items():
            patch.setattr(f"hybrid_lab.speed.{name}", value)
        code = run(["eval", "speed", str(boats), *parts, *options, "--json"], started_s=0.0)

    assert (0, before) == (code, _stamps(boats)), "the repository stays as it is"
    return json.loads(printed.getvalue())


def _stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_copy_is_measured(form: dict[str, Any]) -> None:
    """Every part gives its figures."""
    assert {"machine", "model", "bare_start", *PARTS} == form.keys()
    assert (3, 5) == (form["build"]["documents"], form["files"]["documents"])
    assert (50, 50) == (form["synthetic"]["chunks"], form["lexical"]["chunks"])
    assert form["lexical"]["largest_score_difference"] < 1e-9
    assert form["hook"]["injected"] == 1.0


def test_a_service_is_measured(form: dict[str, Any]) -> None:
    """Round trips, memory and freshness of a service, and prompts at once, of which none gets a chunk twice."""
    service, load = form["service"], form["load"]

    assert (1.0, 1, 2) == (service["injected"], service["saved_to_found_s"]["n"], service["loaded"]["open_indexes"])
    assert (16, 0, True, True) == tuple(
        load[key] for key in ("prompts", "given_twice", "counts_are_right", "same_service")
    )


def test_cold_starts_are_measured(form: dict[str, Any]) -> None:
    """Each start is a hook that finds no service; the report says what was given, with which records, and by whom."""
    cold = form["cold"]

    assert (1, 1, 1) == (cold["cold_start"]["n"], sum(cold["answered_by"].values()), cold["beside"])
    assert cold["with_records"] > 0
    assert cold["listening_per_bare"] > 0
