"""`hybrid eval`: measure hybrid on your own project and on judged queries; the laboratory adds the other measures.

`retrieval` says how well judged queries are answered, and what another setting or each part is worth; `init` and `run`
judge the user's own project, `gate --marks` the decisions that the user marked. `hybrid models bench` compares models.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from hybrid.base.errors import HybridError, ModelError, ProjectError
from hybrid.cli.common import add_common, add_repeated, positive, print_json, say, workspace_of
from hybrid.evaluation.measures import QrelsError
from hybrid.project.find import FOLDER_NAME, refusal
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.config import Config, Loaded
    from hybrid.evaluation.decisions import MarkedReport
    from hybrid.evaluation.own import Own
    from hybrid.evaluation.results import Configuration
    from hybrid.evaluation.retrieval import Evaluation, JudgedTree, Load, Plan
    from hybrid.workspace import Workspace


INSTALL_LAB = "the laboratory measures it: pip install hybrid-lab"
"""The end of a message on measures that most users do not need: how to install the laboratory that has them."""


def add_shared(parser: argparse.ArgumentParser, *, needs_repos: bool = True) -> None:
    """Add the options that name repositories and where their indexes lie, and `--set`."""
    about = "holds a folder for each repository"
    parser.add_argument("--repos", type=Path, required=needs_repos, metavar="DIR", help=about)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these repositories")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the indexes here (default: a temporary folder)")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add `--set`."""
    about = "a setting or constant for this run, for example search.rrf_k=20; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help=about)


