"""Operations as commands and their actions: options from the types of their arguments, results as text or JSON."""

from __future__ import annotations

import math
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from hybrid.cli.common import (
    SHORT,
    Action,
    add_common,
    number_in,
    positive,
    print_json,
    query_of,
    say_raw,
    warn,
    whole_in,
    workspace_of,
)
from hybrid.operations.asking import BY_HAND, Asking, Outcome, operation_named, perform, rows
from hybrid.operations.types import described
from hybrid.render.marks import harmless

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from hybrid.operations.types import Argument


def configure_operation(parser: argparse.ArgumentParser, module: str = "") -> None:
    """Add the arguments of the operation that has the name of a command, and have the command perform it.

    Args:
        parser: Of the command.
        module: The module with its row, where others need not be imported to find it; empty for any.
    """
    name = parser.prog.removeprefix("hybrid ")
    rows(module)
    add_common(parser, example=f"{parser.prog} {operation_named(name).example}")
    add_arguments(name, parser)
    parser.set_defaults(run_action=partial(perform_and_print, name))


configure = configure_operation
"""For commands that the table alone makes."""


def actions_of(command: str) -> dict[str, Action]:
    """Return the operations of a command as actions; `run_action` of their arguments performs and prints them."""
    return {
        action: Action(
            row.about, row.example, partial(perform_and_print, row.name), arguments=partial(add_arguments, row.name)
        )
        for row in rows(command)
        if row.about and (action := row.name.removeprefix(f"{command} ")) != row.name
    }


def perform_and_print(name: str, args: argparse.Namespace) -> int:
    """Perform an operation with arguments of the command line and print the result; 1 when nothing was found."""
    return print_outcome(args, perform_here(name, args), is_change=operation_named(name).is_writing)


def perform_here(name: str, args: argparse.Namespace, more: Mapping[str, Any] | None = None) -> Outcome:
    """Return the result of an operation that this process performs.

    Args:
        name: Its name in the table.
        args: Arguments of the command line.
        more: Arguments in place of theirs.
    """
    row = operation_named(name)
    given = {field: getattr(args, field, None) for field in row.arguments.__struct_fields__}
    if sentence := getattr(args, "sentence", None):
        given[sentence] = (query_of if sentence == "query" else " ".join)(given[sentence] or ())
    given = {field: value for field, value in {**given, **(more or {})}.items() if value is not None}
    return perform(row, asking_here(args, is_strict=not row.is_tolerant), given)


def asking_here(args: argparse.Namespace, *, is_strict: bool = True) -> Asking:
    """Return who asks where an operation is performed by this process; the same each time for one command line.

    Args:
        args: Arguments of the command line.
        is_strict: As for `workspace_of`.
    """
    from hybrid.knowledge.open_kinds import OpenKinds

    if "asking" not in args:
        now_ms = time.time_ns() // 1_000_000
        args.asking = Asking(
            workspace_of(args, is_strict=is_strict), OpenKinds(os.environ), os.environ, BY_HAND, "", now_ms
        )
    return args.asking


def print_outcome(
    args: argparse.Namespace, outcome: Outcome, *, is_change: bool, paint: Callable[[], None] | None = None
) -> int:
    """Print a result, and return the exit code: 1 when nothing was found.

    Args:
        args: Arguments of the command line.
        outcome: The result.
        is_change: It is of a change, which is quiet if that is asked for.
        paint: Prints what was found in place of its text.
    """
    for line in () if args.quiet else outcome.warning.splitlines():
        warn(line)
    if args.json:
        print_json(outcome.data, frame=outcome.frame)
    elif outcome.is_found and paint:
        paint()
    elif outcome.text and not (args.quiet and is_change and outcome.is_found):
        say_raw(outcome.frame + harmless(outcome.text.removeprefix(outcome.frame)))
    return 0 if outcome.is_found else 1


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of an operation that `types.word` and `types.option` describe, by their place or as options."""
    arguments = [one for one in described(operation_named(name).arguments) if "metavar" in one.extra]
    kinds = [one.extra["is_one_of"] for one in arguments if "is_one_of" in one.extra]
    group = parser.add_mutually_exclusive_group(required="must" in kinds) if kinds else parser
    for one in arguments:
        to = group if "is_one_of" in one.extra else parser
        if one.extra.get("is_word"):
            _add_word(to, parser, one)
        else:
            _add_option(to, one)


def _add_word(to: argparse._ActionsContainer, parser: argparse.ArgumentParser, one: Argument) -> None:  # pyright: ignore[reportPrivateUsage]
    is_list, is_sentence = isinstance(one.kind, inspect.ListType), bool(one.extra.get("is_sentence"))
    more: dict[str, Any] = {}
    if is_list or is_sentence:
        more = {"nargs": "+"} if one.is_needed else {"nargs": "*", "default": []}
    elif not one.is_needed:
        more = {"nargs": "?"}
    if is_sentence:
        parser.set_defaults(sentence=one.name)
    to.add_argument(one.name, metavar=one.extra["metavar"], help=one.about, **more)


def _add_option(to: argparse._ActionsContainer, one: Argument) -> None:  # pyright: ignore[reportPrivateUsage]
    named = f"--{one.name.replace('_', '-')}"
    names = [*SHORT.get(named, ()), named]
    more: dict[str, Any] = {"metavar": one.extra["metavar"] or None, "choices": one.extra["choices"] or None}
    if isinstance(one.kind, inspect.BoolType):
        more = {"action": "store_true"}
    elif isinstance(one.kind, inspect.ListType):
        more |= {"action": "append", "default": one.default}
    elif isinstance(one.kind, inspect.IntType):
        low, high = one.kind.ge or 0, one.kind.le
        more |= {"type": positive if high is None else whole_in(low, high), "default": one.default}
    elif isinstance(one.kind, inspect.FloatType):
        low, high = (math.inf * side if end is None else end for side, end in ((-1, one.kind.ge), (1, one.kind.le)))
        more |= {"type": number_in(low, high), "default": one.default}
    else:
        more["required"] = one.is_needed
    to.add_argument(*names, help=_help(one), **more)


def _help(one: Argument) -> str:
    """Return what an option is, the values that it may have, that it may be repeated, and its default."""
    choices = one.extra["choices"] if one.extra["metavar"] else ()
    low, high = getattr(one.kind, "ge", None), getattr(one.kind, "le", None)
    values = f": {', '.join(choices)}" if choices else "" if high is None else f", {low} to {high}"
    often = "; may be repeated" if isinstance(one.kind, inspect.ListType) else ""
    return f"{one.about}{values}{often}{f' (default: {one.default})' if one.default else ''}"
