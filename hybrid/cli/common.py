"""Options and output that several commands share, and the workspace that they name.

Output goes through streams that show marks, in UTF-8, to a reader that may go away; a build shows its progress.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from hybrid.base.errors import HybridError, ProjectError
from hybrid.render.marks import harmless, harmless_json, without_marks
from hybrid.render.visible import json_escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from rich.progress import ProgressColumn

    from hybrid.index.plan import Progress
    from hybrid.records.types import Problem
    from hybrid.workspace import Workspace


_COMMON: dict[str, dict[str, Any]] = {
    "--project": {"metavar": "DIR", "help": "a directory of the project (default: here)"},
    "--json": {"action": "store_true", "help": "print one JSON object"},
    "--quiet": {"action": "store_true", "help": "print results only"},
    "--verbose": {"action": "store_true", "help": "print more"},
    "--debug": {"action": "store_true", "help": "show where an internal error happened"},
}
SHORT = {"--quiet": ("-q",), "--verbose": ("-v",), "--limit": ("-n",), "--yes": ("-y",)}
"""Option → its other name, of one letter."""


def add_common(parser: argparse.ArgumentParser, *, example: str, options: Iterable[str] = _COMMON) -> None:
    """Add `--project`, `--json`, `--quiet`, `--verbose`, `--debug` and the example at the end of the help.

    Args:
        parser: Of a command, or of one of its actions.
        example: A whole command line, or several, each further one after two spaces on a line of its own.
        options: Those of these options that it takes. Without `--project`, parsing sets `args.project` to None, which
            means here.
    """
    parser.epilog = f"example:\n  {example}"
    parser.set_defaults(project=None)
    for option in options:
        parser.add_argument(*SHORT.get(option, ()), option, **_COMMON[option])


class Action(NamedTuple):
    """One action of a command, as `list` is of `hybrid lore`.

    Attributes:
        about: What it does, for the help of the command and its own.
        example: The arguments of an example, which stands at the end of its help.
        run: Runs it with the arguments of the command line; returns the exit code.
        options: The common options that it has; others may be added under the same names.
        arguments: Adds its own arguments; None when the caller does.
    """

    about: str
    example: str
    run: Callable[[argparse.Namespace], int]
    options: Iterable[str] = _COMMON
    arguments: Callable[[argparse.ArgumentParser], None] | None = None


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, Action]) -> dict[str, argparse.ArgumentParser]:
    """Add actions to a command, one of which must be named.

    Parsing sets `args.action` to the name, and `args.run_action` to the function that `hybrid.cli.main` calls.

    Returns:
        The parsers of the actions by name, for options of their own.
    """
    every = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, (about, example, run, options, arguments) in actions.items():
        parsers[name] = part = every.add_parser(name, help=about, description=about)
        part.formatter_class = argparse.RawDescriptionHelpFormatter
        add_common(part, example=f"{part.prog} {example}".rstrip(), options=options)
        if arguments is not None:
            arguments(part)
        part.set_defaults(run_action=run)
    return parsers


def add_repeated(
    parser: argparse.ArgumentParser, option: str, metavar: str | None, about: str, choices: Sequence[str] | None = None
) -> None:
    """Add an option that may be given several times: a list of its values in their order, empty without it."""
    parser.add_argument(option, action="append", choices=choices, default=[], metavar=metavar, help=about)


def workspace_of(
    args: argparse.Namespace,
    flags: Mapping[str, object] | None = None,
    *,
    is_strict: bool = True,
    is_accepting: bool = False,
) -> Workspace:
    """Return the workspace that the command line names.

    The settings that hooks read without opening a project are kept in the home folder, when that exists. A strict call
    warns on standard error, unless `--quiet` is given, of removed settings, of mistakes in the project's file and of
    settings that wait.

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

    workspace = open_workspace(directory_of(args.project), flags=flags, is_accepting=is_accepting)
    if is_strict:
        workspace.require_valid_settings()
    if workspace.home.is_dir():
        keep_hook_settings(workspace.home)
    if is_strict and not args.quiet:
        problems = [*workspace.loaded.warnings, *waiting_lines(workspace)]
        if problems:
            warn("; ".join(problems))
    return workspace


def directory_of(project: str | None) -> Path:
    """Return the directory that `--project` names, the working directory without it.

    Raises:
        ProjectError: The directory does not exist.
    """
    try:
        directory = Path(project) if project else Path.cwd()
    except FileNotFoundError as error:
        raise ProjectError("the working directory was deleted; change to one that exists, or use --project") from error
    if not directory.is_dir():
        raise ProjectError(f"{directory} is not a directory")
    return directory


def waiting_lines(workspace: Workspace) -> list[str]:
    """Return a line that names the project's settings that wait for `hybrid trust`; an empty list when none does."""
    keys = ", ".join(workspace.loaded.waiting)
    return [f"the project's config.toml sets {keys}, which counts after `hybrid trust`"] if keys else []


def print_json(data: Mapping[str, Any], *, frame: str = "") -> None:
    """Print one JSON object; controls, invisible characters and lone surrogates of odd file names are escaped.

    Args:
        data: An agent reads its texts as they are, so marks in them are changed as everywhere.
        frame: A text of our own frame in it, which stays as it is; empty for none.
    """
    data = harmless_json(data, lambda text: text if frame and text == frame else without_marks(text))
    marked_path(sys.stdout).write(json_escaped(json.dumps(data, ensure_ascii=False, indent=2)) + "\n")


def say(text: str) -> None:
    """Print a line for a person on standard output."""
    sys.stdout.write(f"{text}\n")


