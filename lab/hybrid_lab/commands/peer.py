"""`hybrid eval peer`: hybrid and semble side by side, on the same files, queries and vectors."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_settings, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid_lab.peer.figures import PeerReport, RepoFigures

ABOUT = "hybrid and semble side by side: quality, time, memory"
_MB = 1e6
_HEADS = (
    "",
    "n",
    "files",
    "nDCG@10",
    "start s",
    "build s",
    "×",
    "query ms",
    "×",
    "p95 ms",
    "build MB",
    "query MB",
    "index MB",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(
        parser,
        example="hybrid eval peer queries.jsonl --repos ~/checkouts --manifest manifest.json "
        "--peer-python ~/envs/semble/bin/python",
    )
    parser.add_argument("queries", type=Path, metavar="QUERIES.jsonl", help="judged queries")
    parser.add_argument("--repos", type=Path, required=True, metavar="DIR", help="holds a folder for each repository")
    parser.add_argument("--manifest", type=Path, metavar="FILE", help="names the folder of each repository to compare")
    parser.add_argument(
        "--peer-python",
        required=True,
        metavar="PYTHON",
        help="interpreter of an environment with semble and msgspec installed",
    )
    parser.add_argument(
        "--peer-script", type=Path, metavar="FILE", help="answers for another peer (default: the one for semble)"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these repositories")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="of both, in turn (default: 3)")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.evaluation.measures import read_queries, read_roots
    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid_lab.peer.comparison import PEER_SCRIPT, PeerPlan, evaluate_peer

    plan = PeerPlan(
        queries=read_queries(args.queries),
        repos=args.repos,
        python=args.peer_python,
        roots=read_roots(args.manifest) if args.manifest else {},
        only=tuple(args.only),
        rounds=args.rounds,
        script=args.peer_script or PEER_SCRIPT,
    )
    with scratch_home(None) as scratch:
        report = evaluate_peer(plan, scratch, settings_in_force(args.settings), report_repo=teller(args))
    if args.json:
        print_json(report.as_json())
    else:
        _print(report)
    return 0


def _print(report: PeerReport) -> None:
    rows = [_row(name, figures) for name, figures in report.repositories.items()]
    rows.append(_mean_row(report))
    print_table(
        f"{report.ours} (ranker {report.ranker}) / {report.theirs}, both with the vectors of {report.model}; "
        f"rounds: {report.rounds}; × = hybrid / peer",
        _HEADS,
        rows,
    )
    for name, figures in report.repositories.items():
        ours, theirs = figures.ours.files, figures.theirs.files
        if ours != theirs:
            say(f"{name}: {len(ours - theirs)} files indexed by hybrid only, {len(theirs - ours)} by the peer only")
    if report.missing:
        say(f"not there: {', '.join(report.missing)}")


def _row(name: str, figures: RepoFigures) -> list[str]:
    ours, theirs = figures.ours, figures.theirs
    left = {"nDCG@10": ours.scores["nDCG@10"], **_costs(ours)}
    right = {"nDCG@10": theirs.scores["nDCG@10"], **_costs(theirs)}
    counts = [str(figures.n_queries), f"{len(ours.files)} / {len(theirs.files)}"]
    return [name, *counts, *_cells(left, right, figures.ratios)]


def _mean_row(report: PeerReport) -> list[str]:
    means = report.means()
    return ["mean", "", "", *_cells(means["hybrid"], means["peer"], means["ratios"])]


def _costs(side: object) -> dict[str, float | None]:
    from hybrid_lab.peer.figures import COSTS

    return {cost: getattr(side, cost) for cost in COSTS}


def _cells(
    ours: Mapping[str, float | None], theirs: Mapping[str, float | None], ratios: Mapping[str, float | None]
) -> list[str]:
    def pair(name: str, digits: int, unit: float = 1.0) -> str:
        return f"{_number(ours[name], digits, unit)} / {_number(theirs[name], digits, unit)}"

    return [
        pair("nDCG@10", 3),
        pair("start_s", 2),
        pair("build_s", 2),
        _number(ratios["build_s"], 2),
        pair("query_ms", 2),
        _number(ratios["query_ms"], 2),
        pair("query_p95_ms", 2),
        pair("build_peak_bytes", 0, _MB),
        pair("query_peak_bytes", 0, _MB),
        pair("index_bytes", 1, _MB),
    ]


def _number(value: float | None, digits: int, unit: float = 1.0) -> str:
    return "–" if value is None else f"{value / unit:.{digits}f}"
