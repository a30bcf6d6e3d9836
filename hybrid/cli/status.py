"""`hybrid status` and `hybrid doctor`: the status as JSON or as a table, what doctor finds as it is found."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.cli.common import print_table, say
from hybrid.cli.operations import asking_here, configure_operation, perform_here, print_outcome

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    configure_operation(parser, "doctor")
    parser.set_defaults(run_action=run)
    parser.add_argument("--table", action="store_true", help="print the table in a pipe too")


def run(args: argparse.Namespace) -> int:
    """Print the state of the project, as a table on a terminal and as JSON elsewhere; returns 0."""
    outcome = perform_here("status", args)
    args.json = args.json or not (sys.stdout.isatty() or args.table)
    return print_outcome(args, outcome, is_change=False, paint=partial(print_table, outcome.found))


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hybrid doctor`."""
    configure_operation(parser, "doctor")
    parser.set_defaults(run_action=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    """Print every finding as it is made, then what was mended; exit code 1 when one of them is a problem."""

    def tell(line: str) -> None:
        say(line)
        sys.stdout.flush()

    args.asking = replace(asking_here(args, is_strict=False), tell=None if args.json else tell)
    return print_outcome(args, perform_here("doctor", args), is_change=False)
