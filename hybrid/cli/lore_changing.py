"""The parts of `hybrid lore` that change files: patterns, decisions, handoffs, and the records of another folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.errors import ProjectError
from hybrid.base.home import expanded
from hybrid.cli.common import print_done, print_json, say, say_unread
from hybrid.cli.lore_reading import open_lore, record_of
from hybrid.knowledge.stores import NO_PROJECT
from hybrid.records.lore.json_records import DecisionDraft, GitState, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.store import LoreFolder
from hybrid.records.lore.writing import KINDS, git_state, head_commit, import_folder, new_writer
from hybrid.records.types import LoreError, NoRecordError
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    import argparse

    from hybrid.cli.lore_reading import OpenLore
    from hybrid.records.lore.writing import ImportReport, LoreDraft, LoreWriter


def add_pattern(args: argparse.Namespace) -> int:
    """Run `pattern add`: store a new pattern."""
    _require(args, "name", "solution")
    draft = PatternDraft(args.name, args.solution, args.context, args.problem, args.category, args.confidence)
    return _add(args, open_lore(args), draft)


def add_anti_pattern(args: argparse.Namespace) -> int:
    """Run `anti-pattern add`: store a new anti-pattern."""
    _require(args, "name", "symptom", "fix")
    draft = AntiPatternDraft(args.name, args.symptom, args.risk, args.fix, args.category, args.severity)
    return _add(args, open_lore(args), draft)


def decide(args: argparse.Namespace) -> int:
    """Run `decide`: store a decision."""
    args.text = " ".join(args.text)
    _require(args, "text", "why")
    lore = open_lore(args)
    project = lore.workspace.project
    commit = head_commit(project.root) if project else None
    draft = DecisionDraft(args.text, args.why, tuple(args.alternative), tuple(args.tag), commit)
    return _add(args, lore, draft)


def hand_off(args: argparse.Namespace) -> int:
    """Run `handoff`: store a handoff to the next session."""
    args.message = " ".join(args.message)
    _require(args, "message")
    lore = open_lore(args)
    project = lore.workspace.project
    git = git_state(project.root) if project else GitState()
    draft = HandoffDraft(args.message, tuple(args.next), tuple(args.blocker), tuple(args.question), git)
    return _add(args, lore, draft)


def retract(args: argparse.Namespace) -> int:
    """Run `retract`: take a decision back, or deprecate a pattern."""
    lore = open_lore(args)
    identity = _whole_id(lore, args.id)
    is_changed = _writer(lore).retract(identity, args.reason)
    return _written(args, lore, identity, "retracted" if is_changed else "was withdrawn already")


def supersede(args: argparse.Namespace) -> int:
    """Run `supersede`: note that one record is superseded by another, which is there already."""
    lore = open_lore(args)
    old, new = _whole_id(lore, args.old), _whole_id(lore, args.new)
    is_changed = _writer(lore).supersede(old, new)
    return _written(args, lore, old, f"superseded by {new}" if is_changed else "was withdrawn already")


def import_records(args: argparse.Namespace) -> int:
    """Run `import`: take over records of another folder; the exit code is 0 also when none is new."""
    lore = open_lore(args)
    source = LoreFolder(Path(expanded(args.path)), "personal")
    report = import_folder(source, lore.target, project=args.attribute_to, is_dry=args.dry_run)
    if args.json:
        counts = {name: getattr(report, name) for name in ("added", "present", "withdrawn", "redacted")}
        problems = [str(problem) for problem in report.problems]
        print_json(counts | {"problems": problems, "dry_run": args.dry_run, "folder": str(lore.target.path)})
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
    say_unread(report.problems, len(report.problems), is_verbose=args.verbose)
    if not args.quiet:
        say(f"{'to' if args.dry_run else 'in'} {target.path}")


def _add(args: argparse.Namespace, lore: OpenLore, draft: LoreDraft) -> int:
    """Write a record into the folder for new ones, with `--system` into the user's; tell its id, and return 0.

    Raises:
        ProjectError: There is no project here, and `--system` is not given.
        LoreError: A recent record says nearly the same, and `--force` is not given; or the file cannot be written.
    """
    if lore.workspace.project is None and not args.system:
        raise ProjectError(NO_PROJECT)
    if args.system:  # What names no project counts in every one.
        lore = replace(lore, target=lore.shelf.stores[-1].folder, names=replace(lore.names, name="", key=""))
    return _written(args, lore, _writer(lore).add(draft, is_forced=args.force))


def _writer(lore: OpenLore) -> LoreWriter:
    """Return a writer of lore for this project, which dates its records now."""
    return new_writer(lore.shelf, lore.names, time.time())


def _written(args: argparse.Namespace, lore: OpenLore, identity: str, what: str = "written") -> int:
    one = record_of(lore, identity)
    form = {"id": identity, "folder": str(lore.target.path), "records": [one.as_json()] if one else []}
    print_done(args, form, f"{identity}  {what}")
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
