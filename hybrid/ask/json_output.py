"""The machine forms: search results, decisions and events as the JSON that `--json` prints; keys are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.answer.decide import explain_steps
from hybrid.answer.recording import place_of
from hybrid.answer.select import gate_form
from hybrid.records.types import KIND_OF_HIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.answer.decide import Decision
    from hybrid.answer.select import Selection
    from hybrid.ask.search import EverywhereResult, ResultHit, SearchResult
    from hybrid.prompting.query import Query
    from hybrid.records.types import Record
    from hybrid.types import Hit


def hit_json(hit: Hit, *, project: str | None, text: str | None) -> dict[str, Any]:
    """Return one hit as JSON: place, numbers, project and text; absent values are None."""
    return {
        "rank": hit.rank,
        **place_of(hit),
        "language": None if hit.is_record else hit.language,
        "cosine": hit.cosine,
        "bm25": hit.bm25,
        "rrf": hit.rrf,
        "relevance": hit.relevance,
        "project": project,
        "text": text,
    }


def steps_json(hit: Hit) -> dict[str, Any]:
    """Return what gave a hit its place: rank and score in each leg, the fusion, and the evidence for its file."""
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


def project_of(record: Record | None, own: str) -> str | None:
    """Return the project of a hit: its record's; `own` for a file or the project's lesson; None when it has none."""
    if record is None:
        return own or None
    is_own_lesson = record.kind == "lesson" and not record.id.startswith("S")
    return record.project or (own or None if is_own_lesson else None)


def result_json(found: ResultHit, *, project: str, is_explained: bool) -> dict[str, Any]:
    """Return one hit of a search as JSON; `project` is the name of the project that was searched."""
    form = hit_json(found.hit, project=project_of(found.record, project), text=found.text)
    return form | {"steps": steps_json(found.hit)} if is_explained else form


def search_json(query: Query, mode: str, found: SearchResult, *, project: str, is_explained: bool) -> dict[str, Any]:
    """Return the JSON of `hybrid search`; `is_explained` adds to each hit what gave it its place."""
    files = found.files
    return {
        "query": query.text,
        "mode": mode,
        "top_cosine": files.top_cosine if files else None,
        "candidates": files.n_candidates if files else None,
        "hits": [
            result_json(one, project=project, is_explained=is_explained) for part in found.lists for one in part.hits
        ],
        "kinds": {part.kind: gate_form(part.verdict) for part in found.lists if part.verdict},
        "problems": list(found.problems),
    }


def everywhere_json(query: Query, mode: str, found: EverywhereResult, *, is_explained: bool) -> dict[str, Any]:
    """Return the JSON of `hybrid search` in several projects: hits as in `search_json` with roots, and gates."""
    return {
        "query": query.text,
        "mode": mode,
        "hits": [
            result_json(one.found, project=one.project, is_explained=is_explained)
            | {"root": one.root or None, "worth": one.worth}
            for one in found.hits
        ],
        "projects": [
            {
                "name": one.name,
                "root": one.root or None,
                "commit": one.commit or None,
                "gate": gate_form(one.selection.verdict),
            }
            for one in found.asked
        ],
        "problems": list(found.problems),
    }


def context_json(
    decision: Decision, *, project: str | None, is_explained: bool, records: Mapping[str, Record]
) -> dict[str, Any]:
    """Return the JSON of `hybrid context`.

    Args:
        decision: What would be given.
        project: Name of the project; None without one.
        is_explained: With the numbers behind it.
        records: Path in the index → record, of those that may be given here.
    """
    said = decision.verdict
    items: list[dict[str, Any]] = []
    for item in decision.items:
        record = records.get(item.hit.path) if item.hit.is_record else None
        form = hit_json(item.hit, project=project_of(record, project or ""), text=item.text) | {"form": item.form}
        if is_explained:
            form["steps"] = steps_json(item.hit)
        items.append(form)
    answer: dict[str, Any] = {
        "injected": decision.is_injected,
        "reason": decision.reason,
        "detail": decision.detail or None,
        "top_cosine": said.top_cosine if said else None,
        "threshold": said.threshold if said else None,
        "topic_id": decision.topic_id or None,
        "items": items,
        "withheld": [{"key": entry.key, "reason": entry.reason} for entry in decision.withheld],
        "text": decision.text or None,
        "problems": list(decision.problems),
    }
    if is_explained:
        answer["steps"] = _steps_of(decision)
    return answer


def _steps_of(decision: Decision) -> dict[str, Any]:
    """Return the numbers behind a decision, with what became of every hit of every kind."""
    steps, fates = explain_steps(decision), fates_of(decision)
    for one in decision.kinds:
        hits = [_fate_form(hit, fate_of(hit, one, fates)) for hit in hits_of(one, decision)]
        steps["kinds"][one.kind] = gate_form(one.verdict) | {"hits": hits}
    return steps


def _fate_form(hit: Hit, fate: str) -> dict[str, Any]:
    numbers = {"cosine": hit.cosine, "bm25": hit.bm25, "rrf": hit.rrf, "relevance": hit.relevance, "fate": fate}
    return {"rank": hit.rank or None, **place_of(hit), **numbers}


def fates_of(decision: Decision) -> dict[str, str]:
    """Return a mapping: key of a hit → the form in which it was given, or the reason why it was held back."""
    given = {hit.key: form for item in decision.items for hit, form in reversed(item.given)}
    return given | {entry.key: entry.reason for entry in decision.withheld}


def fate_of(hit: Hit, kind: Selection, fates: Mapping[str, str]) -> str:
    """Return the fate of one hit: as in `fates`, else `not reached`, or `kind_closed` when the gate was closed."""
    return fates.get(hit.key) or ("not reached" if kind.verdict.is_open else "kind_closed")


def hits_of(kind: Selection, decision: Decision) -> list[Hit]:
    """Return the hits of a kind, best first, then those given without being searched for (the latest handoff)."""
    shown = kind.collection.shown
    found = {hit.key: hit for hit in map(shown, kind.searched.hits)}
    given = (item.found for item in decision.items if KIND_OF_HIT[item.hit.kind].name == kind.kind)
    for hit in (*given, *(shown(entry.hit) for entry in kind.withheld)):
        found.setdefault(hit.key, hit)
    return list(found.values())
