"""`hybrid eval replay`: what recorded sessions are given, beside what their agents read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_shared, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

ABOUT = "whether sessions are told files in time, and none that they have read"

_SUMS = ("uses", "named", "opened", "told", "foreseen", "asked", "items", "read", "items_all", "read_all")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval replay ~/recorded --repos ~/trees")
    parser.add_argument("sessions", type=Path, metavar="DIR", help="holds recorded sessions, PROJECT-….jsonl")
    add_shared(parser)
    about = "ask the last prompt once more after so many uses of tools (default: 5)"
    parser.add_argument("--every", type=positive, default=5, metavar="N", help=about)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no session's tree is there."""
    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid_lab.memory.replay import read_recordings
    from hybrid_lab.replays import evaluate_replays

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments])

    recordings = [one for one in read_recordings(args.sessions) if not args.only or one.project in args.only]
    trees = {one.project: tree for one in recordings if (tree := args.repos / one.project).is_dir()}
    with scratch_home(args.home) as home:
        found = [
            one.as_json()
            for one in evaluate_replays(recordings, trees, home, load, every=args.every, report_session=teller(args))
        ]
    n_left_out = len(recordings) - len(found)
    if args.json:
        print_json({"sessions": found, "n_without_tree": n_left_out})
        return 0 if found else 1
    _print(found)
    if n_left_out:
        say(f"{n_left_out} sessions are left out: their trees are not there")
    return 0 if found else 1


def _print(found: list[dict[str, Any]]) -> None:
    together = {name: sum(one[name] for one in found) for name in _SUMS} | {"session": "together", "calls": None}
    heads = ["", "uses", "files named", "opened", "in the prompt", "named before", "calls before the first"]
    heads += ["asked again", "items", "read", "items, all given", "read, all given"]
    rows = [
        [
            str(one["session"]),
            *(str(one[name]) for name in _SUMS[:5]),
            "–" if one["calls"] is None else str(one["calls"]),
            *(str(one[name]) for name in _SUMS[5:]),
        ]
        for one in [*found, together]
    ]
    print_table("recorded sessions", heads, rows)
