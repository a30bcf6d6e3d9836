"""`hybrid eval gate --marks`: whether the gate spoke when the user wanted it.

The laboratory's `gate` replaces this subcommand and uses its parts: it judges prompts too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluating import INSTALL_LAB, percent, print_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hybrid.evaluation.marked import MarkedReport


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval gate --marks")
    parser.add_argument("prompts", nargs="?", metavar="GATE.jsonl", help=f"judged prompts; {INSTALL_LAB}")
    add_marks(parser)


def add_marks(parser: argparse.ArgumentParser) -> None:
    """Add `--marks`."""
    parser.add_argument("--marks", action="store_true", help="the decisions you judged with `hybrid mark`")


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when nothing is marked.

    Raises:
        HybridError: Judged prompts are named, or no marks are asked for.
    """
    from hybrid.base.errors import HybridError

    if args.prompts or not args.marks:
        raise HybridError(f"`hybrid eval gate` needs --marks, for what you judged with `hybrid mark`; {INSTALL_LAB}")
    report = marked_report()
    if args.json:
        print_json({"marks": report.as_json()})
    else:
        print_marked(report.as_json())
    return 0 if report.decisions else 1


def marked_report() -> MarkedReport:
    """What the user's marks say, whatever project they are of."""
    from hybrid.evaluation.marked import evaluate_marks
    from hybrid.feedback.events import log_folder
    from hybrid.feedback.marks import read_marks
    from hybrid.project.places import hybrid_home

    return evaluate_marks(read_marks(log_folder(hybrid_home(os.environ))))


def print_marked(form: Mapping[str, Any]) -> None:
    """Print a `MarkedReport` in its JSON form."""
    from hybrid.evaluation.marked import FEWEST

    say(f"marks: {form['n_wanted']} good, {form['n_unwanted']} noise")
    if form["n_left_out"]:
        say(f"  {form['n_left_out']} more are of decisions that no gate made (session starts, pauses, no index)")
    for name, when in (("wanted", "wanted"), ("unwanted", "not wanted")):
        say(f"  spoke when {when} {form[f'injected_{name}']} of {form[f'n_{name}']}")
    if not form["is_enough"]:
        say(f"  too few for a rate: at least {FEWEST} good and {FEWEST} noise are needed; `hybrid mark` makes more")
        return
    say(f"  injected when wanted {percent(form['true_rate'])}, when not wanted {percent(form['false_rate'])}")
    say(f"  AUC of the margin, score - threshold: {form['auc']:.4f}")
    rows = [
        [
            at["label"],
            "–" if at["shift"] is None else f"{at['shift']:+.4f}",
            percent(at["true_rate"]),
            percent(at["false_rate"]),
        ]
        for at in form["at"]
    ]
    print_table("thresholds moved", ["", "by", "true", "false"], rows)
