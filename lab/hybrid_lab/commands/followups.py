"""`hybrid eval followups`: what prompts get that follow another one, those that depend on it and those that do not."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, add_repeated, print_json, say
from hybrid.cli.evaluate import add_shared, percent, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_lab.followups import Asked

ABOUT = "what a prompt gets that follows another one"

_HEADS = ("", "found first", "in five", "MRR", "gate or rule", "spoken", "right file", "items", "characters")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval followups pairs.jsonl --repos ~/checkouts --against hooks.known_best=1")
    about = "first prompts with their follow-ups; with --sessions, prompts for places in recorded sessions"
    parser.add_argument("judged", nargs="+", type=Path, metavar="FILE.jsonl", help=about + "; each is reported apart")
    add_shared(parser)
    about = "holds recorded sessions, PROJECT-….jsonl; --repos then holds a tree for each project"
    parser.add_argument("--sessions", type=Path, metavar="DIR", help=about)
    parser.add_argument("--unread", action="store_true", help="the agent reads nothing before the follow-up of a pair")
    about = "compare with this setting too, on top of those in force; repeated ones act together"
    add_repeated(parser, "--against", "KEY=VALUE", about)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no follow-up could be asked."""
    from hybrid.evaluation.decisions import finite
    from hybrid.evaluation.retrieval import scratch_home
    from hybrid_lab.followups import follow_up_rows

    with scratch_home(args.home) as home:
        asked = {path.stem: _asked(args, path, home) for path in args.judged}
    sets = {name: rows for name, found in asked.items() if (rows := follow_up_rows(found))}
    if args.json:
        rows = {name: [row.as_json() for row in of_set] for name, of_set in sets.items()}
        for row in (row for of_set in rows.values() for row in of_set):
            row.update({key: finite(value) for key, value in row.items() if isinstance(value, float)})
        print_json({"sets": rows})
        return 0 if sets else 1
    for name, of_set in sets.items():
        for depends in (True, False):
            of_kind = [row for row in of_set if row.depends is depends]
            table = [
                [
                    row.label,
                    *(percent(row.first), percent(row.near), f"{row.mrr:.3f}", percent(row.closed)),
                    *(percent(row.spoken), percent(row.hit), f"{row.items:.1f}", f"{row.chars:.0f}"),
                ]
                for row in of_kind
            ]
            if of_kind:
                what = "depend on what came before" if depends else "say by themselves what is asked"
                print_table(f"{name}: {of_kind[0].prompts} that {what}", _HEADS, table)
    if not sets:
        say("no follow-up is about a repository or a session that is there")
    return 0 if sets else 1


def _asked(args: argparse.Namespace, path: Path, home: Path) -> dict[str, list[Asked]]:
    from hybrid.evaluation.retrieval import against, settings_in_force
    from hybrid_lab.followups import evaluate_cuts, evaluate_follow_ups, read_cuts, read_pairs
    from hybrid_lab.memory.replay import read_recordings

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments])

    ways = [against(args.against, "hybrid")] if args.against else []
    if args.sessions is None:
        return evaluate_follow_ups(
            read_pairs(path),
            args.repos,
            home,
            load,
            against=ways,
            is_read=not args.unread,
            only=args.only,
            report_repo=teller(args),
        )
    cuts = read_cuts(path)
    projects = {cut.session.partition("-")[0] for cut in cuts}
    trees = {name: args.repos / name for name in projects if (args.repos / name).is_dir()}
    trees = {name: root for name, root in trees.items() if not args.only or name in args.only}
    recordings = read_recordings(args.sessions, trees) if trees else []
    return evaluate_cuts(cuts, recordings, trees, home, load, against=ways, report_session=teller(args))
