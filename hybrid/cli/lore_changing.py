"""The parts of `hybrid lore` that change files: patterns, decisions, handoffs, and the records of another folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.home import expanded
from hybrid.cli.common import print_json, say
from hybrid.cli.lore_reading import open_lore, record_of
from hybrid.records.errors import LoreError, NoRecordError
from hybrid.records.lore.files import LoreFolder
from hybrid.records.lore.importing import KINDS, import_folder
from hybrid.records.lore.writing import git_state, head_commit
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    import argparse

    from hybrid.cli.lore_reading import OpenLore
    from hybrid.records.lore.importing import ImportReport


_SHOWN_PROBLEMS = 5


def add_pattern(args: argparse.Namespace) -> int:
    """`pattern add`."""
    _require(args, "name", "solution")
    lore = open_lore(args)
    identity = lore.writer().add_pattern(
        args.name,
        args.solution,
        problem=args.problem,
        context=args.context,
        category=args.category,
        confidence=args.confidence,
        is_forced=args.force,
    )
    return _written(args, lore, identity)


def add_anti_pattern(args: argparse.Namespace) -> int:
    """`anti-pattern add`."""
    _require(args, "name", "symptom", "fix")
    lore = open_lore(args)
    identity = lore.writer().add_anti_pattern(
        args.name,
        args.symptom,
        args.risk,
        args.fix,
        category=args.category,
        severity=args.severity,
        is_forced=args.force,
    )
    return _written(args, lore, identity)


def decide(args: argparse.Namespace) -> int:
    """`decide`."""
    args.text = " ".join(args.text)
    _require(args, "text", "why")
    lore = open_lore(args)
    project = lore.workspace.project
    identity = lore.writer().decide(
        args.text,
        args.why,
        alternatives=args.alternative,
        tags=args.tag,
        git_commit=head_commit(project.root) if project else None,
        is_forced=args.force,
    )
    return _written(args, lore, identity)


def hand_off(args: argparse.Namespace) -> int:
    """`handoff`."""
    args.message = " ".join(args.message)
    _require(args, "message")
    lore = open_lore(args)
    project = lore.workspace.project
    identity = lore.writer().hand_off(
        args.message,
        next_steps=args.next,
        blockers=args.blocker,
        questions=args.question,
        git=git_state(project.root) if project else None,
        is_forced=args.force,
    )
    return _written(args, lore, identity)


def retract(args: argparse.Namespace) -> int:
    """`retract`: a decision is taken back, a pattern deprecated."""
    lore = open_lore(args)
    identity = _whole_id(lore, args.id)
    is_changed = lore.writer().retract(identity, args.reason)
    return _written(args, lore, identity, "retracted" if is_changed else "was withdrawn already")


def supersede(args: argparse.Namespace) -> int:
    """`supersede`."""
    lore = open_lore(args)
    old, new = _whole_id(lore, args.old), _whole_id(lore, args.new)
    is_changed = lore.writer().supersede(old, new)
    return _written(args, lore, old, f"superseded by {new}" if is_changed else "was withdrawn already")


def import_records(args: argparse.Namespace) -> int:
    """`import`; nothing new is a success too."""
    lore = open_lore(args)
    source = LoreFolder(Path(expanded(args.path)), "personal")
    report = import_folder(source, lore.target, project=args.attribute_to, is_dry=args.dry_run)
    if args.json:
        print_json(
            {
                "added": report.added,
                "present": report.present,
                "withdrawn": report.withdrawn,
                "redacted": report.redacted,
                "problems": [str(problem) for problem in report.problems],
                "dry_run": args.dry_run,
                "folder": str(lore.target.path),
            }
        )
    else:
        _print_report(args, report, lore.target)
    return 0


def _print_report(args: argparse.Namespace, report: ImportReport, target: LoreFolder) -> None:
    verb = "would add" if args.dry_run else "added"
    for kind in KINDS:
        say(f"{kind:<12}  {verb} {report.added[kind]}, here already {report.present[kind]}")
    if report.withdrawn:
        verb = "would withdraw" if args.dry_run else "withdrew"
        say(f"{'decision':<12}  {verb} {report.withdrawn}, no longer active there")
    if report.redacted:
        say(f"secrets were taken out of {amount(report.redacted, 'record')}")
    shown = report.problems if args.verbose else report.problems[:_SHOWN_PROBLEMS]
    for problem in shown:
        say(f"not read: {problem}")
    if len(report.problems) > len(shown):
        say(f"not read: {len(report.problems) - len(shown)} more; --verbose shows all")
    if not args.quiet:
        say(f"{'to' if args.dry_run else 'in'} {target.path}")


def _written(args: argparse.Namespace, lore: OpenLore, identity: str, what: str = "written") -> int:
    one = record_of(lore, identity)
    if args.json:
        records = [one.as_json()] if one else []
        print_json({"id": identity, "folder": str(lore.target.path), "records": records})
    elif not args.quiet:
        say(f"{identity}  {what}")
    return 0


def _whole_id(lore: OpenLore, beginning: str) -> str:
    found = record_of(lore, beginning)
    if found is None:
        raise NoRecordError(f"no record {beginning}; `hybrid lore list --all` shows ids")
    return found.record.id


def _require(args: argparse.Namespace, *names: str) -> None:
    for name in names:
        if not str(getattr(args, name)).strip():
            raise LoreError(f"the {name} is empty; a record must say something")
