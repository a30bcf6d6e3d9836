"""`hybrid score-local`: the same as `hybrid lessons score`, under the name that older scripts call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.cli.common import add_common
from hybrid.cli.lessons import configure_score

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example='hybrid score-local "how should I format git commits?" --top 3')
    configure_score(parser)


def run(args: argparse.Namespace) -> int:
    """Print the lessons that fit a text, as `hybrid lessons score`; exit code 1 when none fits."""
    from hybrid.cli import lessons_reading

    args.action = "score"
    return lessons_reading.run(args)
