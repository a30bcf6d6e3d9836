import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from hybrid.config import Loaded
from hybrid.constants import RankingConfig
from hybrid.evaluation.measures import TOKENS, FilePassage, JudgedQuery, QrelsError, read_queries, score
from hybrid.evaluation.results import Answered, Configuration
from hybrid.evaluation.retrieval import (
    MODES,
    WHOLE,
    Evaluation,
    IndexScope,
    JudgedTree,
    Plan,
    against,
    evaluate_retrieval,
    in_force,
    settings_in_force,
    trees_of,
    write_run,
)
from tests.support.repositories import Repository

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
NAMES = RankingConfig.__struct_fields__
SETTINGS = ("model.name=hashing-64",)
LEXICAL = (Configuration("lexical", (), "lexical"),)


def evaluate(
    judged: Sequence[JudgedQuery],
    trees: dict[str, JudgedTree],
    home: Path,
    configurations: Sequence[Configuration] = LEXICAL,
) -> Evaluation:
    """Evaluate with the hashing embedder."""

    def load(assignments: Sequence[str]) -> Loaded:
        return settings_in_force([*SETTINGS, *assignments], environ={"HYBRID_HOME": str(home)})

    return evaluate_retrieval(Plan({"all": judged}, trees, configurations), home, load)


def answers(found: Evaluation, label: str = "lexical") -> dict[str, Answered]:
    """The answers in one configuration by the id of the query."""
    return {answer.query.id: answer for answer in found.results["all"].of(label)}


