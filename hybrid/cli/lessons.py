"""`hybrid lessons`: the rules that a project learned: show, find, add, change, count and take over.

`hybrid score-local` is `hybrid lessons score`, under the name that older scripts call.
"""

from __future__ import annotations

import argparse

from hybrid.cli.common import Action, add_actions, add_common, add_repeated, positive

_CATEGORIES = ("pattern", "correction", "decision", "gotcha", "preference")
_TYPES = ("constraint", "informational", "preference")


def _read(args: argparse.Namespace) -> int:
    from hybrid.cli import lessons_reading

    return lessons_reading.run(args)


def _change(args: argparse.Namespace) -> int:
    from hybrid.cli import lessons_changing  # It takes a tenth of a second to load.

    return lessons_changing.run(args)


_SCORED = '"how should I format git commits?" --top 3'
_ACTIONS = {
    "list": Action("the lessons of this project and those for all projects", "--search commit", _read),
    "show": Action("one lesson, whole", "L001", _read),
    "score": Action("how well lessons fit a query, by their words", _SCORED, _read),
    "stats": Action("how often lessons were given, cited and used", "--weekly", _read),
    "validate": Action("which lessons name paths or symbols that are not there", "", _read),
    "add": Action(
        "write a new lesson", '"Git commit format" "Use type(scope): description" --category pattern', _change
    ),
    "edit": Action(
        "change a lesson, by options or in $EDITOR",
        'L001 --content "Use type(scope): description, in the imperative"',
        _change,
    ),
    "cite": Action("count a use of lessons", "L001 L004", _change),
    "supersede": Action("replace a lesson by another", "L001 L007", _change),
    "delete": Action("take a lesson out of use; its id is never used again", "L001", _change),
    "renumber": Action("give the newer of two lessons with one id an id of its own", "L003", _change),
    "promote": Action("make a lesson of this project one for all projects", "L001", _change),
    "decay": Action("let what is not used fade, at most once a week", "--force", _change),
    "import": Action("take over lessons of another installation", "../other/.claude-recall --dry-run", _change),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `hybrid lessons`, or the arguments of `hybrid score-local`, as the parser's name says."""
    if parser.prog.endswith("score-local"):
        add_common(parser, example=f"{parser.prog} {_SCORED}")
        parser.set_defaults(run_action=_read, action="score")
        _configure_score(parser)
        return
    add, score = (f"hybrid lessons {name} {_ACTIONS[name].example}" for name in ("add", "score"))
    parser.epilog = f"example:\n  {add}\n  {score}"
    parsers = add_actions(parser, _ACTIONS)
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
    _configure_score(parsers["score"])
    _configure_add(parsers["add"])
    _configure_edit(parsers["edit"])


def _configure_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="a prompt, or words")
    parser.add_argument("--top", type=positive, default=5, metavar="N", help="lessons to show (default: 5)")
    about = "least relevance, 0 to 10 (default: 1)"
    parser.add_argument("--min-score", type=int, choices=range(11), default=1, metavar="N", help=about)


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
    add_repeated(parser, "--trigger", "WORD", "a word that should find it; may be repeated")
    parser.add_argument("--force", action="store_true", help="although it resembles another lesson")


def _configure_edit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", help="another title")
    parser.add_argument("--content", metavar="TEXT", help="another rule")
    parser.add_argument("--category", choices=_CATEGORIES, help="another category")
    parser.add_argument("--type", choices=(*_TYPES, ""), help="another type; '' takes it away")
    about = "triggers in place of the old ones; '' takes them away"
    parser.add_argument("--trigger", action="append", metavar="WORD", help=about)
    parser.add_argument("--promotable", choices=("yes", "no"), help="whether it is offered to all projects")
