"""Options and output that the parts of `hybrid eval` share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.common import say
from hybrid.render.marks import harmless_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


INSTALL_LAB = "the laboratory measures it: pip install hybrid-lab"
"""The end of a message on measures that most users do not need: how to install the laboratory that has them."""


def add_shared(parser: argparse.ArgumentParser, *, needs_repos: bool = True) -> None:
    """Add the options that name repositories and where their indexes lie, and `--set`."""
    about = "holds a folder for each repository"
    parser.add_argument("--repos", type=Path, required=needs_repos, metavar="DIR", help=about)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these repositories")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the indexes here (default: a temporary folder)")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add `--set`."""
    about = "a setting or constant for this run, for example search.rrf_k=20; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help=about)


def teller(args: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that names the present work on standard error, for a person who waits."""

    def tell(name: str) -> None:
        if sys.stderr.isatty() and not args.quiet:
            sys.stderr.write(f"{name}\n")

    return tell


def print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a plain table, the first column to the left, the others to the right; some letters fill two columns."""
    from rich.cells import cell_len

    listed = [[harmless_line(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(cell_len(row[column]) for row in listed) for column in range(len(heads))]
    say(title)
    for row in listed:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        first, *others = row
        cells = [first + gaps[0], *(gap + cell for cell, gap in zip(others, gaps[1:], strict=True))]
        say(f"  {'  '.join(cells).rstrip()}")
    say("")


def percent(share: float | None) -> str:
    """Return a share, 0 to 1, in percent with one digit after the point; a dash for None."""
    return "–" if share is None else f"{share:.1%}"
