"""`hybrid eval retrieval`: how well judged queries are answered, and what another setting or each part is worth.

`hybrid eval run` uses its options and tables for the user's own queries.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from hybrid.cli.common import add_common, add_repeated, print_json, say
from hybrid.cli.evaluating import add_shared, print_table, teller
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.config import Config
    from hybrid.evaluation.retrieval import Evaluation, Plan
    from hybrid.evaluation.trees import Configuration, Load


_MODES = ("hybrid", "dense", "lexical", "all")
_EXAMPLE = """hybrid eval retrieval queries.jsonl --repos ~/checkouts --manifest manifest.json
  hybrid eval retrieval queries.jsonl tasks.jsonl --repos ~/checkouts --against search.ranker=rrf
  hybrid eval retrieval queries.jsonl --repos ~/checkouts --ablation --plot ablation.svg"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    about = "judged queries; each file is reported apart"
    parser.add_argument("queries", nargs="+", type=Path, metavar="QUERIES.jsonl", help=about)
    add_shared(parser)
    parser.add_argument("--manifest", type=Path, metavar="FILE", help="names the folder of each repository to compare")
    about = "index everything, docs and tests too (default: code of that folder)"
    parser.add_argument("--whole", action="store_true", help=about)
    about = "holds a clone of each, whose commits tell up to a query's `known_at` (default: the repositories)"
    parser.add_argument("--history", type=Path, metavar="DIR", help=about)
    add_ways(parser)
    parser.add_argument("--run", type=Path, metavar="OUT.jsonl", help="write the rankings of the last mode")


