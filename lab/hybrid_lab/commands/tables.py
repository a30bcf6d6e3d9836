"""`hybrid eval tables`: what each embedding model is worth for search, gate, records and prose, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluate import add_settings, print_table

if TYPE_CHECKING:
    import argparse

ABOUT = "what each embedding model is worth for search, gate, records and prose"
_EXAMPLE = """hybrid eval tables static-v1 ~/models/mine --repos ~/trees --questions questions.jsonl --gate gate.jsonl
  hybrid eval tables static-v1 --records lab/data/records --prose ~/checkouts/sphinx"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="name or folder of a model")
    parser.add_argument("--repos", type=Path, metavar="DIR", help="holds a folder for each repository")
    parser.add_argument("--manifest", type=Path, metavar="FILE", help="names the folder of each for the questions")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="judged questions about code")
    parser.add_argument("--tasks", type=Path, metavar="FILE", help="judged tasks, asked of whole repositories")
    parser.add_argument("--gate", type=Path, metavar="FILE", help="judged prompts of the gate")
    parser.add_argument("--records", type=Path, metavar="DIR", help="judged prompts with their records")
    parser.add_argument("--prose", type=Path, nargs="+", default=[], metavar="DIR", help="folders with documentation")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid_lab.tables import Data, measure

    files = (args.questions, args.tasks, args.gate)
    if any(files) and not args.repos:
        raise HybridError("questions, tasks and gate prompts need --repos, the folder of the repositories")
    data = Data(args.repos, args.manifest, *files, args.records, tuple(args.prose))
    index = settings_in_force(args.settings).config.index
    figures: dict[str, dict[str, float]] = {}
    for model in args.models:
        with scratch_home(None) as home:
            figures[model] = measure(model, data, home, index, args.settings)
    if args.json:
        print_json(figures)
        return 0
    names = list(dict.fromkeys(name for found in figures.values() for name in found))
    if not names:
        say("nothing to measure: name questions, tasks, gate prompts, records or prose")
        return 1
    rows = [[name, *(_shown(found.get(name)) for found in figures.values())] for name in names]
    print_table("models", ["", *(Path(model).name for model in figures)], rows)
    return 0


def _shown(figure: float | None) -> str:
    if figure is None:
        return "–"
    return f"{figure:.4f}" if figure <= 1 else f"{figure:g}"
