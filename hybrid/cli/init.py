"""`hybrid init`, `reindex` and `trust`: index a project, and accept the records and settings that lie in its tree.

`init` makes the `.hybrid` folder and offers to install hooks; `trust` accepts alone, or takes that back.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.lasting import HOW_TO_INSTALL, cache_of, lasting_program
from hybrid.cli.common import (
    add_common,
    build_progress,
    number_in,
    print_done,
    print_found,
    say,
    waiting_lines,
    warn,
    workspace_of,
)
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.health.status import Inside
    from hybrid.index.plan import Summary
    from hybrid.knowledge.stores import RecordFile
    from hybrid.upkeep.projects import Accepted, Moved
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `init`."""
    add_common(parser, example="cd ~/src/payments && hybrid init")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")
    parser.add_argument("--force", action="store_true", help="index a home directory or a file-system root too")


def run(args: argparse.Namespace) -> int:
    """Make the folder and the index, and accept the tree; a directory outside any git tree becomes a project itself."""
    from hybrid.base.errors import ProjectError
    from hybrid.health.status import look_inside
    from hybrid.project.find import create_folder, refusal
    from hybrid.upkeep.indexing import BuildRequest, reindex
    from hybrid.workspace import keep_hook_settings

    args.project = args.path or args.project
    workspace = workspace_of(args, is_accepting=True)
    root = workspace.project.root if workspace.project else Path(args.project or ".").resolve()
    reason = refusal(root, Path.home())
    if reason and not args.force:
        raise ProjectError(f"{reason}; --force indexes it all the same")
    create_folder(root)
    workspace = workspace_of(args, is_strict=False, is_accepting=True)
    project = workspace.require_project()
    with build_progress(is_quiet=args.quiet or args.json) as progress:
        summary = reindex(workspace, BuildRequest(is_forced=args.force, wait_s=60.0), progress=progress)
    accepted = _accept_here(workspace)
    _index_records(workspace)
    found = look_inside(workspace)
    # The folder that they are kept in may be younger than this command.
    keep_hook_settings(workspace.home)
    places = {"root": str(project.root), "folder": str(project.root / ".hybrid")}
    lines = [
        harmless_line(f"Project {project.name} in {project.root}"),
        describe(summary),
        *map(harmless_line, [*_inside_lines(found, project.root), *_accepted_lines(accepted, project.root)]),
        'Try it: hybrid context "a question about this code, as you would ask an agent"',
        "Settings: .hybrid/config.toml, meant to be committed; its neighbours are not, and git leaves them out",
        *([] if summary.documents else ["Nothing was found to index: is this the right folder?"]),
    ]
    print_done(args, summary.as_json() | places | found.as_json() | {"accepted": accepted.as_json()}, *lines)
    if not (args.json or args.quiet):
        _offer_hooks(str(project.root))
    _tell_problem(args, accepted)
    return 0


def _inside_lines(found: Inside, root: Path) -> list[str]:
    """Return which repositories inside are part of the index and which are not, and where git does not list files."""
    from hybrid.health.status import HOW_TO_DECIDE, indexed_in_words, left_out_in_words, refusals

    indexed, left_out = indexed_in_words(found.indexed), left_out_in_words(found.left_out)
    lines = [f"Repositories inside: {indexed}"] if indexed else []
    lines += [f"Repositories inside that are left out: {left_out}; {HOW_TO_DECIDE}"] if left_out else []
    return [*lines, *(f"{what}; {remedy}" for what, remedy in refusals(found.refused, root))]


def _offer_hooks(root: str) -> None:
    """Offer to install hooks for each agent here that does not call us yet; without a terminal print the commands."""
    from hybrid.cli.installing import agents_without_us, install_for

    clients = agents_without_us(root, os.environ)
    if not clients:
        return
    commands = "; ".join(f"hybrid hook install --client {each.name}" for each in clients)
    if cache_of() and not lasting_program(os.environ):
        say(f"This hybrid runs out of a cache: install it with {HOW_TO_INSTALL}, then: {commands}")
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"Then, for your agent: {commands}")
    else:
        for client in clients:
            try:
                answer = input(f"Have {client.label} call hybrid, for you in every project? [y/N] ")
            except EOFError:
                return
            if answer.strip().lower() in ("y", "yes"):
                install_for(client, root, os.environ)


# --- reindex ------------------------------------------------------------------------------------------------


