"""`hybrid eval need`: how often an agent that searches in vain is given places, and how often rightly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluating import add_shared, print_table, teller

if TYPE_CHECKING:
    import argparse

ABOUT = "how often an agent in need gets the right places"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval need ~/recorded lab/data/needs/sessions.jsonl --repos ~/checkouts")
    about = "a folder of recorded sessions PROJECT-….jsonl, or a file of made ones"
    parser.add_argument("sessions", nargs="+", type=Path, metavar="SESSIONS", help=about)
    parser.add_argument("--each", action="store_true", help="every time that a session was helped")
    add_shared(parser)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no session's tree is there."""
    from hybrid.evaluation.trees import scratch_home
    from hybrid_lab.needs import count, evaluate_needs, read_sessions

    sessions = [one for path in args.sessions for one in read_sessions(path)]
    sessions = [one for one in sessions if not args.only or one.project in args.only]
    with scratch_home(args.home) as home:
        found = list(evaluate_needs(sessions, args.repos, home, args.settings, teller(args)))
    counts = [one.as_json() for one in count(found)]
    if args.json:
        print_json(
            {
                "counts": counts,
                "sessions": [one.as_json() for one in found],
                "n_without_tree": len(sessions) - len(found),
            }
        )
        return 0 if found else 1
    _print(counts)
    for told in found if args.each else ():
        for one in told.helps:
            say(f"{told.session.name} {one.cause}: {' '.join(one.paths)}; right: {' '.join(one.right) or 'none'}")
    if len(found) < len(sessions):
        say(f"{len(sessions) - len(found)} sessions are left out: their trees are not there")
    return 0 if found else 1


def _print(counts: list[dict[str, Any]]) -> None:
    heads = ["", "sessions", "in vain", "failed", "spoke", "right", "calls late", "calls ahead", "items", "characters"]
    rows = [
        [
            f"{row['kind']}, {row['cause']}",
            *(str(row[name]) for name in ("sessions", "n_vain", "n_failed", "spoke", "right")),
            *(_dash(row[name]) for name in ("late", "ahead", "items", "chars")),
        ]
        for row in counts
    ]
    print_table("agents in need", heads, rows)


def _dash(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
