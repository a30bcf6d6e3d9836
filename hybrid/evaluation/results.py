"""Sums up what judged queries scored, and compares two configurations query by query.

Figures are by repository, category and language. The statistic is the mean of the means of repositories: in a mean over
all queries a repository with many of them would decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct, field, to_builtins

from hybrid.evaluation.decisions import finite
from hybrid.evaluation.measures import MEASURES, TOKENS, summary_of
from hybrid.evaluation.timing import sum_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.evaluation.measures import FilePassage, JudgedQuery
    from hybrid.evaluation.timing import Times
    from hybrid.search.searcher import Mode


class Configuration(Struct, frozen=True):
    """One way to search.

    Attributes:
        label: Name, unique among the configurations that are asked together.
        settings: Assignments `section.key=value` on top of the settings in force.
        mode: Legs that take part in the search.
    """

    label: str
    settings: tuple[str, ...] = ()
    mode: Mode = "hybrid"


class Answered(Struct, frozen=True):
    """A query with its ranking in one configuration.

    Attributes:
        query: The judged query.
        label: Label of the configuration.
        ranking: Best first.
        scores: Measure → score, for each of `MEASURES`.
        latency_ms: Wall time of the search.
    """

    query: JudgedQuery
    label: str
    ranking: tuple[FilePassage, ...]
    scores: Mapping[str, float]
    latency_ms: float


class Results(Struct):
    """The answers to one set of queries.

    Attributes:
        configurations: The configurations in which the queries were asked.
        answered: Every query of the repositories that are there, in every configuration.
        missing: Judged repositories that are not there, or were left out.
    """

    configurations: Sequence[Configuration]
    answered: list[Answered] = field(default_factory=list[Answered])
    missing: tuple[str, ...] = ()

    def of(self, label: str) -> list[Answered]:
        """Return the answers in one configuration, in the order of the queries."""
        return [answer for answer in self.answered if answer.label == label]

    def by(self, label: str, part: Literal["repo", "category", "language"]) -> dict[str, dict[str, float]]:
        """Return the means of each measure, and the median of the tokens, by a part of the queries; sorted by name.

        Args:
            label: Label of the configuration.
            part: What the queries are grouped by; `none` stands for queries without a category or language.

        Returns:
            Name → figures of `summary_of` over all queries with that repository, category or language.
        """
        groups: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for answer in self.of(label):
            groups[getattr(answer.query, part) or "none"].append(answer.scores)
        return {name: summary_of(groups[name]) for name in sorted(groups)}

    def overall(self, label: str) -> dict[str, float]:
        """Return means of the repositories' means, so that each weighs the same; the median is of all queries."""
        rows = list(self.by(label, "repo").values())
        if not rows:
            return summary_of([])
        means = {name: math.fsum(row[name] for row in rows) / len(rows) for name in rows[0]}
        return means | {"tokens_median": median(answer.scores[TOKENS] for answer in self.of(label))}

    def n_queries(self, by: Callable[[JudgedQuery], str] = lambda query: query.repo) -> dict[str, int]:
        """Return repository → number of its queries, or the same by another property of a query."""
        return dict(Counter(by(answer.query) for answer in self.of(self.configurations[0].label)))

    def latency(self, label: str) -> Times | None:
        """Return the times of the searches in one configuration; None when nothing was asked."""
        times = [answer.latency_ms for answer in self.of(label)]
        return sum_up(times) if times else None

    def as_json(self, *, bare_ms: float) -> dict[str, Any]:
        """Return the results under stable keys; a value that is no number is None.

        Args:
            bare_ms: Median of bare interpreter starts in the same run.
        """
        first = self.latency(self.configurations[0].label)
        return {
            "queries": len(self.of(self.configurations[0].label)),
            "missing": list(self.missing),
            "configurations": {
                each.label: {
                    "settings": list(each.settings),
                    "mode": each.mode,
                    "overall": {name: finite(value) for name, value in self.overall(each.label).items()},
                    "repositories": self.by(each.label, "repo"),
                    "categories": self.by(each.label, "category"),
                    "languages": self.by(each.label, "language"),
                    "latency": times.as_json(per_bare_start=bare_ms, per_first=first.median_ms)
                    if first and (times := self.latency(each.label))
                    else None,
                }
                for each in self.configurations
            },
        }


# --- comparison -------------------------------------------------------------------------------------------


N_RESAMPLES = 2_000
N_HALVES = 200
_SEED = 5
_TAIL = 0.025
"""Share that is left out of an interval at each end, so that it holds 95 %."""
_EQUAL = 1e-9
_IS_BETTER = np.array([-1.0 if measure == TOKENS else 1.0 for measure in MEASURES])
"""The sign of a difference that is an improvement, for each of `MEASURES`."""


class ChoiceOnHalves(Struct, frozen=True):
    """The worth, on one half of the data, of a choice that was made on the other half.

    Attributes:
        n: Random halves.
        second_chosen: Share of the halves on which the second configuration was the better one, in [0, 1].
        gain: Mean improvement on the other half of what was chosen over what was not; below 0 the choice did harm.
        held: Share of the halves whose choice was no worse on the other half, in [0, 1].
    """

    n: int
    second_chosen: float
    gain: float
    held: float


