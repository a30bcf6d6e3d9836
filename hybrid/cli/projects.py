"""`hybrid projects`: list the indexed projects and forget one."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from typing import TYPE_CHECKING

from hybrid.base.errors import ProjectError
from hybrid.cli.common import add_common, print_found, print_json, say, say_line, workspace_of
from hybrid.render.numbers import amount
from hybrid.render.visible import visible_line

if TYPE_CHECKING:
    from hybrid.types import HookEvent
    from hybrid.upkeep.projects import IndexedProject
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid projects forget payments")
    parser.add_argument("action", nargs="?", choices=("list", "forget"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name or key of a project")


def run(args: argparse.Namespace) -> int:
    """List the indexed projects, or forget one, as the action says; exit code 1 when the list is empty.

    Raises:
        ProjectError: No name is given to forget, or it is that of no project or of several.
    """
    from hybrid.upkeep.projects import indexed_projects

    workspace = workspace_of(args, is_strict=False)
    home = workspace.home
    projects = indexed_projects(home)
    if args.action == "list":
        rows = (f"{project.key}  {project.size_bytes / 1e6:8.1f} MB  {_named(project)}" for project in projects)
        form = {"projects": [project.as_json() for project in projects]}
        return print_found(args, form, list(map(visible_line, rows)))
    if not args.name:
        raise ProjectError("`hybrid projects forget` needs the NAME or key of a project; `hybrid projects` lists them")
    matching = [project for project in projects if args.name in (project.name, project.key)]
    if not matching:
        raise ProjectError(f"no project is called {args.name}; `hybrid projects` lists them")
    if len(matching) > 1:
        keys = " or ".join(sorted(project.key for project in matching))
        raise ProjectError(f"{len(matching)} projects are called {args.name}: give a key, {keys}")
    return _forget(args, workspace, matching[0])


def _named(project: IndexedProject) -> str:
    """Return the project's name and working trees; a hint in their place for one that the registry does not know."""
    if not project.name and not project.roots:
        return "(not known any more; `hybrid reindex` in its folder names it, `hybrid projects forget KEY` deletes it)"
    return f"{project.name}  {', '.join(project.roots)}"


def _forget(args: argparse.Namespace, workspace: Workspace, project: IndexedProject) -> int:
    from hybrid.hooks.taking import forget_waiting
    from hybrid.upkeep.projects import forget

    def is_of_project(workspace_of_event: Workspace, _event: HookEvent) -> bool:
        return workspace_of_event.project is not None and workspace_of_event.project.key == project.key

    # First, while the project is still known by its key.
    forget_waiting(workspace.home, os.environ, is_of_project)
    forgotten = forget(workspace.home, project, stamp=f"{datetime.now().astimezone():%Y%m%dT%H%M%S}")
    n_sessions = _n_remembered(workspace, project)
    if args.json:
        names = {"key": project.key, "name": project.name}
        print_json(names | forgotten.as_json() | {"remembered_sessions": n_sessions})
        return 0
    if not args.quiet:
        say_line(f"forgot {project.name}: its index is deleted, its files and .hybrid folder are untouched")
        say("it is not indexed again unasked; `hybrid reindex` in it makes it a project again")
        if forgotten.was_accepted:
            say("the records in its tree are not given out any more; `hybrid trust` accepts them again")
        if n_sessions:
            sessions = amount(n_sessions, "session")
            say(f"the memory keeps {sessions} of it: hybrid memory forget --project-data {project.key}")
    for path in forgotten.kept:  # Said with `--quiet` too: nobody would look for them there.
        own = f"its lessons are kept: hybrid lessons import '{path}'"
        say(own if path.name == "LESSONS.md" else f"a copy of lessons is kept as {path}")
    return 0


def _n_remembered(workspace: Workspace, project: IndexedProject) -> int:
    """Return how many sessions of the project the memory keeps; 0 when the memory cannot be read."""
    from hybrid.base.errors import HybridError
    from hybrid.knowledge.stores import RecordStores

    try:
        return RecordStores().memory(workspace).n_sessions(project.key)
    except (HybridError, OSError):
        return 0