def test_each_query_is_asked_of_its_repository_in_every_mode(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """The repository that is not there is named, not counted."""
    judged = read_queries(queries_file)
    found = evaluate(judged, trees_of(judged, repos), tmp_path / "home", in_force(MODES))
    results = found.results["all"]
    asked = sorted((answer.query.id, answer.label) for answer in results.answered)

    assert [(q, mode) for q in ("q1", "q2", "q3") for mode in ("dense", "hybrid", "lexical")] == asked
    assert ("far-away",) == results.missing
    assert {"boats": 2, "bakery": 1} == results.n_queries()


def test_an_exact_word_is_found_on_top(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """The scores are those of the ranking that stands beside them, and what is read is the chunk that hits."""
    judged = read_queries(queries_file)
    found = answers(evaluate(judged, trees_of(judged, repos), tmp_path / "home"))
    text = (repos / "boats" / "src" / "sails.py").read_text(encoding="utf-8")

    assert "src/sails.py" == found["q2"].ranking[0].path
    assert 1.0 == found["q2"].scores["nDCG@10"]
    assert len(text) / 4 == found["q2"].scores[TOKENS]
    assert score(found["q3"].ranking, found["q3"].query.targets).items() <= found["q3"].scores.items()


def test_the_mean_is_of_repositories_not_of_queries(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """A repository with one query weighs as much as one with two."""
    judged = read_queries(queries_file)
    results = evaluate(judged, trees_of(judged, repos), tmp_path / "home").results["all"]
    means = results.by("lexical", "repo")

    assert (1.0, 0.5) == (means["boats"]["R@10"], means["bakery"]["R@10"])
    assert 0.75 == results.overall("lexical")["R@10"]
    assert {"semantic", "symbol"} == set(results.by("lexical", "category"))
    assert {"go", "python"} == set(results.by("lexical", "language"))


def test_comparable_figures_see_only_code_of_the_folder(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Docs and other folders are not indexed, so no statistic comes from them; paths stay those of the repository."""
    judged = read_queries(queries_file)
    comparable = evaluate(judged, trees_of(judged, repos, roots={"boats": "src"}, only=["boats"]), tmp_path / "home")
    whole = evaluate(judged, trees_of(judged, repos, roots=None, only=["boats"]), tmp_path / "home")

    assert (2, 3) == (comparable.builds["boats"].documents, whole.builds["boats"].documents)
    assert {"src/anchor.py", "src/sails.py"} == {p.path for a in answers(comparable).values() for p in a.ranking}
    assert "docs/anchor.md" in {p.path for a in answers(whole).values() for p in a.ranking}


def test_both_scopes_live_in_one_home(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """A second run over the same home embeds nothing again."""
    judged = read_queries(queries_file)
    evaluate(judged, trees_of(judged, repos), tmp_path / "home")
    evaluate(judged, trees_of(judged, repos, roots=None), tmp_path / "home")
    again = evaluate(judged, trees_of(judged, repos), tmp_path / "home")

    assert [0, 0] == [built.embedded for built in again.builds.values()]


def test_nothing_is_written_into_the_repositories(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """They are other people's trees."""
    before = sorted(path for path in repos.rglob("*"))
    judged = read_queries(queries_file)
    evaluate(judged, trees_of(judged, repos), tmp_path / "home")

    assert before == sorted(path for path in repos.rglob("*"))


def test_a_setting_acts_on_its_configuration_alone(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Without the dense leg the fused ranking is the lexical one; the other configuration keeps both legs."""
    judged = read_queries(queries_file)
    off = ("search.ranker=rrf", "search.dense_weight=0", "search.symbol_dense_weight=0")
    ways = [Configuration("lexical", (), "lexical"), Configuration("hybrid"), against(off, "hybrid")]
    found = evaluate(judged, trees_of(judged, repos), tmp_path / "home", ways)
    lexical, hybrid, weighted = (answers(found, way.label) for way in ways)

    for query in ("q1", "q2", "q3"):
        assert lexical[query].ranking == weighted[query].ranking[: len(lexical[query].ranking)]
    assert any(len(hybrid[query].ranking) > len(lexical[query].ranking) for query in lexical)


def test_a_setting_of_the_index_has_an_index_of_its_own(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Smaller chunks are searched in one configuration while the other sees the chunks of the settings in force."""
    body = "".join(f"    depth = depth + {n}  # one more fathom of chain\n" for n in range(40))
    (repos / "boats" / "src" / "chain.py").write_text(f"def pay_out_chain(depth):\n{body}    return depth\n")
    judged = read_queries(queries_file)
    small = ("index.chunk_max_chars=200", "index.chunk_cut_chars=150", "index.chunk_merge_chars=100")
    ways = [Configuration("lexical", (), "lexical"), against(small, "lexical")]
    chain = [JudgedQuery("c", "boats", "fathom chain", "", "", (FilePassage("src/chain.py"),))]
    found = evaluate([*judged, *chain], trees_of(judged, repos, only=["boats"]), tmp_path / "home", ways)
    before, after = (answers(found, way.label)["c"].ranking for way in ways)
    longest = [max((p.end_line or 0) - (p.start_line or 0) for p in ranking) for ranking in (before, after)]

    assert longest[0] > 4 * longest[1]
    assert len(before) < len(after)


def test_what_is_held_out_is_not_found(repos: Path, tmp_path: Path) -> None:
    """Its lines are blank for the index, the other lines keep their numbers, and the file itself is not touched."""
    (repos / "boats" / "queries.md").write_text("# Notes\n\nLower the anchor to the sea floor.\n")
    query = JudgedQuery("q", "boats", "lower to the sea floor", "", "", (FilePassage("src/anchor.py", 1, 3),))
    scope = IndexScope(
        held_out=(FilePassage("src/anchor.py", 2, 2), FilePassage("docs/anchor.md")), left_out=("queries.md",)
    )
    open_tree, hidden = (JudgedTree(repos / "boats", each) for each in (WHOLE, scope))
    before = answers(evaluate([query], {"boats": open_tree}, tmp_path / "home"))["q"].ranking
    after = answers(evaluate([query], {"boats": hidden}, tmp_path / "home"))["q"].ranking
    named = JudgedQuery("q", "boats", "drop_anchor", "", "", (FilePassage("src/anchor.py"),))
    by_name = answers(evaluate([named], {"boats": hidden}, tmp_path / "home"))["q"].ranking

    assert {"src/anchor.py", "docs/anchor.md", "queries.md"} == {passage.path for passage in before}
    assert () == after
    assert FilePassage("src/anchor.py", 1, 3) == by_name[0]
    assert "Lower the anchor" in (repos / "boats" / "src" / "anchor.py").read_text(encoding="utf-8")


def test_the_run_file_has_chunks_best_first(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """Each line holds an id and its results as path and lines."""
    judged = read_queries(queries_file)
    found = evaluate(judged, trees_of(judged, repos, only=["bakery"]), tmp_path / "home")
    answered = found.results["all"].of("lexical")
    write_run(tmp_path / "run.jsonl", answered)
    (line,) = [json.loads(text) for text in (tmp_path / "run.jsonl").read_text().splitlines()]

    assert "q3" == line["id"]
    assert answered[0].ranking == tuple(FilePassage(**result) for result in line["results"])


def test_no_repository_is_an_error(queries_file: Path, tmp_path: Path) -> None:
    """The message says where it looked and which option names the folder."""

    with pytest.raises(QrelsError, match=r"empty holds none .*--repos"):
        trees_of(read_queries(queries_file), tmp_path / "empty")


def test_queries_of_no_repository_are_an_error(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """There is nothing that a table could show."""
    judged = [query for query in read_queries(queries_file) if query.repo == "far-away"]

    with pytest.raises(QrelsError, match="no query is about any"):
        evaluate(judged, {"boats": JudgedTree(repos / "boats", WHOLE)}, tmp_path / "home")


@needs_git
def test_commits_tell_up_to_the_one_that_a_query_names(tmp_path: Path) -> None:
    """Not those after it, not one whose subject is the query, and none at all for a query that names no commit.

    No other piece of evidence counts here: without a commit that tells, the first file by name comes first.
    """
    made = Repository(tmp_path / "clones" / "boats")
    made.touch("Begin", "a.txt", "b.txt", "c.txt")
    first = made.touch("Keep lanterns lit", "b.txt")
    last = made.touch("Trim lanterns (#7)", "c.txt")
    asked = {
        "early": (first, "lanterns"),
        "late": (last, "lanterns"),
        "own": (last, "trim lanterns"),
        "none": ("", "lanterns"),
    }
    judged = [
        JudgedQuery(name, "boats", text, "", "", (FilePassage("b.txt", None, None),), known_at=known_at)
        for name, (known_at, text) in asked.items()
    ]
    shutil.copytree(made.root, tmp_path / "plain" / "boats", ignore=shutil.ignore_patterns(".git"))
    by_history = Configuration("history", tuple(f"ranking.{name}={float(name == 'history')}" for name in NAMES))
    in_clone = trees_of(judged, tmp_path / "clones", roots=None)
    beside = trees_of(judged, tmp_path / "plain", roots=None, history=tmp_path / "clones")

    for trees in (in_clone, beside):
        found = answers(evaluate(judged, trees, tmp_path / "home", [by_history]), "history")
        assert {"early": "b.txt", "late": "c.txt", "own": "b.txt", "none": "a.txt"} == {
            name: answer.ranking[0].path for name, answer in found.items()
        }


@needs_git
@pytest.mark.parametrize(("known_at", "message"), [("0" * 40, "has no commit 0"), ("--all", "has no commit --all")])
def test_a_commit_that_is_not_there_is_an_error(tmp_path: Path, known_at: str, message: str) -> None:
    """The message names the query."""
    made = Repository(tmp_path / "clones" / "boats")
    made.touch("Begin", "a.txt")
    judged = [JudgedQuery("q", "boats", "x", "", "", (FilePassage("a.txt", None, None),), known_at=known_at)]

    with pytest.raises(QrelsError, match=f"query q: .*{message}"):
        evaluate(judged, trees_of(judged, tmp_path / "clones", roots=None), tmp_path / "home")


def test_commits_of_a_plain_folder_are_an_error(repos: Path, tmp_path: Path) -> None:
    """A query that names a commit is not asked without its history, which would be another measure."""
    judged = [JudgedQuery("q", "boats", "x", "", "", (FilePassage("a.txt", None, None),), known_at="HEAD~1")]

    with pytest.raises(QrelsError, match=r"query q names a commit, but in .* not the top of a git working tree"):
        evaluate(judged, trees_of(judged, repos, roots=None), tmp_path / "home")
