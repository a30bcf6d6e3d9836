"""`hybrid init`: make a project's `.hybrid` folder and its first index, and accept the records of its tree."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.lasting import HOW_TO_INSTALL, cache_of, lasting_program
from hybrid.cli.common import add_common, print_json, say, say_line, workspace_of
from hybrid.cli.reindex import describe, index_records
from hybrid.cli.streams import build_progress
from hybrid.cli.trust import accept_here, accepted_lines, tell_problem

if TYPE_CHECKING:
    from hybrid.health.status import Inside


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
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
    accepted = accept_here(workspace)
    index_records(workspace)
    found = look_inside(workspace)
    # The folder that they are kept in may be younger than this command.
    keep_hook_settings(workspace.home)
    if args.json:
        places = {"root": str(project.root), "folder": str(project.root / ".hybrid")}
        print_json(summary.as_json() | places | found.as_json() | {"accepted": accepted.as_json()})
    elif not args.quiet:
        say_line(f"Project {project.name} in {project.root}")
        say(describe(summary))
        _tell_inside(found, project.root)
        for line in accepted_lines(accepted, project.root):
            say_line(line)
        say('Try it: hybrid context "a question about this code, as you would ask an agent"')
        say("Settings: .hybrid/config.toml, meant to be committed; its neighbours are not, and git leaves them out")
        if not summary.documents:
            say("Nothing was found to index: is this the right folder?")
        _offer_hooks(str(project.root))
    if not args.json:
        tell_problem(accepted)
    return 0


def _tell_inside(found: Inside, root: Path) -> None:
    """Print which repositories inside are part of the index and which are not, and where git does not list files."""
    from hybrid.health.status import HOW_TO_DECIDE, indexed_in_words, left_out_in_words, refusals

    if indexed := indexed_in_words(found.indexed):
        say_line(f"Repositories inside: {indexed}")
    if left_out := left_out_in_words(found.left_out):
        say_line(f"Repositories inside that are left out: {left_out}; {HOW_TO_DECIDE}")
    for what, remedy in refusals(found.refused, root):
        say_line(f"{what}; {remedy}")


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
