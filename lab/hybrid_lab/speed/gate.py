"""Times what the calibrated gate adds: to a build, to opening an index, and to a prompt of one and of many pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.evaluation.timing import sum_up, time_each, time_ms
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.background import calibrate, load_background, segment_arrays
from hybrid.search.gate.verdict import Gate
from hybrid_lab.speed.search import open_folder
from hybrid_lab.synthetic import Words, write_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.config import Config
    from hybrid.index.snapshot import Snapshot
    from hybrid.search.gate.background import Background
    from hybrid.search.gate.verdict import PromptPieces
    from hybrid.types import Embedder

_ROUNDS = 5
_ARRAYS = ("vector", "vector_scale", "term_text", "term_at", "term_start", "post_row")
_CLAUSES = (1, 6, 12)


def gate_figures(
    folder: Path, embedder: Embedder, home: Path, config: Config, *, n_chunks: int, n_queries: int, bare_ms: float
) -> dict[str, Any]:
    """Times in milliseconds, on seeded chunks and prompts.

    Args:
        folder: Where the chunks are written.
        embedder: Of the chunks.
        home: `$HYBRID_HOME`, for the background.
        config: Settings of search and gate.
        n_chunks: How many.
        n_queries: Prompts of each number of clauses.
        bare_ms: Median of a bare interpreter start in the same run.
    """
    words = Words()
    write_snapshot(folder, words.bags(n_chunks), embedder.info, GateAnnotator(embedder, home))
    background = load_background(embedder, home)
    snapshot = open_folder(folder, embedder, config.search)
    gate = Gate(snapshot, embedder, lambda: background, config.gate)
    opening = [
        time_ms(lambda: calibrate(background, snapshot.background.figures(), config.gate)) for _ in range(_ROUNDS)
    ]
    return {
        "chunks": n_chunks,
        "background_pieces": len(background.piece_vectors),
        "annotate": _annotating(snapshot, background, bare_ms),
        "calibrate": sum_up(opening).as_json(per_bare_start=bare_ms),
        "prompts": {
            f"{n} clauses": _prompting(gate, snapshot, embedder, _prompts(words, n, n_queries), bare_ms)
            for n in _CLAUSES
        },
    }


def _prompts(words: Words, n_clauses: int, n: int) -> list[str]:
    clauses = iter(words.queries(n_clauses * n))
    return [", ".join(f"{next(clauses)} {i}" for i in range(n_clauses)) for _ in range(n)]


def _annotating(snapshot: Snapshot, background: Background, bare_ms: float) -> dict[str, Any]:
    arrays = [{name: segment.arrays[name] for name in _ARRAYS} for segment in snapshot.segments]

    def annotate() -> None:
        for found in arrays:
            segment_arrays(found, background)

    return sum_up([time_ms(annotate) for _ in range(_ROUNDS)]).as_json(per_bare_start=bare_ms)


def _prompting(
    gate: Gate, snapshot: Snapshot, embedder: Embedder, prompts: Sequence[str], bare_ms: float
) -> dict[str, Any]:
    """Time `ask` and `judge` without the scan, and the scan of a prompt's pieces beside that of a query alone."""
    asked = [gate.ask(prompt, is_prompt=True) for prompt in prompts]
    queries = [embedder.embed_query(prompt) for prompt in prompts]
    depth = 100

    def scan(pair: tuple[int, PromptPieces]) -> None:
        snapshot.dense_with_pieces(queries[pair[0]], pair[1].vectors, depth)

    closest = [snapshot.dense_with_pieces(q, a.vectors, depth)[1] for q, a in zip(queries, asked, strict=True)]
    judged = zip(asked, closest, strict=True)
    alone = sum_up(time_each(lambda query: snapshot.dense(query, depth), queries))
    together = sum_up(time_each(scan, list(enumerate(asked))))
    return {
        "pieces": sum(len(one.texts) for one in asked) / max(len(asked), 1),
        "ask": sum_up(time_each(gate.ask, prompts)).as_json(per_bare_start=bare_ms),
        "judge": sum_up(time_each(lambda one: gate.judge(one[0], one[1], 0.0), list(judged))).as_json(
            per_bare_start=bare_ms
        ),
        "scan_query": alone.as_json(per_bare_start=bare_ms),
        "scan_query_and_pieces": together.as_json(per_bare_start=bare_ms),
        "scan_ratio": round(together.median_ms / alone.median_ms, 2),
    }
