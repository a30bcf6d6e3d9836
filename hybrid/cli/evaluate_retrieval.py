"""`hybrid eval retrieval`: how well judged queries are answered, and what another setting or each part is worth."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, print_json
from hybrid.cli.evaluate_tables import print_forms
from hybrid.cli.evaluating import add_shared, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.config import Config
    from hybrid.evaluation.comparing import Difference
    from hybrid.evaluation.configurations import Configuration
    from hybrid.evaluation.opening import Load
    from hybrid.evaluation.retrieval import Evaluation, Plan

_MODES = ("hybrid", "dense", "lexical", "all")
_EXAMPLE = """hybrid eval retrieval queries.jsonl --repos ~/checkouts --manifest manifest.json
  hybrid eval retrieval queries.jsonl tasks.jsonl --repos ~/checkouts --against search.ranker=rrf
  hybrid eval retrieval queries.jsonl --repos ~/checkouts --ablation --plot ablation.svg"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument(
        "queries", nargs="+", type=Path, metavar="QUERIES.jsonl", help="judged queries; each file is reported apart"
    )
    add_shared(parser)
    parser.add_argument("--manifest", type=Path, metavar="FILE", help="names the folder of each repository to compare")
    parser.add_argument(
        "--whole", action="store_true", help="index everything, docs and tests too (default: code of that folder)"
    )
    add_ways(parser)
    parser.add_argument("--run", type=Path, metavar="OUT.jsonl", help="write the rankings of the last mode")


def add_ways(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what is compared, and the plot."""
    parser.add_argument(
        "--mode",
        choices=_MODES,
        help="legs that take part (default: all; hybrid to compare something)",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="compare with this setting on top of those in force; repeated ones act together",
    )
    parser.add_argument("--ablation", action="store_true", help="what each leg and each piece of evidence is worth")
    parser.add_argument(
        "--plot", type=Path, metavar="OUT.svg|OUT.png", help="draw languages, ablation and times of a query"
    )


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.qrels import read_queries, read_roots
    from hybrid.evaluation.retrieval import Plan, trees_of
    from hybrid.evaluation.trees import settings_in_force

    if args.run and len(args.queries) > 1:
        raise HybridError("--run writes the rankings of one QUERIES.jsonl; call it once for each file")
    check_ways(args)

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments])

    judged = {name: read_queries(path) for name, path in _named(args.queries).items()}
    trees = trees_of(
        [query for queries in judged.values() for query in queries],
        args.repos,
        roots=read_roots(args.manifest) if args.manifest else {},
        is_whole=args.whole,
        only=args.only,
    )
    ways = ways_of(args, load(()).config)
    found = evaluate_ways(args, Plan(judged, trees, ways.all, tuple(args.only)), load)
    if args.run:
        from hybrid.evaluation.retrieval import write_run

        (results,) = found.results.values()
        write_run(args.run, results.of(ways.in_force[-1].label))
    return show(args, found, ways)


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by a short name: without folder and suffix, unless that stands for two of them."""
    stems = [path.stem for path in paths]
    return {str(path) if stems.count(path.stem) > 1 else path.stem: path for path in paths}


# --- ways to search ----------------------------------------------------------------------------------------


class Ways:
    """The configurations of a run.

    Attributes:
        in_force: The settings in force in each mode; others are compared with the last one.
        against: What `--against` names; empty without it.
        ablation: What `--ablation` switches off; empty without it.
    """

    def __init__(
        self, in_force: Sequence[Configuration], against: Sequence[Configuration], ablation: Sequence[Configuration]
    ) -> None:
        self.in_force = in_force
        self.against = against
        self.ablation = ablation

    @property
    def all(self) -> list[Configuration]:
        """In the order in which they are shown."""
        return [*self.in_force, *self.against, *self.ablation]


def check_ways(args: argparse.Namespace) -> None:
    """Find out before minutes of work whether its results can be written.

    Raises:
        HybridError: The plot cannot be drawn.
    """
    if args.plot:
        from hybrid.evaluation.plot import check_plot

        check_plot(args.plot)


def ways_of(args: argparse.Namespace, config: Config) -> Ways:
    """The configurations that the command line asks for."""
    from hybrid.evaluation.configurations import MODES, ablations, against, in_force

    mode = args.mode or ("hybrid" if args.against or args.ablation else "all")
    modes = MODES if mode == "all" else (mode,)
    return Ways(
        in_force(modes),
        [against(args.against, modes[-1])] if args.against else [],
        ablations(config, modes[-1]) if args.ablation else [],
    )


def evaluate_ways(args: argparse.Namespace, plan: Plan, load: Load) -> Evaluation:
    """Ask everything, with the indexes where the command line wants them."""
    from hybrid.evaluation.retrieval import evaluate_retrieval
    from hybrid.evaluation.trees import scratch_home

    with scratch_home(args.home) as home:
        return evaluate_retrieval(plan, home, load, report_repo=teller(args))


# --- output ------------------------------------------------------------------------------------------------


def show(args: argparse.Namespace, found: Evaluation, ways: Ways) -> int:
    """Print what was found, and draw it; the exit code is 1 when nothing was asked."""
    form = form_of(found, ways)
    if args.plot:
        from hybrid.evaluation.plot_bars import write_bars

        write_bars(args.plot, form["sets"])
    if args.json:
        print_json(form)
    else:
        print_forms(form, is_quiet=args.quiet)
    return 0 if any(results.answered for results in found.results.values()) else 1


def form_of(found: Evaluation, ways: Ways) -> dict[str, Any]:
    """All that was found, as JSON knows it."""
    from hybrid.evaluation.measures import MEASURES
    from hybrid.evaluation.timing import sum_up

    return {
        "model": found.model,
        "measures": list(MEASURES),
        "bare_start": sum_up(found.bare_ms).as_json(),
        "repositories": {
            name: {"documents": built.documents, "chunks": built.chunks, "build_s": round(built.seconds, 3)}
            for name, built in found.builds.items()
        },
        "sets": {name: _set_form(found, name, ways) for name in found.results},
    }


def _set_form(found: Evaluation, name: str, ways: Ways) -> dict[str, Any]:
    from hybrid.evaluation.comparing import compare

    results, base = found.results[name], ways.in_force[-1].label

    def compared(others: Sequence[Configuration]) -> dict[str, Any]:
        return {each.label: _forms(compare(results, base, each.label)) for each in others}

    return {
        **results.as_json(bare_ms=median(found.bare_ms)),
        "n": {
            "repositories": results.n_queries(),
            "categories": results.n_queries(lambda query: query.category or "none"),
            "languages": results.n_queries(lambda query: query.language or "none"),
        },
        "in_force": [each.label for each in ways.in_force],
        "against": compared(ways.against),
        "ablation": compared(ways.ablation),
    }


def _forms(differences: dict[str, Difference]) -> dict[str, Any]:
    return {measure: difference.as_json() for measure, difference in differences.items()}
