"""`hybrid eval speed`: times and sizes, each beside something timed in the same run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_settings, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

ABOUT = "times and sizes, each beside something timed in the same run"
_PARTS = tuple("build search synthetic gate lexical hook service cold load mcp files records memory worst".split())


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval speed ~/src/payments --part search --part hook --json")
    parser.add_argument(
        "repo", nargs="?", type=Path, metavar="REPO", help="measured on a copy (default: the project here)"
    )
    parser.add_argument(
        "--part", action="append", choices=_PARTS, default=[], help="only this part; may be repeated (default: all)"
    )
    parser.add_argument("--queries", type=Path, metavar="FILE", help="judged queries whose texts are searched for")
    parser.add_argument("--synthetic", type=positive, default=100_000, metavar="N", help="seeded chunks to search")
    parser.add_argument("--lexical", type=positive, default=50_000, metavar="N", help="chunks to compare rank-bm25 on")
    parser.add_argument("--files", type=positive, default=10_000, metavar="N", help="files of the generated tree")
    parser.add_argument("--records", type=positive, default=10_000, metavar="N", help="lessons, and as many decisions")
    parser.add_argument("--observations", type=positive, default=100_000, metavar="N", help="seeded rows of the memory")
    parser.add_argument("--idle", type=positive, default=20, metavar="S", help="seconds in which the service rests")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="busy processes beside the part `cold`")
    parser.add_argument("--rounds", type=positive, default=15, metavar="N", help="repetitions of whole processes")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.base.errors import ProjectError
    from hybrid.evaluation.measures import read_queries
    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid_lab.speed.measure import PARTS, SpeedPlan, measure_speed

    repo = args.repo or Path(args.project or ".")
    if not repo.is_dir():
        raise ProjectError(f"{repo} is not a directory")
    plan = SpeedPlan(
        repo=repo.resolve(),
        parts=tuple(args.part) or PARTS,
        queries=tuple(query.text for query in read_queries(args.queries)) if args.queries else (),
        n_synthetic=args.synthetic,
        n_lexical=args.lexical,
        n_files=args.files,
        n_records=args.records,
        n_observations=args.observations,
        rounds=args.rounds,
        idle_s=args.idle,
        n_beside=args.beside,
    )
    with scratch_home(None) as scratch:
        figures = measure_speed(plan, scratch, settings_in_force(args.settings), report_part=teller(args))
    if args.json:
        print_json(figures)
    else:
        for key, value in _flat(figures):
            say(f"{key:<48} {json.dumps(value)}")
    return 0


def _flat(figures: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield prefix + key, value
