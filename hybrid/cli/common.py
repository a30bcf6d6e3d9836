"""Options and output that several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hybrid.base.errors import HybridError, ProjectError
from hybrid.cli.streams import marked_path
from hybrid.render.visible import json_escaped, visible, visible_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.records.types import Problem
    from hybrid.workspace import Workspace


def add_common(parser: argparse.ArgumentParser, *, example: str, has_json: bool = True) -> None:
    """Add `--project`, `--json`, `--quiet`, `--verbose`, `--debug` and the example at the end of the help."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument("--project", metavar="DIR", default=None, help="a directory of the project (default: here)")
    if has_json:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print results only")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more")
    parser.add_argument("--debug", action="store_true", help="show where an internal error happened")


Actions: TypeAlias = Any
"""The object that `add_subparsers` returns; its class has no public name."""


def add_action(
    actions: Actions, name: str, about: str, run_action: Callable[[argparse.Namespace], int], example: str
) -> argparse.ArgumentParser:
    """Add an action to a command and return its parser, with the common options; parsing sets `args.run_action`."""
    parser = actions.add_parser(
        name, help=about, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_common(parser, example=example)
    parser.set_defaults(run_action=run_action)
    return parser


def workspace_of(
    args: argparse.Namespace,
    flags: Mapping[str, object] | None = None,
    *,
    is_strict: bool = True,
    is_accepting: bool = False,
) -> Workspace:
    """Return the workspace that the command line names.

    Args:
        args: Arguments of the command line, with `project`.
        flags: Settings from the command line.
        is_strict: A mistake of the user's settings is an error, one in the project's file a warning; otherwise the
            caller tells of both, or of neither.
        is_accepting: The command accepts the working tree, so its settings count already.

    Raises:
        ProjectError: The directory does not exist.
        ConfigError: The user's settings hold a mistake.
    """
    from hybrid.workspace import (  # An agent waits while `hybrid hook` reads its options.
        keep_hook_settings,
        open_workspace,
    )

    try:
        directory = Path(args.project) if args.project else Path.cwd()
    except FileNotFoundError as error:
        raise ProjectError("the working directory was deleted; change to one that exists, or use --project") from error
    if not directory.is_dir():
        raise ProjectError(f"{directory} is not a directory")
    workspace = open_workspace(directory, flags=flags, is_accepting=is_accepting)
    if is_strict:
        workspace.require_valid_settings()
    if workspace.home.is_dir():
        keep_hook_settings(workspace.home)
    if is_strict and not args.quiet:
        problems = [*workspace.loaded.project_problems, *waiting_lines(workspace)]
        if problems:
            sys.stderr.write(f"hybrid: warning: {'; '.join(problems)}\n")
    return workspace


def waiting_lines(workspace: Workspace) -> list[str]:
    """Return a line that names the project's settings that wait for `hybrid trust`; an empty list when none does."""
    keys = ", ".join(workspace.loaded.waiting)
    return [f"the project's config.toml sets {keys}, which counts after `hybrid trust`"] if keys else []


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object; controls, invisible characters and lone surrogates of odd file names are escaped."""
    sys.stdout.write(json_escaped(json.dumps(data, ensure_ascii=False, indent=2)) + "\n")


def say(text: str) -> None:
    """Print a line for a person on standard output."""
    sys.stdout.write(f"{text}\n")


def say_line(text: str) -> None:
    """Print one line with names and paths in it; line ends and tabs become marks, since they would forge lines."""
    say(visible_line(text))


_SHOWN_PROBLEMS = 5


def say_unread(problems: Sequence[Problem], n_unread: int, *, is_verbose: bool) -> None:
    """Say what an import could not read: the first problems, all of them when that is wanted, and how many more.

    Args:
        problems: The first ones that were met.
        n_unread: Number of all places that could not be read.
        is_verbose: Show all of the problems.
    """
    shown = problems if is_verbose else problems[:_SHOWN_PROBLEMS]
    for problem in shown:
        say(f"not read: {problem}")
    if n_unread > len(shown):
        named = "all" if len(problems) == n_unread else f"the first {len(problems):,}"
        say(f"not read: {n_unread - len(shown):,} more{'' if is_verbose else f'; --verbose shows {named}'}")


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Print rows of a bold label and a text, folded to the width of the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, value in rows:
        # As `Text`, since rich reads commands of its own from a plain string: colours, links, emoji.
        table.add_row(Text(visible(label)), Text(visible(value)))
    Console(file=marked_path(sys.stdout), highlight=False, soft_wrap=False).print(table)


def share(text: str) -> float:
    """Return an argument of the command line as a number from −1 to 1; any other text is an error of usage."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not -1 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must lie in -1 to 1")
    return value


_MAX_SECONDS = 1_000_000


def seconds(text: str) -> float:
    """Return an argument of the command line as seconds to wait, from 0 on; any other text is an error of usage."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 <= value <= _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} must lie in 0 to {_MAX_SECONDS:,} seconds")
    return value


def query_of(words: Sequence[str]) -> str:
    """Return the words of a query as one text.

    Raises:
        HybridError: There is nothing but spaces in them.
    """
    query = " ".join(words)
    if not query.strip():
        raise HybridError("the query is empty; give words, a question or an identifier to search for")
    return query


_MAX_NUMBER = 1_000_000_000
_SHOWN_CHARS = 50


def positive(text: str) -> int:
    """Return an argument as a whole number from 1; other texts and numbers too large to be meant are usage errors."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_NUMBER))
    if not is_number or not 1 <= int(text) <= _MAX_NUMBER:
        shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
        raise argparse.ArgumentTypeError(f"{shown!r} must be a whole number from 1 to {_MAX_NUMBER:,}")
    return int(text)