def add_ways(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what is compared, and the plot."""
    about = "legs that take part (default: all; hybrid to compare something)"
    parser.add_argument("--mode", choices=_MODES, help=about)
    about = "compare with this setting on top of those in force; repeated ones act together"
    add_repeated(parser, "--against", "KEY=VALUE", about)
    parser.add_argument("--ablation", action="store_true", help="what each leg and each piece of evidence is worth")
    about = "draw languages, ablation and times of a query"
    parser.add_argument("--plot", type=Path, metavar="OUT.svg|OUT.png", help=about)


def run(args: argparse.Namespace) -> int:
    """Rank the judged queries, print the measures, write the rankings for `--run`; the exit code is that of `show`."""
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
    roots = read_roots(args.manifest) if args.manifest else {}
    trees = trees_of(
        [query for queries in judged.values() for query in queries],
        args.repos,
        roots=None if args.whole else roots,
        only=args.only,
        history=args.history,
    )
    ways = ways_of(args, load(()).config)
    evaluation = evaluate_ways(args, Plan(judged, trees, ways.all, tuple(args.only)), load)
    if args.run:
        from hybrid.evaluation.retrieval import write_run

        (results,) = evaluation.results.values()
        write_run(args.run, results.of(ways.in_force[-1].label))
    return show(args, evaluation, ways)


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the files by a short name: without folder and suffix, unless that stands for two of them."""
    stems = [path.stem for path in paths]
    return {str(path) if stems.count(path.stem) > 1 else path.stem: path for path in paths}


# --- ways to search ----------------------------------------------------------------------------------------


class Ways(NamedTuple):
    """The configurations of a run.

    Attributes:
        in_force: The settings in force in each mode; others are compared with the last one.
        against: The configurations that `--against` names; empty without it.
        ablation: The configurations with a part off for `--ablation`; empty without it.
    """

    in_force: Sequence[Configuration]
    against: Sequence[Configuration]
    ablation: Sequence[Configuration]

    @property
    def all(self) -> list[Configuration]:
        """Return all configurations, in the order in which they are shown."""
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
    """Return the configurations that the command line asks for."""
    from hybrid.evaluation.trees import MODES, ablations, against, in_force

    mode = args.mode or ("hybrid" if args.against or args.ablation else "all")
    modes = MODES if mode == "all" else (mode,)
    return Ways(
        in_force(modes),
        [against(args.against, modes[-1])] if args.against else [],
        ablations(config, modes[-1]) if args.ablation else [],
    )


def evaluate_ways(args: argparse.Namespace, plan: Plan, load: Load) -> Evaluation:
    """Rank every query under every configuration, with the indexes below `--home` or in a temporary folder."""
    from hybrid.evaluation.retrieval import evaluate_retrieval
    from hybrid.evaluation.trees import scratch_home

    with scratch_home(args.home) as home:
        return evaluate_retrieval(plan, home, load, report_repo=teller(args))


# --- output ------------------------------------------------------------------------------------------------


def show(args: argparse.Namespace, evaluation: Evaluation, ways: Ways) -> int:
    """Print the evaluation and draw its plot; the exit code is 1 when no query was asked."""
    form = form_of(evaluation, ways)
    if args.plot:
        from hybrid.evaluation.plot import write_bars

        write_bars(args.plot, form["sets"])
    if args.json:
        print_json(form)
    else:
        print_forms(form, is_quiet=args.quiet)
    return 0 if any(results.answered for results in evaluation.results.values()) else 1


def form_of(evaluation: Evaluation, ways: Ways) -> dict[str, Any]:
    """Return all results of an evaluation as JSON knows them."""
    from hybrid.evaluation.measures import MEASURES
    from hybrid.evaluation.timing import sum_up

    return {
        "model": evaluation.model,
        "measures": list(MEASURES),
        "bare_start": sum_up(evaluation.bare_ms).as_json(),
        "repositories": {
            name: {"documents": built.documents, "chunks": built.chunks, "build_s": round(built.seconds, 3)}
            for name, built in evaluation.builds.items()
        },
        "sets": {name: _set_form(evaluation, name, ways) for name in evaluation.results},
    }


def _set_form(evaluation: Evaluation, name: str, ways: Ways) -> dict[str, Any]:
    from hybrid.evaluation.results import compare

    results, base = evaluation.results[name], ways.in_force[-1].label

    def compared(others: Sequence[Configuration]) -> dict[str, Any]:
        differences = {each.label: compare(results, base, each.label) for each in others}
        return {label: {name: one.as_json() for name, one in by.items()} for label, by in differences.items()}

    return {
        **results.as_json(bare_ms=median(evaluation.bare_ms)),
        "n": {
            "repositories": results.n_queries(),
            "categories": results.n_queries(lambda query: query.category or "none"),
            "languages": results.n_queries(lambda query: query.language or "none"),
        },
        "in_force": [each.label for each in ways.in_force],
        "against": compared(ways.against),
        "ablation": compared(ways.ablation),
    }


# --- tables for a person ----------------------------------------------------------------------------------


_COLUMNS = ("nDCG@10", "R@5", "R@10", "RR@10", "Success@1")
_GROUPS = (("repositories", "repository"), ("categories", "category"), ("languages", "language"))
_MAIN = "nDCG@10"
_TOKENS = ("tokens_mean", "tokens_median")
_CHANGE, _SHARES = ("difference", "low", "high"), ("better", "equal", "worse")


def print_forms(form: Mapping[str, Any], *, is_quiet: bool) -> None:
    """Print what an evaluation of rankings found.

    Args:
        form: The JSON that `form_of` returns.
        is_quiet: Leave out what is told by category and language.
    """
    sets: Mapping[str, Any] = form["sets"]
    for name, results in sets.items():
        if len(sets) > 1:
            say(f"== {name}: {amount(results['queries'], 'query', 'queries')}")
            say("")
        _print_set(results, is_quiet=is_quiet)


def _print_set(results: Mapping[str, Any], *, is_quiet: bool) -> None:
    configurations: Mapping[str, Any] = results["configurations"]
    if not results["queries"]:
        say("no query is about a repository that is there")
        say("")
    else:
        for label in results["in_force"]:
            for key, name in _GROUPS[:1] if is_quiet else _GROUPS:
                _print_scores(f"{label}: by {name}", configurations[label][key], results["n"][key])
        for second, differences in results["against"].items():
            _print_difference(results["in_force"][-1], second, differences)
            if not is_quiet:
                _print_beside(configurations[results["in_force"][-1]], configurations[second], results["n"])
        if results["ablation"]:
            _print_ablation(results["ablation"])
        shown = [*results["in_force"], *results["against"]]
        n_repos = len(configurations[shown[0]]["repositories"])
        rows = {label: configurations[label]["overall"] for label in shown}
        _print_latency({label: configurations[label]["latency"] for label in shown})
        _print_scores(f"mean of the means of {amount(n_repos, 'repository', 'repositories')}", rows, {})
        say("nDCG@10 and tokens count chunks: where lines are judged, the right file with another chunk is no hit;")
        say("the other measures count files.")
    if results["missing"]:
        say(f"not there: {', '.join(results['missing'])}")


def _print_scores(title: str, rows: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]) -> None:
    table = [
        [name, str(counts.get(name, "")), *_shown(each, ".4f", *_COLUMNS), *_shown(each, ".0f", *_TOKENS)]
        for name, each in rows.items()
    ]
    print_table(title, ["", "n", *_COLUMNS, "tokens to hit", "median"], table)


