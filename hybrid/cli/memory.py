"""`hybrid memory`: what happened in earlier sessions, for people and for agents."""

from __future__ import annotations

import argparse

from hybrid.ask.memory_lookup import DEFAULT_LIMIT, FORMS, MAX_LIMIT, TYPES, checked_limit
from hybrid.base.errors import HybridError
from hybrid.cli import memory_changing, memory_reading
from hybrid.cli.common import Action, add_actions, add_repeated, number_in
from hybrid.records.memory.types import OBSERVATION_TYPES

_ACTIONS = {
    "recent": Action("the last work done", "--since 7d --type bugfix --explain", memory_reading.recent),
    "search": Action("what fits a question, the best first", '"which test failed first" --here', memory_reading.search),
    "files": Action(
        "what was done with files, the newest first", "src/payments/client.py docs", memory_reading.of_files
    ),
    "show": Action("records in full", "42 s7", memory_reading.show),
    "timeline": Action(
        "what happened before and after a record or a time, in one project unless told otherwise",
        "42 --before 5 --after 5",
        memory_reading.timeline,
    ),
    "stats": Action("how much is known, and of what", "--json", memory_reading.stats),
    "add": Action(
        "write down an observation of your own",
        '"Deploys need the VPN" --type discovery --fact "the registry is internal"',
        memory_changing.add,
    ),
    "forget": Action("delete for good: the row, its full text and its vector", "42 s7", memory_changing.forget),
    "prune": Action(
        "delete the oldest, by age or until the database is small enough (default: as the settings say)",
        "--older-than 90d --max-mb 200",
        memory_changing.prune,
    ),
    "export": Action("write it as JSON Lines", "memory.jsonl --since 4w", memory_changing.export),
    "import": Action(
        "take over an export, or the database of claude-mem", "memory.jsonl --dry-run", memory_changing.import_records
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid memory search "why was the retry loop changed" --since 2w'
    parsers = add_actions(parser, _ACTIONS)
    _configure_lists(parsers["recent"], parsers["search"], parsers["files"])
    parsers["show"].add_argument("id", nargs="+", metavar="ID", help=_IDS)
    _configure_timeline(parsers["timeline"])
    _configure_changing(parsers["add"], parsers["forget"], parsers["prune"])
    _configure_moving(parsers["export"], parsers["import"])


_IDS = "42 or #42, of a summary s7"


def _configure_lists(
    recent: argparse.ArgumentParser, search: argparse.ArgumentParser, files: argparse.ArgumentParser
) -> None:
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("--mode", choices=("hybrid", "dense", "lexical"), default="hybrid", help="legs that take part")
    files.add_argument("path", nargs="+", metavar="PATH", help="a file, or a folder with everything in it")
    for parser in (recent, search, files):
        _add_filters(parser, has_files=parser is not files)
        parser.add_argument("--explain", action="store_true", help="show the parts of each rank")


def _configure_timeline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("at", metavar="ID|DATE", help="a record, or a time as for --since")
    _add_filters(parser)
    for name in ("before", "after"):
        about = f"records {name} it, 0 to {MAX_LIMIT} (default: half of --limit)"
        parser.add_argument(f"--{name}", type=_count, metavar="N", help=about)


def _configure_changing(
    add: argparse.ArgumentParser, forget: argparse.ArgumentParser, prune: argparse.ArgumentParser
) -> None:
    add.add_argument("title", nargs="+", metavar="TITLE", help="what was done or found, in one line")
    add.add_argument("--narrative", metavar="TEXT", default="", help="what, why, and how it ended")
    add.add_argument("--type", choices=OBSERVATION_TYPES, default="discovery", help="default: %(default)s")
    add_repeated(add, "--fact", "TEXT", "may be repeated")
    add_repeated(add, "--concept", "WORD", "gotcha, pattern, …; may be repeated")
    add_repeated(add, "--file", "PATH", "that it is about; may be repeated")
    what = forget.add_mutually_exclusive_group(required=True)
    what.add_argument("id", nargs="*", metavar="ID", default=[], help=_IDS)
    what.add_argument("--session", metavar="ID", help="all of a session; --verbose of the lists shows its ID")
    what.add_argument("--project-data", metavar="NAME", help="all of a project, by name or key")
    what.add_argument("--everything", action="store_true", help="all of all projects")
    forget.add_argument("-y", "--yes", action="store_true", help="do not ask")
    prune.add_argument("--older-than", metavar="TIME", default="", help="90d, 12w, or a date")
    about = "megabytes of the database, 1 or more"
    prune.add_argument("--max-mb", type=number_in(1, 1_000_000), metavar="N", help=about)


def _configure_moving(export: argparse.ArgumentParser, importing: argparse.ArgumentParser) -> None:
    export.add_argument("file", nargs="?", metavar="FILE", default="", help="a new file (default: standard output)")
    export.add_argument("--force", action="store_true", help="overwrite a file")
    _add_since(export)
    _add_scope(export, default="of all projects")
    source = importing.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="an export; - for standard input")
    about = "its database, which is only read (default: ~/.claude-mem/claude-mem.db)"
    source.add_argument("--claude-mem", nargs="?", const="", metavar="PATH", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_filters(parser: argparse.ArgumentParser, *, has_files: bool = True) -> None:
    about = f"records to show, 1 to {MAX_LIMIT} (default: %(default)s)"
    parser.add_argument("-n", "--limit", type=_limit, default=DEFAULT_LIMIT, metavar="N", help=about)
    _add_since(parser)
    add_repeated(parser, "--type", "TYPE", f"only this type, may be repeated: {', '.join(TYPES)}", choices=TYPES)
    if has_files:
        add_repeated(parser, "--file", "PATH", "only what touched this file or folder of the project; may be repeated")
    _add_scope(parser)
    parser.add_argument("--form", choices=FORMS, default="index", help="a line each, or in full (default: %(default)s)")


def _add_since(parser: argparse.ArgumentParser) -> None:
    about = "today, yesterday, 7d, 2w, an ISO date or time, or an epoch"
    parser.add_argument("--since", metavar="TIME", default="", help=about)


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
