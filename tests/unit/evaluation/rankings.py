"""Answers of two configurations, made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.evaluation.measures import MEASURES, JudgedQuery
from hybrid.evaluation.results import Answered, Configuration, Results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIRST, SECOND = "hybrid", "search.rrf_k=20"


def answer(
    label: str, repo: str, number: int, value: float, *, language: str = "go", latency_ms: float = 1.0
) -> Answered:
    """An answer whose every measure has one value; tokens are that many, too."""
    query = JudgedQuery(f"{repo}/{number}", repo, "text", "semantic", language, ())
    return Answered(query, label, (), dict.fromkeys(MEASURES, value), latency_ms)


def results(scores: Mapping[str, Sequence[tuple[float, float]]]) -> Results:
    """For each repository the values of its queries in the first and the second configuration."""
    found = Results([Configuration(FIRST), Configuration(SECOND, (SECOND,))])
    for repo, pairs in scores.items():
        for number, (first, second) in enumerate(pairs):
            found.answered += [answer(FIRST, repo, number, first), answer(SECOND, repo, number, second, latency_ms=3.0)]
    return found
