"""`hybrid index`: an index that is shared, as one file (`index_file`) or in the team's store.

Of the store: push the working tree's index to it, look at it, delete from it.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from hybrid.base.errors import HybridError
from hybrid.cli.common import Action, add_actions, build_progress, number_in, print_done, print_found, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.team.store import Held


def export(args: argparse.Namespace) -> int:
    """Bring the index up to date and write it into one file; returns 0."""
    from hybrid.base.text import sha256_of_file
    from hybrid.upkeep.sharing import export_index

    file = Path(args.file)
    with build_progress(is_quiet=args.quiet or args.json) as progress:
        header = export_index(workspace_of(args), file, progress)
    size_bytes, sha256 = file.stat().st_size, sha256_of_file(file)
    form = {"file": str(file), "size_bytes": size_bytes, "sha256": sha256}
    form |= {name: getattr(header, name) for name in ("documents", "chunks", "model")}
    counts = f"{amount(header.documents, 'document')}, {amount(header.chunks, 'chunk')}"
    print_done(args, form, harmless_line(f"{file}: {counts}, {size_bytes / 1e6:.1f} MB, SHA-256 {sha256}"))
    return 0


def import_file(args: argparse.Namespace) -> int:
    """Begin the index of the tree with an exported one, and index what it has besides; returns 0."""
    from hybrid.cli.init import describe
    from hybrid.upkeep.sharing import import_index

    with build_progress(is_quiet=args.quiet or args.json) as progress:
        header, summary = import_index(workspace_of(args), Path(args.file), progress, sha256=args.sha256)
    began = harmless_line(f"began with the index of {header.project}: {amount(header.documents, 'document')}")
    print_done(args, {"from": header.project, **summary.as_json()}, began, describe(summary))
    return 0


_CALL_S = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    parser.epilog = "example:\n  hybrid index push --keep 20"
    parsers = add_actions(parser, _ACTIONS)
    parsers["export"].add_argument("file", metavar="FILE", help="the file to write; one that is there is replaced")
    parsers["import"].add_argument("file", metavar="FILE", help="as `hybrid index export` wrote it")
    about = "refuse the file unless it has this digest"
    parsers["import"].add_argument("--sha256", metavar="HEX", default="", help=about)
    parsers["push"].add_argument(
        "--keep",
        type=number_in(1, 10_000, "generations"),
        default=10,
        metavar="N",
        help="commits of this project that stay in the team's index, this one counted (default: 10)",
    )
    which = parsers["drop"].add_mutually_exclusive_group(required=True)
    which.add_argument("--commit", metavar="ID", help="a commit of this project, as `hybrid index status` shows it")
    which.add_argument("--path", metavar="PATH", help="every text that a file of this project ever had")
    which.add_argument("--repository", metavar="NAME", help="all of a repository")
    which.add_argument("--everything", action="store_true", help="all collections of this name, of every version")


def push(args: argparse.Namespace) -> int:
    """Push the index of the working tree as the generation of its commit; returns 0."""
    from hybrid.upkeep.indexing import repository_of
    from hybrid.upkeep.sharing import open_team_store, push_here

    workspace = workspace_of(args)
    repository = repository_of(workspace)
    store = open_team_store(workspace, makes=True)
    try:
        with build_progress(is_quiet=args.quiet or args.json) as progress:
            commit, pushed = push_here(workspace, store, keep=int(args.keep), progress=progress)
    finally:
        store.close()
    form = {"repository": repository, "commit": commit, **to_builtins(pushed)}
    line = f"pushed {commit[:12]} of {repository}: {amount(pushed.files, 'file')}, {pushed.written} written"
    lines = [harmless_line(line)]
    if pushed.texts:
        lines.append(f"stored what {amount(pushed.texts, 'file')} say, to be shown (index.store_text)")
    if pushed.texts_deleted:
        lines.append(f"deleted what {amount(pushed.texts_deleted, 'file')} say: index.store_text is off")
    if pushed.forgotten or pushed.removed:
        gone = amount(pushed.forgotten, "older commit"), amount(pushed.removed, "text")
        lines.append(f"deleted {' and '.join(gone)} that nobody needs")
    print_done(args, form, *lines)
    return 0


def status(args: argparse.Namespace) -> int:
    """Print what the store holds; exit code 1 when it cannot be asked or holds nothing."""
    from hybrid.team.store import shown_uri
    from hybrid.upkeep.sharing import open_team_store

    workspace = workspace_of(args)
    settings = workspace.config.index
    uri = shown_uri(settings.uri)
    form: dict[str, Any] = {"uri": uri, "collection": settings.collection, "store": None, "problem": None}
    try:
        store = open_team_store(workspace, makes=False)
        try:
            held = store.repositories(timeout_s=_CALL_S)
        finally:
            store.close()
    except HybridError as error:
        form |= {"problem": str(error), "repositories": []}
        return print_found(args, form, [], f"{uri}: {error}" if uri else str(error))
    form |= {"store": store.capabilities.product, "repositories": to_builtins(held)}
    head = f"{uri}: {store.capabilities.product}, collection {settings.collection}"
    lines = [harmless_line(line) for one in held for line in _lines(one)]
    return print_found(args, form, [head, *lines] if held else [], f"{head}: nothing was pushed yet")


def _lines(held: Held) -> list[str]:
    shown = f", of which {held.n_texts} can be shown" if held.n_texts else ""
    rows = [f"{held.repository}: {amount(held.n_files, 'text')} of {amount(len(held.generations), 'commit')}{shown}"]
    for commit, at_s in held.generations:
        rows.append(f"  {commit[:12]}  {datetime.fromtimestamp(at_s, timezone.utc):%Y-%m-%d %H:%M} UTC")
    return rows


def drop(args: argparse.Namespace) -> int:
    """Delete from the store what the options name; returns 0, or 1 when there is no such commit."""
    from hybrid.upkeep.indexing import repository_of
    from hybrid.upkeep.sharing import open_team_store

    workspace = workspace_of(args)
    store = open_team_store(workspace, makes=False)
    try:
        if args.everything or args.repository:
            store.drop(args.repository, timeout_s=_CALL_S)
            name = args.repository or f"everything in {workspace.config.index.collection}"
        elif args.path:
            repository = repository_of(workspace)
            store.remove_path(repository, args.path, timeout_s=_CALL_S)
            name = f"{args.path} of {repository}"
        else:
            repository = repository_of(workspace)
            commits = [
                one for one, _ in store.generations(repository, timeout_s=_CALL_S) if one.startswith(args.commit)
            ]
            if len(commits) != 1:
                about = f"{len(commits)} commits of {repository} begin with {args.commit}"
                return print_found(args, {"dropped": None}, [], f"{about}; `hybrid index status` lists them")
            store.forget(repository, commits[0], timeout_s=_CALL_S)
            name = f"{commits[0][:12]} of {repository}"
    finally:
        store.close()
    print_done(args, {"dropped": name}, harmless_line(f"dropped {name}"))
    return 0


_ACTIONS = {
    "export": Action("write the index of the working tree into one file", "shop.hybrid-index", export),
    "import": Action("begin the index of a tree that has none with an exported one", "shop.hybrid-index", import_file),
    "push": Action("put the working tree's index into the team's index, as the generation of its commit", "", push),
    "status": Action("what the team's index holds, and whether its store answers", "", status),
    "drop": Action("delete a commit, a path, a repository or everything from the team's index", "--path .env", drop),
}
