"""`hybrid projects` and `hybrid project`: the indexed projects, their groups, and which one a folder belongs to.

`project` is for support: it says where the name and the key of a project come from.
"""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ProjectError
from hybrid.cli.common import add_common, print_done, print_found, print_json, say, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.types import HookEvent
    from hybrid.upkeep.projects import IndexedProject
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `projects`."""
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
        say(harmless_line(f"forgot {project.name}: its index is deleted, its files and .hybrid folder are untouched"))
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


# --- project ------------------------------------------------------------------------------------------------


_AGAINST = {
    "off": "no: [index] auto is off",
    "home_folder": "no: it is or holds your home folder, or is the root of a file system",
    "forgotten": "no: it was forgotten on purpose; `hybrid reindex` makes it a project again",
    "not_git": "no: not a git working tree; `hybrid reindex` indexes it by hand",
    "too_many_files": "no: it has more files than [index] auto_max_files; `hybrid reindex` indexes it by hand",
    "own_home": "no: it lies in the folder of hybrid itself",
    "read_only": "no: $HYBRID_HOME cannot be written",
}


def configure_project(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `project`."""
    parser.set_defaults(run_action=_project)
    add_common(parser, example="hybrid project ~/src/payments --json")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")


def _project(args: argparse.Namespace) -> int:
    """Print the project of the folder; exit code 1 when there is none."""
    args.project = args.path or args.project
    workspace = workspace_of(args, is_strict=False)
    form = project_form(workspace, Path(args.project) if args.project else Path.cwd())
    lines = [] if form["key"] is None else _lines(form)
    return print_found(args, form, lines, f"no project: {form['reason']}; run `hybrid init` to make one")


def project_form(workspace: Workspace, cwd: Path) -> dict[str, Any]:
    """Return the JSON of the command; without a project every key but `path`, `home` and `reason` is null."""
    from hybrid.project.find import explain_none

    form: dict[str, Any] = dict.fromkeys(_KEYS)
    form |= {"path": os.path.realpath(cwd), "home": str(workspace.home)}
    if workspace.project is None:
        return form | {"reason": explain_none(cwd, workspace.home)}
    return form | _described(workspace)


_KEYS = (
    *("name", "key", "root", "main_root", "tree", "git", "worktree", "submodule", "origin", "key_from", "key_why"),
    *("name_from", "name_why", "known_origins", "known_paths", "has_folder", "accepted", "indexed", "auto_index"),
    *("auto_index_reason", "refusal", "path", "home", "reason"),
)


def _described(workspace: Workspace) -> dict[str, Any]:
    from hybrid.project.find import explain_project, refusal
    from hybrid.project.trust import is_accepted
    from hybrid.upkeep.indexing import reason_against, was_indexed

    project = workspace.require_project()
    why = explain_project(project, workspace.home)
    against = reason_against(workspace)
    return {
        **{key: getattr(project, key) for key in ("name", "key", "tree", "worktree", "has_folder")},
        **{key: getattr(why, key) for key in ("key_from", "key_why", "name_from", "name_why")},
        "root": str(project.root),
        "main_root": str(project.main_root),
        "git": project.is_git,
        "submodule": why.is_submodule,
        "origin": why.origin or None,
        "known_origins": list(why.known_origins),
        "known_paths": list(why.known_paths),
        "accepted": is_accepted(project, workspace.home),
        "indexed": was_indexed(workspace),
        "auto_index": not against,
        "auto_index_reason": against or None,
        "refusal": refusal(project.root, Path.home()),
    }


def _lines(form: dict[str, Any]) -> list[str]:
    kind = "linked worktree" if form["worktree"] else "git working tree" if form["git"] else "plain folder"
    yes = {True: "yes", False: "no"}
    against = _AGAINST.get(form["auto_index_reason"] or "", f"no: {form['auto_index_reason']}")
    rows = [
        ("name", f"{form['name']} ({form['name_why']})"),
        ("key", f"{form['key']} ({form['key_why']})"),
        ("root", f"{form['root']} ({kind}{', a submodule' if form['submodule'] else ''})"),
        ("main working tree", form["main_root"]),
        ("origin", form["origin"] or "none"),
        ("known origins", ", ".join(form["known_origins"]) or "none"),
        ("known paths", ", ".join(form["known_paths"]) or "none"),
        (".hybrid folder", yes[form["has_folder"]]),
        ("records accepted", yes[form["accepted"]] if form["accepted"] else "no; `hybrid trust` accepts them"),
        ("indexed", yes[form["indexed"]]),
        ("indexed automatically", "yes" if form["auto_index"] else against),
        ("HYBRID_HOME", form["home"]),
    ]
    width = max(len(label) for label, _ in rows)
    return [harmless_line(f"{label:<{width}}  {value}") for label, value in rows]