def configure_reindex(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `reindex`."""
    parser.set_defaults(run_action=_reindex)
    add_common(parser, example="hybrid reindex ~/src/payments")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")
    parser.add_argument("--full", action="store_true", help="read every file again and write the index anew")
    parser.add_argument("--force", action="store_true", help="index a home directory or a file-system root too")
    about = "wait so long for another build (default: 60)"
    parser.add_argument("--wait", type=number_in(0, 1_000_000, "seconds"), default=60.0, metavar="SECONDS", help=about)


def _reindex(args: argparse.Namespace) -> int:
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
    accepted = _accept_here(workspace)
    _index_records(workspace)
    lines = map(harmless_line, _accepted_lines(accepted, root))
    print_done(args, summary.as_json() | {"accepted": accepted.as_json()}, describe(summary), *lines)
    _tell_problem(args, accepted)
    return 0


def _index_records(workspace: Workspace) -> None:
    """Index lessons, lore and memory as well, so that no prompt waits; what fails is told, and stops nothing."""
    from hybrid.knowledge.open_kinds import OpenKinds

    kinds = OpenKinds()
    for problem in kinds.open(workspace)[1]:
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


# --- trust --------------------------------------------------------------------------------------------------


_BACK = "`hybrid trust --revoke` takes it back"
_AGAIN = "`hybrid trust`, `hybrid init` and a `hybrid reindex` by hand accept them again"


def configure_trust(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `trust`."""
    parser.set_defaults(run_action=_trust)
    add_common(parser, example="hybrid trust ~/src/payments")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")
    parser.add_argument("--revoke", action="store_true", help="do not give them out any more")


def _trust(args: argparse.Namespace) -> int:
    """Accept the tree, or take that back for `--revoke`; exit code 1 when there was nothing to take back."""
    args.project = args.path or args.project
    workspace = workspace_of(args, is_strict=False)
    if args.revoke:
        return _revoke(args, workspace)
    accepted = _accept_here(workspace)
    root = workspace.require_project().root
    form = {"accepted": True, "root": str(root), **accepted.as_json()}
    print_done(args, form, *map(harmless_line, _trust_lines(accepted, workspace)))
    _tell_problem(args, accepted)
    return 0


def _accept_here(workspace: Workspace) -> Accepted:
    """Accept the tree of a workspace now, and return what was accepted and moved.

    Raises:
        ProjectError: There is no project.
        OSError: `$HYBRID_HOME` cannot be written.
    """
    from hybrid.upkeep.projects import accept_tree

    now = datetime.now().astimezone()
    return accept_tree(workspace, today=now.date(), stamp=f"{now:%Y%m%dT%H%M%S}")


def _accepted_lines(accepted: Accepted, root: Path) -> list[str]:
    """Return lines on what was accepted, for a command that accepts a tree besides; none when nothing is new."""
    from hybrid.knowledge.stores import in_words

    records = in_words(accepted.counts)
    lines = [f"Accepted {records} of this tree ({_BACK})"] if accepted.is_new and records else []
    return [*lines, *_settings_lines(accepted), *_moved_lines(accepted.moved, root)]


def _tell_problem(args: argparse.Namespace, accepted: Accepted) -> None:
    """Warn of lessons that could not be moved; JSON has that already."""
    if accepted.problem and not args.json:
        warn(accepted.problem)


def _trust_lines(accepted: Accepted, workspace: Workspace) -> list[str]:
    project = workspace.require_project()
    again = "" if accepted.is_new else ", as before"
    if accepted.files:
        first = f"The records of {project.name} in {project.root} are accepted{again}; agents get those that fit:"
    else:
        first = f"No record files in {project.root} yet; those that come are accepted{again}"
    moved = _moved_lines(accepted.moved, project.root)
    files = [_file_line(file, project.root) for file in accepted.files]
    return [first, *files, *_settings_lines(accepted), *moved, _BACK]


def _settings_lines(accepted: Accepted) -> list[str]:
    names = ", ".join(accepted.settings)
    return [f"Settings of .hybrid/config.toml that count now: {names}"] if names else []


def _file_line(file: RecordFile, root: Path) -> str:
    from hybrid.knowledge.stores import in_words

    what = in_words(file.counts) or "nothing"
    if not file.is_read:
        what = f"not read, .hybrid/LESSONS.md stands in its place; `hybrid lessons import {_short(file.path, root)}`"
    n_problems = len(file.problems)
    unread = f"; {amount(n_problems, 'place')} to mend, see `hybrid doctor`"
    return f"  {_short(file.path, root)}: {what}{unread if n_problems else ''}"


def _moved_lines(moved: Moved | None, root: Path) -> list[str]:
    if moved is None:
        return []
    report, lines = moved.report, list[str]()
    if report.imported:
        ids = ", ".join(str(entry.lesson_id) for entry in report.imported)
        lines.append(
            f"Moved {amount(len(report.imported), 'lesson')} learned here before into {_short(moved.file, root)}: {ids}"
        )
    left = len(report.duplicates) + len(report.problems) + len(report.inactive)
    if left:
        verb = "was" if left == 1 else "were"
        lines.append(f"{left} of them {verb} there already, withdrawn or malformed; all are kept in {moved.aside}")
    return lines


def _short(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else os.fspath(path)


def _revoke(args: argparse.Namespace, workspace: Workspace) -> int:
    from hybrid.project.trust import refuse

    project = workspace.require_project()
    was_accepted = refuse(project, workspace.home)
    records = f"The records of {project.name} in {project.root}"
    form = {"accepted": False, "root": str(project.root), "changed": was_accepted}
    if not was_accepted:
        return print_found(args, form, [], harmless_line(f"{records} were not accepted; nothing was changed"))
    lines = [f"{records} are not given out any more; {_AGAIN}", *waiting_lines(workspace_of(args, is_strict=False))]
    print_done(args, form, *map(harmless_line, lines))
    return 0
