import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import hybrid
from hybrid.base.errors import HybridError
from hybrid.cli.main import run
from hybrid.evaluation.measures import FilePassage, JudgedQuery, QrelsError, read_queries, read_roots
from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import Runner
from hybrid.models.registry import HashingEmbedder
from hybrid.types import EmbedInput
from hybrid_lab.peer.comparison import PEER_SCRIPT, WARM_UP, PeerError, PeerPlan, evaluate_peer, first_tree
from hybrid_lab.peer.figures import PeerReport
from hybrid_lab.peer.semble_side import Documents, Queries

STAND_IN = """
import json, os, pathlib, sys

job = json.loads(pathlib.Path(sys.argv[1]).read_text())
answer = {"name": "stand-in", "version": "1", "python": "3"}
if job["action"] == "build":
    folder = pathlib.Path(job["root"], job["folder"])
    files = sorted(p.relative_to(job["root"]).as_posix() for p in folder.rglob("*") if p.suffix in (".py", ".go"))
    pathlib.Path(job["index"]).write_text(json.dumps({f: pathlib.Path(job["root"], f).read_text() for f in files}))
    answer = {"load_s": 0, "start_s": 1, "build_s": 50, "files": files, "chunks": len(files), "index_bytes": 1}
if job["action"] == "query":
    texts = json.loads(pathlib.Path(job["index"]).read_text())
    def rank(query):
        shared = {file: sum(word in text for word in query.split()) for file, text in texts.items()}
        return [[file, 1, 3] for file in sorted(shared, key=lambda file: (-shared[file], file)) if shared[file]]
    rankings = [rank(query) for query in job["queries"]]
    answer = {"load_s": 0, "open_s": 0, "times_ms": [2000.0] * len(rankings), "rankings": rankings}
print("chatter of a library")
print(json.dumps(answer))
"""
"""Ranks files by the words they share with the query, and says that it is slow."""

MODEL = "model.name=hashing-64"


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a peer's script."""

    def write(text: str) -> Path:
        path = tmp_path / "stand_in.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def compare(plan: PeerPlan, scratch: Path) -> PeerReport:
    """Run a plan with the hashing embedder."""
    scratch.mkdir()
    return evaluate_peer(plan, scratch, settings_in_force([MODEL], environ={"HYBRID_HOME": str(scratch)}))


def test_a_process_begins_with_a_file_that_is_asked_for(tmp_path: Path) -> None:
    """The middle one by size of those that are there; most files of a tree may be data, which a peer leaves out."""
    top = tmp_path / "top"
    top.mkdir()
    sizes = {"a.json": 9, "b.json": 8, "c.json": 7, "large.c": 6, "middle.c": 4, "small.c": 2}
    for name, size in sizes.items():
        (top / name).write_text("x" * size, encoding="utf-8")
    wanted = tuple(map(FilePassage, ("small.c", "middle.c", "large.c", "absent.c")))
    query = JudgedQuery("1", "top", "where", "", "c", wanted)

    assert ["middle.c"] == [path.name for path in first_tree(top, [query], tmp_path / "first").iterdir()]
    assert [] == list(first_tree(tmp_path, [query], tmp_path / "none").iterdir())


@pytest.mark.slow
def test_both_sides_answer_the_same_queries(
    repos: Path, queries_file: Path, manifest_file: Path, tmp_path: Path, script: Callable[[str], Path]
) -> None:
    """Scored alike, on the same files; indexes are removed, trees stay as they were, absent repositories are named."""
    before = sorted(repos.rglob("*"))
    plan = PeerPlan(
        read_queries(queries_file), repos, sys.executable, read_roots(manifest_file), rounds=1, script=script(STAND_IN)
    )
    report = compare(plan, tmp_path / "scratch")
    boats, bakery = report.repositories["boats"], report.repositories["bakery"]

    assert ("far-away",) == report.missing
    assert ("stand-in 1", "hashing-64", 1) == (report.theirs, report.model, report.rounds)
    assert (2, 1) == (boats.n_queries, bakery.n_queries)
    assert {"src/anchor.py", "src/sails.py"} == boats.ours.files == boats.theirs.files
    assert 1.0 == boats.theirs.scores["nDCG@10"]
    assert pytest.approx(0.6131, abs=1e-4) == bakery.theirs.scores["nDCG@10"]  # the absent file is never found
    assert 0 < boats.ours.scores["nDCG@10"] <= 1
    assert (50, 2000.0, 2000.0) == (boats.theirs.build_s, boats.theirs.query_ms, boats.theirs.query_p95_ms)
    assert boats.ratios["build_s"] == boats.ours.build_s / 50
    assert before == sorted(repos.rglob("*"))
    assert {"cache", "settings", "job.json"} == {path.name for path in (tmp_path / "scratch").iterdir()}


