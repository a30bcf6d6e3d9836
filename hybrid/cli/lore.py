"""`hybrid lore`: patterns, decisions and handoffs, for people and for agents.

All actions but `import` are operations (`hybrid.operations.lore`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.home import expanded
from hybrid.cli.common import Action, add_actions, print_found, unread_lines, warn, workspace_of
from hybrid.cli.operations import actions_of
from hybrid.knowledge.stores import RecordStores
from hybrid.operations.lore import left_out
from hybrid.records.lore.store import LoreFolder
from hybrid.records.lore.writing import KINDS, import_folder
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.records.lore.writing import LoreImport


def _import(args: argparse.Namespace) -> int:
    """Run `import`: take over records of another folder; the exit code is 0 also when none is new."""
    workspace = workspace_of(args)
    shelf = RecordStores().shelf(workspace)
    if not args.quiet and (told := left_out(workspace, shelf)):
        warn(told)
    source, target = LoreFolder(Path(expanded(args.path)), "personal"), shelf.stores[0].folder
    report = import_folder(source, target, project=args.attribute_to, is_dry=args.dry_run)
    form = {name: getattr(report, name) for name in ("added", "present", "withdrawn", "redacted")}
    form |= {"problems": list(map(str, report.problems)), "dry_run": args.dry_run, "folder": str(target.path)}
    return print_found(args, form, _report_lines(args, report, target))


def _report_lines(args: argparse.Namespace, report: LoreImport, target: LoreFolder) -> list[str]:
    verb = "would add" if args.dry_run else "added"
    lines = [f"{kind:<12}  {verb} {report.added[kind]}, here already {report.present[kind]}" for kind in KINDS]
    if report.withdrawn:
        verb = "would withdraw" if args.dry_run else "withdrew"
        lines.append(f"{'decision':<12}  {verb} {report.withdrawn}, no longer active there")
    if report.redacted:
        lines.append(f"secrets were taken out of {amount(report.redacted, 'record')}")
    lines += unread_lines(report.problems, len(report.problems), is_verbose=args.verbose)
    return lines if args.quiet else [*lines, f"{'to' if args.dry_run else 'in'} {target.path}"]


# --- the command --------------------------------------------------------------------------------------------


def _adding(action: Action) -> Action:
    """Return an action whose arguments begin with the word `add`: more could be done with patterns one day."""

    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("verb", type=_add_word, metavar="add")
        assert action.arguments is not None
        action.arguments(parser)

    return action._replace(arguments=arguments)


def _add_word(text: str) -> str:
    """Return the one action of patterns and anti-patterns, `add`."""
    if text != "add":
        raise argparse.ArgumentTypeError(f"{text!r} stands where the word add must stand")
    return text


_OPERATIONS = actions_of("lore")
_ACTIONS = _OPERATIONS | {
    "pattern": _adding(_OPERATIONS["pattern"]),
    "anti-pattern": _adding(_OPERATIONS["anti-pattern"]),
    "import": Action(
        "take over the records of another lore folder",
        "~/lore --project payments --dry-run",
        _import,
        options=("--json", "--quiet", "--verbose", "--debug"),
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly"'
    importing = add_actions(parser, _ACTIONS)["import"]
    importing.add_argument("path", metavar="PATH", help="the data folder; it is only read")
    about = "the project of records that name none"
    importing.add_argument("--project", dest="attribute_to", metavar="NAME", default="", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")
