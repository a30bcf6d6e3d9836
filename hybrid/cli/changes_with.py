"""`hybrid changes-with`: the files that changed together with a file in earlier commits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.cli.common import add_common, directory_of, positive, print_found, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid changes-with src/payments/client.py --limit 5")
    parser.add_argument("file", metavar="FILE", help="a file of the project, as it is called now")
    parser.add_argument("-n", "--limit", type=positive, default=10, help="files to show (default: 10)")


def run(args: argparse.Namespace) -> int:
    """Print the files, most often together first; exit code 1 when there is none.

    Raises:
        HybridError: The file lies outside of the project, or no commits can be read here.
    """
    from hybrid.index.reading_history import update_history

    workspace = workspace_of(args)
    root = workspace.require_project().root
    path = _path_in(root, directory_of(args.project) / args.file)
    history = update_history(workspace.place.folder, str(root))
    if history is None:
        raise HybridError(f"{root} has no commits that git can read: what changed together is not known")
    found = history.changed_with(path, args.limit)
    n_commits = history.n_commits_of(path)
    form = {"path": path, "commits": n_commits, "read": history.n_commits, "files": [one._asdict() for one in found]}
    lines = [
        harmless_line(f"{one.share:>4.0%}  {one.path} ({amount(one.commits, 'commit')} of {n_commits})")
        for one in found
    ]
    of = f"{amount(n_commits, 'commit')} of the {history.n_commits:,} read"
    return print_found(args, form, lines, f"Nothing changed together with {harmless_line(path)}: it is in {of}.")


def _path_in(root: Path, file: Path) -> str:
    """Return the path of a file relative to the project; the file itself may be a link, or gone.

    Raises:
        HybridError: It lies outside.
    """
    path = Path(os.path.realpath(file.parent)) / file.name
    if not path.is_relative_to(root):
        raise HybridError(f"{file} lies outside of the project {root}")
    return path.relative_to(root).as_posix()
