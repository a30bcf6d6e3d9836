"""`hybrid projects`: list the indexed projects and forget one."""

from __future__ import annotations

import argparse

from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.errors import ProjectError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid projects forget payments")
    parser.add_argument("action", nargs="?", choices=("list", "forget"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name or key of a project")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.engine.projects import forget, indexed_projects

    home = workspace_of(args, is_strict=False).home
    projects = indexed_projects(home)
    if args.action == "list":
        if args.json:
            print_json({"projects": [project.as_json() for project in projects]})
        else:
            for project in projects:
                say(f"{project.key}  {project.size_bytes / 1e6:8.1f} MB  {project.name}  {', '.join(project.roots)}")
        return 0 if projects else 1
    if not args.name:
        raise ProjectError("`hybrid projects forget` needs the NAME or key of a project; `hybrid projects` lists them")
    matching = [project for project in projects if args.name in (project.name, project.key)]
    if len(matching) != 1:
        raise ProjectError(
            f"{len(matching)} projects are called {args.name}; `hybrid projects` lists them, a key is unique"
        )
    forget(home, matching[0])
    if not args.quiet:
        say(f"forgot {matching[0].name}: its index is deleted, its files and .hybrid folder are untouched")
    return 0
