"""`hybrid index export` and `import`: write the index into one file, and begin the index of another tree with it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hybrid.cli.common import print_json, say, say_line, workspace_of
from hybrid.cli.streams import build_progress
from hybrid.render.numbers import amount


def export(args: argparse.Namespace) -> int:
    """Bring the index up to date and write it into one file; returns 0."""
    from hybrid.base.digest import sha256_of_file
    from hybrid.upkeep.bundles import export_index

    file = Path(args.file)
    with build_progress(is_quiet=args.quiet or args.json) as progress:
        header = export_index(workspace_of(args), file, progress)
    size_bytes, sha256 = file.stat().st_size, sha256_of_file(file)
    if args.json:
        print_json(
            {
                "file": str(file),
                "size_bytes": size_bytes,
                "sha256": sha256,
                "documents": header.documents,
                "chunks": header.chunks,
                "model": header.model,
            }
        )
    elif not args.quiet:
        counts = f"{amount(header.documents, 'document')}, {amount(header.chunks, 'chunk')}"
        say_line(f"{file}: {counts}, {size_bytes / 1e6:.1f} MB, SHA-256 {sha256}")
    return 0


def import_file(args: argparse.Namespace) -> int:
    """Begin the index of the tree with an exported one, and index what it has besides; returns 0."""
    from hybrid.cli.reindex import describe
    from hybrid.upkeep.bundles import import_index

    with build_progress(is_quiet=args.quiet or args.json) as progress:
        header, summary = import_index(workspace_of(args), Path(args.file), progress, sha256=args.sha256)
    if args.json:
        print_json({"from": header.project, **summary.as_json()})
    elif not args.quiet:
        say_line(f"began with the index of {header.project}: {amount(header.documents, 'document')}")
        say(describe(summary))
    return 0
