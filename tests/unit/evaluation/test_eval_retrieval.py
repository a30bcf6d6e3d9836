import json
from pathlib import Path

import pytest

from hybrid.evaluation.measures import Passage, score
from hybrid.evaluation.qrels import QrelsError, read_queries
from hybrid.evaluation.retrieval import Plan, RetrievalReport, evaluate_retrieval, write_run
from hybrid.evaluation.trees import settings_in_force

SETTINGS = ("model.name=hashing-64",)


def run_plan(plan: Plan, home: Path) -> RetrievalReport:
    """Evaluate with the hashing embedder."""
    return evaluate_retrieval(plan, home, settings_in_force(SETTINGS, environ={"HYBRID_HOME": str(home)}))


def test_each_query_is_asked_of_its_repository_in_every_mode(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """The repository that is not there is named, not counted."""
    report = run_plan(Plan(read_queries(queries_file), repos), tmp_path / "home")
    asked = sorted((answer.query.id, answer.mode) for answer in report.answered)

    assert [(q, mode) for q in ("q1", "q2", "q3") for mode in ("dense", "hybrid", "lexical")] == asked
    assert ("far-away",) == report.missing
    assert {"boats": 2, "bakery": 1} == report.n_queries("hybrid")


def test_an_exact_word_is_found_on_top(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """The scores are those of the ranking that stands beside them."""
    report = run_plan(Plan(read_queries(queries_file), repos, modes=("lexical",)), tmp_path / "home")
    answers = {answer.query.id: answer for answer in report.answered}

    assert "src/sails.py" == answers["q2"].ranking[0].path
    assert 1.0 == answers["q2"].scores["nDCG@10"]
    assert score(answers["q3"].ranking, answers["q3"].query.targets) == answers["q3"].scores


def test_the_mean_is_of_repositories_not_of_queries(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """A repository with one query weighs as much as one with two."""
    report = run_plan(Plan(read_queries(queries_file), repos, modes=("lexical",)), tmp_path / "home")
    means = report.by_repo("lexical")
    expected = (means["boats"]["R@10"] + means["bakery"]["R@10"]) / 2

    assert (1.0, 0.5, 0.75) == (means["boats"]["R@10"], means["bakery"]["R@10"], expected)
    assert expected == report.overall("lexical")["R@10"]
    assert {"semantic", "symbol"} == set(report.by_category("lexical"))
    assert {"go", "python"} == set(report.by_language("lexical"))


def test_comparable_figures_see_only_code_of_the_folder(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Docs and other folders are not indexed, so no statistic comes from them; paths stay those of the repository."""
    queries, home = read_queries(queries_file), tmp_path / "home"
    comparable = run_plan(Plan(queries, repos, roots={"boats": "src"}, only=("boats",)), home)
    whole = run_plan(Plan(queries, repos, is_whole=True, only=("boats",)), home)

    assert (2, 3) == (comparable.builds["boats"].documents, whole.builds["boats"].documents)
    assert {"src/anchor.py", "src/sails.py"} == {p.path for a in comparable.answered for p in a.ranking}
    assert "docs/anchor.md" in {p.path for a in whole.answered for p in a.ranking}


def test_both_scopes_live_in_one_home(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """A second run over the same home embeds nothing again."""
    plan = Plan(read_queries(queries_file), repos)
    run_plan(plan, tmp_path / "home")
    run_plan(Plan(plan.queries, repos, is_whole=True), tmp_path / "home")
    again = run_plan(plan, tmp_path / "home")

    assert [0, 0] == [built.embedded for built in again.builds.values()]


def test_nothing_is_written_into_the_repositories(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """They are other people's trees."""
    before = sorted(path for path in repos.rglob("*"))
    run_plan(Plan(read_queries(queries_file), repos), tmp_path / "home")

    assert before == sorted(path for path in repos.rglob("*"))


def test_the_run_file_has_chunks_best_first(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Each line holds an id and its results as path and lines."""
    report = run_plan(Plan(read_queries(queries_file), repos, only=("bakery",), modes=("hybrid",)), tmp_path / "home")
    write_run(tmp_path / "run.jsonl", report.answered)
    (line,) = [json.loads(text) for text in (tmp_path / "run.jsonl").read_text().splitlines()]

    assert "q3" == line["id"]
    assert report.answered[0].ranking == tuple(Passage(**result) for result in line["results"])


def test_no_repository_is_an_error(queries_file: Path, tmp_path: Path) -> None:
    """The message says where it looked and which option names the folder."""
    plan = Plan(read_queries(queries_file), tmp_path / "empty")

    with pytest.raises(QrelsError, match=r"empty holds none .*--repos"):
        run_plan(plan, tmp_path / "home")
