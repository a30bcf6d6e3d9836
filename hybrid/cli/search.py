"""`hybrid search` and `hybrid changes-with`: search the project, its records and its commits, for people and agents."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.base.tokens import query_tokens, term_spans
from hybrid.cli.colours import link_to, linked, look_of, painted, styled
from hybrid.cli.common import (
    add_common,
    add_repeated,
    directory_of,
    positive,
    print_found,
    print_json,
    query_of,
    say,
    say_raw,
    warn,
    workspace_of,
)
from hybrid.records.types import HIT_KINDS, KINDS, OF_RECORDS, hits_named
from hybrid.render.marks import harmless_line, without_marks
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.ask.search import EverywhereResult, FoundIn, ResultHit, ResultList, SearchRequest, SearchResult
    from hybrid.prompting.query import Query
    from hybrid.types import Hit
    from hybrid.workspace import Workspace


_KINDS = (*HIT_KINDS, *OF_RECORDS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `search`."""
    add_common(parser, example='hybrid search "where are retries capped" --limit 5 --path src')
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, a question, an identifier")
    parser.add_argument("-n", "--limit", type=positive, default=10, help="hits of a list to show (default: 10)")
    about = f"only this kind, may be repeated: {', '.join(_KINDS)} (default: files, then what fits)"
    add_repeated(parser, "--kind", "KIND", about, choices=_KINDS)
    parser.add_argument("--mode", choices=("hybrid", "dense", "lexical"), default="hybrid", help="legs that take part")
    about = "only files that match, for example 'src/*.py' or docs"
    parser.add_argument("--path", metavar="GLOB", default="", help=about)
    many = parser.add_mutually_exclusive_group()
    many.add_argument("--all", action="store_true", help="search the files of every indexed project")
    many.add_argument("--group", metavar="NAME", default="", help="search the files of a group of projects")
    about = "search this project and the other repositories of the team's index"
    many.add_argument("--team", action="store_true", help=about)
    parser.add_argument("--explain", action="store_true", help="show scores, fusion and evidence")


def run(args: argparse.Namespace) -> int:
    """Print what fits the query; exit code 1 when nothing does.

    Raises:
        HybridError: Nothing can be searched, or records by path or in several projects.
    """
    from hybrid.ask.json_output import search_json
    from hybrid.ask.search import find
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.prompting.query import make_query

    wanted = _wanted(args)
    workspace = workspace_of(args)
    query = make_query(query_of(args.query))
    if args.all or args.group or args.team:
        return _everywhere(args, workspace, query, wanted)
    result = find(workspace, query, wanted, OpenKinds())
    if not args.quiet:
        for problem in result.problems:
            warn(problem)
    if args.json:
        name = workspace.require_project().name
        print_json(search_json(query, args.mode, result, project=name, is_explained=args.explain))
    else:
        _print(result, _Printer(args, workspace, query))
    return 0 if any(part.hits for part in result.lists) else 1


def _everywhere(args: argparse.Namespace, workspace: Workspace, query: Query, wanted: SearchRequest) -> int:
    """Search the files of several projects and print the hits, each with its project; exit code 1 without any.

    Raises:
        HybridError: There is no such group, or nothing of it can be searched.
    """
    from hybrid.ask.json_output import everywhere_json

    option = f"--group {args.group}" if args.group else "--team" if args.team else "--all"
    if set(wanted.kinds) - set(KINDS["files"].hits):
        raise HybridError(f"{option} searches files: leave out --kind {args.kind[0]}, or the option")
    if args.team:
        from hybrid.ask.team import find_in_team

        result = find_in_team(workspace, query, wanted)
    else:
        result = _in_projects(args.group, workspace, query, wanted)
    if not args.quiet:
        for problem in result.problems:
            warn(harmless_line(problem))
    if args.json:
        print_json(everywhere_json(query, args.mode, result, is_explained=args.explain))
        return 0 if result.hits else 1
    printer = _Printer(args, workspace, query)
    for one in result.hits:
        printer.hit(one.found, one)
    if not result.hits:
        is_open = any(one.selection.verdict.is_open for one in result.asked)
        why = "" if is_open else f": no gate of {amount(len(result.asked), 'project')} opens"
        say(f"Nothing found{why}.")
    return 0 if result.hits else 1


def _in_projects(group: str, workspace: Workspace, query: Query, wanted: SearchRequest) -> EverywhereResult:
    """Search the projects of a group, or all.

    Raises:
        HybridError: There is no such group, or no project of it has an index and a working tree.
    """
    from hybrid.ask.search import find_everywhere
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.project.registry import load_groups
    from hybrid.upkeep.projects import workspaces_of

    groups = load_groups(workspace.home)
    if group and group not in groups:
        raise HybridError(f"no group is called {group}; `hybrid projects group` lists them")
    found_here = workspaces_of(workspace, groups[group] if group else None, os.environ)
    if not found_here:
        option = f"--group {group}" if group else "--all"
        raise HybridError(f"{option} finds no project with an index and a working tree; `hybrid projects` lists them")
    return find_everywhere(found_here, query, wanted, OpenKinds())


def _wanted(args: argparse.Namespace) -> SearchRequest:
    from hybrid.ask.search import SearchRequest

    kinds = tuple(dict.fromkeys(hit for name in args.kind for hit in hits_named(name)))
    records = [name for name in args.kind if name not in KINDS["files"].hits]
    if args.path and records:
        raise HybridError(f"--path restricts files, and records lie in none: leave out --kind {records[0]} or --path")
    return SearchRequest(kinds, args.path, args.mode, args.limit)


