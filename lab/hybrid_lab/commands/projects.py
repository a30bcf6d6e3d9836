"""`hybrid eval projects`: how well a search in all indexed projects finds what a search in the right one finds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.cli.evaluate import print_table

if TYPE_CHECKING:
    import argparse

ABOUT = "how well a search in all indexed projects finds what one in the right project finds"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval projects code_queries.jsonl")
    parser.add_argument("queries", type=Path, metavar="QUERIES", help="judged queries; `repo` is the name of a project")


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no query is about an indexed project."""
    from hybrid.evaluation.measures import read_queries
    from hybrid.upkeep.projects import workspaces_of
    from hybrid_lab.projects import measure

    workspaces = {
        one.require_project().name: one for one in workspaces_of(workspace_of(args, is_strict=False), None, os.environ)
    }
    queries = [one for one in read_queries(args.queries) if one.repo in workspaces]
    means = measure(queries, workspaces)
    if args.json:
        print_json({"queries": len(queries), "projects": len(workspaces), "means": means})
        return 0 if queries else 1
    names = ["nDCG@10", "RR@10", "Success@1"]
    rows = [[order, *(f"{of[name]:.3f}" for name in names)] for order, of in means.items()] if queries else []
    print_table("all projects", ["", *names], rows)
    say(f"{len(queries)} queries about {len(workspaces)} indexed projects")
    return 0 if queries else 1
