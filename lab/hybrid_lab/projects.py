"""Measures a search in all projects of `$HYBRID_HOME` against one in the project that a judged query is about.

`hybrid eval projects` calls it. Beside the order in force stand orders by scores that do not compare across indexes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.ask.search import SearchRequest, find_everywhere
from hybrid.evaluation.measures import FilePassage, mean_of, score
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.query import make_query
from hybrid.search.searcher import open_searcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.evaluation.measures import JudgedQuery
    from hybrid.types import Hit
    from hybrid.workspace import Workspace

_WANTED = SearchRequest(top_k=10)
_BY: dict[str, Callable[[Hit], float]] = {
    "all, by fused score": lambda hit: hit.rrf,
    "all, by cosine": lambda hit: hit.cosine or 0.0,
    "all, by evidence": lambda hit: sum(hit.evidence.values()),
}


def measure(queries: Sequence[JudgedQuery], workspaces: Mapping[str, Workspace]) -> dict[str, dict[str, float]]:
    """Return order → mean of each measure over the queries; a target counts in its own project only.

    Args:
        queries: Each about one of the projects.
        workspaces: Name of a project → its workspace; it has an index.
    """
    searchers = {name: open_searcher(one) for name, one in workspaces.items()}
    kinds = OpenKinds()
    scores: dict[str, list[Mapping[str, float]]] = {}
    for judged in queries:
        query = make_query(judged.text)
        targets = [FilePassage(f"{judged.repo}/{one.path}") for one in judged.targets]
        plain = {name: one.search(query, top_k=_WANTED.top_k).hits for name, one in searchers.items()}
        found = find_everywhere(list(workspaces.values()), query, _WANTED, kinds)
        orders = {
            "own project alone": [(judged.repo, hit) for hit in plain[judged.repo]],
            "all, in force": [(one.project, one.found.hit) for one in found.hits],
        }
        hits = [(name, hit) for name, some in plain.items() for hit in some]
        for order, worth in _BY.items():
            orders[order] = sorted(hits, key=lambda one: -worth(one[1]))[: _WANTED.top_k]
        for order, ranked in orders.items():
            passages = [replace(FilePassage(f"{name}/{hit.path}")) for name, hit in ranked]
            scores.setdefault(order, []).append(score(passages, targets))
    return {order: mean_of(of) for order, of in scores.items()}
