"""`hybrid projects`: list the indexed projects, forget one, and put some into a group."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from typing import TYPE_CHECKING

from hybrid.base.errors import ProjectError
from hybrid.cli.common import add_common, print_done, print_found, print_json, say, say_line, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import HookEvent
    from hybrid.upkeep.projects import IndexedProject
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid projects forget payments\n  hybrid projects group backend payments users")
    parser.add_argument("action", nargs="?", choices=("list", "forget", "group"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name or key of a project; of a group its name")
    parser.add_argument("members", nargs="*", metavar="PROJECT", help="names or keys of the projects of a group")
    parser.add_argument("--delete", action="store_true", help="delete the group; its projects stay")


def run(args: argparse.Namespace) -> int:
    """List the indexed projects, forget one, or list and change groups; exit code 1 when a list is empty.

    Raises:
        ProjectError: No name is given to forget, or it is that of no project or of several.
    """
    from hybrid.upkeep.projects import indexed_projects, named_project

    workspace = workspace_of(args, is_strict=False)
    home = workspace.home
    if args.action == "group":
        return _group(args, home)
    if args.members or args.delete:
        raise ProjectError(f"`hybrid projects {args.action}` takes one NAME at most; groups take several")
    if args.action == "list":
        projects = indexed_projects(home)
        rows = (f"{project.key}  {project.size_bytes / 1e6:8.1f} MB  {_named(project)}" for project in projects)
        form = {"projects": [project.as_json() for project in projects]}
        return print_found(args, form, list(map(harmless_line, rows)))
    if not args.name:
        raise ProjectError("`hybrid projects forget` needs the NAME or key of a project; `hybrid projects` lists them")
    return _forget(args, workspace, named_project(home, args.name))


def _group(args: argparse.Namespace, home: Path) -> int:
    """List the groups or one of them, store one, or delete one."""
    from hybrid.project.registry import load_groups, put_group
    from hybrid.upkeep.projects import indexed_projects, named_project

    if args.delete and not args.name:
        raise ProjectError("`hybrid projects group --delete` needs the NAME of a group")
    if args.members and args.delete:
        raise ProjectError("give the projects of the group, or --delete")
    if args.delete and args.name not in load_groups(home):
        raise ProjectError(f"no group is called {args.name}; `hybrid projects group` lists them")
    if args.members or args.delete:
        put_group(home, args.name, [named_project(home, member).key for member in args.members])
    names = {project.key: project.name or project.key for project in indexed_projects(home)}
    groups = {name: keys for name, keys in load_groups(home).items() if args.name in (None, name)}
    form = {
        "groups": [
            {"name": name, "projects": [{"key": key, "name": names.get(key)} for key in keys]}
            for name, keys in groups.items()
        ]
    }
    told = {name: [names.get(key, f"{key} (forgotten)") for key in keys] for name, keys in groups.items()}
    rows = [f"{name}: {', '.join(members)}" for name, members in told.items()]
    if args.delete:
        print_done(args, form, f"deleted the group {args.name}")
        return 0
    about = f"no group is called {args.name}" if args.name else "no groups"
    return print_found(args, form, list(map(harmless_line, rows)), f"{about}; `hybrid projects group NAME PROJECT…`")


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
