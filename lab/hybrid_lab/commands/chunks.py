"""`hybrid eval chunks`: the share of definitions that is found in real trees."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluate import add_settings, percent, print_table

if TYPE_CHECKING:
    import argparse

ABOUT = "the share of definitions that is found in real trees"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval chunks ~/checkouts/tokio ~/checkouts/redis")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="trees of source files")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.base.errors import ProjectError
    from hybrid.evaluation.retrieval import settings_in_force
    from hybrid.project.find import hybrid_home
    from hybrid_lab.chunks.report import coverage_form, evaluate_chunks

    for folder in args.folders:
        if not folder.is_dir():
            raise ProjectError(f"{folder} is not a directory")
    rows = evaluate_chunks(args.folders, settings_in_force(args.settings).config.index, hybrid_home(os.environ))
    form = coverage_form(rows)
    if args.json:
        print_json(form)
        return 0 if rows else 1
    table = [
        [row.language, *(str(n) for n in (row.files, row.failed, row.definitions, row.expected)), percent(row.share)]
        for row in rows
    ]
    print_table("definitions", ["", "files", "failed", "found", "expected", "share"], table)
    if args.verbose:
        for row in rows:
            for missed in row.missed:
                say(f"  {row.language}: {missed}")
    say(f"all: {form['found']} of {form['expected']} expected definitions, {percent(form['share'])}")
    return 0 if rows else 1
