"""`hybrid lore`: patterns, decisions and handoffs, for people and for agents."""

from __future__ import annotations

import argparse

from hybrid.cli import lore_changing, lore_reading
from hybrid.cli.common import Action, add_actions, add_repeated, number_of, positive
from hybrid.records.lore.patterns import CATEGORIES, DEFAULT_CONFIDENCE, SEVERITIES

_KINDS = ("pattern", "anti-pattern", "decision", "handoff")

_ACTIONS = {
    "list": Action("the records of this project", "", lore_reading.list_records),
    "search": Action("records that fit some words", '"bash arithmetic" --kind pattern', lore_reading.search_records),
    "show": Action("a record with all its keys", "dec-a1b2c3d4", lore_reading.show_record),
    "latest": Action("the latest handoff of this project", "", lore_reading.show_latest),
    "pattern": Action(
        "add a pattern: a solution that proved itself",
        'add "Quote paths" --problem "spaces split them" --solution "write \\"$path\\""',
        lore_changing.add_pattern,
    ),
    "anti-pattern": Action(
        "add an anti-pattern: what not to do",
        'add "Parsing ls output" --symptom "names with spaces split" --fix "use a glob"',
        lore_changing.add_anti_pattern,
    ),
    "decide": Action(
        "write down a decision",
        '"Use JSONL for storage" --why "append-only, grep-friendly" --alternative SQLite',
        lore_changing.decide,
    ),
    "retract": Action(
        "take a decision back, or deprecate a pattern",
        'dec-a1b2c3d4 --reason "SQLite is needed after all"',
        lore_changing.retract,
    ),
    "supersede": Action(
        "let a decision take the place of another", "dec-a1b2c3d4 dec-0f1e2d3c", lore_changing.supersede
    ),
    "handoff": Action(
        "leave a note for the next session",
        '"Login works, OAuth is missing" --next "register the app"',
        lore_changing.hand_off,
    ),
    "import": Action(
        "take over the records of another lore folder",
        "~/lore --project payments --dry-run",
        lore_changing.import_records,
        options=("--json", "--quiet", "--verbose", "--debug"),
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly"'
    parsers = add_actions(parser, _ACTIONS)
    _configure_reading(parsers["list"], parsers["search"], parsers["show"])
    _configure_patterns(parsers["pattern"], parsers["anti-pattern"])
    _configure_decisions(parsers["decide"], parsers["retract"], parsers["supersede"])
    handoff, importing = parsers["handoff"], parsers["import"]
    handoff.add_argument("message", nargs="+", metavar="MESSAGE", help="where things stand")
    for option, metavar in (("--next", "STEP"), ("--blocker", "TEXT"), ("--question", "TEXT")):
        add_repeated(handoff, option, metavar, "may be repeated")
    _configure_writing(handoff)
    importing.add_argument("path", metavar="PATH", help="the data folder; it is only read")
    about = "the project of records that name none"
    importing.add_argument("--project", dest="attribute_to", metavar="NAME", default="", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _configure_reading(
    listing: argparse.ArgumentParser, search: argparse.ArgumentParser, show: argparse.ArgumentParser
) -> None:
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("-n", "--limit", type=positive, default=10, help="records to show (default: 10)")
    for parser in (listing, search):
        add_repeated(parser, "--kind", None, "only this kind; may be repeated", choices=_KINDS)
        parser.add_argument("--all", action="store_true", help="withdrawn records and those of other projects too")
    show.add_argument("id", metavar="ID", help="of a record; its beginning is enough")


def _configure_patterns(pattern: argparse.ArgumentParser, anti: argparse.ArgumentParser) -> None:
    pattern.add_argument("--problem", metavar="TEXT", default="", help="what goes wrong otherwise")
    pattern.add_argument("--solution", metavar="TEXT", required=True, help="what to do")
    pattern.add_argument("--context", metavar="TEXT", default="", help="when it applies")
    about = "0 to 1 (default: %(default)s)"
    pattern.add_argument("--confidence", type=_confidence, default=DEFAULT_CONFIDENCE, metavar="C", help=about)
    anti.add_argument("--symptom", metavar="TEXT", required=True, help="how it shows")
    anti.add_argument("--risk", metavar="TEXT", default="", help="what it leads to")
    anti.add_argument("--fix", metavar="TEXT", required=True, help="what to do instead")
    anti.add_argument("--severity", choices=SEVERITIES, default="medium", help="default: %(default)s")
    for parser in (pattern, anti):
        parser.add_argument("verb", type=_add, metavar="add")
        parser.add_argument("name", metavar="NAME", help="title")
        parser.add_argument("--category", choices=CATEGORIES, default="general", help="default: %(default)s")
        _configure_writing(parser)


def _configure_decisions(
    decide: argparse.ArgumentParser, retract: argparse.ArgumentParser, supersede: argparse.ArgumentParser
) -> None:
    decide.add_argument("text", nargs="+", metavar="TEXT", help="what was decided")
    decide.add_argument("--why", metavar="REASON", required=True, help="the reason")
    add_repeated(decide, "--alternative", "TEXT", "may be repeated")
    add_repeated(decide, "--tag", "WORD", "may be repeated")
    _configure_writing(decide)
    retract.add_argument("id", metavar="ID", help="of a decision, a pattern or an anti-pattern")
    retract.add_argument("--reason", metavar="TEXT", required=True, help="kept with a decision")
    supersede.add_argument("old", metavar="OLD", help="id of the decision that no longer holds")
    supersede.add_argument("new", metavar="NEW", help="id of the one that holds instead")


def _configure_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", action="store_true", help="for all projects")
    parser.add_argument("--force", action="store_true", help="write it although a recent record says nearly the same")


def _add(text: str) -> str:
    """Return the one action of patterns and anti-patterns, `add`."""
    if text != "add":
        raise argparse.ArgumentTypeError(f"{text!r} stands where the word add must stand")
    return text


def _confidence(text: str) -> float:
    value = number_of(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must lie above 0 and be at most 1: a pattern of 0 is never given")
    return value
