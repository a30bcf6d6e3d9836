"""`hybrid search`, on a terminal with colours, numbers of lines and links; `hybrid context`, `hybrid changes-with`."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, cast

from hybrid.base.tokens import query_tokens, term_spans
from hybrid.cli.colours import link_to, linked, look_of, painted, styled
from hybrid.cli.common import say, say_raw
from hybrid.cli.operations import asking_here, configure_operation, perform_here, print_outcome
from hybrid.operations.search import asides_of, of_project
from hybrid.prompting.query import make_query
from hybrid.render.marks import harmless_line, without_marks

if TYPE_CHECKING:
    import argparse

    from hybrid.ask.search import FoundIn, ResultHit
    from hybrid.operations.search import Lists, Search
    from hybrid.types import Hit
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `search`."""
    configure_operation(parser, "search")
    parser.set_defaults(run_action=_run)


def configure_context(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `context` or `changes-with`, which print their text."""
    configure_operation(parser, "files")


configure_changes_with = configure_context


def _run(args: argparse.Namespace) -> int:
    """Print what fits the query; exit code 1 when nothing does.

    Raises:
        HybridError: Nothing can be searched, or records by path or in several projects.
    """
    outcome = perform_here("search", args)
    workspace = asking_here(args).workspace
    look = look_of(sys.stdout, workspace.config.terminal.links)
    paint = None if look is None else _Painter(args, workspace, look).lists
    return print_outcome(args, outcome, is_change=False, paint=paint and partial(paint, outcome.found))


class _Painter:
    """Paints hits."""

    def __init__(self, args: argparse.Namespace, workspace: Workspace, look: str) -> None:
        self._args = cast("Search", args)  # Its options are those that are asked here.
        self._root = str(workspace.project.root) if workspace.project else ""
        self._look = look
        query = make_query(" ".join(args.query))
        self._terms = {*query_tokens(query.text), *query_tokens(query.english)}

    def lists(self, lists: Lists) -> None:
        """Print lists of hits."""
        for number, (heading, hits) in enumerate(lists):
            if heading:
                say(f"{chr(10) if number else ''}{heading}")
            for place, one in hits:
                self._hit(one, place)

    def _hit(self, one: ResultHit, place: FoundIn | None) -> None:
        """Print a hit; `place` says in which of several projects."""
        header = self._header(harmless_line(one.header), one.hit, place.root if place else self._root)
        say_raw(f"{one.hit.rank:>2}  {of_project(place)}{header}")
        for aside in asides_of(one, self._args, is_here=place is None):
            say_raw(f"      {styled(aside, 'dim')}")
        if one.text is not None and not self._args.quiet:
            self._lines(one, one.text)

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
        shown = text if self._args.verbose else without_marks(found.telling)
        lines = shown.split("\n") if shown else []
        first = max(found.hit.start_line, 1)
        numbers = range(first, first + len(lines)) if self._args.verbose else found.numbers
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
            of_line = spans[number - first]
            shown_line = painted(line, of_line, term_spans(line, self._terms))
            say_raw(f"{styled(f'{number:>6}', 'dim')}  {shown_line}".rstrip())