class Difference(Struct, frozen=True):
    """A measure in two configurations, over the same queries.

    Attributes:
        measure: One of `MEASURES`.
        first: Mean of the repositories' means with the settings in force.
        second: The same with the other configuration.
        difference: Second − first; of `tokens`, fewer are better.
        low: Lower end of the 95 % interval of the difference.
        high: Upper end of that interval.
        of: The things that are counted and halved: `repositories`, or `queries` when there is a single repository.
        better: Share of these where the second is better, in [0, 1].
        equal: Share where both are equal.
        worse: Share where it is worse.
        kept: Worth of the choice on random halves; None when there are fewer than two things to halve.
    """

    measure: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    of: str
    better: float
    equal: float
    worse: float
    kept: ChoiceOnHalves | None

    def as_json(self) -> dict[str, Any]:
        """Return the difference under stable keys."""
        return to_builtins(self)


def compare(results: Results, first: str, second: str) -> dict[str, Difference]:
    """Return a difference for each of `MEASURES`, always the same for the same answers; empty when nothing was asked.

    Args:
        results: Results with the answers of both configurations.
        first: Label of the configuration that the other is compared with.
        second: Label of the other configuration.
    """
    ones, others = _by_repo(results.of(first)), _by_repo(results.of(second))
    if not ones:
        return {}
    deltas = [others[repo] - ones[repo] for repo in ones]
    means = _means(deltas)
    low, high = interval(deltas)
    # Of a single repository there is no other one to look at: its queries stand for the rest of what it is asked.
    units, of = (means, "repositories") if len(deltas) > 1 else (deltas[0], "queries")
    kept = _halves(units)
    before, after = _means(list(ones.values())).mean(axis=0), _means(list(others.values())).mean(axis=0)
    better, worse = ((units * _IS_BETTER * sign > _EQUAL).mean(axis=0) for sign in (1, -1))
    equal = (np.abs(units) <= _EQUAL).mean(axis=0)
    return {
        measure: Difference(
            measure=measure,
            first=float(before[at]),
            second=float(after[at]),
            difference=float(means.mean(axis=0)[at]),
            low=float(low[at]),
            high=float(high[at]),
            of=of,
            better=float(better[at]),
            equal=float(equal[at]),
            worse=float(worse[at]),
            kept=kept[at] if kept else None,
        )
        for at, measure in enumerate(MEASURES)
    }


def _by_repo(answered: Sequence[Answered]) -> dict[str, NDArray[np.float64]]:
    """Return repository → scores, shape (n_queries, n_measures): in the orders of asking and of `MEASURES`."""
    rows: dict[str, list[list[float]]] = {}
    for answer in answered:
        rows.setdefault(answer.query.repo, []).append([answer.scores[measure] for measure in MEASURES])
    return {repo: np.array(scores, np.float64) for repo, scores in rows.items()}


def _means(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean of each repository, shape (n_repositories, n_measures)."""
    return np.array([rows.mean(axis=0) for rows in values])


def interval(deltas: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the 95 % interval of the mean of means, each of shape (n_measures,), by percentile bootstrap.

    Repositories are drawn with replacement, then queries inside each drawn one: both are samples of what users have.

    Args:
        deltas: Differences of each repository, shape (n_queries, n_measures); at least one, none empty.

    Source: Efron (1979); two-stage resampling as Davison, Hinkley (Bootstrap Methods and their Application, 1997).
    """
    random = np.random.default_rng(_SEED)
    n_repos = len(deltas)
    drawn = random.integers(n_repos, size=(N_RESAMPLES, n_repos))
    resampled = np.empty((N_RESAMPLES, n_repos, deltas[0].shape[1]))
    for repo, rows in enumerate(deltas):
        places = drawn == repo
        # How often each query is drawn says all of a draw with replacement.
        counts = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=int(places.sum()))
        resampled[places] = counts @ rows / len(rows)
    low, high = np.quantile(resampled.mean(axis=1), (_TAIL, 1 - _TAIL), axis=0)
    return low, high


def _halves(units: NDArray[np.float64]) -> list[ChoiceOnHalves] | None:
    """Return for each measure the worth, on the other half, of a choice on a random half; None for less than two.

    Args:
        units: Differences of what is halved, shape (n_units, n_measures).
    """
    if len(units) < 2:
        return None
    random = np.random.default_rng(_SEED)
    gains = np.empty((N_HALVES, len(MEASURES)))
    chosen = np.empty((N_HALVES, len(MEASURES)), bool)
    for half in range(N_HALVES):
        order = random.permutation(len(units))
        inside, outside = units[order[: (len(units) + 1) // 2]], units[order[(len(units) + 1) // 2 :]]
        chosen[half] = inside.mean(axis=0) * _IS_BETTER > _EQUAL
        gains[half] = outside.mean(axis=0) * _IS_BETTER * np.where(chosen[half], 1, -1)
    return [
        ChoiceOnHalves(
            n=N_HALVES,
            second_chosen=float(chosen[:, at].mean()),
            gain=float(gains[:, at].mean()),
            held=float((gains[:, at] >= -_EQUAL).mean()),
        )
        for at in range(len(MEASURES))
    ]
