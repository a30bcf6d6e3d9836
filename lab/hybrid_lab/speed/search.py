"""Times searches in this process: the whole pipeline, its legs, and the lexical leg beside rank-bm25; for `speed`."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

from hybrid.base.tokens import query_tokens
from hybrid.evaluation.timing import sum_up, time_each, time_ms, timed
from hybrid.index.snapshot import open_snapshot
from hybrid.prompting.query import make_query
from hybrid.search.searcher import Searcher
from hybrid_lab.synthetic import Words, write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.config import Config
    from hybrid.constants import RankingConfig, SearchConfig
    from hybrid.index.snapshot import Snapshot
    from hybrid.types import Embedder

_TOP_K = 10
_OPENINGS = 20
_LEFT_OUT = 0.25


def open_folder(folder: Path, embedder: Embedder, settings: SearchConfig) -> Snapshot:
    """Open a snapshot by its folder."""
    return open_snapshot(
        folder, model=embedder.info.key, k1=settings.bm25_k1, b=settings.bm25_b, n_compared=settings.compared
    )


def search_figures(
    folder: Path, embedder: Embedder, config: Config, queries: Sequence[str], *, bare_ms: float
) -> dict[str, Any]:
    """Times of opening a snapshot and of searching it; `fused` leaves the ranker out.

    Args:
        folder: Of the snapshot.
        embedder: Of its model.
        config: Settings of search and ranking.
        queries: At least one; each is asked once in each way.
        bare_ms: Median of a bare interpreter start in the same run.
    """
    settings = config.search
    opening = [time_ms(lambda: open_folder(folder, embedder, settings)) for _ in range(_OPENINGS)]
    once = open_folder(folder, embedder, settings)

    def whole(ranking: RankingConfig | None) -> dict[str, Any]:
        searcher = Searcher(once, embedder, settings, ranking=ranking)
        times = time_each(lambda text: searcher.search(make_query(text), top_k=_TOP_K), queries)
        return sum_up(times).as_json(per_bare_start=bare_ms)

    vectors = [embedder.embed_query(text) for text in queries]
    tokens = [query_tokens(text) for text in queries]
    return {
        "chunks": once.n_chunks,
        "queries": len(queries),
        "open_snapshot": sum_up(opening).as_json(per_bare_start=bare_ms),
        "search": whole(config.ranking),
        "fused": whole(None),
        "embed_query": sum_up(time_each(embedder.embed_query, queries)).as_json(per_bare_start=bare_ms),
        "dense_leg": sum_up(time_each(lambda v: once.dense(v, settings.depth), vectors)).as_json(
            per_bare_start=bare_ms
        ),
        "lexical_leg": sum_up(time_each(lambda t: once.lexical(t, settings.depth), tokens)).as_json(
            per_bare_start=bare_ms
        ),
    }


def synthetic_figures(
    folder: Path, embedder: Embedder, config: Config, *, n_chunks: int, n_queries: int, bare_ms: float
) -> dict[str, Any]:
    """As `search_figures`, on seeded chunks and queries."""
    words = Words()
    size = write_snapshot(folder, words.bags(n_chunks), embedder.info)
    figures = search_figures(folder, embedder, config, words.queries(n_queries), bare_ms=bare_ms)
    return figures | {"snapshot_bytes_per_chunk": round(size / n_chunks, 1)}


def lexical_figures(
    folder: Path,
    embedder: Embedder,
    settings: SearchConfig,
    *,
    like: Snapshot | None,
    n_chunks: int,
    queries: Sequence[str],
) -> dict[str, Any]:
    """The lexical leg, top k included, beside `get_scores` of rank-bm25 on the same chunks, query by query in turn.

    Args:
        folder: Where the chunks are written.
        embedder: Gives the dimension of the vectors.
        settings: Of the search.
        like: Its chunks are taken in order, and again until there are enough; None or an empty one takes seeded ones.
        n_chunks: How many.
        queries: At least one; empty takes 200 seeded ones.
    """
    from hybrid.search.reference import ReferenceLexical

    words = Words()
    real = [terms for _, terms in like.live_terms()] if like is not None else []
    bags = _repeated(real, n_chunks) if real else words.bags(n_chunks)
    write_snapshot(folder, bags, embedder.info)
    snapshot = open_folder(folder, embedder, settings)
    reference = ReferenceLexical(snapshot, k1=settings.bm25_k1, b=settings.bm25_b)
    rows = list(snapshot.live_rows())
    asked = [tokens for tokens in map(query_tokens, queries or words.queries(200)) if tokens]
    ours, theirs, differences = list[float](), list[float](), list[float]()
    snapshot.lexical(asked[0], settings.depth)
    for tokens in asked:
        leg, ms = timed(lambda tokens=tokens: snapshot.lexical(tokens, settings.depth))
        ours.append(ms)
        scores, ms = timed(lambda tokens=tokens: reference.scores(tokens))
        theirs.append(ms)
        scored = zip(rows, scores.tolist(), strict=True)
        differences.append(max((abs((leg.raw(row) or 0.0) - score) for row, score in scored), default=0.0))
    base, mine = sum_up(theirs), sum_up(ours)
    return {
        "chunks": snapshot.n_chunks,
        "distinct_chunks": min(len(real), n_chunks) if real else n_chunks,
        "queries": len(asked),
        "lexical_leg": mine.as_json(),
        "rank_bm25_get_scores": base.as_json(),
        "times_faster_median": round(base.median_ms / mine.median_ms, 1),
        "times_faster_p95": round(base.p95_ms / mine.p95_ms, 1),
        "largest_score_difference": max(differences),
    }


def _repeated(bags: Sequence[Mapping[str, int]], n: int, *, seed: int = 1) -> Iterator[Mapping[str, int]]:
    """The first n bags; when there are fewer, they come again without a seeded quarter of their terms.

    Plain repetition would give equal scores by the hundred, which no repository has.
    """
    draw = random.Random(seed)
    yield from bags[:n]
    for bag in itertools.islice(itertools.cycle(bags), max(n - len(bags), 0)):
        yield {term: count for term, count in bag.items() if draw.random() >= _LEFT_OUT}


def queries_of(snapshot: Snapshot, n: int, *, seed: int = 1) -> list[str]:
    """Queries made of names and folders of chunks of a snapshot, the same for the same seed; empty without chunks."""
    rows = list(snapshot.live_rows())
    if not rows:
        return []
    draw = random.Random(seed)
    return list(itertools.islice(_texts(snapshot, draw, rows), n))


def _texts(snapshot: Snapshot, draw: random.Random, rows: Sequence[int]) -> Iterator[str]:
    for _ in range(100 * len(rows)):
        view = snapshot.get(draw.choice(rows))
        parts = [view.name, view.scope.replace(".", " "), view.path.replace("/", " ").rpartition(".")[0]]
        text = " ".join(part for part in parts if part)
        if query_tokens(text):
            yield text
