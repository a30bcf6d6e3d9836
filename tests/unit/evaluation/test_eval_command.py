import json
import re
import sys
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError, HybridError
from hybrid.cli.main import run
from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import runner

MODEL = ["--set", "model.name=hashing-64"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's settings are those of an empty home."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "user"))


def evaluate(*arguments: object) -> int:
    """Run `hybrid eval` in this process."""
    return run(["eval", *map(str, arguments)], started_s=0.0)


def test_retrieval_prints_tables(
    repos: Path, queries_file: Path, manifest_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By repository, category and language, and the mean of the means last."""
    code = evaluate(
        "retrieval", queries_file, "--repos", repos, "--manifest", manifest_file, "--mode", "lexical", *MODEL
    )
    shown = capsys.readouterr().out

    assert 0 == code
    for part in ("lexical: by repository", "boats", "by category", "symbol", "by language", "go", "tokens to hit"):
        assert part in shown
    assert "time of a query" in shown
    assert "mean of the means of 2 repositories" in shown
    assert shown.endswith("not there: far-away\n")


def test_retrieval_writes_json_and_a_run(
    repos: Path, queries_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All modes come from one build; the run is the fused one."""
    out = tmp_path / "run.jsonl"
    code = evaluate("retrieval", queries_file, "--repos", repos, "--run", out, "--json", *MODEL)
    form = json.loads(capsys.readouterr().out)

    found = form["sets"]["queries"]
    assert (0, ["dense", "lexical", "hybrid"]) == (code, list(found["configurations"]))
    assert ["far-away"] == found["missing"]
    assert ({}, {}) == (found["against"], found["ablation"])
    assert {"q1", "q2", "q3"} == {json.loads(line)["id"] for line in out.read_text().splitlines()}


def test_retrieval_compares_two_configurations(
    repos: Path, queries_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--against` asks both in one run, in one mode; each file is reported apart; the plot has a row for each."""
    more = tmp_path / "more.jsonl"
    more.write_text("".join(line for line in queries_file.read_text().splitlines(keepends=True) if '"q2"' in line))
    arguments = [queries_file, more, "--repos", repos, "--against", "search.ranker=rrf", "--against", "search.rrf_k=5"]
    code = evaluate("retrieval", *arguments, "--plot", tmp_path / "two.svg", *MODEL)
    shown = capsys.readouterr().out
    label = "search.ranker=rrf, search.rrf_k=5"

    assert 0 == code
    for part in ("== queries: 3 queries", "== more: 1 query", f"{label} against the settings in force, hybrid"):
        assert part in shown
    assert "nDCG@10 by language" in shown
    assert "dense: by repository" not in shown
    drawn = (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name}: nDCG@10 by language -->" in drawn for name in ("queries", "more"))


def test_retrieval_says_what_each_part_is_worth(
    repos: Path, queries_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--ablation` compares the settings in force with one thing off each, with an interval."""
    arguments = ["retrieval", queries_file, "--repos", repos, "--ablation", *MODEL, "--set", "search.ranker=evidence"]
    assert 0 == evaluate(*arguments)
    shown = capsys.readouterr().out
    assert 0 == evaluate(*arguments, "--json")
    rows = json.loads(capsys.readouterr().out)["sets"]["queries"]["ablation"]

    assert {"lexical leg alone", "dense leg alone", "fusion alone", "no best_words"} <= rows.keys()
    for label, differences in rows.items():
        assert f"\n  {label} " in shown
        assert {"nDCG@10", "R@5", "R@10", "RR@10", "Success@1", "tokens"} == differences.keys()
        assert differences["R@10"]["low"] <= differences["R@10"]["difference"] <= differences["R@10"]["high"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "a.gif"], "must end in .svg or .png"),
        (["--run", "a.jsonl"], "--run writes the rankings of one QUERIES.jsonl"),
        (["--against", "search.rrf_k"], "a setting is given as section.key=value"),
        (["--against", "search.rrfk=5"], "unknown setting search.rrfk"),
    ],
    ids=["plot", "run of two files", "no value", "no setting"],
)
def test_a_slip_on_the_command_line_costs_no_build(
    repos: Path,
    queries_file: Path,
    tmp_path: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message comes before minutes of work."""
    (tmp_path / "more.jsonl").write_text(queries_file.read_text())
    home = tmp_path / "kept"

    assert 2 == evaluate("retrieval", queries_file, tmp_path / "more.jsonl", "--repos", repos, "--home", home, *options)
    assert message in capsys.readouterr().err
    assert not list(home.glob("projects/*"))


def test_gate_prints_rates_of_both_files(repos: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The threshold that was fixed, what it does, what moving it would do, and kinds."""
    code = evaluate("gate", prompts_file, "--repos", repos, "--chatty", prompts_file, "--threshold", "0.3", *MODEL)
    shown = capsys.readouterr().out

    assert 0 == code
    for part in (
        "prompts: 2 wanted, 4 unwanted (strict), repositories: 2",
        "  threshold 0.3000 of the raw top cosine",
        "  AUC of the margin, score - threshold: ",
        "with the thresholds in force, whole decision",
        "  wanted, in chatty wording  2 ",
        "  generic (soft)             2 ",
        "  1% false ",
        "  5% false ",
        "chatty: 2 wanted",
        "by kind",
        "not there: far-away",
    ):
        assert part in shown


def test_gate_prints_the_range_of_the_bars(repos: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each repository has its own: their list would say nothing."""
    code = evaluate("gate", prompts_file, "--repos", repos, "--halves", "3", *MODEL)
    shown = capsys.readouterr().out

    assert 0 == code
    for what in ("small talk", "tasks of other projects"):
        assert re.search(
            rf"^  bar for {what} -?\d\.\d{{4}} to -?\d\.\d{{4}}, found without labels", shown, re.MULTILINE
        )
    assert "on 3 random halves" in shown
    assert "ablation" not in shown


def test_gate_shows_what_each_part_is_worth(
    repos: Path, prompts_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--ablation` gives one row a part, as a table and as JSON, and one curve a row; the same home serves again."""
    arguments = [
        "gate",
        prompts_file,
        "--repos",
        repos,
        "--chatty",
        prompts_file,
        "--home",
        tmp_path / "kept",
        "--ablation",
    ]
    code = evaluate(*arguments, "--plot", tmp_path / "roc.svg", *MODEL)
    shown = capsys.readouterr().out
    again = evaluate(*arguments, "--json", *MODEL)
    form = json.loads(capsys.readouterr().out)
    drawn = (tmp_path / "roc.svg").read_text(encoding="utf-8")

    assert (0, 0) == (code, again)
    assert ["prompts", "chatty", "ablation"] == list(form)
    labels = [row["label"] for row in form["ablation"]]
    assert ("all parts", "raw top cosine, no rules") == (labels[0], labels[-1])
    assert form["prompts"]["auc"] == form["ablation"][0]["auc"]
    for label in labels:
        assert f"\n  {label} " in shown
        assert f"<!-- {label} (AUC " in drawn


@pytest.mark.parametrize(
    "fixed", [["--threshold", "0.3"], ["--set", "hooks.gate_threshold=0.3"]], ids=["option", "setting"]
)
def test_a_fixed_threshold_has_no_ablation(
    repos: Path, prompts_file: Path, tmp_path: Path, fixed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It switches every part off; the command says so before it builds anything."""
    home = tmp_path / "kept"

    assert 2 == evaluate("gate", prompts_file, "--repos", repos, "--home", home, "--ablation", *fixed)
    assert "--ablation compares the parts of the gate" in capsys.readouterr().err
    assert not home.exists()


def test_chunks_reports_each_language(repos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both functions of both languages are found; prose is not asked."""
    code = evaluate("chunks", repos / "boats", repos / "bakery", "--json")
    form = json.loads(capsys.readouterr().out)
    found = {row["language"]: (row["found"], row["share"]) for row in form["languages"]}

    assert 0 == code
    assert {"go": (2, 1.0), "python": (2, 1.0)} == found


def test_chunks_of_nothing_is_nothing_found(tmp_path: Path) -> None:
    """An empty folder has no language."""
    (tmp_path / "empty").mkdir()

    assert 1 == evaluate("chunks", tmp_path / "empty")


@pytest.mark.parametrize(
    "arguments",
    [
        ["retrieval", "nowhere.jsonl", "--repos", "."],
        ["gate", "nowhere.jsonl", "--repos", "."],
        ["chunks", "nowhere"],
        ["speed", "nowhere"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_not_there_is_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line names it, and the exit code is 2."""

    assert 2 == evaluate(*arguments)
    assert "nowhere" in capsys.readouterr().err


def test_processes_get_the_settings_in_force(tmp_path: Path) -> None:
    """A setting of this run reaches a child through its environment, and the home is the scratch one."""
    loaded = settings_in_force(["hooks.skip_prefixes=a,b", "hooks.budget=7"], environ={"HYBRID_HOME": str(tmp_path)})
    program = "import json; from hybrid.config import load; from pathlib import Path; import os; "
    program += "c = load(home=Path(os.environ['HYBRID_HOME'])).config; print(json.dumps([c.hooks.budget, c.hooks.skip_prefixes]))"

    assert [7, ["a", "b"]] == json.loads(runner(tmp_path, loaded).run("-c", program))


def test_processes_take_no_constants(tmp_path: Path) -> None:
    """No environment carries one: it is an error, but for who hands them on."""
    loaded = settings_in_force(["search.depth=7", "gate.null=false"], environ={"HYBRID_HOME": str(tmp_path)})

    assert ("gate.null=false", "search.depth=7") == tuple(
        sorted(runner(tmp_path, loaded, takes_constants=True).constants)
    )
    with pytest.raises(ConfigError, match="take settings, but no constants"):
        runner(tmp_path, loaded)


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell")
def test_a_watched_process_tells_its_memory(tmp_path: Path) -> None:
    """The peak is that of the process, not of this one."""
    loaded = settings_in_force(environ={"HYBRID_HOME": str(tmp_path)})
    watched = runner(tmp_path, loaded).watch("-c", "data = bytearray(50_000_000); print('done')")

    assert "done" == watched.output.strip()
    assert watched.peak_bytes is not None
    assert 50_000_000 < watched.peak_bytes < 100_000_000


def test_a_failed_process_is_an_error(tmp_path: Path) -> None:
    """Its last line is in the message."""
    loaded = settings_in_force(environ={"HYBRID_HOME": str(tmp_path)})

    with pytest.raises(HybridError, match="ended with 1: ValueError: no luck"):
        runner(tmp_path, loaded).run("-c", "raise ValueError('no luck')")
