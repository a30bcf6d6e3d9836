import json
import math
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError
from hybrid.search.gate.background import Calibration
from hybrid_lab.gate.prompts import IN_FORCE, Asked, GatePlan, GateReport, Variant, evaluate_gate, write_run
from hybrid_lab.judged_prompts import JudgedPrompt, read_prompts
from lab.tests.gate.reports import asked, report, wanted

MODEL = "model.name=hashing-256"


def run_gate(prompts_file: Path, repos: Path, home: Path, *settings: str) -> GateReport:
    """Decide with the hashing embedder."""
    plan = GatePlan({"prompts": read_prompts(prompts_file)}, repos, settings=(MODEL, *settings))
    return evaluate_gate(plan, home)[IN_FORCE.label]["prompts"]


def test_a_prompt_without_a_repository_is_asked_of_each(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Its kind counts once for each repository; the prompt of an absent repository is not asked."""
    found = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=0.3")
    asked = sorted((one.prompt.id, one.repo) for one in found.asked)

    assert [("p1", "boats"), ("p2", "bakery")] == asked[:2]
    assert [(p, repo) for p in ("p3", "p4", "p5") for repo in ("bakery", "boats")] == asked[2:]
    assert ("far-away",) == found.missing


def test_prompts_without_any_repository_are_asked_of_all(repos: Path, tmp_path: Path) -> None:
    """Every folder is a repository then."""
    path = tmp_path / "elsewhere.jsonl"
    fields = {"id": "e1", "prompt": "act as a wise owl", "repo": None, "expect": "stay_silent", "kind": "role"}
    path.write_text(json.dumps(fields) + "\n")

    found = run_gate(path, repos, tmp_path / "home")

    assert [("bakery", "prompt"), ("boats", "prompt")] == [(one.repo, one.reason) for one in found.asked]


def test_the_whole_decision_is_made(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """A turn is silenced by a rule and has no score; what fits is injected; what does not fit stays below the gate."""
    found = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=0.3")
    by_id = {one.prompt.id: one for one in found.asked}

    assert ("prompt", -math.inf) == (by_id["p3"].reason, by_id["p3"].score)
    assert ("injected", True) == (by_id["p1"].reason, by_id["p1"].is_open)
    assert ("gate", False) == (by_id["p4"].reason, by_id["p4"].is_open)
    assert (1.0, 0.0) == (found.true_rate, found.false_rate)


@pytest.mark.parametrize(("threshold", "rate"), [("0.99", 0.0), ("-1", 1.0)], ids=["never", "always"])
def test_the_threshold_decides(repos: Path, prompts_file: Path, tmp_path: Path, threshold: str, rate: float) -> None:
    """Wanted prompts are all kept out by a threshold of 0.99 and all let in by −1."""
    found = run_gate(prompts_file, repos, tmp_path / "home", f"hooks.gate_threshold={threshold}")

    assert rate == found.true_rate
    assert (float(threshold),) == found.thresholds


def test_soft_prompts_are_reported_and_not_counted(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The false rate is that of the strict prompts; the soft kind has a row of its own."""
    found = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=-1")
    rows = {row.kind: row for row in found.kinds()}

    assert {"p3", "p4"} == {one.prompt.id for one in found.unwanted}
    assert (False, 2) == (rows["generic"].is_strict, rows["generic"].n_asked)
    assert 1.0 == rows["session_turn"].silenced


def test_the_json_holds_no_infinity(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Standard JSON knows no infinity: it is null there."""
    form = run_gate(prompts_file, repos, tmp_path / "home").as_json()

    assert form == json.loads(json.dumps(form, allow_nan=False))
    assert {"true_rate", "false_rate", "auc", "at", "kinds", "thresholds"} < form.keys()


def test_the_run_file_has_a_line_for_each_decision(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """What a rule silenced stands below every cosine."""
    found = run_gate(prompts_file, repos, tmp_path / "home")
    write_run(tmp_path / "run.jsonl", found.asked)
    lines = [json.loads(text) for text in (tmp_path / "run.jsonl").read_text().splitlines()]

    assert len(found.asked) == len(lines)
    assert {-2.0} == {line["score"] for line in lines if line["id"] == "p3"}


def test_a_projects_own_settings_count(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The decision is the one the project's user would get."""
    (repos / "boats" / ".hybrid").mkdir()
    (repos / "boats" / ".hybrid" / "config.toml").write_text('[hooks]\nskip_prefixes = ["lower"]\n')
    found = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=-1")

    assert ["prompt"] == [one.reason for one in found.asked if one.prompt.id == "p1"]


def test_a_setting_that_is_wrong_is_an_error(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(ConfigError, match=r"search\.depth"):
        run_gate(prompts_file, repos, tmp_path / "home", "search.depth=none")
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        run_gate(prompts_file, repos, tmp_path / "home", "search.depth")


def test_the_bars_of_every_calibrated_repository_are_reported(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """With a fixed threshold no bar is in force, and none is reported."""
    calibrated = run_gate(prompts_file, repos, tmp_path / "home").as_json()
    fixed = run_gate(prompts_file, repos, tmp_path / "home", "hooks.gate_threshold=0.3").as_json()

    assert ["bakery", "boats"] == list(calibrated["bars"])
    assert {"talk", "tasks"} == calibrated["bars"]["boats"].keys()
    assert {} == fixed["bars"]


def test_without_the_rules_the_gate_alone_decides(repos: Path, tmp_path: Path) -> None:
    """A turn that a rule silences has no score; without the rules it has one, and what opens counts as injected."""
    turn = JudgedPrompt("turn", "boats", "merge it and open the pull request", False, "session_turn", True)
    no_rules = Variant("no rules", has_rules=False)
    plan = GatePlan({"prompts": [turn]}, repos, settings=(MODEL,), variants=(IN_FORCE, no_rules))
    found = evaluate_gate(plan, tmp_path / "home")
    (ruled,), (judged,) = (found[label]["prompts"].asked for label in ("all parts", "no rules"))

    assert ("prompt", -math.inf, None) == (ruled.reason, ruled.score, ruled.top_cosine)
    assert math.isfinite(judged.score)
    assert judged.top_cosine is not None
    assert judged.is_injected == judged.is_open == (judged.score > 0)


def test_each_set_has_a_report(repos: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Sets are asked in one pass and counted apart."""
    prompts = read_prompts(prompts_file)
    judged = {"prompts": prompts, "chatty": [prompt for prompt in prompts if prompt.is_wanted]}
    found = evaluate_gate(GatePlan(judged, repos, settings=(MODEL,)), tmp_path / "home")

    assert ["all parts"] == list(found)
    assert {"prompts": (2, 4), "chatty": (2, 0)} == {
        name: (len(of.wanted), len(of.unwanted)) for name, of in found["all parts"].items()
    }


def test_tasks_of_other_projects_are_told_apart() -> None:
    """They count in the false rate, and have a rate of their own."""
    found = report(asked(0.1, kind="other_repo"), asked(-0.1, kind="other_repo"), asked(-0.2), asked(-0.3))

    assert (0.25, 0.5) == (found.false_rate, found.other_rate)
    assert math.isnan(report(asked(0.1)).other_rate)


def test_a_shift_of_the_thresholds_is_told_for_each_false_rate() -> None:
    """Hand-worked: no unwanted prompt of three may pass at 1, 2 and 5 %, so all thresholds rise by 0.125."""
    found = report(wanted(0.125), wanted(-0.25), asked(0.0625, kind="other_repo"), asked(-0.5), asked(-math.inf))
    rows = found.as_json(chatty=[0.25, 0.0])["at"]

    assert ["1% false", "2% false", "5% false", "largest true - false"] == [row["label"] for row in rows]
    first = {"shift": 0.125, "threshold": 0.375, "true_rate": 0.5, "false_rate": 0.0}
    assert {"label": "1% false", **first, "chatty_rate": 0.5, "other_repo_rate": 0.0} == rows[0]
    assert (-0.25, 1.0, 1.0) == tuple(rows[3][key] for key in ("shift", "true_rate", "chatty_rate"))


def test_a_threshold_is_told_only_where_there_is_one() -> None:
    """Repositories with bars of their own have no common threshold, only a common shift."""
    other = Asked(JudgedPrompt("q", None, "text", True, "task", True), "bakery", 0.5, True, "injected", "", 0.125, 0.6)
    row = report(wanted(0.125), other, asked(-0.5)).as_json()["at"][0]

    assert (0.125, None, None) == (row["shift"], row["threshold"], row["chatty_rate"])


def test_a_bar_that_nothing_can_reach_is_null() -> None:
    """A corpus without any calibration prompt has bars at infinity, which JSON does not know."""
    bars = {"boats": Calibration(math.inf, 0.25, 0, 0.03, 0.3, 0.0, 0.0)}

    assert {"boats": {"talk": None, "tasks": 0.25}} == report(wanted(0.5), bars=bars).as_json()["bars"]
