"""`hybrid eval at-file`: whether records come with the files that they are about, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluate import add_shared, percent, print_table, teller
from hybrid_lab.at_file.given import PARTS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hybrid_lab.at_file.replay import ReplayedSession, Share

ABOUT = "whether records come with the files that they are about"
_EXAMPLE = """hybrid eval at-file lab/data/at_file --sessions agent_sessions.jsonl.xz --repos ~/trees
  hybrid eval at-file lab/data/at_file --repos ~/trees --part dev --cases
  hybrid eval at-file lab/data/at_file --repos ~/trees --rounds 200"""

_SHARES = {
    "first_in_time": "sessions that had a record of the first file in time",
    "files_in_time": "files that had one of their records in time",
    "records_had": "records that came, of those about an opened file",
    "not_about": "records beside a tool that are not about its file",
    "silent_others": "sessions without such a file that got nothing",
}
_CHARS = {"chars_of_session": "characters, each session", "chars_of_concerned": "characters, with such a file"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    about = "a folder of records.jsonl, files.jsonl, sessions.jsonl"
    parser.add_argument("data", type=Path, metavar="DATA", help=about)
    about = "recorded sessions of an agent that works by shell, in JSON lines"
    parser.add_argument("--sessions", type=Path, metavar="FILE", help=about)
    add_shared(parser)
    about = "only two thirds of the records, or the third that is kept for a last run (default: all)"
    parser.add_argument("--part", choices=PARTS, default="all", help=about)
    about = "ask no prompts, so that only what comes beside tools counts"
    parser.add_argument("--tools-alone", action="store_true", help=about)
    parser.add_argument("--cases", action="store_true", help="every file that was missed, every record out of place")
    about = "time so many uses of a tool through a service, with and without hooks.at_file"
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help=about)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no session's tree is there."""
    from hybrid.evaluation.retrieval import scratch_home, settings_by_key
    from hybrid_lab.at_file.events import read_recorded
    from hybrid_lab.at_file.given import read_definitions, read_file_records, read_made_sessions
    from hybrid_lab.at_file.replay import figures_of, replay_sessions

    definitions, records = read_definitions(args.data), read_file_records(args.data, args.part)
    sessions = [*read_made_sessions(args.data), *(read_recorded(args.sessions) if args.sessions else ())]
    trees = {name: tree for name in definitions if (tree := args.repos / name.rpartition("/")[2]).is_dir()}
    made = {one.id for one in read_made_sessions(args.data) if one.project not in trees}
    chosen = [one for one in sessions if one.id not in made and (not args.only or one.project in args.only)]
    flags = settings_by_key(args.settings)
    with scratch_home(args.home) as home:
        found = list(
            replay_sessions(
                chosen,
                records,
                definitions,
                trees,
                home,
                flags=flags,
                is_prompted=not args.tools_alone,
                report_project=teller(args),
            )
        )
        figures = {
            "recorded": figures_of([one for one in found if not one.is_made]),
            "invented": figures_of([one for one in found if one.is_made]),
            "together": figures_of(found),
        }
        cost: dict[str, Any] = {}
        if args.rounds:
            from hybrid_lab.at_file.cost import cost_of

            cost = cost_of(home, [one for one in records if one.project in trees], args.rounds, args.settings)
    if args.json:
        print_json({"figures": _plain(figures), "cost": cost, "sessions": [one.as_json() for one in found]})
        return 0 if found else 1
    _print(figures)
    if cost:
        _print_cost(cost)
    if args.cases:
        _print_cases(found)
    return 0 if found else 1


def _plain(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        name: {key: value if isinstance(value, (int, float)) else asdict(value) for key, value in of.items()}
        for name, of in figures.items()
    }


def _print(figures: Mapping[str, Mapping[str, Any]]) -> None:
    heads = ["", *(f"{name} ({of['sessions']})" for name, of in figures.items())]
    rows = [[label, *(_shown(of[key]) for of in figures.values())] for key, label in _SHARES.items()]
    rows += [[label, *(f"{of[key]:.0f}" for of in figures.values())] for key, label in _CHARS.items()]
    print_table("records at the file (95 % interval, of)", heads, rows)


def _shown(share: Share) -> str:
    if share.share is None:
        return "–"
    return f"{percent(share.share)} ({percent(share.low)} to {percent(share.high)}, {share.of})"


def _print_cost(cost: Mapping[str, Any]) -> None:
    heads = ["", "n", "without, ms", "with, ms", "difference", "95 % interval", "ratio"]
    rows = [
        [
            name,
            str(one["n"]),
            f"{one['without_ms']:.2f}",
            f"{one['with_ms']:.2f}",
            f"{one['added_ms']:+.2f}",
            f"{one['low_ms']:+.2f} to {one['high_ms']:+.2f}",
            f"{one['ratio']:.2f}",
        ]
        for name, one in cost.items()
    ]
    print_table("one use of a tool through the service, median", heads, rows)


def _print_cases(found: Sequence[ReplayedSession]) -> None:
    for one in found:
        for missed in one.missed:
            say(f"missed: {one.id}: {_line(missed)}")
        for given in one.given:
            if not given.is_about:
                say(f"out of place: {one.id}: {given.record} at {given.file}: {_line(given.shown)}")
        for record in sorted(one.due - one.had):
            say(f"never came: {one.id}: {record}")


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
