"""Sums up what judged queries scored, by repository, category and language; `retrieval` fills it, the commands show it.

Means of all queries are never taken: a repository with many queries would decide.
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.evaluation.measures import TOKENS, summary_of
from hybrid.evaluation.rates import finite
from hybrid.evaluation.timing import sum_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.evaluation.configurations import Configuration
    from hybrid.evaluation.measures import Passage
    from hybrid.evaluation.qrels import JudgedQuery
    from hybrid.evaluation.timing import Times


class Answered(Struct, frozen=True):
    """A query with its ranking in one configuration.

    Attributes:
        query: Judged.
        label: Of the configuration.
        ranking: Best first.
        scores: By measure, each of `MEASURES`.
        latency_ms: Wall time of the search.
    """

    query: JudgedQuery
    label: str
    ranking: tuple[Passage, ...]
    scores: Mapping[str, float]
    latency_ms: float


class Results(Struct):
    """The answers to one set of queries.

    Attributes:
        configurations: That were asked.
        answered: Every query of the repositories that are there, in every configuration.
        missing: Judged repositories that are not there, or were left out.
    """

    configurations: Sequence[Configuration]
    answered: list[Answered] = field(default_factory=list[Answered])
    missing: tuple[str, ...] = ()

    def of(self, label: str) -> list[Answered]:
        """The answers in one configuration, in the order of the queries."""
        return [answer for answer in self.answered if answer.label == label]

    def by_repo(self, label: str) -> dict[str, dict[str, float]]:
        """Repository → mean of each measure, and mean and median of the tokens, over its queries."""
        return self._by(label, lambda query: query.repo)

    def by_category(self, label: str) -> dict[str, dict[str, float]]:
        """The same by category, over all its queries."""
        return self._by(label, lambda query: query.category or "none")

    def by_language(self, label: str) -> dict[str, dict[str, float]]:
        """The same by language, over all its queries."""
        return self._by(label, lambda query: query.language or "none")

    def overall(self, label: str) -> dict[str, float]:
        """Means of the repositories' means, so that each weighs the same; the median is of all queries."""
        rows = list(self.by_repo(label).values())
        if not rows:
            return summary_of([])
        means = {name: math.fsum(row[name] for row in rows) / len(rows) for name in rows[0]}
        return means | {"tokens_median": median(answer.scores[TOKENS] for answer in self.of(label))}

    def n_queries(self, by: Callable[[JudgedQuery], str] = lambda query: query.repo) -> dict[str, int]:
        """Repository → number of its queries; or the same by something else of a query."""
        counts: dict[str, int] = defaultdict(int)
        for answer in self.of(self.configurations[0].label):
            counts[by(answer.query)] += 1
        return dict(counts)

    def latency(self, label: str) -> Times | None:
        """Times of the searches; None when nothing was asked."""
        times = [answer.latency_ms for answer in self.of(label)]
        return sum_up(times) if times else None

    def _by(self, label: str, key: Callable[[JudgedQuery], str]) -> dict[str, dict[str, float]]:
        groups: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for answer in self.of(label):
            groups[key(answer.query)].append(answer.scores)
        return {name: summary_of(groups[name]) for name in sorted(groups)}

    def as_json(self, *, bare_ms: float) -> dict[str, Any]:
        """Stable keys; what is not a number is None.

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
                    "overall": _finite(self.overall(each.label)),
                    "repositories": self.by_repo(each.label),
                    "categories": self.by_category(each.label),
                    "languages": self.by_language(each.label),
                    "latency": times.as_json(per_bare_start=bare_ms, per_first=first.median_ms)
                    if first and (times := self.latency(each.label))
                    else None,
                }
                for each in self.configurations
            },
        }


def _finite(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: finite(value) for name, value in scores.items()}
