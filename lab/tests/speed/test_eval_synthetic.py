import itertools
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.tokens import query_tokens, term_counts
from hybrid.config import load
from hybrid.constants import SearchConfig
from hybrid.models.registry import HashingEmbedder
from hybrid_lab.speed.search import lexical_figures, open_folder, queries_of
from hybrid_lab.synthetic import Shape, Words, word, write_snapshot, write_tree
from tests.support.builders import terms_of

EMBEDDER = HashingEmbedder(32)


def settings(tmp_path: Path) -> SearchConfig:
    """The default settings of a search."""
    return load(home=tmp_path, environ={}).config.search


def test_words_differ_and_stay_what_they_are() -> None:
    """Each rank has a word of its own, and the tokens of a word are the word."""
    words = [word(rank) for rank in range(5_000)]

    assert 5_000 == len(set(words))
    assert words[:500] == [token for text in words[:500] for token in query_tokens(text)]


def test_the_same_seed_gives_the_same_corpus() -> None:
    """And another seed another one."""
    first, again, other = (list(Words(Shape(seed=seed, n_words=500)).bags(20)) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_frequencies_fall_with_the_rank() -> None:
    """As in real text, few words make most of it."""
    totals = np.zeros(500)
    ranks = {word(rank): rank for rank in range(500)}
    for bag in Words(Shape(n_words=500)).bags(200):
        for term, n in bag.items():
            totals[ranks[term]] += n

    assert totals[:50].sum() > totals[50:].sum() / 2 > totals[250:].sum() / 2 > 0


@pytest.mark.parametrize("n_chunks", [1, 8, 50], ids=str)
def test_a_synthetic_snapshot_holds_its_bags(tmp_path: Path, n_chunks: int) -> None:
    """Written straight into segments, it opens as any other, and every chunk has its terms and a unit vector."""
    bags = list(Words(Shape(n_words=200, mean_tokens=20)).bags(n_chunks))
    size = write_snapshot(tmp_path / "s", bags, EMBEDDER.info)
    snapshot = open_folder(tmp_path / "s", EMBEDDER, settings(tmp_path))
    found = [terms for _, terms in snapshot.live_terms()]

    assert n_chunks == snapshot.n_chunks
    assert size == sum(path.stat().st_size for path in (tmp_path / "s").iterdir())
    assert all(bag.items() <= terms.items() for bag, terms in zip(bags, found, strict=True))
    assert (0, 0) == (snapshot.figures().n_cut, snapshot.figures().n_without_vector)


def test_all_terms_are_those_of_each_row(tmp_path: Path) -> None:
    """One pass over the postings gives what a look-up of every row gives."""
    write_snapshot(tmp_path / "s", Words(Shape(n_words=200, mean_tokens=20)).bags(30), EMBEDDER.info)
    snapshot = open_folder(tmp_path / "s", EMBEDDER, settings(tmp_path))

    assert [(row, terms_of(snapshot, row)) for row in snapshot.live_rows()] == list(snapshot.live_terms())


def test_the_lexical_leg_has_the_scores_of_rank_bm25(tmp_path: Path) -> None:
    """On chunks like those of another snapshot, repeated until there are enough."""
    write_snapshot(tmp_path / "s", Words(Shape(n_words=300, mean_tokens=20)).bags(40), EMBEDDER.info)
    like = open_folder(tmp_path / "s", EMBEDDER, settings(tmp_path))
    queries = Words(Shape(n_words=300)).queries(20)
    found = lexical_figures(tmp_path / "l", EMBEDDER, settings(tmp_path), like=like, n_chunks=100, queries=queries)

    assert (100, 40, 20) == (found["chunks"], found["distinct_chunks"], found["queries"])
    assert found["largest_score_difference"] < 1e-9


def test_queries_of_a_snapshot_name_what_is_in_it(tmp_path: Path) -> None:
    """They are seeded, and every one has a token to search for."""
    write_snapshot(tmp_path / "s", Words(Shape(n_words=300, mean_tokens=20)).bags(40), EMBEDDER.info)
    snapshot = open_folder(tmp_path / "s", EMBEDDER, settings(tmp_path))
    found = queries_of(snapshot, 10)

    assert found == queries_of(snapshot, 10)
    assert [True] * 10 == [bool(query_tokens(text)) for text in found]


def test_a_generated_tree_has_functions_in_many_files(tmp_path: Path) -> None:
    """The files are valid Python, differ, and look an hour old."""
    write_tree(tmp_path, 60)
    paths = sorted(tmp_path.rglob("*.py"))
    texts = [path.read_text() for path in paths]
    for text in texts:
        compile(text, "generated", "exec")

    assert 60 == len(set(texts))
    assert 2 == len({path.parent for path in paths})
    assert all(len(term_counts(text)) > 4 for text in itertools.islice(texts, 5))
    assert all(path.stat().st_mtime < tmp_path.stat().st_mtime - 3_000 for path in paths)
