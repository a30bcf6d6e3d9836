"""Operations as actions of commands: options from the types of their arguments, and their results as text or JSON."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

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
from hybrid.operations.types import described

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hybrid.operations.types import Argument


def actions_of(command: str) -> dict[str, Action]:
    """Return the operations of a command as actions; `run_action` of their arguments performs and prints them."""
    return {
        action: Action(row.about, row.example, partial(run, name), arguments=partial(add_arguments, name))
        for name, row in COMMANDS.items()
        if row.about and (action := name.removeprefix(f"{command} ")) != name
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
    given = {field: getattr(args, field, None) for field in COMMANDS[name].arguments.__struct_fields__}
    if sentence := getattr(args, "sentence", None):
        given[sentence] = (query_of if sentence == "query" else " ".join)(given[sentence] or ())
    given = {field: value for field, value in {**given, **(more or {})}.items() if value is not None}
    outcome = perform(name, asking_here(args), given)
    assert isinstance(outcome, Outcome), name
    return outcome


def asking_here(args: argparse.Namespace) -> Asking:
    """Return who asks where an operation is performed by this process; the same each time for one command line."""
    from hybrid.knowledge.open_kinds import OpenKinds

    if "asking" not in args:
        now_ms = time.time_ns() // 1_000_000
        args.asking = Asking(workspace_of(args), OpenKinds(os.environ), os.environ, "manual", "", now_ms)
    return args.asking


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
    """Add the arguments of an operation that `types.word` and `types.option` describe, by their place or as options."""
    arguments = [one for one in described(COMMANDS[name].arguments) if "metavar" in one.extra]
    one_of = any("is_one_of" in one.extra for one in arguments)
    group = parser.add_mutually_exclusive_group(required=True) if one_of else parser
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
        more |= {"type": number_of, "default": one.default}
    else:
        more["required"] = one.is_needed
    to.add_argument(*names, help=one.about, **more)
