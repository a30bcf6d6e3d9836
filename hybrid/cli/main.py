"""Finds the command, runs it, and turns errors into one line and an exit code: 0 done, 1 nothing found, 2 error."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hybrid import __version__
from hybrid.base.errors import HybridError
from hybrid.cli.common import visible_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "init": ("init", "index a project and make its .hybrid folder"),
    "reindex": ("init", "bring the index up to date"),
    "status": ("status", "how the project's index, gate and hooks are"),
    "search": ("search", "search the project"),
    "changes-with": ("search", "which files changed together with a file in earlier commits, and what tests it"),
    "context": ("search", "what an agent would get for a prompt, without recording it"),
    "hook": ("hook", "install it in coding agents, and what they call"),
    "daemon": ("daemon", "the service that answers agents: start, stop, status, run"),
    "mcp": ("serving", "serve an agent's client over MCP: search, read, lessons, memory"),
    "explain": ("log", "why something was injected, or why it was silent"),
    "log": ("log", "the last decisions"),
    "lore": ("lessons", "patterns, decisions and handoffs: list, search, write down, import"),
    "memory": ("memory", "what happened in earlier sessions: recent, search, show, timeline, add, forget, import"),
    "mark": ("log", "say whether a decision was good or noise"),
    "lessons": ("lessons", "rules that the project learned: show, score, add, change, import"),
    "score-local": ("lessons", "how well lessons fit a query, by their words"),
    "dashboard": ("serving", "a page in the browser: what was given and why, search, gate, records, index, health"),
    "doctor": ("status", "check installation, hooks, service, index, model and rights, with a remedy for each finding"),
    "pause": ("pause", "switch hybrid off in this project, a session or everywhere"),
    "resume": ("pause", "switch it on again"),
    "statusline": ("statusline", "one line about this session for the client's status line"),
    "completions": ("completions", "a script that has bash, zsh or fish complete commands and options"),
    "config": ("config", "show and change settings"),
    "models": ("models", "embedding models: list, show, verify, use, bench"),
    "project": ("projects", "which project a folder belongs to, and why it has its name and key"),
    "projects": ("projects", "list and forget indexed projects"),
    "index": ("index", "an index in one file: export, import; the team's index: push, status, drop"),
    "trust": ("init", "accept the lessons, the lore and the settings that lie in a project's tree"),
    "eval": ("evaluate", "measure ranking, gate, chunks and speed"),
}
"""Command → (module in `hybrid.cli`, what it does).

A module has `configure`, which adds the command's arguments, and `run`, which takes them and returns the exit code.
Where it has several commands, `configure_COMMAND` of another one sets `run_action`, as actions do. An operation whose
name is one word that does not stand here is a command too; see `every_command`.
"""

_REMOVED = {"top": "use `hybrid log --follow`, `hybrid dashboard` or the status line"}
"""Command that is gone → what to use instead."""

_READ_STORES = ("log", "memory", "reindex", "search")

_HOOK = ["hook", "inject-context"]
"""Commands that agents call by themselves, as words of the command line."""

_STATUS_LINE = "statusline"
"""Called by a client many times a minute: silent like a hook, but what goes wrong there is no failed decision."""


class _Parser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line, as every other error is told; its subcommands do, too."""

    def error(self, message: str) -> NoReturn:
        """Print the message with the way to help, and end the process with code 2."""
        self.exit(2, f"{self.prog}: error: {message}; `{self.prog} --help` shows how it is called\n")


def run(argv: Sequence[str], *, started_s: float) -> int:
    """Run one command line.

    Args:
        argv: Without the program's name.
        started_s: `time.perf_counter()` at the start of the process.

    Returns:
        The exit code: 0 found or done, 1 nothing found, 2 error; 0 always of what agents and clients call. Errors are
        told on standard error in one line and not raised.
    """
    with visible_streams():
        return _run_safely(argv, started_s)


def _run_safely(argv: Sequence[str], started_s: float) -> int:
    if (list(argv[:2]) == _HOOK or list(argv[:1]) == [_STATUS_LINE]) and not sys.stdin.isatty():
        return _run_hook(argv, started_s)
    is_debug = "--debug" in argv
    try:
        code = _run(argv, started_s)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has seen enough (`hybrid log | head`): not an error. The interpreter's own flush must not raise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("hybrid: interrupted; what was done so far is kept\n")
        return 2
    except HybridError as error:
        return _failed(error, str(error), is_debug=is_debug)
    except OSError as error:
        named = f": {error.filename}" if error.filename else ""
        return _failed(error, f"{error.strerror or error}{named}", is_debug=is_debug)
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user without --debug
        return _failed(
            error, f"internal error ({type(error).__name__}: {error}); --debug shows where", is_debug=is_debug
        )


