"""`hybrid eval scale`: searches at several sizes, beside earlier code and other engines."""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_settings, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

ABOUT = "searches at 10,000, 100,000 and a million chunks, beside earlier code and other engines"
_SIZES = (10_000, 100_000, 1_000_000)
_ENGINES = ("rank_bm25", "tantivy", "fts5", "usearch")
"""As `measure.ENGINES`, whose module brings numpy."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval scale --chunks 100000 --before ../hybrid-of-last-week")
    about = "a tree of code whose text the corpora are made of (default: Python's own library)"
    parser.add_argument("tree", nargs="?", type=Path, metavar="TREE", help=about)
    parser.add_argument(
        "--chunks", action="append", type=positive, default=[], metavar="N", help="a size; may be repeated"
    )
    about = "the top of another checkout of hybrid: its code answers the same prompts in turn"
    parser.add_argument("--before", type=Path, metavar="DIR", help=about)
    about = "measure this other engine too; may be repeated (default: all that are installed; `none` for none)"
    parser.add_argument("--engine", action="append", choices=(*_ENGINES, "none"), default=[], help=about)
    parser.add_argument("--queries", type=positive, default=100, metavar="N", help="prompts: sentences of comments")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="times that each prompt is asked")
    about = "compare the gate's decisions on its prompts (JSON lines) with those of a search that compares every chunk"
    parser.add_argument("--gate", type=Path, metavar="FILE", help=about)
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the corpora here (default: a temporary folder)")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from importlib.util import find_spec

    # Read when numpy is imported: what is compared has one thread, as the service has.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid_lab.scale.measure import ScalePlan, measure_scale

    installed = tuple(name for name in _ENGINES if name == "fts5" or find_spec(name))
    plan = ScalePlan(
        tree=(args.tree or Path(sysconfig.get_path("stdlib"))).resolve(),
        sizes=tuple(args.chunks) or _SIZES,
        before=args.before,
        engines=tuple(name for name in args.engine if name != "none") if args.engine else installed,
        n_queries=args.queries,
        rounds=args.rounds,
        gate=args.gate,
    )
    with scratch_home(args.home) as scratch:
        figures = measure_scale(plan, scratch, settings_in_force(args.settings), report_part=teller(args))
    if args.json:
        print_json(figures)
    else:
        _show(figures, plan.sizes)
    return 0


_ROWS = (
    ("search, median ms", "search", "median_ms"),
    ("search, p95 ms", "search", "p95_ms"),
    ("search, CPU median ms", "search", "cpu_median_ms"),
    ("earlier code, CPU median ms", "before", "cpu_median_ms"),
    ("search per earlier code", "per_before", ""),
    ("search per exact product", "per_product", ""),
    ("open, ms", "search", "open_ms"),
    ("first search, ms", "search", "first_ms"),
    ("memory of the index, MB", "search", "more_resident_mb"),
    ("edit to searchable, s", "edit_to_searchable_s", "median"),
    ("dense leg, ms", "dense_leg", "median_ms"),
    ("dense leg, recall@10", "dense_leg", "recall@10"),
    ("gate, equal decisions", "gate", "equal"),
    ("exact float32 product, ms", "exact_float32", "median_ms"),
    ("usearch, ms", "usearch", "median_ms"),
    ("usearch, recall@10", "usearch", "recall@10"),
    ("lexical leg, ms", "lexical_leg", "median_ms"),
    ("rank-bm25, ms", "rank_bm25", "median_ms"),
    ("rank-bm25, difference of scores", "rank_bm25", "largest_score_difference"),
    ("tantivy, ms", "tantivy", "median_ms"),
    ("tantivy, recall@10", "tantivy", "recall@10"),
    ("SQLite FTS5, ms", "fts5", "median_ms"),
    ("SQLite FTS5, recall@10", "fts5", "recall@10"),
)


def _show(figures: Mapping[str, Any], sizes: Sequence[int]) -> None:
    rows = [[label, *(_cell(figures[str(size)], key, part) for size in sizes)] for label, key, part in _ROWS]
    print_table("sizes", ["chunks", *(f"{size:,}" for size in sizes)], [row for row in rows if any(row[1:])])
    say(json.dumps(figures["machine"]))


def _cell(of_size: Mapping[str, Any], key: str, part: str) -> str:
    value = of_size.get(key)
    if part and value is not None:
        value = value.get(part)
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
