import contextlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.errors import HybridError
from hybrid.cli.main import run
from hybrid.evaluation.retrieval import build_index, settings_in_force, workspace_at
from hybrid.index.snapshot import open_snapshot
from hybrid.models.registry import HashingEmbedder, load_embedder
from hybrid_lab.scale import corpus
from hybrid_lab.scale.corpus import Base
from hybrid_lab.scale.engines import FullText, Product, Spelled, measured, recall
from hybrid_lab.scale.measure import ScalePlan, measure_scale

MODEL = "model.name=hashing-64"
WORDS = "anchor barge canal drawbridge estuary ferry gangway harbour inlet jetty keel lagoon mooring narrows".split()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of a dozen small files, each with a comment and two functions."""
    root = tmp_path / "ports"
    for number, word in enumerate(WORDS):
        path = root / ("sea" if number % 2 else "river") / f"{word}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        other = WORDS[number - 1]
        path.write_text(
            f"# Opens the {word} before the {other} is closed.\n"
            f"def open_{word}(tide, {other}):\n    return [{other}.depth, tide.height, '{word}']\n\n\n"
            f"# Close it.\ndef close_{word}({other}):\n    del {other}\n",
            encoding="utf-8",
        )
    return root


def _base(tree: Path, home: Path) -> tuple[Base, HashingEmbedder]:
    loaded = settings_in_force([MODEL])
    workspace = workspace_at(tree, home, loaded)
    embedder = load_embedder("hashing-64", home=home)
    build_index(workspace, embedder=embedder)
    return Base(workspace.place, tree, embedder.info, seed=1), embedder


def test_a_corpus_begins_with_the_tree_and_copies_differ(tree: Path, tmp_path: Path) -> None:
    """The first copy is the tree; in the next one rare words and vectors are others, common words are the same."""
    base, _ = _base(tree, tmp_path / "home")
    copies = list(base.copies(3 * base.n_chunks))
    n = len(base.documents)

    assert 3 * base.n_chunks == sum(len(copied.rows) for copied in copies)
    assert base.documents == [copied.document for copied in copies[:n]]
    assert ["copy1/" + one.path for one in base.documents] == [copied.document.path for copied in copies[n : 2 * n]]
    digests = [record.digest for copied in copies for record in copied.document.records]
    assert len(digests) == len(set(digests))
    rows = np.arange(base.n_chunks)
    whole = base.moved(rows, np.zeros_like(rows))
    moved = base.moved(rows, np.ones_like(rows))
    cosines = np.einsum("ij,ij->i", whole.data * whole.scale[:, None], moved.data * moved.scale[:, None])
    assert np.allclose(base.vectors, whole.data * whole.scale[:, None], atol=0.02)
    assert 0.5 < cosines.min() < cosines.max() <= 1.01


def test_words_that_projects_share_stay(tree: Path, tmp_path: Path) -> None:
    """A word that is not among the common ones may be spelled otherwise in a copy, and always alike in the same one."""
    base, _ = _base(tree, tmp_path / "home")
    base.common = frozenset({"depth"})
    of_copy = [set[str](), set[str]()]
    for copied in base.copies(2 * base.n_chunks):
        for record in copied.document.records:
            of_copy[copied.copy] |= record.body.keys()

    assert "depth" in of_copy[1]
    assert of_copy[0] != of_copy[1]
    assert of_copy[0] & of_copy[1]


def test_sentences_are_comments(tree: Path, tmp_path: Path) -> None:
    """Prompts are comments of five words or more, without their marks; no more than asked for."""
    base, _ = _base(tree, tmp_path / "home")

    assert {f"Opens the {word} before the {WORDS[n - 1]} is closed." for n, word in enumerate(WORDS)} == {
        *base.sentences(100)
    }
    assert 3 == len(base.sentences(3))


def test_figures_of_a_run(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each size has times of searches, legs and engines, memory, and an edit that was found; the tree stays as it is.

    So it is for a corpus of several segments.
    """
    monkeypatch.setattr(corpus, "_SEGMENT_CHUNKS", 30)
    before = {path: path.read_text() for path in tree.rglob("*.py")}
    plan = ScalePlan(tree, (40, 90), engines=("rank_bm25", "fts5"), n_queries=4, rounds=1)
    found = measure_scale(plan, tmp_path / "scratch", settings_in_force([MODEL]))

    assert before == {path: path.read_text() for path in tree.rglob("*.py")}
    assert 4 == found["tree"]["prompts"]
    for size in ("40", "90"):
        figures = found[size]
        assert int(size) <= figures["search"]["chunks"] < int(size) + 3
        assert figures["search"]["has_gate"] is True
        assert figures["search"]["median_ms"] > 0 < figures["edit_to_searchable_s"]["median"]
        assert 1.0 == figures["dense_leg"]["recall@10"]
        assert figures["rank_bm25"]["largest_score_difference"] < 1e-9
        assert 0 <= figures["fts5"]["recall@10"] <= 1
        assert "before" not in figures


