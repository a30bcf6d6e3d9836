"""`hybrid eval`: measure hybrid on your own project and on judged queries; the laboratory adds the other measures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from hybrid.cli import evaluate_marks, evaluate_own, evaluate_retrieval
from hybrid.cli.evaluating import INSTALL_LAB

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = "hybrid.eval"
"""Entry points of this group are modules with `ABOUT`, `configure` and `run`; each is a subcommand of its name."""

LAB = ("chunks", "injection", "memory", "peer", "records", "redaction", "speed", "week")
"""What the laboratory measures, for whoever asks for it without having it."""


class _Measure(NamedTuple):
    """One subcommand."""

    about: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


_OWN = {
    "retrieval": _Measure(
        "how well judged queries are answered, and why", evaluate_retrieval.configure, evaluate_retrieval.run
    ),
    "init": _Measure(
        "propose queries from your own project, to be corrected", evaluate_own.configure_init, evaluate_own.run_init
    ),
    "run": _Measure("score those queries on your own project", evaluate_own.configure_run, evaluate_own.run_queries),
    "gate": _Measure("how often the decisions you marked were right", evaluate_marks.configure, evaluate_marks.run),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    measures = _measures()
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    for name, measure in measures.items():
        part = actions.add_parser(
            name,
            help=measure.about,
            description=measure.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        measure.configure(part)
        part.set_defaults(measure=measure.run)
    absent = [name for name in LAB if name not in measures]
    for name in absent:
        # No argument begins with this character, so whatever follows is taken as it is.
        part = actions.add_parser(name, add_help=False, prefix_chars="\N{NULL}")
        part.add_argument("rest", nargs="*")
        part.set_defaults(measure=_refuse)
    if absent:
        parser.epilog = f"{', '.join(absent)}, and judged prompts for gate: {INSTALL_LAB}"


def run(args: argparse.Namespace) -> int:
    """Run it."""
    return args.measure(args)


def _refuse(args: argparse.Namespace) -> int:
    """Say where a measure of the laboratory is to be had.

    Raises:
        HybridError: Always.
    """
    from hybrid.base.errors import HybridError

    raise HybridError(f"`hybrid eval {args.action}` is not installed; {INSTALL_LAB}")


def _measures() -> dict[str, _Measure]:
    """Our own measures, and those of installed distributions; these replace ours of the same name."""
    from importlib.metadata import entry_points

    modules = {entry.name: entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}
    return _OWN | {name: _Measure(each.ABOUT, each.configure, each.run) for name, each in modules.items()}