@pytest.mark.slow
def test_the_command_prints_one_table_or_json(
    repos: Path,
    queries_file: Path,
    script: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The table has a row for each repository and one of means; where the sides indexed other files is said below.

    JSON has everything that the table shows, and ratios and means. What was measured for it is printed as the table.
    """
    stand_in = script(STAND_IN.replace('(".py", ".go")', '(".md", ".py")'))
    arguments = ["--repos", repos, "--peer-python", sys.executable, "--peer-script", stand_in]
    options = ["--rounds", "2", "--only", "boats", "elsewhere", "--set", MODEL]
    reports: list[PeerReport] = []

    def once(*given: Any, **named: Any) -> PeerReport:
        if not reports:
            reports.append(evaluate_peer(*given, **named))
        return reports[0]

    monkeypatch.setattr("hybrid_lab.peer.comparison.evaluate_peer", once)
    command = ["eval", "peer", *map(str, [queries_file, *arguments]), *options]
    assert 0 == run([*command, "--json"], started_s=0.0)
    form = json.loads(capsys.readouterr().out)
    assert 0 == run(command, started_s=0.0)
    title, heads, row, mean, _, files, missing, *rest = capsys.readouterr().out.split("\n")
    boats = form["repositories"]["boats"]

    assert (["elsewhere"], 2) == (form["missing"], form["rounds"])
    assert {"hybrid", "peer", "ratios"} == form["means"].keys()
    assert {"queries", "hybrid", "peer", "ratios", "only_in"} == boats.keys()
    assert boats["hybrid"]["index_bytes"] == boats["ratios"]["index_bytes"] > 1000
    assert 5e6 < boats["hybrid"]["query_peak_bytes"] < 5e8  # above an interpreter that does nothing
    assert title.endswith("/ stand-in 1, both with the vectors of hashing-64; rounds: 2; × = hybrid / peer")
    assert "n files nDCG@10 start s build s × query ms × p95 ms build MB query MB index MB" == " ".join(heads.split())
    assert ["boats", "2", "2", "/", "3"] == row.split()[:5]
    assert "/ 50.00 " in row
    assert "mean" == mean.split()[0]
    assert "boats: 0 files indexed by hybrid only, 1 by the peer only" == files
    assert "not there: elsewhere" == missing
    assert [""] == rest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print('hello')", "answered 'hello' where one line of JSON was expected"),
        ("print()", "answered '' where"),
        ("raise ValueError('no luck')", "ended with 1: ValueError: no luck"),
        ('print(\'{"missing": "semble"}\')', "semble is not installed for .*; `.* -m pip install semble` does it"),
        ('print(\'{"name": "x"}\')', "answered the job describe without version, python"),
    ],
    ids=["no-json", "silent", "crashed", "not-installed", "incomplete"],
)
def test_a_peer_that_does_not_answer_is_an_error(
    text: str, says: str, repos: Path, queries_file: Path, tmp_path: Path, script: Callable[[str], Path]
) -> None:
    """Found out before anything is built."""
    plan = PeerPlan(read_queries(queries_file), repos, sys.executable, script=script(text))

    with pytest.raises(HybridError, match=says):
        compare(plan, tmp_path / "scratch")


@pytest.mark.slow
def test_a_peer_that_leaves_queries_out_is_an_error(
    repos: Path, queries_file: Path, tmp_path: Path, script: Callable[[str], Path]
) -> None:
    """Its mean would be over other queries than ours."""
    stand_in = script(STAND_IN.replace('in job["queries"]]', 'in job["queries"][1:]]'))
    plan = PeerPlan(read_queries(queries_file), repos, sys.executable, only=("boats",), rounds=1, script=stand_in)

    with pytest.raises(PeerError, match="stand-in answered 1 of 2 queries"):
        compare(plan, tmp_path / "scratch")


def test_an_interpreter_that_is_not_there_is_an_error(
    repos: Path, queries_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names it and the option, and the exit code is 2."""
    code = run(
        ["eval", "peer", str(queries_file), "--repos", str(repos), "--peer-python", "/nowhere/python"], started_s=0.0
    )

    assert 2 == code
    assert "there is no interpreter /nowhere/python; --peer-python names" in capsys.readouterr().err


def test_repositories_that_are_not_there_are_an_error(queries_file: Path, tmp_path: Path) -> None:
    """As with `hybrid eval retrieval`."""
    plan = PeerPlan(read_queries(queries_file), tmp_path / "empty", sys.executable)

    with pytest.raises(QrelsError, match="holds none of the judged repositories"):
        compare(plan, tmp_path / "scratch")


@pytest.mark.skipif(importlib.util.find_spec("semble") is not None, reason="semble is installed here")
def test_the_script_says_that_semble_is_missing(repos: Path, queries_file: Path, tmp_path: Path) -> None:
    """This environment has none."""
    plan = PeerPlan(read_queries(queries_file), repos, sys.executable)

    with pytest.raises(PeerError, match="semble is not installed for"):
        compare(plan, tmp_path / "scratch")


def test_semble_embeds_queries_as_queries_and_chunks_as_documents() -> None:
    """The vectors are those of our embedder; the text of a chunk has no head line."""
    embedder = HashingEmbedder(64, "hashing-64")
    documents, queries = Documents(embedder), Queries(embedder)
    texts = ["def drop_anchor(depth): ...", "hoist the sail"]

    assert (64, 64) == (documents.dim, queries.dim)
    np.testing.assert_array_equal(
        embedder.embed_documents([EmbedInput("", text) for text in texts]),
        documents.encode(texts, use_multiprocessing=False, max_length=None),
    )
    np.testing.assert_array_equal(np.stack([embedder.embed_query(text) for text in texts]), queries.encode(texts))


def test_the_script_finds_hybrid_by_its_folder_alone(tmp_path: Path) -> None:
    """An environment without hybrid, but with the library of its values, gets the package and nothing beside it."""
    shop, elsewhere = tmp_path / "packages", tmp_path / "elsewhere"
    shop.mkdir()
    elsewhere.mkdir()
    (elsewhere / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    (shop / "hybrid").symlink_to(Path(hybrid.__file__).parent)
    (shop / "beside.py").write_text("", encoding="utf-8")
    program = f"""
import importlib.util, pathlib, runpy, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in str(finder).lower()]
sys.path = [entry for entry in sys.path if not (pathlib.Path(entry) / "hybrid").is_dir()]
assert importlib.util.find_spec("hybrid") is None
runpy.run_path({str(PEER_SCRIPT)!r})["_find_hybrid"](pathlib.Path({str(shop / "hybrid")!r}))
from hybrid.models.registry import load_embedder
print(load_embedder("hashing-64", home=pathlib.Path()).info.dim, importlib.util.find_spec("beside"))
"""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    assert "64 None" == Runner(environ, cwd=elsewhere).run("-c", program).strip()


def test_no_judged_query_is_a_warm_up(queries_file: Path) -> None:
    """What is asked before the clock starts teaches nothing about what is asked then."""

    assert not set(WARM_UP) & {query.text for query in read_queries(queries_file)}
    assert len(WARM_UP) == len(set(WARM_UP))


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """As all commands do."""

    assert 0 == run(["eval", "peer", "--help"], started_s=0.0)
    assert "example:\n  hybrid eval peer" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("HYBRID_PEER_PYTHON"), reason="HYBRID_PEER_PYTHON names no interpreter")
def test_semble_itself_answers(repos: Path, queries_file: Path, manifest_file: Path, tmp_path: Path) -> None:
    """It indexes the same files and finds what it is asked for, with our vectors."""
    python = os.environ["HYBRID_PEER_PYTHON"]
    report = compare(
        PeerPlan(read_queries(queries_file), repos, python, read_roots(manifest_file), rounds=1), tmp_path / "scratch"
    )

    assert report.theirs.startswith("semble ")
    for figures in report.repositories.values():
        assert figures.ours.files == figures.theirs.files
        assert figures.theirs.scores["nDCG@10"] > 0.6
