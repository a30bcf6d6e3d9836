"""`hybrid search`: search the project, for people and for agents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say, workspace_of

if TYPE_CHECKING:
    from hybrid.types import Hit

_SHOWN_LINES = 6


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example='hybrid search "where are retries capped" --limit 5 --path src')
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, a question, an identifier")
    parser.add_argument("-n", "--limit", type=positive, default=10, help="hits to show (default: 10)")
    parser.add_argument(
        "--kind", action="append", choices=("code", "doc"), default=[], help="only this kind; may be repeated"
    )
    parser.add_argument("--mode", choices=("hybrid", "dense", "lexical"), default="hybrid", help="legs that take part")
    parser.add_argument(
        "--path", metavar="GLOB", default="", help="only files that match, for example 'src/*.py' or docs"
    )
    parser.add_argument("--explain", action="store_true", help="show scores, fusion and evidence")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when nothing is found."""
    from hybrid.engine.forms import hit_form, search_form, steps_form
    from hybrid.engine.searching import open_searcher
    from hybrid.engine.spans import SpanReader
    from hybrid.index.backend import Filter
    from hybrid.prompting.query import make_query

    workspace = workspace_of(args)
    project = workspace.require_project()
    only = Filter(tuple(args.kind), args.path)
    searched = open_searcher(workspace).search(
        make_query(" ".join(args.query)), top_k=args.limit, mode=args.mode, only=only
    )
    config = workspace.config
    spans = SpanReader(project.root, max_file_bytes=config.index.max_file_bytes, redact=config.privacy.redact)
    hits: list[dict[str, Any]] = []
    for hit in searched.hits:
        shown, text = spans.shown(hit), spans.text(hit)
        form = hit_form(shown, project=project.name, text=text)
        hits.append(form | {"steps": steps_form(shown)} if args.explain else form)
        if not args.json:
            _print_hit(shown, text, is_quiet=args.quiet, is_explained=args.explain, is_whole=args.verbose)
    if args.json:
        print_json(search_form(searched, hits))
    elif not hits:
        say("Nothing found.")
    return 0 if hits else 1


def _print_hit(hit: Hit, text: str | None, *, is_quiet: bool, is_explained: bool, is_whole: bool) -> None:
    from hybrid.render.numbers import evidence_line
    from hybrid.render.records import file_header

    say(f"{hit.rank:>2}  {file_header(hit)}")
    if is_explained:
        say(f"      {_steps(hit)}")
        if hit.evidence:
            say(f"      {evidence_line(hit.evidence)}")
    if is_quiet:
        return
    if text is None:
        say("      (changed since it was indexed: run `hybrid reindex`)")
        return
    lines = text.split("\n")
    shown = lines if is_whole else lines[:_SHOWN_LINES]
    for line in shown:
        say(f"      {line}".rstrip())
    if len(lines) > len(shown):
        say(f"      … {len(lines) - len(shown)} more lines")


def _steps(hit: Hit) -> str:
    dense = "no vector" if hit.cosine is None else f"cosine {hit.cosine:.3f}"
    lexical = "no query term" if hit.bm25 is None else f"bm25 {hit.bm25:.2f}"
    dense_rank = f" (rank {hit.cosine_rank})" if hit.cosine_rank else ""
    lexical_rank = f" (rank {hit.bm25_rank})" if hit.bm25_rank else ""
    return f"{dense}{dense_rank}; {lexical}{lexical_rank}; rrf {hit.rrf:.5f}; relevance {hit.relevance:.2f}"
