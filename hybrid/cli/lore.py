"""`hybrid lore`: patterns, decisions and handoffs, for people and for agents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hybrid.cli import lore_changing, lore_reading
from hybrid.cli.common import Actions, add_action, positive
from hybrid.records.lore.patterns import CATEGORIES, DEFAULT_CONFIDENCE, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Callable

_KINDS = ("pattern", "anti-pattern", "decision", "handoff")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly"'
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _configure_reading(actions)
    _configure_patterns(actions)
    _configure_decisions(actions)
    _configure_handoffs(actions)
    _configure_import(actions)


def run(args: argparse.Namespace) -> int:
    """Run an action; exit code 1 when there is no such record.

    Raises:
        HybridError: A record says nearly the same already, there is none of this id, or a file cannot be changed.
    """
    action: Callable[[argparse.Namespace], int] = args.run_action
    return action(args)


def _configure_reading(actions: Actions) -> None:
    listing = add_action(actions, "list", "the records of this project", lore_reading.list_records, "hybrid lore list")
    search = add_action(
        actions,
        "search",
        "records that fit some words",
        lore_reading.search_records,
        'hybrid lore search "bash arithmetic" --kind pattern',
    )
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("-n", "--limit", type=positive, default=10, help="records to show (default: 10)")
    for parser in (listing, search):
        parser.add_argument(
            "--kind", action="append", choices=_KINDS, default=[], help="only this kind; may be repeated"
        )
        parser.add_argument("--all", action="store_true", help="withdrawn records and those of other projects too")
    show = add_action(
        actions, "show", "a record with all its keys", lore_reading.show_record, "hybrid lore show dec-a1b2c3d4"
    )
    show.add_argument("id", metavar="ID", help="of a record; its beginning is enough")
    add_action(actions, "latest", "the latest handoff of this project", lore_reading.show_latest, "hybrid lore latest")


def _configure_patterns(actions: Actions) -> None:
    pattern = add_action(
        actions,
        "pattern",
        "add a pattern: a solution that proved itself",
        lore_changing.add_pattern,
        'hybrid lore pattern add "Quote paths" --problem "spaces split them" --solution "write \\"$path\\""',
    )
    pattern.add_argument("--problem", metavar="TEXT", default="", help="what goes wrong otherwise")
    pattern.add_argument("--solution", metavar="TEXT", required=True, help="what to do")
    pattern.add_argument("--context", metavar="TEXT", default="", help="when it applies")
    pattern.add_argument(
        "--confidence", type=_confidence, default=DEFAULT_CONFIDENCE, metavar="C", help="0 to 1 (default: %(default)s)"
    )
    anti = add_action(
        actions,
        "anti-pattern",
        "add an anti-pattern: what not to do",
        lore_changing.add_anti_pattern,
        'hybrid lore anti-pattern add "Parsing ls output" --symptom "names with spaces split" --fix "use a glob"',
    )
    anti.add_argument("--symptom", metavar="TEXT", required=True, help="how it shows")
    anti.add_argument("--risk", metavar="TEXT", default="", help="what it leads to")
    anti.add_argument("--fix", metavar="TEXT", required=True, help="what to do instead")
    anti.add_argument("--severity", choices=SEVERITIES, default="medium", help="default: %(default)s")
    for parser in (pattern, anti):
        parser.add_argument("verb", type=_add, metavar="add")
        parser.add_argument("name", metavar="NAME", help="title")
        parser.add_argument("--category", choices=CATEGORIES, default="general", help="default: %(default)s")
        _add_force(parser)


def _configure_decisions(actions: Actions) -> None:
    decide = add_action(
        actions,
        "decide",
        "write down a decision",
        lore_changing.decide,
        'hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly" --alternative SQLite',
    )
    decide.add_argument("text", nargs="+", metavar="TEXT", help="what was decided")
    decide.add_argument("--why", metavar="REASON", required=True, help="the reason")
    decide.add_argument("--alternative", action="append", default=[], metavar="TEXT", help="may be repeated")
    decide.add_argument("--tag", action="append", default=[], metavar="WORD", help="may be repeated")
    _add_force(decide)
    retract = add_action(
        actions,
        "retract",
        "take a decision back, or deprecate a pattern",
        lore_changing.retract,
        'hybrid lore retract dec-a1b2c3d4 --reason "SQLite is needed after all"',
    )
    retract.add_argument("id", metavar="ID", help="of a decision, a pattern or an anti-pattern")
    retract.add_argument("--reason", metavar="TEXT", required=True, help="kept with a decision")
    supersede = add_action(
        actions,
        "supersede",
        "let a decision take the place of another",
        lore_changing.supersede,
        "hybrid lore supersede dec-a1b2c3d4 dec-0f1e2d3c",
    )
    supersede.add_argument("old", metavar="OLD", help="id of the decision that no longer holds")
    supersede.add_argument("new", metavar="NEW", help="id of the one that holds instead")


def _configure_handoffs(actions: Actions) -> None:
    handoff = add_action(
        actions,
        "handoff",
        "leave a note for the next session",
        lore_changing.hand_off,
        'hybrid lore handoff "Login works, OAuth is missing" --next "register the app"',
    )
    handoff.add_argument("message", nargs="+", metavar="MESSAGE", help="where things stand")
    handoff.add_argument("--next", action="append", default=[], metavar="STEP", help="may be repeated")
    handoff.add_argument("--blocker", action="append", default=[], metavar="TEXT", help="may be repeated")
    handoff.add_argument("--question", action="append", default=[], metavar="TEXT", help="may be repeated")
    _add_force(handoff)


def _configure_import(actions: Actions) -> None:
    example = "hybrid lore import ~/lore --project payments --dry-run"
    about = "take over the records of another lore folder"
    parser = actions.add_parser(
        "import",
        help=about,
        description=about,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", metavar="PATH", help="the data folder; it is only read")
    parser.add_argument(
        "--project", dest="attribute_to", metavar="NAME", default="", help="the project of records that name none"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print results only")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every problem")
    parser.add_argument("--debug", action="store_true", help="show where an internal error happened")
    parser.set_defaults(run_action=lore_changing.import_records, project=None)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="write it although a recent record says nearly the same")


def _add(text: str) -> str:
    """Return the one action of patterns and anti-patterns, `add`."""
    if text != "add":
        raise argparse.ArgumentTypeError(f"{text!r} stands where the word add must stand")
    return text


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must lie above 0 and be at most 1: a pattern of 0 is never given")
    return value