def say_lines(lines: Sequence[str]) -> None:
    """Print lines at once, so that a mark that begins in one and ends in the next is seen as a mark."""
    if lines:
        say("\n".join(lines))


def say_raw(text: str) -> None:
    """Print our own frame, or a line with colours, as it is; what strangers wrote in it was made harmless before."""
    marked_path(sys.stdout).write(f"{text}\n")


def warn(text: str) -> None:
    """Print a warning on standard error, in one line that begins with `hybrid: warning:`."""
    sys.stderr.write(f"hybrid: warning: {text}\n")


def print_done(args: argparse.Namespace, form: Mapping[str, Any], *lines: str) -> None:
    """Print what a command did: the form with `--json`, otherwise the lines, and nothing with `--quiet`."""
    if args.json:
        print_json(form)
    elif not args.quiet:
        say_lines(lines)


def print_found(
    args: argparse.Namespace,
    form: Mapping[str, Any],
    lines: Sequence[str],
    nothing: str = "",
    write: Callable[[Sequence[str]], None] = say_lines,
) -> int:
    """Print what a command found, with `--quiet` too, and return the exit code.

    Args:
        args: Arguments of the command line, with `json`.
        form: Printed with `--json`, also when nothing was found.
        lines: Printed otherwise: what was found, of which each may have several lines of text.
        nothing: Printed when there are no lines, and no `--json`; empty for no text.
        write: Writes them.

    Returns:
        0 when there are lines, 1 when there are none.
    """
    if args.json:
        print_json(form)
    else:
        write(lines)
        if nothing and not lines:
            say(nothing)
    return 0 if lines else 1


_SHOWN_PROBLEMS = 5


def unread_lines(problems: Sequence[Problem], n_unread: int, *, is_verbose: bool) -> list[str]:
    """Return what an import could not read: the first problems, all of them when that is wanted, and how many more.

    Args:
        problems: The first ones that were met.
        n_unread: Number of all places that could not be read.
        is_verbose: Show all of the problems.
    """
    shown = problems if is_verbose else problems[:_SHOWN_PROBLEMS]
    lines = [f"not read: {problem}" for problem in shown]
    if n_unread > len(shown):
        named = "all" if len(problems) == n_unread else f"the first {len(problems):,}"
        lines.append(f"not read: {n_unread - len(shown):,} more{'' if is_verbose else f'; --verbose shows {named}'}")
    return lines


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
        table.add_row(Text(harmless(label)), Text(harmless(value)))
    Console(file=marked_path(sys.stdout), highlight=False, soft_wrap=False).print(table)


def number_in(low: float, high: float, unit: str = "") -> Callable[[str], float]:
    """Return a type of arguments: a number from `low` to `high`, both allowed; any other text is an error of usage.

    Args:
        low: The least number.
        high: The greatest number.
        unit: What is counted, for the message; empty for plain numbers.
    """

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number{unit and f' of {unit}'}") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} must lie in {low:,} to {high:,} {unit}".rstrip())
        return value

    return parse


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


def whole_in(low: int, high: int) -> Callable[[str], int]:
    """Return a type of arguments: a whole number from `low` to `high`, both allowed; other texts are usage errors."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(high))
        if not is_number or not low <= int(text) <= high:
            shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
            raise argparse.ArgumentTypeError(f"{shown!r} must be a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


positive = whole_in(1, _MAX_NUMBER)


class VisibleStream:
    """A text stream through which people and agents get no text but what `harmless` leaves; else the stream below."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write harmless text; returns the number of characters of the text as it was given."""
        self.raw.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def visible_streams() -> Generator[None]:
    """Give the block standard streams in UTF-8 that show marks, with the null device for those that are closed.

    Python leaves None in the place of a closed stream. A file name that is not UTF-8 is shown with its bytes escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout, sys.stderr = (cast("TextIO", VisibleStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def marked_path(stream: TextIO) -> TextIO:
    """Return the stream below a `VisibleStream`, for text that was made harmless before, or the stream itself."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


# --- progress ---------------------------------------------------------------------------------------------


_LABELS = {
    "scan": "Finding files",
    "read": "Reading and embedding",
    "write": "Writing the index",
    "merge": "Merging segments",
}
_SHOWN_AFTER_S = 0.3
"""Seconds after which a bar is drawn: one that vanishes at once only flickers."""
_LABEL_COLUMNS, _BAR_COLUMNS = 36, 60
"""Widths of a terminal from which on there is room for the name of the step, and for a bar."""


@contextmanager
def build_progress(*, is_quiet: bool) -> Generator[Progress]:
    """Give a `Progress` that draws a bar on standard error; one that shows nothing when quiet or not on a terminal."""
    if is_quiet or not sys.stderr.isatty():
        # Every command imports this module, few of them build.
        from hybrid.index.plan import silent

        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=marked_path(sys.stderr))
    # On a narrow terminal the numbers would be the first to go.
    columns: list[ProgressColumn] = [TextColumn("{task.fields[count]}")]
    if console.width >= _LABEL_COLUMNS:
        columns = [TextColumn("{task.description}"), *columns]
    if console.width >= _BAR_COLUMNS:
        columns = [columns[0], BarColumn(), columns[1], TimeRemainingColumn()]
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("Finding files", total=None, count="")
    started = time.monotonic()

    def report(step: str, done: int, total: int, share: float = 0.0) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SHOWN_AFTER_S:
            bar.start()
        count = f"{done}/{total or '?'}"
        # The bar and the time left are those of the whole build.
        completed, whole = (share, 1.0) if share else (float(done), float(total) if total else None)
        bar.update(task, description=_LABELS.get(step, step), completed=completed, total=whole, count=count)

    try:
        yield report
    finally:
        bar.stop()
