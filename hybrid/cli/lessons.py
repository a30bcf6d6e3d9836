"""`hybrid lessons`: the rules that a project learned: show, find, add, change, count and take over."""

from __future__ import annotations

import argparse

from hybrid.cli.common import add_common, positive

_CATEGORIES = ("pattern", "correction", "decision", "gotcha", "preference")
_TYPES = ("constraint", "informational", "preference")

_EXAMPLES = {
    "list": "hybrid lessons list --search commit",
    "show": "hybrid lessons show L001",
    "score": 'hybrid lessons score "how should I format git commits?" --top 3',
    "stats": "hybrid lessons stats --weekly",
    "validate": "hybrid lessons validate",
    "add": 'hybrid lessons add "Git commit format" "Use type(scope): description" --category pattern',
    "edit": 'hybrid lessons edit L001 --content "Use type(scope): description, in the imperative"',
    "cite": "hybrid lessons cite L001 L004",
    "supersede": "hybrid lessons supersede L001 L007",
    "delete": "hybrid lessons delete L001",
    "renumber": "hybrid lessons renumber L003",
    "promote": "hybrid lessons promote L001",
    "decay": "hybrid lessons decay --force",
    "import": "hybrid lessons import ../other/.claude-recall --dry-run",
}

_ABOUT = {
    "list": "the lessons of this project and those for all projects",
    "show": "one lesson, whole",
    "score": "how well lessons fit a query, by their words",
    "stats": "how often lessons were given, cited and used",
    "validate": "which lessons name paths or symbols that are not there",
    "add": "write a new lesson",
    "edit": "change a lesson, by options or in $EDITOR",
    "cite": "count a use of lessons",
    "supersede": "replace a lesson by another",
    "delete": "take a lesson out of use; its id is never used again",
    "renumber": "give the newer of two lessons with one id an id of its own",
    "promote": "make a lesson of this project one for all projects",
    "decay": "let what is not used fade, at most once a week",
    "import": "take over lessons of another installation",
}

_SHOWING = ("list", "show", "score", "stats", "validate")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    parser.epilog = f"example:\n  {_EXAMPLES['add']}\n  {_EXAMPLES['score']}"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, about in _ABOUT.items():
        parsers[name] = actions.add_parser(name, help=about, description=about)
        parsers[name].formatter_class = argparse.RawDescriptionHelpFormatter
        add_common(parsers[name], example=_EXAMPLES[name])
    for name in ("show", "edit", "delete", "renumber", "promote"):
        parsers[name].add_argument("id", metavar="ID", help="of the lesson, in any case: L001")
    parsers["cite"].add_argument("ids", nargs="+", metavar="ID", help="of a lesson")
    parsers["supersede"].add_argument("old", metavar="OLD", help="id of the lesson that is replaced")
    parsers["supersede"].add_argument("new", metavar="NEW", help="id of the one that replaces it")
    parsers["stats"].add_argument("id", nargs="?", metavar="ID", help="only of this lesson")
    parsers["stats"].add_argument("--weekly", action="store_true", help="given and cited per week, from the event log")
    parsers["decay"].add_argument("--force", action="store_true", help="although a week has not gone by")
    parsers["import"].add_argument("path", metavar="PATH", help="a LESSONS.md, or a folder that holds one")
    parsers["import"].add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    _configure_list(parsers["list"])
    configure_score(parsers["score"])
    _configure_add(parsers["add"])
    _configure_edit(parsers["edit"])


def configure_score(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `score`, which is also `hybrid score-local`."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="a prompt, or words")
    parser.add_argument("--top", type=positive, default=5, metavar="N", help="lessons to show (default: 5)")
    parser.add_argument(
        "--min-score", type=int, choices=range(11), default=1, metavar="N", help="least relevance, 0 to 10 (default: 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; exit code 1 when there is no such lesson."""
    if args.action in _SHOWING:
        from hybrid.cli import lessons_reading

        return lessons_reading.run(args)
    from hybrid.cli import lessons_changing

    return lessons_changing.run(args)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--search", metavar="TEXT", help="only lessons that hold these words, the best first")
    parser.add_argument("--category", choices=_CATEGORIES, help="only of this category")
    parser.add_argument("--all", action="store_true", help="superseded and deleted ones too")


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE", help="what it is about, in a few words")
    parser.add_argument("content", metavar="CONTENT", help="the rule")
    parser.add_argument("--system", action="store_true", help="for all projects")
    parser.add_argument("--category", choices=_CATEGORIES, default="correction", help="default: correction")
    parser.add_argument("--type", choices=_TYPES, default="", help="of rule")
    parser.add_argument(
        "--trigger", action="append", default=[], metavar="WORD", help="a word that should find it; may be repeated"
    )
    parser.add_argument("--force", action="store_true", help="although it resembles another lesson")


def _configure_edit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", help="another title")
    parser.add_argument("--content", metavar="TEXT", help="another rule")
    parser.add_argument("--category", choices=_CATEGORIES, help="another category")
    parser.add_argument("--type", choices=(*_TYPES, ""), help="another type; '' takes it away")
    parser.add_argument(
        "--trigger", action="append", metavar="WORD", help="triggers in place of the old ones; '' takes them away"
    )
    parser.add_argument("--promotable", choices=("yes", "no"), help="whether it is offered to all projects")