def _print_latency(rows: Mapping[str, Mapping[str, Any]]) -> None:
    keys = ("median_ms", "p95_ms", "per_bare_start", "per_first")
    table = [[label, str(times["n"]), *_shown(times, ".2f", *keys)] for label, times in rows.items()]
    print_table("time of a query", ["", "n", "median ms", "p95 ms", "per bare python", "per first"], table)


def _print_difference(first: str, second: str, differences: Mapping[str, Mapping[str, Any]]) -> None:
    table: list[Sequence[str]] = []
    for measure, each in differences.items():
        digits = ".0f" if measure == "tokens" else ".4f"
        kept = each["kept"] or {"gain": None, "held": None}
        values = [*_shown(each, digits, "first", "second"), *_shown(each, f"+{digits}", *_CHANGE)]
        chosen = [*_shown(kept, f"+{digits}", "gain"), *_shown(kept, ".1%", "held")]
        table.append([measure, *values, *_shown(each, ".1%", *_SHARES), *chosen])
    heads = ["", "in force", "against", "difference", "95 % from", "to", "better", "equal", "worse"]
    print_table(f"{second} against the settings in force, {first}", [*heads, "gain if chosen", "held"], table)
    of = next(each["of"] for each in differences.values())
    say(f"  better, equal, worse: share of the {of}; gain if chosen: choosing on half of the {of}")
    say("  and counting on the other half; held: share of such choices that did no harm there")
    say("")


def _shown(values: Mapping[str, Any], form: str, *keys: str) -> list[str]:
    """Return the values of the keys as cells of a table, in a format of `format`; None becomes a dash."""
    return ["–" if values[key] is None else format(values[key], form) for key in keys]


def _print_beside(first: Mapping[str, Any], second: Mapping[str, Any], n: Mapping[str, Mapping[str, int]]) -> None:
    """Print the main measure of the settings in force and of `--against`, and the difference, by group of queries."""
    for key, name in _GROUPS:
        table: list[Sequence[str]] = []
        for group, scores in first[key].items():
            before, after = scores[_MAIN], second[key][group][_MAIN]
            counted = str(n[key].get(group, ""))
            table.append([group, counted, f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"])
        print_table(f"{_MAIN} by {name}", ["", "n", "in force", "against", "difference"], table)


def _print_ablation(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    table: list[Sequence[str]] = []
    for label, of in rows.items():
        main = [*_shown(of[_MAIN], ".4f", "second"), *_shown(of[_MAIN], "+.4f", *_CHANGE)]
        others = [f"{of['R@10']['difference']:+.4f}", f"{of['tokens']['difference']:+.0f}"]
        table.append([label, *main, *_shown(of[_MAIN], ".1%", *_SHARES), *others])
    heads = ["", _MAIN, "change", "95 % from", "to", "better", "equal", "worse", "R@10", "tokens"]
    print_table("ablation: change against the settings in force; below 0 the part was worth it", heads, table)
