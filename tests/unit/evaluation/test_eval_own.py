from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.main import run
from tests.support.builders import git_project

if TYPE_CHECKING:
    from pathlib import Path

MODEL = ["--set", "model.name=hashing-64"]
CODE = '''def drop_anchor(depth):
    """Lower the iron hook to the sea floor."""
    chain = depth * 3
    return chain


def weigh_anchor(depth):
    """Haul everything back on deck before sailing."""
    return -depth
'''
SAILS = '''def hoist_sail(mast):
    """Raise the largest canvas along its spar."""
    return mast
'''
DOCS = f"# The boats\n\n## Sailing in bad weather\n\n{'Reef early and keep the hatches shut. ' * 5}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a `.hybrid` folder; the working directory is inside."""
    root = tmp_path / "boats"
    for name, text in {"src/anchor.py": CODE, "src/sails.py": SAILS, "docs/sailing.md": DOCS, ".hybrid/.gitignore": "*\n"}.items():  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(root / "src")
    return root


def evaluate(*arguments: object) -> int:
    """Run `hybrid eval` in this process."""
    return run(["eval", *map(str, arguments)], started_s=0.0)


def run_form(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """The JSON of `hybrid eval run`."""
    assert 0 == evaluate("run", "--json", *arguments, *MODEL)
    return json.loads(capsys.readouterr().out)


def test_init_proposes_and_run_scores(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments, headings and names become queries beside the project; their tables are those of judged queries."""
    assert 0 == evaluate("init")
    said = capsys.readouterr().out
    queries = [json.loads(line) for line in (project / ".hybrid" / "eval.jsonl").read_text().splitlines()]

    assert "7 queries (3 semantic, 1 heading, 3 symbol)" in said
    assert "hybrid eval run" in said
    assert "Lower the iron hook to the sea floor" in {query["query"] for query in queries}
    assert {"boats"} == {query["repo"] for query in queries}
    assert 0 == evaluate("run", *MODEL)
    shown = capsys.readouterr().out
    for part in ("by category", "semantic  3 ", "heading   1 ", "by language", "time of a query", "of 1 repository"):
        assert part in shown


def test_a_query_is_not_found_by_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    """The docstrings are hidden from the index that is searched: a word that only they hold finds nothing."""
    evaluate("init", "--quiet")
    form = run_form(capsys, "--mode", "lexical")
    (found,) = form["sets"].values()
    scores = found["configurations"]["lexical"]["categories"]

    assert (0.0, 1.0) == (scores["semantic"]["R@10"], scores["symbol"]["R@10"])
    assert 4 == form["repositories"]["boats"]["documents"] + 1  # two of code, one of prose, none of queries


def test_nothing_is_written_but_the_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The project's own index is neither used nor made, and no source file changes."""
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    evaluate("init", "--quiet")
    evaluate("run", *MODEL)
    capsys.readouterr()
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}

    assert {project / ".hybrid" / "eval.jsonl"} == after.keys() - before.keys()
    assert before.items() <= after.items()


def test_configurations_are_compared_on_the_own_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With intervals, an ablation and a plot, as for judged queries."""
    evaluate("init", "--quiet")
    form = run_form(capsys, "--against", "search.ranker=rrf", "--ablation", "--plot", tmp_path / "own.svg")
    (found,) = form["sets"].values()

    assert {"search.ranker=rrf"} == found["against"].keys()
    assert "queries" == found["against"]["search.ranker=rrf"]["nDCG@10"]["of"]
    assert "fusion alone" in found["ablation"]
    assert "change of nDCG@10 without it" in (tmp_path / "own.svg").read_text(encoding="utf-8")


def test_the_settings_of_the_project_count(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it leaves out is neither proposed nor searched."""
    (project / ".hybrid" / "config.toml").write_text('[index]\nexclude = ["docs/", "sails.py"]\n')
    evaluate("init", "--quiet")
    form = run_form(capsys)

    assert 1 == form["repositories"]["boats"]["documents"]
    assert 4 == next(iter(form["sets"].values()))["queries"]


def test_a_file_inside_the_project_is_not_searched(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds every query word for word."""
    evaluate("init", "--quiet", "--out", project / "queries.json")

    assert 3 == run_form(capsys, project / "queries.json")["repositories"]["boats"]["documents"]


def test_edits_since_then_are_followed_or_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that grew above is followed; a query whose comment was reworded is left out, and that is said."""
    evaluate("init", "--quiet")
    sails = project / "src" / "sails.py"
    sails.write_text(f"# one more line\n\n{sails.read_text()}")
    anchor = project / "src" / "anchor.py"
    anchor.write_text(anchor.read_text().replace("iron hook", "heavy hook"))
    assert 0 == evaluate("run", "--mode", "lexical", *MODEL)
    shown = capsys.readouterr().out

    assert "left out, since their text has changed: semantic-001\n" in shown
    assert re.search(r"^  semantic +2 +0\.0000 ", shown, re.MULTILINE)


def test_run_without_a_file_names_the_way_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing a user does may be the second step."""

    assert 2 == evaluate("run")
    assert "eval.jsonl is not there; `hybrid eval init` proposes one" in capsys.readouterr().err


def test_a_home_directory_is_not_read(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not a project, even when a `.hybrid` folder lies there."""
    monkeypatch.setenv("HOME", str(project))

    assert 2 == evaluate("init")
    assert "is your home folder" in capsys.readouterr().err


def test_corrections_are_safe(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second `init` replaces the file only by force."""
    evaluate("init", "--quiet")
    path = project / ".hybrid" / "eval.jsonl"
    path.write_text(path.read_text().replace("Lower the iron hook", "how do I stop the boat"))

    assert 2 == evaluate("init")
    assert "may hold corrections; --force replaces it" in capsys.readouterr().err
    assert "how do I stop the boat" in path.read_text()
    assert 0 == evaluate("init", "--force", "--limit", "2")
    assert 2 == len(path.read_text().splitlines())


def test_without_a_folder_of_its_own_a_project_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing goes into a tree unasked."""
    monkeypatch.chdir(git_project(tmp_path / "plain", {"a.py": CODE}))

    assert 2 == evaluate("init")
    assert "has no .hybrid folder; run `hybrid init`, or name a file" in capsys.readouterr().err
    assert 2 == evaluate("run")
    assert "has no .hybrid folder" in capsys.readouterr().err
    assert 0 == evaluate("init", "--out", tmp_path / "mine.jsonl", "--json")
    assert {"semantic": 2, "heading": 0, "symbol": 2} == json.loads(capsys.readouterr().out)["categories"]
    assert 0 == evaluate("run", tmp_path / "mine.jsonl", "--quiet", *MODEL)


def test_a_project_without_anything_to_ask_is_nothing_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, no file, and the reason."""
    (tmp_path / "empty" / ".hybrid").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "empty")

    assert 1 == evaluate("init")
    assert capsys.readouterr().out.startswith("nothing was proposed")
    assert [] == list((tmp_path / "empty" / ".hybrid").iterdir())
