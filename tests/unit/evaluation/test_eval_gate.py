import json
import math
from pathlib import Path

import pytest

from hybrid.errors import ConfigError
from hybrid.evaluation.gate import GateReport, evaluate_gate, write_run
from hybrid.evaluation.qrels import read_prompts


def run_gate(prompts_file: Path, repos: Path, home: Path, *settings: str) -> GateReport:
    """Decide with the hashing embedder."""
    return evaluate_gate(read_prompts(prompts_file), repos, home, settings=("model.name=hashing-256", *settings))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's settings are those of an empty home."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "user"))


def test_a_prompt_without_a_repository_is_asked_of_each(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Its kind counts once for each repository; the prompt of an absent repository is not asked."""
    report = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=0.3")
    asked = sorted((one.prompt.id, one.repo) for one in report.asked)

    assert [("p1", "boats"), ("p2", "bakery")] == asked[:2]
    assert [(p, repo) for p in ("p3", "p4", "p5") for repo in ("bakery", "boats")] == asked[2:]
    assert ("far-away",) == report.missing


def test_the_whole_decision_is_made(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """A turn is silenced by a rule and has no score; what fits is injected; what does not fit stays below the gate."""
    report = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=0.3")
    by_id = {one.prompt.id: one for one in report.asked}

    assert ("prompt", -math.inf) == (by_id["p3"].reason, by_id["p3"].score)
    assert ("injected", True) == (by_id["p1"].reason, by_id["p1"].is_open)
    assert ("gate", False) == (by_id["p4"].reason, by_id["p4"].is_open)
    assert (1.0, 0.0) == (report.true_rate, report.false_rate)


@pytest.mark.parametrize(("threshold", "rate"), [("0.99", 0.0), ("-1", 1.0)], ids=["never", "always"])
def test_the_threshold_decides(repos: Path, prompts_file: Path, tmp_path: Path, threshold: str, rate: float) -> None:
    """Wanted prompts are all kept out by a threshold of 0.99 and all let in by −1."""
    report = run_gate(prompts_file, repos, tmp_path / "home", f"hooks.gate_threshold={threshold}")

    assert rate == report.true_rate
    assert (float(threshold),) == report.thresholds


def test_soft_prompts_are_reported_and_not_counted(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The false rate is that of the strict prompts; the soft kind has a row of its own."""
    report = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=-1")
    rows = {row.kind: row for row in report.kinds()}

    assert {"p3", "p4"} == {one.prompt.id for one in report.unwanted}
    assert (False, 2) == (rows["generic"].is_strict, rows["generic"].n_asked)
    assert 1.0 == rows["session_turn"].silenced


def test_the_json_holds_no_infinity(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Standard JSON knows no infinity: it is null there."""
    form = run_gate(prompts_file, repos, tmp_path / "home").as_json()

    assert form == json.loads(json.dumps(form, allow_nan=False))
    assert {"true_rate", "false_rate", "auc", "at", "kinds", "thresholds"} < form.keys()


def test_the_run_file_has_a_line_for_each_decision(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """What a rule silenced stands below every cosine."""
    report = run_gate(prompts_file, repos, tmp_path / "home")
    write_run(tmp_path / "run.jsonl", report.asked)
    lines = [json.loads(text) for text in (tmp_path / "run.jsonl").read_text().splitlines()]

    assert len(report.asked) == len(lines)
    assert {-2.0} == {line["score"] for line in lines if line["id"] == "p3"}


def test_a_projects_own_settings_count(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The decision is the one the project's user would get."""
    (repos / "boats" / ".hybrid").mkdir()
    (repos / "boats" / ".hybrid" / "config.toml").write_text('[hooks]\nskip_prefixes = ["lower"]\n')
    report = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=-1")

    assert ["prompt"] == [one.reason for one in report.asked if one.prompt.id == "p1"]


def test_a_setting_that_is_wrong_is_an_error(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(ConfigError, match=r"search\.depth"):
        run_gate(prompts_file, repos, tmp_path / "home", "search.depth=none")
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        run_gate(prompts_file, repos, tmp_path / "home", "search.depth")
