"""`hybrid memory`: what happened in earlier sessions, for people and for agents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hybrid.ask.memory_filters import DEFAULT_LIMIT, FORMS, MAX_LIMIT, TYPES, checked_limit
from hybrid.base.errors import HybridError
from hybrid.cli import memory_changing, memory_reading
from hybrid.cli.common import Actions, add_action
from hybrid.records.memory.types import OBSERVATION_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid memory search "why was the retry loop changed" --since 2w'
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _configure_lists(actions)
    _configure_single(actions)
    _configure_changing(actions)
    _configure_moving(actions)


def run(args: argparse.Namespace) -> int:
    """Run an action; exit code 1 when nothing is found.

    Raises:
        HybridError: A filter is wrong, or the memory cannot be read or written.
    """
    action: Callable[[argparse.Namespace], int] = args.run_action
    return action(args)


def _configure_lists(actions: Actions) -> None:
    recent = add_action(
        actions,
        "recent",
        "what was done last, here and in other projects",
        memory_reading.recent,
        "hybrid memory recent --since 7d --type bugfix --explain",
    )
    search = add_action(
        actions,
        "search",
        "what fits a question, the best first",
        memory_reading.search,
        'hybrid memory search "which test failed first" --here',
    )
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("--mode", choices=("hybrid", "dense", "lexical"), default="hybrid", help="legs that take part")
    files = add_action(
        actions,
        "files",
        "what was done with files, the newest first",
        memory_reading.of_files,
        "hybrid memory files src/payments/client.py docs",
    )
    files.add_argument("path", nargs="+", metavar="PATH", help="a file, or a folder with everything in it")
    for parser in (recent, search, files):
        _add_filters(parser, has_files=parser is not files)
        parser.add_argument("--explain", action="store_true", help="show the parts of each rank")


def _configure_single(actions: Actions) -> None:
    show = add_action(actions, "show", "records in full", memory_reading.show, "hybrid memory show 42 s7")
    show.add_argument("id", nargs="+", metavar="ID", help="42 or #42, of a summary s7")
    timeline = add_action(
        actions,
        "timeline",
        "what happened before and after a record or a time, in one project unless told otherwise",
        memory_reading.timeline,
        "hybrid memory timeline 42 --before 5 --after 5",
    )
    timeline.add_argument("at", metavar="ID|DATE", help="a record, or a time as for --since")
    _add_filters(timeline)
    for name in ("before", "after"):
        timeline.add_argument(
            f"--{name}",
            type=_count,
            metavar="N",
            help=f"records {name} it, 0 to {MAX_LIMIT} (default: half of --limit)",
        )
    add_action(actions, "stats", "how much is known, and of what", memory_reading.stats, "hybrid memory stats --json")


def _configure_changing(actions: Actions) -> None:
    add = add_action(
        actions,
        "add",
        "write down an observation of your own",
        memory_changing.add,
        'hybrid memory add "Deploys need the VPN" --type discovery --fact "the registry is internal"',
    )
    add.add_argument("title", nargs="+", metavar="TITLE", help="what was done or found, in one line")
    add.add_argument("--narrative", metavar="TEXT", default="", help="what, why, and how it ended")
    add.add_argument("--type", choices=OBSERVATION_TYPES, default="discovery", help="default: %(default)s")
    add.add_argument("--fact", action="append", default=[], metavar="TEXT", help="may be repeated")
    add.add_argument(
        "--concept", action="append", default=[], metavar="WORD", help="gotcha, pattern, …; may be repeated"
    )
    add.add_argument("--file", action="append", default=[], metavar="PATH", help="that it is about; may be repeated")
    forget = add_action(
        actions,
        "forget",
        "delete for good: the row, its full text and its vector",
        memory_changing.forget,
        "hybrid memory forget 42 s7",
    )
    what = forget.add_mutually_exclusive_group(required=True)
    what.add_argument("id", nargs="*", metavar="ID", default=[], help="42 or #42, of a summary s7")
    what.add_argument("--session", metavar="ID", help="all of a session; --verbose of the lists shows its ID")
    what.add_argument("--project-data", metavar="NAME", help="all of a project, by name or key")
    what.add_argument("--everything", action="store_true", help="all of all projects")
    forget.add_argument("-y", "--yes", action="store_true", help="do not ask")
    prune = add_action(
        actions,
        "prune",
        "delete the oldest, by age or until the database is small enough (default: as the settings say)",
        memory_changing.prune,
        "hybrid memory prune --older-than 90d --max-mb 200",
    )
    prune.add_argument("--older-than", metavar="TIME", default="", help="90d, 12w, or a date")
    prune.add_argument("--max-mb", type=_megabytes, metavar="N", help="megabytes of the database, 1 or more")


def _configure_moving(actions: Actions) -> None:
    export = add_action(
        actions,
        "export",
        "write it as JSON Lines",
        memory_changing.export,
        "hybrid memory export memory.jsonl --since 4w",
    )
    export.add_argument("file", nargs="?", metavar="FILE", default="", help="a new file (default: standard output)")
    export.add_argument("--force", action="store_true", help="overwrite a file")
    _add_since(export)
    _add_scope(export, default="of all projects")
    importing = add_action(
        actions,
        "import",
        "take over an export, or the database of claude-mem",
        memory_changing.import_records,
        "hybrid memory import memory.jsonl --dry-run",
    )
    source = importing.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="an export; - for standard input")
    source.add_argument(
        "--claude-mem",
        nargs="?",
        const="",
        metavar="PATH",
        help="its database, which is only read (default: ~/.claude-mem/claude-mem.db)",
    )
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_filters(parser: argparse.ArgumentParser, *, has_files: bool = True) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=_limit,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"records to show, 1 to {MAX_LIMIT} (default: %(default)s)",
    )
    _add_since(parser)
    parser.add_argument(
        "--type",
        action="append",
        choices=TYPES,
        default=[],
        metavar="TYPE",
        help=f"only this type, may be repeated: {', '.join(TYPES)}",
    )
    if has_files:
        parser.add_argument(
            "--file",
            action="append",
            default=[],
            metavar="PATH",
            help="only what touched this file or folder of the project; may be repeated",
        )
    _add_scope(parser)
    parser.add_argument("--form", choices=FORMS, default="index", help="a line each, or in full (default: %(default)s)")


def _add_since(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", metavar="TIME", default="", help="today, yesterday, 7d, 2w, an ISO date or time, or an epoch"
    )


def _add_scope(parser: argparse.ArgumentParser, *, default: str = "as `memory.cross_project` says") -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--in", dest="named", metavar="NAME", default="", help="only of this project, by name or key")
    scope.add_argument("--here", action="store_true", help="only of the present project")
    scope.add_argument("--all-projects", action="store_true", help=f"of every project (default: {default})")


def _limit(text: str) -> int:
    try:
        return checked_limit(text)
    except HybridError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _count(text: str) -> int:
    return 0 if text == "0" else _limit(text)


def _megabytes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 1 <= value <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text} must lie in 1 to 1,000,000")
    return value
