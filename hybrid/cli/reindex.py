"""`hybrid reindex`: bring the index of a project up to date; by hand it also accepts the records of the tree."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, number_in, print_json, say, say_line, warn, workspace_of
from hybrid.cli.streams import build_progress
from hybrid.cli.trust import accept_here, accepted_lines, tell_problem
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.index.plan import Summary
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid reindex ~/src/payments")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")
    parser.add_argument("--full", action="store_true", help="read every file again and write the index anew")
    parser.add_argument("--force", action="store_true", help="index a home directory or a file-system root too")
    about = "wait so long for another build (default: 60)"
    parser.add_argument("--wait", type=number_in(0, 1_000_000, "seconds"), default=60.0, metavar="SECONDS", help=about)


def run(args: argparse.Namespace) -> int:
    """Build or update the index, accept the tree, and index its records; returns 0."""
    from hybrid.project.find import create_folder
    from hybrid.upkeep.indexing import BuildRequest, reindex

    args.project = args.path or args.project
    workspace = workspace_of(args, is_accepting=True)
    with build_progress(is_quiet=args.quiet or args.json) as progress:
        request = BuildRequest(is_full=args.full, is_forced=args.force, wait_s=args.wait)
        summary = reindex(workspace, request, progress=progress)
    root = workspace.require_project().root
    create_folder(root)
    workspace = workspace_of(args, is_strict=False, is_accepting=True)
    accepted = accept_here(workspace)
    index_records(workspace)
    if args.json:
        print_json(summary.as_json() | {"accepted": accepted.as_json()})
        return 0
    if not args.quiet:
        say(describe(summary))
        for line in accepted_lines(accepted, root):
            say_line(line)
    tell_problem(accepted)
    return 0


def index_records(workspace: Workspace) -> None:
    """Index lessons, lore and memory as well, so that no prompt waits; what fails is told, and stops nothing."""
    from hybrid.knowledge.open_kinds import OpenKinds

    kinds = OpenKinds()
    for problem in (*kinds.views(workspace)[1], *kinds.memory(workspace)[1]):
        warn(problem)


def describe(summary: Summary) -> str:
    """Return a build in one line for people, and what was skipped, the most frequent reason first, in a second one."""
    changes = f"added {summary.added}, changed {summary.changed}, removed {summary.removed}"
    vectors = f"embedded {summary.embedded}, reused {summary.reused}"
    lines = [
        f"{amount(summary.documents, 'document')}, {amount(summary.chunks, 'chunk')}; {changes}; {vectors}; "
        f"{summary.seconds:.2f} s"
    ]
    if summary.skipped:
        reasons = sorted(summary.skipped.items(), key=lambda item: (-item[1], item[0]))
        lines.append("skipped: " + ", ".join(f"{count} {reason}" for reason, count in reasons))
    return "\n".join(lines)