def _run(argv: Sequence[str], started_s: float, *, is_tolerant: bool = False) -> int:
    """Run the command that the first argument names, and return the exit code: 2 for one that is unknown.

    Arguments that the command does not know end it with code 2; with `is_tolerant` it runs, and gets them as
    `args.unknown`.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0
    if argv[0] in ("-V", "--version"):
        sys.stdout.write(f"hybrid {__version__}\n")
        return 0
    if argv[0] not in COMMANDS and argv[0] not in every_command():
        advice = _REMOVED.get(argv[0])
        why = (
            f"`hybrid {argv[0]}` was removed: {advice}"
            if advice
            else f"unknown command {argv[0]!r}; `hybrid --help` lists all"
        )
        sys.stderr.write(f"hybrid: {why}\n")
        return 2
    parser = parser_of(argv[0])
    try:
        args, unknown = parser.parse_known_args(list(argv[1:]))
        if unknown and not is_tolerant:
            args, unknown = _intermixed(parser, argv[1:]) or (args, unknown)
        if unknown and not is_tolerant:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    args.unknown = unknown
    args.started_s = started_s
    if argv[0] in _READ_STORES:
        _mask_again()
    return args.run_action(args)


def every_command() -> dict[str, tuple[str, str]]:
    """Return all commands: `COMMANDS`, then those that are made from the table of operations."""
    return COMMANDS | {name: ("operations", about) for name, about in made_commands().items() if name not in COMMANDS}


def made_commands() -> dict[str, str]:
    """Return the rows of the table of operations that are commands: name → what it is about.

    They are found in the text of the modules: importing them all takes 200 ms, for which a press of Tab would wait.
    """
    texts = (path.read_text(encoding="utf-8") for path in (Path(__file__).parent.parent / "operations").glob("*.py"))
    return dict(re.findall(r'^@(?:operation|changing)\(\s*"([\w-]+)",\s*"([^"]+)"', "\n".join(texts), re.MULTILINE))


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with all arguments; `run_action` of what it parses runs it."""
    of, about = COMMANDS.get(name) or every_command()[name]
    module = vars(importlib.import_module(f"hybrid.cli.{of}"))
    parser = _Parser(prog=f"hybrid {name}", description=about)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(run_action=module.get("run"))
    configure = module.get(f"configure_{name.replace('-', '_')}") or module["configure"]
    configure(parser)
    return parser


def _mask_again() -> None:
    """Mask what is stored under older rules for secrets, since nobody else does without the service."""
    from hybrid.upkeep.masking import mask_again
    from hybrid.workspace import open_workspace

    # The command meets what fails here by itself, and says so.
    with contextlib.suppress(HybridError, OSError):
        mask_again(open_workspace(Path.cwd()))


def _intermixed(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]] | None:
    """Parse options between arguments that may be left out (`config set --user KEY VALUE`); None for subcommands.

    `argparse` gives such arguments their defaults as soon as an option follows the first one.
    """
    try:
        return parser.parse_known_intermixed_args(list(words))
    except TypeError:
        return None


def _run_hook(argv: Sequence[str], started_s: float) -> int:
    """Run what an agent waits for: exit code 0 for a wrong argument too, which is left in the log.

    Exit code 2 would take the user's prompt away, a line on standard error would be shown on every prompt; only a
    terminal there means that a person tries it.
    """
    output = io.StringIO()
    code = 0
    with contextlib.suppress(Exception, KeyboardInterrupt):
        with contextlib.redirect_stderr(output) if "--debug" not in argv else contextlib.nullcontext():
            code = _run(argv, started_s, is_tolerant=argv[0] != _STATUS_LINE)
        sys.stdout.flush()
    if sys.stderr.isatty():
        sys.stderr.write(output.getvalue())
    if code != 0 and argv[0] != _STATUS_LINE:
        from hybrid.hooks.run import note_failure

        note_failure(output.getvalue().strip().rsplit("\n", 1)[-1])
    return 0


def overview() -> str:
    """Return the text of `hybrid --help`."""
    commands = every_command()
    width = max(map(len, commands))
    lines = [
        "hybrid: a quiet, local context engine for coding agents",
        "",
        "usage: hybrid COMMAND [OPTIONS]      (hybrid COMMAND --help shows an example)",
        "",
        *(f"  {name:<{width}}  {about}" for name, (_, about) in commands.items()),
        "",
        f"version {__version__}",
    ]
    return "\n".join(lines) + "\n"


def _failed(error: Exception, message: str, *, is_debug: bool) -> int:
    if is_debug:
        import traceback

        # Written here, since the interpreter would print it past the marks of the streams.
        traceback.print_exception(error)
        return 2
    sys.stderr.write(f"hybrid: {message}\n")
    return 2