def _print(result: SearchResult, printer: _Printer) -> None:
    """Print each list of hits that is not empty; with records among them, each under a heading of its kind."""
    args = printer.args
    shown = [part for part in result.lists if part.hits]
    if not shown:
        say("Nothing found.")
    has_headings = not args.quiet and any(part.kind != "files" for part in shown)
    for number, part in enumerate(shown):
        if has_headings:
            say(f"{'' if number == 0 else chr(10)}{part.kind.capitalize()}{_gate(part) if args.explain else ''}")
        for hit in part.hits:
            printer.hit(hit)


def _gate(part: ResultList) -> str:
    """Return `: ` and the numbers of the gate of a list's kind; empty when no gate was asked."""
    from hybrid.answer.recording import gate_part
    from hybrid.health.explaining import gate_rows

    rows = gate_rows(gate_part(part.verdict)) if part.verdict else []
    return f": {rows[0][1]}" if rows else ""


class _Printer:
    """Prints hits: plainly into a pipe, on a terminal with colours, numbers of lines and links."""

    def __init__(self, args: argparse.Namespace, workspace: Workspace, query: Query) -> None:
        self.args = args
        self._root = str(workspace.project.root) if workspace.project else ""
        self._look = look_of(sys.stdout, workspace.config.terminal.links)
        self._terms = (
            {*query_tokens(query.text), *query_tokens(query.english)} if self._look is not None else set[str]()
        )

    def hit(self, found: ResultHit, place: FoundIn | None = None) -> None:
        """Print a hit; `place` says in which of several projects."""
        from hybrid.render.numbers import evidence_line

        hit, text = found.hit, found.text
        header = harmless_line(found.header)
        project = f"{harmless_line(place.project)}: " if place else ""
        if self._look is None:
            say(f"{hit.rank:>2}  {project}{header}")
        else:
            say_raw(f"{hit.rank:>2}  {project}{self._header(header, hit, place.root if place else self._root)}")
        if self.args.explain:
            self._aside(_steps(hit))
            if hit.evidence:
                self._aside(evidence_line(hit.evidence))
        if self.args.quiet:
            return
        if text is None:
            if place is None:
                self._aside("(changed since it was indexed: run `hybrid reindex`)")
            return
        self._lines(found, text)

    def _aside(self, text: str) -> None:
        """Print what is said about a hit."""
        if self._look is None:
            say(f"      {text}")
        else:
            say_raw(f"      {styled(text, 'dim')}")

    def _header(self, header: str, hit: Hit, root: str) -> str:
        """Return the line that names a hit: the place in bold and, where its file is, as a link."""
        found = None if hit.is_record else re.search(rf"{re.escape(harmless_line(hit.path))}(:\d+(-\d+)?)?", header)
        if found is None:
            return styled(header, "bold")
        shown = styled(found.group(), "path")
        link = link_to(self._look, root, hit.path, hit.start_line)
        return f"{harmless_line(header[: found.start()])}{linked(shown, link)}{harmless_line(header[found.end() :])}"

    def _lines(self, found: ResultHit, text: str) -> None:
        """Print the telling lines, with --verbose all."""
        text = without_marks(text)  # As one, since a mark may be spread over lines.
        shown = text if self.args.verbose else without_marks(found.telling)
        lines = shown.split("\n") if shown else []
        if self._look is None:
            for line in lines:
                say(f"      {line}".rstrip())
            return
        numbers = _numbers_of(found.hit, len(lines)) if self.args.verbose else found.numbers
        if found.hit.is_record:
            for line in lines:
                say_raw(f"      {painted(line, (), term_spans(line, self._terms))}".rstrip())
            return
        from hybrid.cli.colours import spans_of_lines

        spans = spans_of_lines(text, found.hit.language)
        for number, line in zip(numbers, lines, strict=True):
            if number is None:
                say_raw(f"      {styled(line, 'dim')}")
                continue
            of_line = spans[number - max(found.hit.start_line, 1)]
            shown_line = painted(line, of_line, term_spans(line, self._terms))
            say_raw(f"{styled(f'{number:>6}', 'dim')}  {shown_line}".rstrip())


def _numbers_of(hit: Hit, n_lines: int) -> range:
    """Return the numbers in its file of the lines of a hit that is shown whole."""
    first = max(hit.start_line, 1)
    return range(first, first + n_lines)


def _steps(hit: Hit) -> str:
    dense = "no vector" if hit.cosine is None else f"cosine {hit.cosine:.3f}"
    lexical = "no query term" if hit.bm25 is None else f"bm25 {hit.bm25:.2f}"
    dense_rank = f" (rank {hit.cosine_rank})" if hit.cosine_rank else ""
    lexical_rank = f" (rank {hit.bm25_rank})" if hit.bm25_rank else ""
    return f"{dense}{dense_rank}; {lexical}{lexical_rank}; rrf {hit.rrf:.5f}; relevance {hit.relevance:.2f}"


# --- changes-with -------------------------------------------------------------------------------------------


def configure_changes_with(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `changes-with`."""
    parser.set_defaults(run_action=_changes_with)
    add_common(parser, example="hybrid changes-with src/payments/client.py --limit 5")
    parser.add_argument("file", metavar="FILE", help="a file of the project, as it is called now")
    parser.add_argument("-n", "--limit", type=positive, default=10, help="files to show (default: 10)")


def _changes_with(args: argparse.Namespace) -> int:
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
