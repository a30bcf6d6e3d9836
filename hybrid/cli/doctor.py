"""`hybrid doctor`: prints what `hybrid.operations.doctor` finds, each finding with its remedy."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.health.doctor import renumber_twins, repair_rights
from hybrid.operations.doctor import findings_of, foreign_of, settings_roots
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.health.doctor import Finding
    from hybrid.workspace import Workspace


_WELL = "All is well."
_MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid doctor --client claude")
    parser.add_argument("--client", metavar="NAME", help="look at the hooks of this client only")
    about = "take the rights of others from hybrid's own files, and give the newer of two lessons with one id a new one"
    parser.add_argument("--fix", action="store_true", help=about)
    about = "switch off hooks of systems that hybrid replaces; copies are kept"
    parser.add_argument("--fix-foreign", action="store_true", help=about)
    parser.add_argument("--no-trial", action="store_true", help="do not run the hook's command on a sample prompt")


def run(args: argparse.Namespace) -> int:
    """Print every finding, after mending what was asked for; exit code 1 when one of them is a problem."""
    if args.client:
        from hybrid.cli.installing import client_named

        client_named(args.client)
    workspace = workspace_of(args, is_strict=False)
    mended = _mended(args, workspace)
    findings: list[Finding] = []
    for finding in findings_of(workspace, args.client, has_trial=not args.no_trial):
        findings.append(finding)
        if not args.json and not (args.quiet and finding.level == "ok"):
            say(line_of(finding))
            sys.stdout.flush()
    n_problems, n_warnings = (sum(each.level == level for each in findings) for level in ("problem", "warning"))
    if args.json:
        forms = [asdict(finding) | {"remedy": finding.remedy or None} for finding in findings]
        print_json({"findings": forms, "problems": n_problems, "warnings": n_warnings, "fixed": mended})
    elif not args.quiet:
        for line in mended:
            say(f"fixed    {line}")
        say(f"{amount(n_problems, 'problem')}, {amount(n_warnings, 'warning')}." if n_problems or n_warnings else _WELL)
    return 1 if n_problems else 0


def line_of(finding: Finding) -> str:
    """Return a finding in one line, and its remedy in a second one."""
    line = f"{_MARKS[finding.level]}  {finding.area:<9}{finding.what}"
    return f"{line}\n{'':<18}→ {finding.remedy}" if finding.remedy else line


def _mended(args: argparse.Namespace, workspace: Workspace) -> list[str]:
    """Mend what was asked for; returns what was done, a line each."""
    lines: list[str] = []
    if args.fix and (count := repair_rights(workspace.home)):
        taken = amount(count, "file or folder", "files or folders")
        lines.append(f"took the rights of others from {taken} in {workspace.home}")
    if args.fix:
        lines += renumber_twins(workspace)
    foreign = foreign_of(workspace, args.client) if args.fix_foreign else []
    if foreign:
        from hybrid.hooks.install.found import switch_off

        copies = switch_off(foreign, roots=settings_roots(workspace), home=workspace.home)
        lines += [f"switched off {hook}" for hook in foreign]
        lines += [f"hybrid hook uninstall puts that back; a copy from before: {copy}" for copy in copies]
    return lines
