"""Asks judged queries of indexed repositories and scores the rankings; `hybrid eval retrieval` calls it.

A figure is comparable with the semble benchmark when only the code files of each repository's benchmark folder are
indexed; the whole repository, docs and tests included, is what a user has.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hybrid.engine.searching import Mode, open_searcher
from hybrid.evaluation.measures import NAMES, Passage, mean_of, score
from hybrid.evaluation.trees import WHOLE, Scope, build_index, repositories, workspace_at
from hybrid.prompting.query import make_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.engine.searching import Searcher
    from hybrid.evaluation.qrels import JudgedQuery
    from hybrid.index.build import Summary

MODES: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
RANKED = 50
"""Chunks asked for: enough for the first ten files of nearly every ranking."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is evaluated, and how.

    Attributes:
        queries: Judged.
        repos: Folder that holds a folder for each repository.
        roots: Repository → folder that comparable figures index; a repository that is absent is taken whole.
        is_whole: Index everything, docs too, instead of the comparable part.
        only: Names of repositories; empty for all.
        modes: Legs that take part.
    """

    queries: Sequence[JudgedQuery]
    repos: Path
    roots: Mapping[str, str] = field(default_factory=dict[str, str])
    is_whole: bool = False
    only: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = MODES

    def scope(self, repo: str) -> Scope:
        """What of a repository is indexed."""
        return WHOLE if self.is_whole else Scope(self.roots.get(repo, ""), code_only=True)


@dataclass(frozen=True, slots=True)
class Answered:
    """A query with its ranking in one mode, and its scores by measure."""

    query: JudgedQuery
    mode: Mode
    ranking: tuple[Passage, ...]
    scores: Mapping[str, float]


@dataclass(slots=True)
class RetrievalReport:
    """What an evaluation found.

    Attributes:
        answered: Every query of the repositories that are there, in every mode.
        builds: Repository → what its build did.
        missing: Judged repositories that are not there.
        model: Key of the embedder.
    """

    answered: list[Answered] = field(default_factory=list[Answered])
    builds: dict[str, Summary] = field(default_factory=dict[str, "Summary"])
    missing: tuple[str, ...] = ()
    model: str = ""

    def by_repo(self, mode: Mode) -> dict[str, dict[str, float]]:
        """Repository → mean of each measure."""
        return self._by(mode, lambda query: query.repo)

    def by_category(self, mode: Mode) -> dict[str, dict[str, float]]:
        """Category → mean of each measure over its queries."""
        return self._by(mode, lambda query: query.category or "none")

    def by_language(self, mode: Mode) -> dict[str, dict[str, float]]:
        """Language → mean of each measure over its queries."""
        return self._by(mode, lambda query: query.language or "none")

    def overall(self, mode: Mode) -> dict[str, float]:
        """Mean of the repositories' means, so that a repository with many queries weighs as much as another."""
        return mean_of(list(self.by_repo(mode).values()))

    def n_queries(self, mode: Mode) -> dict[str, int]:
        """Repository → number of its queries."""
        counts: dict[str, int] = defaultdict(int)
        for answer in self.answered:
            counts[answer.query.repo] += answer.mode == mode
        return dict(counts)

    def _by(self, mode: Mode, key: Callable[[JudgedQuery], str]) -> dict[str, dict[str, float]]:
        groups: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for answer in self.answered:
            if answer.mode == mode:
                groups[key(answer.query)].append(answer.scores)
        return {name: mean_of(groups[name]) for name in sorted(groups)}

    def as_json(self, modes: Sequence[Mode]) -> dict[str, Any]:
        """Stable keys."""
        return {
            "model": self.model,
            "measures": list(NAMES),
            "missing": list(self.missing),
            "repositories": {
                name: {"documents": built.documents, "chunks": built.chunks, "build_s": round(built.seconds, 3)}
                for name, built in self.builds.items()
            },
            "modes": {
                mode: {
                    "overall": self.overall(mode),
                    "repositories": self.by_repo(mode),
                    "categories": self.by_category(mode),
                    "languages": self.by_language(mode),
                }
                for mode in modes
            },
        }


def evaluate_retrieval(
    plan: Plan, home: Path, loaded: Loaded, *, report_repo: Callable[[str], None] = lambda _: None
) -> RetrievalReport:
    """Index each repository once and ask its queries in every mode.

    Args:
        plan: What to do.
        home: Where the indexes lie.
        loaded: Settings in force.
        report_repo: Hears the name of each repository before it is built.

    Raises:
        QrelsError: No judged repository is there.
        ModelError: The embedder cannot be loaded.
    """
    judged = {query.repo for query in plan.queries}
    found = repositories(judged, plan.repos, plan.only)
    report = RetrievalReport(missing=tuple(sorted((set(plan.only) or judged) - found.keys())))
    for name, root in found.items():
        report_repo(name)
        scope = plan.scope(name)
        workspace = workspace_at(root, home, loaded, scope)
        report.builds[name] = build_index(workspace, scope)
        searcher = open_searcher(workspace)
        report.model = searcher.embedder.info.key
        for query in plan.queries:
            if query.repo == name:
                report.answered += [_ask(searcher, query, mode) for mode in plan.modes]
    return report


def _ask(searcher: Searcher, query: JudgedQuery, mode: Mode) -> Answered:
    found = searcher.search(make_query(query.text), top_k=RANKED, mode=mode)
    ranking = tuple(Passage(hit.path, hit.start_line, hit.end_line) for hit in found.hits)
    return Answered(query, mode, ranking, score(ranking, query.targets))


def write_run(path: Path, answered: Sequence[Answered]) -> None:
    """Write rankings as a run file: a line `{id, results: [{path, start_line, end_line}]}` for each query."""
    lines = [json.dumps({"id": answer.query.id, "results": _passages(answer.ranking)}) for answer in answered]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _passages(ranking: Sequence[Passage]) -> list[dict[str, Any]]:
    return [
        {"path": passage.path, "start_line": passage.start_line, "end_line": passage.end_line} for passage in ranking
    ]
