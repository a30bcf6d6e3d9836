from itertools import cycle
from typing import Any

import pytest

from hybrid.base.tokens import query_tokens
from hybrid.index.snapshot import open_snapshot
from hybrid.prompting.query import make_query
from hybrid.search.reference import ReferenceLexical
from hybrid.search.scores import fuse
from hybrid.search.searcher import Searcher

pytestmark = pytest.mark.bench


def test_bench_open_snapshot(benchmark: Any, corpus: Any) -> None:
    """Open a snapshot, as each cold prompt does."""
    snapshot = benchmark(open_snapshot, corpus.folder, model=corpus.embedder.info.key)

    assert corpus.snapshot.n_chunks == snapshot.n_chunks


def test_bench_query(benchmark: Any, corpus: Any) -> None:
    """The whole pipeline of one query, from text to ten hits."""
    searcher = Searcher(corpus.snapshot, corpus.embedder, corpus.settings, ranking=corpus.ranking)
    queries = cycle(make_query(text) for text in corpus.queries)
    found = benchmark(lambda: searcher.search(next(queries), top_k=10))

    assert found.hits


def test_bench_lexical_leg(benchmark: Any, corpus: Any) -> None:
    """Okapi over postings, with the best hundred taken."""
    queries = cycle(query_tokens(text) for text in corpus.queries)
    leg = benchmark(lambda: corpus.snapshot.lexical(next(queries), corpus.settings.depth))

    assert leg.ranking


def test_bench_rank_bm25(benchmark: Any, corpus: Any) -> None:
    """The peer of the lexical leg: rank-bm25's own pass over every chunk, without taking the best."""
    reference = ReferenceLexical(corpus.snapshot, k1=corpus.settings.bm25_k1, b=corpus.settings.bm25_b)
    queries = cycle(query_tokens(text) for text in corpus.queries)
    scores = benchmark(lambda: reference.scores(next(queries)))

    assert corpus.snapshot.n_chunks == len(scores)


def test_bench_dense_leg(benchmark: Any, corpus: Any) -> None:
    """Exact cosines to every chunk, with the best hundred taken."""
    queries = cycle(corpus.embedder.embed_query(text) for text in corpus.queries)
    leg = benchmark(lambda: corpus.snapshot.dense(next(queries), corpus.settings.depth))

    assert corpus.settings.depth == len(leg.ranking)


def test_bench_fuse(benchmark: Any, corpus: Any) -> None:
    """Fusion of two rankings of a hundred."""
    text = corpus.queries[0]
    rankings = (
        corpus.snapshot.dense(corpus.embedder.embed_query(text), 100).ranking,
        corpus.snapshot.lexical(query_tokens(text), 100).ranking,
    )
    fused = benchmark(fuse, rankings, weights=(1.0, 1.0), rrf_k=60, tie_key=corpus.snapshot.tie_key)

    assert len({entry.row for ranking in rankings for entry in ranking}) == len(fused)
