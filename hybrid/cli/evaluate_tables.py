"""Tables of rankings for a person, from the forms that `--json` prints; `eval retrieval` and `eval run` share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.cli.common import say
from hybrid.cli.evaluating import percent, print_table
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_COLUMNS = ("nDCG@10", "R@5", "R@10", "RR@10", "Success@1")
_GROUPS = (("repositories", "repository"), ("categories", "category"), ("languages", "language"))
_MAIN = "nDCG@10"


def print_forms(form: Mapping[str, Any], *, is_quiet: bool) -> None:
    """Print what an evaluation of rankings found.

    Args:
        form: Of `hybrid.cli.evaluate_retrieval.form_of`.
        is_quiet: Leave out what is told by category and language.
    """
    sets: Mapping[str, Any] = form["sets"]
    for name, found in sets.items():
        if len(sets) > 1:
            say(f"== {name}: {amount(found['queries'], 'query', 'queries')}")
            say("")
        _print_set(found, is_quiet=is_quiet)


def _print_set(found: Mapping[str, Any], *, is_quiet: bool) -> None:
    configurations: Mapping[str, Any] = found["configurations"]
    if not found["queries"]:
        say("no query is about a repository that is there")
        say("")
    else:
        for label in found["in_force"]:
            _print_groups(label, found, _GROUPS[:1] if is_quiet else _GROUPS)
        for second, differences in found["against"].items():
            _print_difference(found["in_force"][-1], second, differences)
            if not is_quiet:
                _print_beside(configurations[found["in_force"][-1]], configurations[second], found["n"])
        if found["ablation"]:
            _print_ablation(found["ablation"])
        shown = [*found["in_force"], *found["against"]]
        n_repos = len(configurations[shown[0]]["repositories"])
        rows = {label: configurations[label]["overall"] for label in shown}
        _print_latency({label: configurations[label]["latency"] for label in shown})
        _print_scores(f"mean of the means of {amount(n_repos, 'repository', 'repositories')}", rows, {})
        say("nDCG@10 and tokens count chunks: where lines are judged, the right file with another chunk is no hit;")
        say("the other measures count files.")
    if found["missing"]:
        say(f"not there: {', '.join(found['missing'])}")


def _print_groups(label: str, found: Mapping[str, Any], groups: Iterable[tuple[str, str]]) -> None:
    for key, name in groups:
        _print_scores(f"{label}: by {name}", found["configurations"][label][key], found["n"][key])


def _print_scores(title: str, rows: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]) -> None:
    table = [
        [
            name,
            str(counts.get(name, "")),
            *(f"{scores[measure]:.4f}" for measure in _COLUMNS),
            f"{scores['tokens_mean']:.0f}",
            f"{scores['tokens_median']:.0f}",
        ]
        for name, scores in rows.items()
    ]
    print_table(title, ["", "n", *_COLUMNS, "tokens to hit", "median"], table)


def _print_latency(rows: Mapping[str, Mapping[str, Any]]) -> None:
    table = [
        [
            label,
            str(times["n"]),
            f"{times['median_ms']:.2f}",
            f"{times['p95_ms']:.2f}",
            _times(times["per_bare_start"]),
            _times(times["per_first"]),
        ]
        for label, times in rows.items()
    ]
    print_table("time of a query", ["", "n", "median ms", "p95 ms", "per bare python", "per first"], table)


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def _print_difference(first: str, second: str, differences: Mapping[str, Mapping[str, Any]]) -> None:
    table = [
        [
            measure,
            *(_value(measure, each[key]) for key in ("first", "second")),
            *(_change(measure, each[key]) for key in ("difference", "low", "high")),
            *(percent(each[key]) for key in ("better", "equal", "worse")),
            *_kept(measure, each["kept"]),
        ]
        for measure, each in differences.items()
    ]
    heads = ["", "in force", "against", "difference", "95 % from", "to", "better", "equal", "worse"]
    print_table(f"{second} against the settings in force, {first}", [*heads, "gain if chosen", "held"], table)
    of = next(each["of"] for each in differences.values())
    say(f"  better, equal, worse: share of the {of}; gain if chosen: choosing on half of the {of}")
    say("  and counting on the other half; held: share of such choices that did no harm there")
    say("")


def _value(measure: str, value: float) -> str:
    return f"{value:.0f}" if measure == "tokens" else f"{value:.4f}"


def _change(measure: str, value: float) -> str:
    return f"{value:+.0f}" if measure == "tokens" else f"{value:+.4f}"


def _kept(measure: str, kept: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("–", "–") if kept is None else (_change(measure, kept["gain"]), percent(kept["held"]))


def _print_beside(first: Mapping[str, Any], second: Mapping[str, Any], n: Mapping[str, Mapping[str, int]]) -> None:
    """The main measure of both, group by group."""
    for key, name in _GROUPS:
        table = [
            [
                group,
                str(n[key].get(group, "")),
                f"{scores[_MAIN]:.4f}",
                f"{second[key][group][_MAIN]:.4f}",
                f"{second[key][group][_MAIN] - scores[_MAIN]:+.4f}",
            ]
            for group, scores in first[key].items()
        ]
        print_table(f"{_MAIN} by {name}", ["", "n", "in force", "against", "difference"], table)


def _print_ablation(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    table: list[Sequence[str]] = [
        [
            label,
            f"{of[_MAIN]['second']:.4f}",
            *(f"{of[_MAIN][key]:+.4f}" for key in ("difference", "low", "high")),
            *(percent(of[_MAIN][key]) for key in ("better", "equal", "worse")),
            f"{of['R@10']['difference']:+.4f}",
            f"{of['tokens']['difference']:+.0f}",
        ]
        for label, of in rows.items()
    ]
    heads = ["", _MAIN, "change", "95 % from", "to", "better", "equal", "worse", "R@10", "tokens"]
    print_table("ablation: change against the settings in force; below 0 the part was worth it", heads, table)