def test_another_checkout_answers_too(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--before`, here this very code, its times stand beside, with the ratio; what is no checkout is refused."""
    top = Path(__file__).parents[3]
    arguments = ["eval", "scale", str(tree), "--chunks", "40", "--queries", "2", "--rounds", "1", "--engine", "none"]
    code = run([*arguments, "--before", str(top), "--set", MODEL, "--json"], started_s=0.0)
    figures = json.loads(capsys.readouterr().out)["40"]

    assert 0 == code
    assert figures["per_before"] > 0 < figures["before"]["cpu_median_ms"]
    assert 2 == run([*arguments, "--before", str(tree), "--set", MODEL], started_s=0.0)
    assert "no checkout of hybrid" in capsys.readouterr().err


def test_the_table(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people a table with a column for each size, without rows of what was not measured."""
    code = run(
        [*"eval scale --chunks 40 --queries 2 --rounds 1 --engine none --set".split(), MODEL, str(tree)],
        started_s=0.0,
    )
    shown = capsys.readouterr().out

    assert 0 == code
    assert "search, median ms" in shown
    assert "tantivy" not in shown


def test_a_tree_without_comments_has_no_prompts(tmp_path: Path) -> None:
    """It is said what kind of tree is needed."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "a.py").write_text("def f():\n    return 1\n")

    with pytest.raises(HybridError, match="no comment"):
        measure_scale(ScalePlan(tmp_path / "bare", (10,)), tmp_path / "scratch", settings_in_force([MODEL]))


def test_recall() -> None:
    """Rows with the score of the tenth count alike; where fewer than ten have a score, these are all."""
    scores = np.array([5.0, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0])

    assert 1.0 == recall([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], scores)
    assert 0.9 == pytest.approx(recall([0, 1, 2, 3, 4, 5, 6, 7, 8, 11], scores))
    assert 0.5 == recall([0, 2], np.array([1.0, 1.0, 0, 0]))
    assert 1.0 == recall([], np.zeros(4))


def test_engines_find_what_is_there(tree: Path, tmp_path: Path) -> None:
    """The full-text engine finds the chunks with a rare word, the product the nearest vectors."""
    loaded = settings_in_force([MODEL])
    workspace = workspace_at(tree, tmp_path / "home", loaded)
    embedder = load_embedder("hashing-64", home=tmp_path / "home")
    build_index(workspace, embedder=embedder)
    snapshot = open_snapshot(workspace.place.folder, model=embedder.info.key)
    spelled = Spelled(snapshot)
    query = spelled.query(["lagoon", "unheard"])
    with contextlib.closing(FullText(spelled.texts, tmp_path / "words")) as engine:
        found = engine.best(query)
    vectors = snapshot.vectors(np.arange(snapshot.n_rows))

    assert 1 == len(query)
    assert {row for row, terms in snapshot.live_terms() if "lagoon" in terms} >= set(found) > set()
    assert 3 == Product(vectors).best(vectors[3])[0]
    figures = measured(lambda: Product(vectors), [vectors[3]], [vectors @ vectors[3]])
    assert 1.0 == figures["recall@10"]


def test_a_written_corpus_is_an_index_like_any_other(tree: Path, tmp_path: Path) -> None:
    """Catalog and snapshot agree: a build of one new file adds a segment and leaves the rest as it is."""
    plan = ScalePlan(tree, (60,), engines=(), n_queries=2, rounds=1)
    measure_scale(plan, tmp_path / "scratch", settings_in_force([MODEL]))
    folder = tmp_path / "scratch" / "corpus-60"
    workspace = workspace_at(folder / "tree", folder, settings_in_force([MODEL]))
    manifest = json.loads((workspace.place.folder / "manifest.json").read_text())
    with contextlib.closing(sqlite3.connect(workspace.place.catalog)) as db:
        (n_documents,) = db.execute("SELECT count(*) FROM documents").fetchone()

    assert 60 <= manifest["segments"][0]["n_chunks"]
    assert manifest["generation"] > 1
    assert n_documents > len(WORDS)
