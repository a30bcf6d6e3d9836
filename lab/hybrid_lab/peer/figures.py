"""Sums up what `peer` measured: figures of each side, their ratios, and means over repositories.

A ratio is hybrid's figure divided by the peer's: below 1 hybrid needs less.
"""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.evaluation.timing import sum_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COSTS = (
    "start_s",
    "build_s",
    "build_process_s",
    "build_peak_bytes",
    "query_ms",
    "query_p95_ms",
    "query_peak_bytes",
    "open_s",
    "index_bytes",
)
"""Figures of a side of which less is better, and which have a ratio."""

_SHOWN_PATHS = 20


class Round(Struct, frozen=True):
    """One process of one side.

    Attributes:
        answer: To its job.
        seconds: Wall time of the process, from its start to its end.
        peak_bytes: Largest resident size above that of an interpreter that does nothing; None where unknown.
    """

    answer: Mapping[str, Any]
    seconds: float
    peak_bytes: int | None


class SideFigures(Struct, frozen=True):
    """The times of one side for one repository; repeated measures are the median of the rounds.

    Attributes:
        scores: Mean of each measure over the queries.
        files: With at least one chunk.
        chunks: Number of them.
        start_s: Seconds to index one file first, the embedding model being loaded.
        build_s: Seconds to index the tree and write the index after that.
        build_process_s: Seconds of that whole process, with its start, imports and the model.
        build_peak_bytes: Largest resident size of it above a bare interpreter; None where unknown.
        query_ms: Median of one query, over queries and rounds.
        query_p95_ms: 95th percentile of the same.
        query_peak_bytes: As `build_peak_bytes`, of the process that opened the index and asked the queries.
        open_s: Seconds to open the index, the embedding model being loaded.
        index_bytes: On disk.
    """

    scores: Mapping[str, float]
    files: frozenset[str]
    chunks: int
    start_s: float
    build_s: float
    build_process_s: float
    build_peak_bytes: float | None
    query_ms: float
    query_p95_ms: float
    query_peak_bytes: float | None
    open_s: float
    index_bytes: float

    def as_json(self) -> dict[str, Any]:
        """Scores, counts and costs, by name."""
        form = asdict(self) | {"files": len(self.files)}
        return {key: round(value, 6) if isinstance(value, float) else value for key, value in form.items()}


class RepoFigures(Struct, frozen=True):
    """Both sides on one repository."""

    n_queries: int
    ours: SideFigures
    theirs: SideFigures

    @property
    def ratios(self) -> dict[str, float | None]:
        """Each of `COSTS`: ours divided by theirs; None where one is unknown or theirs is 0."""
        return {cost: _ratio(getattr(self.ours, cost), getattr(self.theirs, cost)) for cost in COSTS}

    def as_json(self) -> dict[str, Any]:
        """Both sides, ratios, and the files that only one of them indexed (the first twenty by name)."""
        only = {"hybrid": self.ours.files - self.theirs.files, "peer": self.theirs.files - self.ours.files}
        return {
            "queries": self.n_queries,
            "hybrid": self.ours.as_json(),
            "peer": self.theirs.as_json(),
            "ratios": self.ratios,
            "only_in": {
                side: {"files": len(paths), "first": sorted(paths)[:_SHOWN_PATHS]} for side, paths in only.items()
            },
        }


class PeerReport(Struct, frozen=True):
    """The figures of a comparison.

    Attributes:
        repositories: By name.
        ours: Name and version of hybrid.
        theirs: Name and version of the peer.
        pythons: Versions of both interpreters.
        model: Name of the embedding model of both.
        ranker: Of hybrid.
        rounds: How often each side built, and was asked in a new process.
        machine: What it ran on.
        missing: Judged repositories that are not there.
    """

    repositories: Mapping[str, RepoFigures]
    ours: str
    theirs: str
    pythons: tuple[str, str]
    model: str
    ranker: str
    rounds: int
    machine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    missing: tuple[str, ...] = ()

    def means(self) -> dict[str, dict[str, float | None]]:
        """Over repositories, each weighing the same: arithmetic means of both sides, geometric ones of the ratios."""
        every = list(self.repositories.values())
        form: dict[str, dict[str, float | None]] = {}
        for name, sides in (("hybrid", [each.ours for each in every]), ("peer", [each.theirs for each in every])):
            names = sides[0].scores
            form[name] = {measure: fmean(side.scores[measure] for side in sides) for measure in names}
            form[name] |= {cost: _mean(getattr(side, cost) for side in sides) for cost in COSTS}
        form["ratios"] = {cost: _geometric(each.ratios[cost] for each in every) for cost in COSTS}
        return form

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "hybrid": {"version": self.ours, "python": self.pythons[0], "ranker": self.ranker},
            "peer": {"version": self.theirs, "python": self.pythons[1]},
            "model": self.model,
            "rounds": self.rounds,
            "machine": dict(self.machine),
            "missing": list(self.missing),
            "repositories": {name: figures.as_json() for name, figures in self.repositories.items()},
            "means": self.means(),
        }


def side_figures(built: Sequence[Round], asked: Sequence[Round], scores: Mapping[str, float]) -> SideFigures:
    """The figures of one side from its rounds, at least one.

    Args:
        built: Answers to `build`.
        asked: Answers to `query`.
        scores: Mean of each measure.
    """
    times = sum_up([ms for each in asked for ms in each.answer["times_ms"]])
    first = built[0].answer
    return SideFigures(
        scores=scores,
        files=frozenset(first["files"]),
        chunks=first["chunks"],
        start_s=median(each.answer["start_s"] for each in built),
        build_s=median(each.answer["build_s"] for each in built),
        build_process_s=median(each.seconds for each in built),
        build_peak_bytes=_middle(built),
        query_ms=times.median_ms,
        query_p95_ms=times.p95_ms,
        query_peak_bytes=_middle(asked),
        open_s=median(each.answer["open_s"] for each in asked),
        index_bytes=first["index_bytes"],
    )


def _middle(rounds: Iterable[Round]) -> float | None:
    peaks = [each.peak_bytes for each in rounds if each.peak_bytes is not None]
    return median(peaks) if peaks else None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or not theirs else ours / theirs


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _geometric(ratios: Iterable[float | None]) -> float | None:
    """A ratio of 2 and one of a half even out; None when none is known, or one is not positive."""
    known = [ratio for ratio in ratios if ratio is not None]
    return math.exp(fmean(map(math.log, known))) if known and min(known) > 0 else None
