"""`hybrid doctor`: checks everything that must be right for an agent to be answered; each finding has its remedy."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from hybrid.cli.checks import check_command, check_hooks, check_service, foreign_of, installs_of, places_of
from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.engine.doctor import Finding, check_all, guarded, repair_rights
from hybrid.engine.doctor_memory import check_memory
from hybrid.engine.doctor_records import check_records, renumber_twins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.engine.workspace import Workspace

_WELL = "All is well."
_MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid doctor --client claude")
    parser.add_argument("--client", metavar="NAME", help="look at the hooks of this client only")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="take the rights of others away from hybrid's own files, and give the newer of two lessons with one id a "
        "new one",
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
        say(f"{_count(n_problems, 'problem')}, {_count(n_warnings, 'warning')}." if n_problems or n_warnings else _WELL)
    return 1 if n_problems else 0


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


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
    yield from guarded("service", lambda: check_service(workspace))
    yield from guarded("hooks", lambda: check_hooks(workspace, args.client))
    if not args.no_trial:
        yield from guarded("trial", lambda: check_command(installs_of(workspace, args.client)))


def _mended(args: argparse.Namespace, workspace: Workspace) -> list[str]:
    """Mend what was asked for; returns what was done, a line each."""
    lines: list[str] = []
    if args.fix and (count := repair_rights(workspace.home)):
        lines.append(f"took the rights of others from {count} files or folders in {workspace.home}")
    if args.fix:
        lines += renumber_twins(workspace)
    foreign = foreign_of(workspace, args.client) if args.fix_foreign else []
    if foreign:
        from hybrid.hooks.install.foreign import switch_off

        copies = switch_off(foreign, places=places_of(workspace), home=workspace.home)
        lines += [f"switched off {found}" for found in foreign]
        lines += [f"the file as it was: {copy}" for copy in copies]
    return lines
