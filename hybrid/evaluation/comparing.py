"""Compares two configurations query by query: difference, interval, and whether the choice holds elsewhere.

`hybrid eval retrieval` and `run` call it for `--against` and `--ablation`. The statistic is the mean of the
repositories' means, as everywhere in the evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, to_builtins

from hybrid.evaluation.measures import MEASURES, TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.evaluation.results import Answered, Results

N_RESAMPLES = 2_000
N_HALVES = 200
_SEED = 5
_TAIL = 0.025
"""Left out of an interval at each end: it holds 95 %."""
_EQUAL = 1e-9
_IS_BETTER = np.array([-1.0 if measure == TOKENS else 1.0 for measure in MEASURES])
"""The sign of a difference that is an improvement, for each of `MEASURES`."""


class Kept(Struct, frozen=True):
    """Whether what is chosen on one half of the data is better on the other half.

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
    """What a measure is in two configurations, over the same queries.

    Attributes:
        measure: One of `MEASURES`.
        first: Of the settings in force, mean of the repositories' means.
        second: Of the other configuration.
        difference: Second − first; of `tokens`, fewer are better.
        low: Lower end of the 95 % interval of the difference.
        high: Upper end.
        of: What is counted and halved: `repositories`, or `queries` when there is a single repository.
        better: Share of these where the second is better, in [0, 1].
        equal: Share where both are equal.
        worse: Share where it is worse.
        kept: On random halves; None when there are not two things to halve.
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
    kept: Kept | None

    @property
    def is_clear(self) -> bool:
        """The interval does not hold 0."""
        return self.low > 0 or self.high < 0

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return to_builtins(self)


def compare(results: Results, first: str, second: str) -> dict[str, Difference]:
    """A difference for each of `MEASURES`, always the same for the same answers; empty when nothing was asked.

    Args:
        results: With the answers of both configurations.
        first: Label of the one that is compared with.
        second: Label of the other.
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
    """Repository → scores in the order of `MEASURES`, shape (n_queries, n_measures); both in the order of asking."""
    rows: dict[str, list[list[float]]] = {}
    for answer in answered:
        rows.setdefault(answer.query.repo, []).append([answer.scores[measure] for measure in MEASURES])
    return {repo: np.array(scores, np.float64) for repo, scores in rows.items()}


def _means(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean of each repository, shape (n_repositories, n_measures)."""
    return np.array([rows.mean(axis=0) for rows in values])


def interval(deltas: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % interval of the mean of means, each of shape (n_measures,), by the percentile bootstrap.

    Repositories are drawn with replacement, then queries inside each drawn one: both are samples of what users have.

    Args:
        deltas: Of each repository, shape (n_queries, n_measures); at least one, none empty.

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


def _halves(units: NDArray[np.float64]) -> list[Kept] | None:
    """For each measure, what choosing on a random half is worth on the other half.

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
        Kept(
            n=N_HALVES,
            second_chosen=float(chosen[:, at].mean()),
            gain=float(gains[:, at].mean()),
            held=float((gains[:, at] >= -_EQUAL).mean()),
        )
        for at in range(len(MEASURES))
    ]
