"""Operations as actions of commands: options from the types of their arguments, and their results as text or JSON."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec import inspect

from hybrid.cli.common import (
    SHORT,
    Action,
    number_of,
    positive,
    print_json,
    query_of,
    say,
    warn,
    whole_in,
    workspace_of,
)
from hybrid.operations.asking import COMMANDS, Asking, Outcome, perform

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def actions_of(command: str) -> dict[str, Action]:
    """Return the operations of a command as actions; `run_action` of their arguments performs and prints them."""
    return {
        action: Action(row.about, row.example, partial(run, name), arguments=partial(add_arguments, name))
        for name, row in COMMANDS.items()
        if (action := name.removeprefix(f"{command} ")) != name
    }


def run(name: str, args: argparse.Namespace) -> int:
    """Perform an operation with arguments of the command line and print the result; 1 when nothing was found."""
    return print_outcome(args, perform_here(name, args), is_change=COMMANDS[name].is_writing)


def perform_here(name: str, args: argparse.Namespace, more: Mapping[str, Any] | None = None) -> Outcome:
    """Return the result of an operation that this process performs.

    Args:
        name: Its name in `COMMANDS`.
        args: Arguments of the command line.
        more: Arguments in place of theirs.
    """
    from hybrid.knowledge.open_kinds import OpenKinds

    given = {field: getattr(args, field, None) for field in COMMANDS[name].arguments.__struct_fields__}
    if sentence := getattr(args, "sentence", None):
        given[sentence] = (query_of if sentence == "query" else " ".join)(given[sentence] or ())
    given = {field: value for field, value in {**given, **(more or {})}.items() if value is not None}
    now_ms = time.time_ns() // 1_000_000
    asking = Asking(workspace_of(args), OpenKinds(os.environ), os.environ, "manual", "", now_ms)
    outcome = perform(name, asking, given)
    assert isinstance(outcome, Outcome), name
    return outcome


def print_outcome(args: argparse.Namespace, outcome: Outcome, *, is_change: bool) -> int:
    """Print a result, and return the exit code: 1 when nothing was found; a change that was made is quiet if asked."""
    if outcome.warning and not args.quiet:
        warn(outcome.warning)
    if args.json:
        print_json(outcome.data)
    elif outcome.text and not (args.quiet and is_change and outcome.is_found):
        say(outcome.text)
    return 0 if outcome.is_found else 1


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of an operation: those that `types.word` says more of by their place, others as options."""
    described = inspect.type_info(COMMANDS[name].arguments)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        kind, about, extra = field.type, "", dict[str, Any]()
        if isinstance(kind, inspect.Metadata):
            said = cast("dict[str, str]", kind.extra_json_schema or {})
            about, extra, kind = said.get("description", ""), cast("dict[str, Any]", kind.extra or {}), kind.type
        if isinstance(kind, inspect.UnionType):  # It may be left out.
            kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
        if not about:  # A common option.
            continue
        if extra.get("is_word"):
            _add_word(parser, field, kind, about, extra)
        else:
            _add_option(parser, field, kind, about, extra)


def _add_word(
    parser: argparse.ArgumentParser, field: inspect.Field, kind: inspect.Type, about: str, extra: Mapping[str, Any]
) -> None:
    is_list = isinstance(kind, inspect.ListType)
    nargs = "+" if is_list or extra.get("is_sentence") else None if field.required else "?"
    more: dict[str, Any] = {} if nargs is None else {"nargs": nargs}
    if extra.get("is_sentence"):
        parser.set_defaults(sentence=field.name)
    parser.add_argument(field.name, metavar=extra["metavar"], help=about, **more)


def _add_option(
    parser: argparse.ArgumentParser, field: inspect.Field, kind: inspect.Type, about: str, extra: Mapping[str, Any]
) -> None:
    named, metavar = f"--{field.name.replace('_', '-')}", extra.get("metavar") or None
    names, choices = [*SHORT.get(named, ()), named], extra.get("choices") or None
    if isinstance(kind, inspect.BoolType):
        parser.add_argument(*names, action="store_true", help=about)
    elif isinstance(kind, inspect.ListType):
        parser.add_argument(named, action="append", choices=choices, metavar=metavar, help=about)
        if field.default is not None:
            parser.set_defaults(**{field.name: list[str]()})
    elif isinstance(kind, inspect.IntType):
        whole = positive if kind.le is None else whole_in(kind.ge or 0, kind.le)
        parser.add_argument(*names, type=whole, default=field.default, metavar=metavar, help=about)
    elif isinstance(kind, inspect.FloatType):
        parser.add_argument(*names, type=number_of, default=field.default, metavar=metavar, help=about)
    else:
        parser.add_argument(*names, choices=choices, required=field.required, metavar=metavar, help=about)
