"""`hybrid project`: which project a folder belongs to, and why it has its name and key; for support."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, print_found, workspace_of
from hybrid.render.marks import harmless_line

if TYPE_CHECKING:
    from hybrid.workspace import Workspace

_AGAINST = {
    "off": "no: [index] auto is off",
    "home_folder": "no: it is or holds your home folder, or is the root of a file system",
    "forgotten": "no: it was forgotten on purpose; `hybrid reindex` makes it a project again",
    "not_git": "no: not a git working tree; `hybrid reindex` indexes it by hand",
    "too_many_files": "no: it has more files than [index] auto_max_files; `hybrid reindex` indexes it by hand",
    "own_home": "no: it lies in the folder of hybrid itself",
    "read_only": "no: $HYBRID_HOME cannot be written",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid project ~/src/payments --json")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a directory of the project (default: here)")


def run(args: argparse.Namespace) -> int:
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
