"""The machine forms: search results, decisions and events as the JSON that `--json` prints; keys are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.engine.injecting import explain_steps

if TYPE_CHECKING:
    from hybrid.engine.injecting import Decision
    from hybrid.engine.searching import Searched
    from hybrid.types import Hit


def hit_form(hit: Hit, *, project: str, text: str | None) -> dict[str, Any]:
    """One hit; absent values are None."""
    return {
        "rank": hit.rank,
        "kind": hit.kind,
        "id": None,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "name": hit.name or None,
        "language": hit.language,
        "cosine": hit.cosine,
        "bm25": hit.bm25,
        "rrf": hit.rrf,
        "relevance": hit.relevance,
        "project": project,
        "text": text,
    }


def steps_form(hit: Hit) -> dict[str, Any]:
    """How a hit got its place: rank and score in each leg, the fusion, and the evidence for its file."""
    return {
        "dense": {"rank": hit.cosine_rank, "cosine": hit.cosine},
        "lexical": {"rank": hit.bm25_rank, "bm25": hit.bm25},
        "fusion": {"rrf": hit.rrf, "rank": hit.rank},
        "evidence": {name: value for name, value in hit.evidence.items() if value} or None,
        "floor": {"relevance": hit.relevance},
        "chunk": {
            "kind": hit.chunk_kind,
            "scope": hit.scope or None,
            "signature": hit.signature or None,
            "key": hit.key,
        },
    }


def search_form(searched: Searched, hits: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of `hybrid search`."""
    return {
        "query": searched.query.text,
        "mode": searched.mode,
        "top_cosine": searched.top_cosine,
        "candidates": searched.n_candidates,
        "hits": hits,
    }


def context_form(decision: Decision, *, project: str | None, is_explained: bool) -> dict[str, Any]:
    """The JSON of `hybrid context`."""
    said = decision.verdict
    items: list[dict[str, Any]] = []
    for item in decision.items:
        form = hit_form(item.hit, project=project or "", text=item.text) | {"form": item.form}
        if is_explained:
            form["steps"] = steps_form(item.hit)
        items.append(form)
    answer: dict[str, Any] = {
        "injected": decision.is_injected,
        "reason": decision.reason,
        "detail": decision.detail or None,
        "top_cosine": said.top_cosine if said else None,
        "threshold": said.threshold if said else None,
        "topic_id": decision.topic_id or None,
        "items": items,
        "withheld": [{"key": entry.hit.key, "reason": entry.reason} for entry in decision.withheld],
        "text": decision.text or None,
    }
    if is_explained:
        answer["steps"] = explain_steps(decision)
    return answer
