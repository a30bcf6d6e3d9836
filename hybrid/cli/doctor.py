"""`hybrid doctor`: checks everything that must be right for an agent to be answered; each finding has its remedy."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from hybrid.cli.checks import check_command, check_hooks, check_service, foreign_of, installs_of, places_of
from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.health.doctor import Finding, check_all, guarded, repair_rights
from hybrid.health.doctor_cleaning import check_cleaning
from hybrid.health.doctor_memory import check_memory, check_waiting
from hybrid.health.doctor_records import check_records, renumber_twins
from hybrid.render.numbers import amount
from hybrid.upkeep.cleaning import clean_home, is_due

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.workspace import Workspace

_CLEANING_S = 10.0
"""Seconds to wait for the service, which may be cleaning."""
_WELL = "All is well."
_MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid doctor --client claude")
    parser.add_argument("--client", metavar="NAME", help="look at the hooks of this client only")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="take the rights of others away from hybrid's own files, give the newer of two lessons with one id a new "
        "one, and clean what older versions stored of secrets",
    )
    parser.add_argument(
        "--fix-foreign", action="store_true", help="switch off hooks of systems that hybrid replaces; copies are kept"
    )
    parser.add_argument("--no-trial", action="store_true", help="do not run the hook's command on a sample prompt")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when there is a problem."""
    if args.client:
        from hybrid.cli.installing import client_named

        client_named(args.client)
    workspace = workspace_of(args, is_strict=False)
    mended = _mended(args, workspace)
    findings: list[Finding] = []
    for finding in _findings(args, workspace):
        findings.append(finding)
        if not args.json and not (args.quiet and finding.level == "ok"):
            say(line_of(finding))
            sys.stdout.flush()
    n_problems, n_warnings = (sum(each.level == level for each in findings) for level in ("problem", "warning"))
    if args.json:
        forms = [form(finding) for finding in findings]
        print_json({"findings": forms, "problems": n_problems, "warnings": n_warnings, "fixed": mended})
    elif not args.quiet:
        for line in mended:
            say(f"fixed    {line}")
        say(f"{amount(n_problems, 'problem')}, {amount(n_warnings, 'warning')}." if n_problems or n_warnings else _WELL)
    return 1 if n_problems else 0


def line_of(finding: Finding) -> str:
    """A finding in one line, and its remedy in a second one."""
    line = f"{_MARKS[finding.level]}  {finding.area:<9}{finding.what}"
    return f"{line}\n{'':<18}→ {finding.remedy}" if finding.remedy else line


def form(finding: Finding) -> dict[str, str | None]:
    """A finding as JSON."""
    return {"level": finding.level, "area": finding.area, "what": finding.what, "remedy": finding.remedy or None}


def _findings(args: argparse.Namespace, workspace: Workspace) -> Iterator[Finding]:
    yield from check_all(workspace, os.environ)
    yield from guarded("records", lambda: check_records(workspace, os.environ))
    yield from guarded("memory", lambda: check_memory(workspace))
    yield from guarded("memory", lambda: check_waiting(workspace))
    yield from guarded("secrets", lambda: check_cleaning(workspace, os.environ))
    yield from guarded("service", lambda: check_service(workspace))
    yield from guarded("hooks", lambda: check_hooks(workspace, args.client))
    if not args.no_trial:
        yield from guarded("trial", lambda: check_command(installs_of(workspace, args.client)))


def _mended(args: argparse.Namespace, workspace: Workspace) -> list[str]:
    """Mend what was asked for; returns what was done, a line each."""
    lines: list[str] = []
    if args.fix and (count := repair_rights(workspace.home)):
        taken = amount(count, "file or folder", "files or folders")
        lines.append(f"took the rights of others from {taken} in {workspace.home}")
    if args.fix:
        lines += renumber_twins(workspace)
        lines += _cleaned(workspace)
    foreign = foreign_of(workspace, args.client) if args.fix_foreign else []
    if foreign:
        from hybrid.hooks.install.foreign import switch_off

        copies = switch_off(foreign, places=places_of(workspace), home=workspace.home)
        lines += [f"switched off {found}" for found in foreign]
        lines += [f"the file as it was: {copy}" for copy in copies]
    return lines


def _cleaned(workspace: Workspace) -> list[str]:
    """Clean what older versions stored; what is left is a finding."""
    from hybrid.upkeep.cleaning_indexes import older_indexes

    if not is_due(workspace) and not older_indexes(workspace.home):
        return []
    done = clean_home(workspace, os.environ, is_whole=True, lock_s=_CLEANING_S)
    if done is None:
        return []
    lines = amount(done.lines, "line", "lines")
    indexes = amount(done.rebuilt + done.dropped, "index", "indexes")
    n = f"{amount(done.memory, 'row')}, {lines} of log and counters, {indexes}"
    return [f"cleaned what older versions stored of secrets: {n}"]