def teller(args: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that names the present work on standard error, for a person who waits."""

    def tell(name: str) -> None:
        if sys.stderr.isatty() and not args.quiet:
            sys.stderr.write(f"{name}\n")

    return tell


def print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a plain table, the first column to the left, the others to the right; some letters fill two columns."""
    from rich.cells import cell_len

    listed = [[harmless_line(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(cell_len(row[column]) for row in listed) for column in range(len(heads))]
    say(title)
    for row in listed:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        first, *others = row
        cells = [first + gaps[0], *(gap + cell for cell, gap in zip(others, gaps[1:], strict=True))]
        say(f"  {'  '.join(cells).rstrip()}")
    say("")


def percent(share: float | None) -> str:
    """Return a share, 0 to 1, in percent with one digit after the point; a dash for None."""
    return "–" if share is None else f"{share:.1%}"


_MODES = ("hybrid", "dense", "lexical", "all")
_EXAMPLE = """hybrid eval retrieval queries.jsonl --repos ~/checkouts --manifest manifest.json
  hybrid eval retrieval queries.jsonl tasks.jsonl --repos ~/checkouts --against search.ranker=rrf
  hybrid eval retrieval queries.jsonl --repos ~/checkouts --ablation --plot ablation.svg"""


def configure_retrieval(parser: argparse.ArgumentParser) -> None:
    """Add the options of `retrieval`."""
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


def run_retrieval(args: argparse.Namespace) -> int:
    """Rank the judged queries, print the measures, write the rankings for `--run`; the exit code is that of `show`."""
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.measures import read_queries, read_roots
    from hybrid.evaluation.retrieval import Plan, settings_in_force, trees_of, write_run

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
    from hybrid.evaluation.retrieval import MODES, ablations, against, in_force

    mode = args.mode or ("hybrid" if args.against or args.ablation else "all")
    modes = MODES if mode == "all" else (mode,)
    return Ways(
        in_force(modes),
        [against(args.against, modes[-1])] if args.against else [],
        ablations(config, modes[-1]) if args.ablation else [],
    )


def evaluate_ways(args: argparse.Namespace, plan: Plan, load: Load) -> Evaluation:
    """Rank every query under every configuration, with the indexes below `--home` or in a temporary folder."""
    from hybrid.evaluation.retrieval import evaluate_retrieval, scratch_home

    with scratch_home(args.home) as home:
        return evaluate_retrieval(plan, home, load, report_repo=teller(args))


# --- output ------------------------------------------------------------------------------------------------


def show(args: argparse.Namespace, evaluation: Evaluation, ways: Ways) -> int:
    """Print the evaluation and draw its plot; the exit code is 1 when no query was asked."""
    form = _form_of(evaluation, ways)
    if args.plot:
        from hybrid.evaluation.plot import write_bars

        write_bars(args.plot, form["sets"])
    if args.json:
        print_json(form)
    else:
        _print_forms(form, is_quiet=args.quiet)
    return 0 if any(results.answered for results in evaluation.results.values()) else 1


def _form_of(evaluation: Evaluation, ways: Ways) -> dict[str, Any]:
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


def _print_forms(form: Mapping[str, Any], *, is_quiet: bool) -> None:
    """Print what an evaluation of rankings found.

    Args:
        form: The JSON that `_form_of` returns.
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


# --- `gate`: marked decisions -----------------------------------------------------------------------------


def configure_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gate`."""
    add_common(parser, example="hybrid eval gate --marks")
    parser.add_argument("prompts", nargs="?", metavar="GATE.jsonl", help=f"judged prompts; {INSTALL_LAB}")
    add_marks(parser)


def add_marks(parser: argparse.ArgumentParser) -> None:
    """Add `--marks`."""
    parser.add_argument("--marks", action="store_true", help="the decisions you judged with `hybrid mark`")


def run_gate(args: argparse.Namespace) -> int:
    """Print how well the gate decided where the user marked it; exit code 1 when no decision of it is marked.

    Raises:
        HybridError: Judged prompts are named, or no marks are asked for.
    """
    if args.prompts or not args.marks:
        raise HybridError(f"`hybrid eval gate` needs --marks, for what you judged with `hybrid mark`; {INSTALL_LAB}")
    report = marked_report()
    if args.json:
        print_json({"marks": report.as_json()})
    else:
        print_marked(report.as_json())
    return 0 if report.decisions else 1


def marked_report() -> MarkedReport:
    """Return the report on the user's marks, whatever project they are of."""
    from hybrid.evaluation.decisions import evaluate_marks
    from hybrid.log.events import log_folder
    from hybrid.log.marks import read_marks
    from hybrid.project.find import hybrid_home

    return evaluate_marks(read_marks(log_folder(hybrid_home(os.environ))))


def print_marked(form: Mapping[str, Any]) -> None:
    """Print a `MarkedReport` in its JSON form."""
    from hybrid.evaluation.decisions import FEWEST

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
    rows: list[Sequence[str]] = []
    for at in form["at"]:
        shift = "–" if at["shift"] is None else f"{at['shift']:+.4f}"
        rows.append([at["label"], shift, percent(at["true_rate"]), percent(at["false_rate"])])
    print_table("thresholds moved", ["", "by", "true", "false"], rows)


# --- `holdout`: what injections are worth ------------------------------------------------------------------


def configure_holdout(parser: argparse.ArgumentParser) -> None:
    """Add the options of `holdout`."""
    add_common(parser, example="hybrid config set experiment.holdout 0.1 --user\n  hybrid eval holdout")
    about = "which differences are found with how many sessions, on simulated ones (a minute)"
    parser.add_argument("--power", action="store_true", help=about)
    parser.add_argument("--share", type=float, default=0.1, metavar="SHARE", help="held out in --power (default: 0.1)")


def run_holdout(args: argparse.Namespace) -> int:
    """Compare the sessions of all projects with those that were held out; exit code 1 without any of both sides."""
    from hybrid.evaluation import holdout

    if args.power:
        return _run_power(args)
    found = holdout.report(list(workspace_of(args).outcomes.newest()))
    if args.json:
        print_json(found)
        return 0 if found["held_out"] else 1
    _print_holdout("all sessions", found)
    if not args.quiet:
        for task, some in found["by_task"].items():
            _print_holdout(f"sessions that mostly ask for a {task}", some)
        names = ("given", "given_used", "held_out", "held_out_used")
        rows = [[kind, *(str(counts[name]) for name in names)] for kind, counts in found["items"].items()]
        print_table("files and records that the agent then used", ["", "given", "used", "held out", "used"], rows)
    return 0 if found["held_out"] else 1


def _print_holdout(title: str, found: Mapping[str, Any]) -> None:
    from hybrid.evaluation.holdout import FEWEST, FIGURES, LEAST_EFFECT

    n, n_held = found["sessions"], found["held_out"]
    if min(n_held, n - n_held) < FEWEST:
        say(f"{title}: {n - n_held} got injections, {n_held} were held out; at least {FEWEST} of each are needed")
        say("")
        return
    rows: list[Sequence[str]] = []
    for name, one in found["differences"].items():
        more = max((one["needed"] or 0) - one["n"], 0)
        told = f"{one['ratio'] - 1:+.0%} ({one['low'] - 1:+.0%} to {one['high'] - 1:+.0%})" if one["is_found"] else ""
        told = told or (f"not known; {LEAST_EFFECT:.0%} needs {more:,} more sessions" if more else "none found")
        rows.append([FIGURES[name], f"{one['given']:.2f}", f"{one['held_out']:.2f}", told])
    heads = ["", f"got injections ({n - n_held})", f"held out ({n_held})", "difference (95 %)"]
    print_table(f"{title}: means of a session", heads, rows)


def _run_power(args: argparse.Namespace) -> int:
    """Print how often simulated experiments of some sizes find differences of some sizes."""
    from hybrid.evaluation.holdout import power

    effects, sizes = (0.0, 0.1, 0.2, 0.3, 0.4), (100, 300, 1_000, 3_000)
    if not 0 < args.share <= 0.5:
        raise HybridError(f"--share {args.share}: a share above 0 and up to 0.5 can be held out")
    found = {n: {effect: power(n, args.share, effect, trials=100) for effect in effects} for n in sizes}
    if args.json:
        table = [
            {"sessions": n, "effect": effect, "found": one[0]} for n, of in found.items() for effect, one in of.items()
        ]
        print_json({"share": args.share, "power": table})
        return 0
    heads = ["sessions", *(f"−{effect:.0%}" if effect else "none (anything)" for effect in effects)]
    rows = [[f"{n:,}", *(percent(one[0 if effect else 1]) for effect, one in of.items())] for n, of in found.items()]
    print_table(f"share of experiments that find fewer searches, {args.share:.0%} held out", heads, rows)
    return 0


# --- `init` and `run`: the user's own project -------------------------------------------------------------


FILE_NAME = "eval.jsonl"
_RUN_EXAMPLE = """hybrid eval run
  hybrid eval run --against index.chunk_max_chars=1000
  hybrid eval run --ablation --plot ablation.svg"""


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    add_common(parser, example="hybrid eval init --limit 60")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where to write (default: .hybrid/{FILE_NAME})")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="queries at most (default: 100)")
    about = "another seed proposes others (default: 7)"
    parser.add_argument("--seed", type=positive, default=7, metavar="N", help=about)
    parser.add_argument("--force", action="store_true", help="replace the file, with whatever was corrected in it")


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    add_common(parser, example=_RUN_EXAMPLE)
    about = f"of `hybrid eval init` (default: .hybrid/{FILE_NAME})"
    parser.add_argument("queries", type=Path, nargs="?", metavar="FILE", help=about)
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the index here (default: a temporary folder)")
    add_settings(parser)
    add_ways(parser)


def run_init(args: argparse.Namespace) -> int:
    """Propose queries and write them to a file; when the project gives none, write nothing and return exit code 1."""
    from hybrid.evaluation.own import lines_of, propose, write_own
    from hybrid.upkeep.indexing import chunk_limits, file_source

    workspace = _workspace(args)
    project, settings = workspace.require_project(), workspace.config.index
    path = args.out or _default_file(workspace)
    if path.exists() and not args.force:  # Before a large project is read.
        raise QrelsError(f"{path} is there, and may hold corrections; --force replaces it, --out names another")
    source = file_source(project.root, settings, workspace.home)
    proposals = propose(source, chunk_limits(settings), n=args.limit, seed=args.seed)
    if proposals:
        write_own(path, proposals, project.name, lines_of(workspace), is_forced=args.force)
    counts = {name: sum(each.category == name for each in proposals) for name in ("semantic", "heading", "symbol")}
    if args.json:
        print_json({"file": str(path) if proposals else None, "queries": len(proposals), "categories": counts})
    elif not proposals:
        say("nothing was proposed: no comment of four words or more, no heading and no definition was found")
    elif not args.quiet:
        every = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        say(f"{path}: {amount(len(proposals), 'query', 'queries')} ({every})")
        say("Read and correct it: delete lines, reword a `query`, add what else answers to `gold`; remove the `digest`")
        say("of a passage whose lines you change. Then: hybrid eval run")
    return 0 if proposals else 1


def run_queries(args: argparse.Namespace) -> int:
    """Score the queries of the project's file, with held-out files hidden from the index; exit code as of `show`."""
    from hybrid.evaluation.own import lines_of, read_own
    from hybrid.evaluation.retrieval import Plan

    check_ways(args)
    workspace = _workspace(args)
    project = workspace.require_project()
    path = args.queries or _default_file(workspace)
    if not path.exists():
        raise QrelsError(f"{path} is not there; `hybrid eval init` proposes one")
    own = read_own(path, project.name, lines_of(workspace))
    trees, load = _tree_and_settings(workspace, path, own, args.settings)
    ways = ways_of(args, load(()).config)
    plan = Plan({path.stem: own.queries}, trees, ways.all)
    code = show(args, evaluate_ways(args, plan, load), ways)
    if own.left_out and not args.json:
        say(f"left out, since their text has changed: {', '.join(own.left_out)}")
        say("`hybrid eval init --force` proposes anew")
    return code


def _tree_and_settings(
    workspace: Workspace, path: Path, own: Own, settings: Sequence[str]
) -> tuple[dict[str, JudgedTree], Load]:
    """Return the project without what its queries were made of, and its settings with others on top of them."""
    from hybrid.evaluation.own import inside
    from hybrid.evaluation.retrieval import IndexScope, JudgedTree, settings_in_force

    project = workspace.require_project()
    folder = project.root / FOLDER_NAME if project.has_folder else None
    scope = IndexScope(held_out=own.held_out, left_out=inside(path, project.root))

    def load(assignments: Sequence[str]) -> Loaded:
        return settings_in_force([*settings, *assignments], folder=folder)

    return {project.name: JudgedTree(project.root, scope)}, load


def _workspace(args: argparse.Namespace) -> Workspace:
    """Return the workspace of the project here.

    Raises:
        ProjectError: There is none, or it is a home directory or the root of a file system.
    """
    workspace = workspace_of(args)
    reason = refusal(workspace.require_project().root, Path.home())
    if reason:
        raise ProjectError(reason)
    return workspace


def _default_file(workspace: Workspace) -> Path:
    """Return the file of a project's queries.

    Raises:
        QrelsError: The project has no `.hybrid/`, into which nothing is written unasked.
    """
    project = workspace.require_project()
    if not project.has_folder:
        raise QrelsError(f"{project.root} has no {FOLDER_NAME} folder; run `hybrid init`, or name a file of your own")
    return project.root / FOLDER_NAME / FILE_NAME


# --- `hybrid models bench` ----------------------------------------------------------------------------------


def bench(args: argparse.Namespace) -> int:
    """Compare models on this machine and project, and print what was found; returns 0.

    Raises:
        ProjectError: There is no project here, or it is a home directory or the root of a file system.
        ModelError: A named model is not on disk, or cannot be loaded.
        QrelsError: The file of questions cannot be read, or none of them can be asked now.
    """
    from hybrid.evaluation import model_bench
    from hybrid.evaluation.own import lines_of, read_own
    from hybrid.evaluation.retrieval import scratch_home
    from hybrid.evaluation.timing import machine, runner

    workspace = _workspace(args)
    project = workspace.require_project()
    names = model_bench.models_to_compare(args.names, workspace)
    own = read_own(args.questions, project.name, lines_of(workspace)) if args.questions else None
    sample = model_bench.sample_of(workspace, [query.text for query in own.queries] if own else ())
    with scratch_home(None) as home:
        speeds, failed = model_bench.time_models(names, sample, runner(home, workspace.loaded), teller(args))
        if failed and (args.names or names[0] in failed):
            raise ModelError("; ".join(failed.values()))
        quality = _quality(args, workspace, own, home, list(speeds)) if own else None
    base = speeds[names[0]]
    found = {
        "project": project.name,
        "machine": machine(),
        "sample": {"chunks": len(sample.inputs), "files": sample.n_files, "queries": len(sample.queries)},
        "shipped": names[0],
        "models": {name: speed.as_json(base) for name, speed in speeds.items()},
        "not_measured": failed,
        "questions": {"asked": len(own.queries), "left_out": list(own.left_out)} if own else None,
        "quality": quality,
    }
    if args.json:
        print_json(found)
    else:
        _print_bench(found)
    return 0


def _quality(
    args: argparse.Namespace, workspace: Workspace, own: Own, home: Path, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Index the project with each model in a scratch home, and return how well each answers the questions."""
    from hybrid.evaluation.model_bench import configurations, quality_of
    from hybrid.evaluation.retrieval import Plan, evaluate_retrieval

    trees, load = _tree_and_settings(workspace, args.questions, own, [f"model.name={names[0]}"])
    plan = Plan({"": own.queries}, trees, configurations(names))
    return quality_of(evaluate_retrieval(plan, home, load, report_repo=teller(args)).results[""])


def _print_bench(found: Mapping[str, Any]) -> None:
    from hybrid.evaluation.model_bench import MEASURED

    sample, system, base = found["sample"], found["machine"], found["shipped"]
    what = f"up to {sample['chunks']:,} chunks of {sample['files']} files and {sample['queries']} queries"
    heads = ["", "queries/s", "ratio", "chunks/s", "ratio", "load ms", "ratio", "memory MB", "ratio"]
    table = [[name, *_cells(speed)] for name, speed in found["models"].items()]
    print_table(f"speed: {what}; ratios to {base}, which ships", heads, table)
    say(f"{system['system']}, {system['cpus']} processors, Python {system['python']}, numpy {system['numpy']}")
    for name, reason in found["not_measured"].items():
        say(f"not measured: {name}: {reason}")
    if found["quality"] is not None:
        say("")
        rows = [[label, *(f"{scores[name]:.4f}" for name in MEASURED)] for label, scores in found["quality"].items()]
        print_table(f"quality: the whole ranking on {found['questions']['asked']} questions", ["", *MEASURED], rows)
        if found["questions"]["left_out"]:
            say(f"left out, since their text has changed: {', '.join(found['questions']['left_out'])}")


def _cells(speed: Mapping[str, Any]) -> list[str]:
    cells: list[str] = []
    for name, digits in (("queries_per_s", 0), ("chunks_per_s", 0), ("load_ms", 0), ("peak_bytes", 1)):
        value, ratio = speed[name], speed["of_shipped"][name]
        value = value / 1e6 if name == "peak_bytes" and value is not None else value
        cells += ["–" if value is None else f"{value:,.{digits}f}", "–" if ratio is None else f"{ratio:.3g}"]
    return cells


# --- the command ------------------------------------------------------------------------------------------


GROUP = "hybrid.eval"
"""Entry points of this group are modules with `ABOUT`, `configure` and `run`; each is a subcommand of its name."""

_LAB = "at-file chunks followups injection languages memory peer projects records redaction replay scale speed tables"
LAB = (*_LAB.split(), "week")
"""The measures of the laboratory, named in the message for whoever asks for one without having it installed."""


class _Measure(NamedTuple):
    """One subcommand of `hybrid eval`: its help line, its options, and the function that runs it."""

    about: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


_OWN = {
    "retrieval": _Measure("how well judged queries are answered, and why", configure_retrieval, run_retrieval),
    "init": _Measure("propose queries from your own project, to be corrected", configure_init, run_init),
    "run": _Measure("score those queries on your own project", configure_run, run_queries),
    "holdout": _Measure(
        "what injections are worth, beside sessions that were held out", configure_holdout, run_holdout
    ),
    "gate": _Measure("how often the decisions you marked were right", configure_gate, run_gate),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    measures = _measures()
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    for name, measure in measures.items():
        part = actions.add_parser(name, help=measure.about, description=measure.about)
        part.formatter_class = argparse.RawDescriptionHelpFormatter
        measure.configure(part)
        part.set_defaults(run_action=measure.run)
    absent = [name for name in LAB if name not in measures]
    for name in absent:
        # No argument begins with this character, so whatever follows is taken as it is.
        part = actions.add_parser(name, add_help=False, prefix_chars="\N{NULL}")
        part.add_argument("rest", nargs="*")
        part.set_defaults(run_action=_refuse)
    if absent:
        parser.epilog = f"{', '.join(absent)}, and judged prompts for gate: {INSTALL_LAB}"


def _refuse(args: argparse.Namespace) -> int:
    """Raise an error that says how to install a measure of the laboratory.

    Raises:
        HybridError: Always.
    """
    raise HybridError(f"`hybrid eval {args.action}` is not installed; {INSTALL_LAB}")


def _measures() -> dict[str, _Measure]:
    """Return our own measures, and those of installed distributions; these replace ours of the same name."""
    from importlib.metadata import entry_points

    modules = {entry.name: entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}
    return _OWN | {name: _Measure(each.ABOUT, each.configure, each.run) for name, each in modules.items()}
