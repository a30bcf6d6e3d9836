"""`hybrid eval`: measure ranking, gate, chunks and speed, on judged data that the caller brings."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli import (
    evaluate_gate,
    evaluate_injection,
    evaluate_memory,
    evaluate_own,
    evaluate_peer,
    evaluate_records,
    evaluate_redaction,
    evaluate_retrieval,
    evaluate_week,
)
from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluating import add_settings, percent, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_PARTS = tuple("build search synthetic gate lexical hook service cold load files records memory worst".split())


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    evaluate_retrieval.configure(_action(actions, "retrieval", "how well judged queries are answered, and why"))
    evaluate_own.configure_init(_action(actions, "init", "propose queries from your own project, to be corrected"))
    evaluate_own.configure_run(_action(actions, "run", "score those queries on your own project"))
    evaluate_gate.configure(_action(actions, "gate", "how often judged prompts get something, rightly and wrongly"))
    evaluate_injection.configure(_action(actions, "injection", "whether what is injected holds the right file"))
    evaluate_records.configure(_action(actions, "records", "whether prompts get the lessons and lore that fit them"))
    evaluate_memory.configure(_action(actions, "memory", "whether questions about earlier sessions find their record"))
    evaluate_redaction.configure(_action(actions, "redaction", "how many made-up secrets are found, how often wrongly"))
    evaluate_week.configure(_action(actions, "week", "whether the memory loses nothing while hooks are killed"))
    evaluate_peer.configure(_action(actions, "peer", "hybrid and semble side by side: quality, time, memory"))
    _configure_chunks(_action(actions, "chunks", "the share of definitions that is found in real trees"))
    _configure_speed(_action(actions, "speed", "times and sizes, each beside something timed in the same run"))


def _action(actions: Any, name: str, about: str) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=about, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def _configure_chunks(parser: argparse.ArgumentParser) -> None:
    add_common(parser, example="hybrid eval chunks ~/checkouts/tokio ~/checkouts/redis")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="trees of source files")
    add_settings(parser)


def _configure_speed(parser: argparse.ArgumentParser) -> None:
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
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "retrieval": evaluate_retrieval.run,
        "init": evaluate_own.run_init,
        "run": evaluate_own.run_queries,
        "gate": evaluate_gate.run,
        "injection": evaluate_injection.run,
        "records": evaluate_records.run,
        "memory": evaluate_memory.run,
        "redaction": evaluate_redaction.run,
        "week": evaluate_week.run,
        "peer": evaluate_peer.run,
        "chunks": _chunks,
        "speed": _speed,
    }
    return actions[args.action](args)


# --- chunks and speed --------------------------------------------------------------------------------------


def _chunks(args: argparse.Namespace) -> int:
    from hybrid.errors import ProjectError
    from hybrid.evaluation.chunks import coverage_form, evaluate_chunks
    from hybrid.evaluation.trees import settings_in_force
    from hybrid.project.places import hybrid_home

    for folder in args.folders:
        if not folder.is_dir():
            raise ProjectError(f"{folder} is not a directory")
    rows = evaluate_chunks(args.folders, settings_in_force(args.settings).config.index, hybrid_home(os.environ))
    form = coverage_form(rows)
    if args.json:
        print_json(form)
        return 0 if rows else 1
    table = [
        [row.language, *(str(n) for n in (row.files, row.failed, row.definitions, row.expected)), percent(row.share)]
        for row in rows
    ]
    print_table("definitions", ["", "files", "failed", "found", "expected", "share"], table)
    if args.verbose:
        for row in rows:
            for missed in row.missed:
                say(f"  {row.language}: {missed}")
    say(f"all: {form['found']} of {form['expected']} expected definitions, {percent(form['share'])}")
    return 0 if rows else 1


def _speed(args: argparse.Namespace) -> int:
    from hybrid.errors import ProjectError
    from hybrid.evaluation.qrels import read_queries
    from hybrid.evaluation.speed import PARTS, SpeedPlan, measure_speed
    from hybrid.evaluation.trees import scratch_home, settings_in_force

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
