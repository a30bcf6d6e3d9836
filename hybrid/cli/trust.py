"""`hybrid trust`: accept the records and settings of a working tree, or not; `init` and `reindex` accept too."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, print_done, print_found, waiting_lines, warn, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.knowledge.stores import RecordFile
    from hybrid.upkeep.projects import Accepted, Moved
    from hybrid.workspace import Workspace

_BACK = "`hybrid trust --revoke` takes it back"
_AGAIN = "`hybrid trust`, `hybrid init` and a `hybrid reindex` by hand accept them again"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid trust ~/src/payments")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")
    parser.add_argument("--revoke", action="store_true", help="do not give them out any more")


def run(args: argparse.Namespace) -> int:
    """Accept the tree, or take that back for `--revoke`; exit code 1 when there was nothing to take back."""
    args.project = args.path or args.project
    workspace = workspace_of(args, is_strict=False)
    if args.revoke:
        return _revoke(args, workspace)
    accepted = accept_here(workspace)
    root = workspace.require_project().root
    form = {"accepted": True, "root": str(root), **accepted.as_json()}
    print_done(args, form, *map(harmless_line, _lines(accepted, workspace)))
    if not args.json:
        tell_problem(accepted)
    return 0


def accept_here(workspace: Workspace) -> Accepted:
    """Accept the tree of a workspace now, and return what was accepted and moved.

    Raises:
        ProjectError: There is no project.
        OSError: `$HYBRID_HOME` cannot be written.
    """
    from hybrid.upkeep.projects import accept_tree

    now = datetime.now().astimezone()
    return accept_tree(workspace, today=now.date(), stamp=f"{now:%Y%m%dT%H%M%S}")


def accepted_lines(accepted: Accepted, root: Path) -> list[str]:
    """Return lines on what was accepted, for a command that accepts a tree besides; none when nothing is new."""
    from hybrid.knowledge.stores import in_words

    records = in_words(accepted.counts)
    lines = [f"Accepted {records} of this tree ({_BACK})"] if accepted.is_new and records else []
    return [*lines, *_settings_lines(accepted), *_moved_lines(accepted.moved, root)]


def tell_problem(accepted: Accepted) -> None:
    """Warn of lessons that could not be moved."""
    if accepted.problem:
        warn(accepted.problem)


def _lines(accepted: Accepted, workspace: Workspace) -> list[str]:
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
