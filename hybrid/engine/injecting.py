"""Decides what one prompt gets: the pipeline from event to text, without a side effect; `recording` notes it after.

Every step that ends in silence says why in `Decision.reason`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from hybrid.digest import topic_id
from hybrid.engine.spans import SpanReader
from hybrid.errors import IndexCorruptError, IndexMismatchError, IndexMissingError
from hybrid.gate.threshold import compare, fixed_threshold
from hybrid.prompting.clean import clean
from hybrid.prompting.gate import prompt_verdict
from hybrid.prompting.query import make_query
from hybrid.render.frame import Footer, frame_bytes, render_entry, render_frame
from hybrid.render.numbers import compared, number
from hybrid.render.records import file_entry, item_entry
from hybrid.retrieval.floor import passes
from hybrid.retrieval.pack import Budget, ContentMode, Form, Size, measure_text, pack
from hybrid.session.ledger import EMPTY, Ledger, SessionKey
from hybrid.session.pauses import is_paused
from hybrid.types import Hit, Item, Verdict, Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.engine.searching import Searched, Searcher
    from hybrid.engine.workspace import Workspace
    from hybrid.types import HookEvent

_CONSIDERED = 30
"""Fused hits that are looked at: what fits a budget is seldom more than ten."""
_TOPIC_HITS = 10
_HINT_CHARS = 60
_PLURAL_CHARS = 2
"""Characters that `10 items` takes more than `1 item`, for which the frame is measured."""
_BEST_FORM: dict[ContentMode, Form] = {"adaptive": "full", "full": "full", "preview": "preview", "none": "pointer"}
"""The most that a mode gives of a chunk: a session that got that much has seen it."""
_PACKED = 15
"""Hits that are read again and rendered: more never fit."""
_REPORT_SHARE = 0.5
"""Share of the budget for what fits a report: it stands beside the report itself, whose author has read most of it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one prompt gets, and why.

    Attributes:
        reason: `injected`, or why not: `disabled`, `paused`, `prompt`, `no_project`, `no_index`, `index_corrupt`,
            `index_mismatch`, `gate`, `no_results`, `same_topic`, `all_seen`, `budget`. Other events than prompts and
            reports have reasons of their own, which `answering` names.
        detail: More about it, for people: the prompt rule, the error.
        text: What the agent gets; empty when silent.
        query: What was searched with; empty when nothing was.
        verdict: Of the gate; None when it was not reached.
        topic_id: Of the results; empty without results.
        items: Shown, best first.
        withheld: Candidates that were not shown, with the reason.
        searched: The search behind it; None when there was none.
        is_report: True when a subagent's report was searched with, not a prompt.
    """

    reason: str
    detail: str = ""
    text: str = ""
    query: str = ""
    verdict: Verdict | None = None
    topic_id: str = ""
    items: tuple[Item, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    searched: Searched | None = None
    is_report: bool = False

    @property
    def is_injected(self) -> bool:
        """True when there is a text that was searched for."""
        return self.reason == "injected"

    @property
    def debug_line(self) -> str:
        """One line for a person who debugs a hook."""
        if self.reason == "gate" and self.verdict:
            return f"hybrid: skipped ({_missed(self.verdict)})"
        if self.is_injected:
            return f"hybrid: injected {len(self.items)} items, {len(self.text)} characters"
        if self.text:
            return f"hybrid: {self.reason}, {len(self.text)} characters"
        return f"hybrid: skipped ({self.reason}{': ' + self.detail if self.detail else ''})"


def _missed(said: Verdict) -> str:
    """What a closed gate compared."""
    if said.score is None:
        return "gate: nothing to compare"
    if said.threshold is None:
        return f"semantic={number(said.score)}, gate=unknown"
    score, threshold = compared(said.score, said.threshold)
    return f"semantic={score} {'<' if score != threshold else '<='} gate={threshold}"


@dataclass(slots=True)
class _Selection:
    """Candidates on their way through floor, ledger, recheck and pack."""

    hits: list[Hit]
    withheld: list[Withheld] = field(default_factory=list[Withheld])

    def keep(self, reason: str, wanted: Callable[[Hit], bool]) -> None:
        """Withhold, for this reason, every hit that is not wanted."""
        self.withheld += [Withheld(hit, reason) for hit in self.hits if not wanted(hit)]
        self.hits = [hit for hit in self.hits if wanted(hit)]


def decide(
    workspace: Workspace,
    event: HookEvent,
    *,
    open_searcher: Callable[[Workspace], Searcher],
    environ: Mapping[str, str] = os.environ,
) -> Decision:
    """What the prompt of an event gets, or the report of a subagent that it brings.

    Args:
        workspace: Of the event's directory, with the settings in force.
        event: From any client.
        open_searcher: Gives the open index; a service passes one that keeps it open.
        environ: Environment variables of the client.
    """
    off = switched_off(workspace, event, environ)
    if off is not None:
        return off
    hooks = workspace.config.hooks
    cleaned = clean(event.report or event.prompt)
    is_report = bool(event.report) or (hooks.subagent_reports and cleaned.subagent_report is not None)
    if is_report:
        cleaned = replace(cleaned, is_machine_made=False, subagent_report=None)
    said = prompt_verdict(
        cleaned,
        min_prompt_length=hooks.min_prompt_length,
        skip_prefixes=() if is_report else hooks.skip_prefixes,
    )
    if not said.is_searchable:
        return Decision("prompt", said.reason, is_report=is_report)
    decision = _search(workspace, event, cleaned.text, open_searcher, _REPORT_SHARE if is_report else 1.0)
    return replace(decision, is_report=is_report)


def switched_off(workspace: Workspace, event: HookEvent, environ: Mapping[str, str]) -> Decision | None:
    """The decision when the owner wants nothing to be said here, else None."""
    if environ.get("HYBRID_DISABLE", "") not in ("", "0"):
        return Decision("disabled", "HYBRID_DISABLE is set")
    key = workspace.project.key if workspace.project else None
    scope = is_paused(workspace.home, key, event.client, event.session_id)
    return Decision("paused", scope) if scope else None


def _search(
    workspace: Workspace,
    event: HookEvent,
    text: str,
    open_searcher: Callable[[Workspace], Searcher],
    budget_share: float,
) -> Decision:
    if workspace.project is None:
        return Decision("no_project")
    try:
        searcher = open_searcher(workspace)
    except IndexMissingError as error:
        return Decision("no_index", str(error))
    except IndexMismatchError as error:
        return Decision("index_mismatch", str(error))
    except IndexCorruptError as error:
        return Decision("index_corrupt", str(error))
    is_dedup = workspace.config.hooks.dedup_enabled
    ledger = workspace.ledgers.read(session_key(workspace, event)) if is_dedup else EMPTY
    is_auto = workspace.config.hooks.gate_threshold == "auto"
    searched = searcher.search(make_query(text), top_k=_CONSIDERED, is_judged=is_auto)
    return _Injection(workspace, searcher, searched, ledger, budget_share).decide()


def session_key(workspace: Workspace, event: HookEvent) -> SessionKey:
    """Whose ledger an event belongs to; without a session id, that of the working tree."""
    tree = workspace.project.tree if workspace.project else ""
    return SessionKey(event.client, event.session_id or f"tree:{tree}", event.agent_id)


def span_reader(workspace: Workspace) -> SpanReader:
    """Reads records of the project again, as the settings want them shown."""
    return SpanReader(
        workspace.require_project().root,
        max_file_bytes=workspace.config.index.max_file_bytes,
        redact=workspace.config.privacy.redact,
    )


class _Injection:
    """From search results to text."""

    def __init__(
        self, workspace: Workspace, searcher: Searcher, searched: Searched, ledger: Ledger, budget_share: float
    ) -> None:
        self._config = workspace.config
        self._loaded = workspace.loaded
        self._spans = span_reader(workspace)
        self._searcher = searcher
        self._searched = searched
        self._ledger = ledger
        self._budget_share = budget_share

    def decide(self) -> Decision:
        searched, hooks = self._searched, self._config.hooks
        said = self._verdict()
        shown = replace(searched, hits=tuple(self._spans.shown(hit) for hit in searched.hits))
        base = Decision("gate", query=searched.query.text, verdict=said, searched=shown)
        if not said.is_open:
            return base
        chosen = _Selection(list(searched.hits))
        chosen.keep("floor", lambda hit: self._passes_floor(hit, self._min_cosine(said)))
        topic = topic_id(hit.key for hit in chosen.hits[:_TOPIC_HITS])
        base = replace(base, topic_id=topic, withheld=self._withheld(chosen))
        if not topic:
            return replace(base, reason="no_results")
        if hooks.dedup_enabled and topic == self._ledger.last_topic_id:
            chosen.keep("seen", lambda hit: hit.digest.hex() not in self._ledger.given)
            return replace(base, reason="same_topic", withheld=self._withheld(chosen))
        if self._has_the_best(chosen.hits[: hooks.known_best]):
            chosen.keep("seen", lambda hit: hit.digest.hex() not in self._ledger.given)
            return replace(base, reason="all_seen", withheld=self._withheld(chosen))
        chosen.keep("seen", lambda hit: self._ledger.allows(hit.digest, _BEST_FORM[hooks.content_mode]))
        n_seen = sum(withheld.reason == "seen" for withheld in chosen.withheld)
        if not chosen.hits:
            return replace(base, reason="all_seen", withheld=self._withheld(chosen))
        first = {hit.digest: hit.row for hit in reversed(chosen.hits)}
        chosen.keep("duplicate", lambda hit: first[hit.digest] == hit.row)
        within = {hit.row for hit in chosen.hits[:_PACKED]}
        chosen.keep("budget", lambda hit: hit.row in within)
        chosen.keep("stale", lambda hit: self._spans.text(hit) is not None)
        items, text = self._pack(chosen, n_seen)
        reason = "injected" if items else "budget" if chosen.hits else "no_results"
        return replace(base, reason=reason, items=items, text=text, withheld=self._withheld(chosen))

    def _has_the_best(self, best: Sequence[Hit]) -> bool:
        """Does the session have what fits best, and the first of it in full? What is left is second choice."""
        given = self._ledger.given
        is_known = bool(best) and all(hit.digest.hex() in given for hit in best)
        return is_known and not self._ledger.allows(best[0].digest, _BEST_FORM[self._config.hooks.content_mode])

    def _withheld(self, chosen: _Selection) -> tuple[Withheld, ...]:
        return tuple(replace(entry, hit=self._spans.shown(entry.hit)) for entry in chosen.withheld)

    def _verdict(self) -> Verdict:
        if self._searched.verdict:
            return self._searched.verdict
        threshold = fixed_threshold(
            self._config.hooks.gate_threshold,
            origin=self._loaded.origins["hooks.gate_threshold"],
            model=self._searcher.embedder.info,
        )
        return compare(self._searched.top_cosine, threshold)

    def _min_cosine(self, said: Verdict) -> float:
        """The raw cosine floor; what opened the gate passes it, or an open gate would give nothing."""
        low = self._config.search.min_cosine
        opening = self._searched.top_cosine if said.source == "auto" else said.threshold
        return low if opening is None else min(low, opening)

    def _passes_floor(self, hit: Hit, low: float) -> bool:
        """The floor; whether a hit holds a word of the query literally is looked up only when that decides."""
        threshold = self._config.hooks.threshold
        if passes(hit, threshold=threshold, min_cosine=low, is_named=False):
            return True
        return passes(hit, threshold=threshold, min_cosine=low, is_named=True) and self._is_named(hit)

    def _is_named(self, hit: Hit) -> bool:
        query = self._searched.query
        if any(path in hit.path for path in query.paths):
            return True
        text = self._spans.text(hit) or ""
        return any(name in text for name in query.identifiers)

    def _item(self, hit: Hit, form: Form) -> Item:
        return Item(self._spans.shown(hit), self._spans.text(hit) or "", form)

    def _pack(self, chosen: _Selection, n_seen: int) -> tuple[tuple[Item, ...], str]:
        hooks = self._config.hooks
        footer = Footer(given_earlier=n_seen, search_hint=_hint(self._searched.query.text))
        candidates = [self._candidate(hit) for hit in chosen.hits]
        first = [file_entry(self._spans.shown(hit)) for hit in chosen.hits[:1]]
        empty_frame = render_frame(first, fmt=hooks.format, footer=footer) if first else ""
        budget = Budget(
            lines=int(hooks.budget * self._budget_share) - empty_frame.count("\n"),
            chars=int(hooks.budget_chars * self._budget_share)
            - (len(empty_frame) - len(candidates[0].text("pointer")) if candidates else 0)
            - _PLURAL_CHARS,
        )
        packed = pack(
            candidates,
            budget,
            hooks.content_mode,
            frame_bytes=frame_bytes(len(candidates), fmt=hooks.format, footer=footer),
            measure=_measure_json if hooks.format == "json" else measure_text,
        )
        hits = chosen.hits
        chosen.withheld += [Withheld(hits[index], "budget") for index in packed.skipped]
        items = tuple(self._item(hits[index], form) for index, form in packed.chosen)
        return items, render_frame([item_entry(item) for item in items], fmt=hooks.format, footer=footer)

    def _candidate(self, hit: Hit) -> _Rendered:
        fmt = self._config.hooks.format

        def render(form: Form) -> str:
            return render_entry(item_entry(self._item(hit, form)), fmt=fmt)

        return _Rendered(cache(render), is_full_only=not self._ledger.allows(hit.digest, "preview"))


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A candidate whose forms are rendered when they are asked for: most are not."""

    text: Callable[[Form], str]
    is_full_only: bool
    is_full_worthy: bool = True


def _hint(query: str) -> str:
    """The query as a search to type; a long or pasted one stands as `…`."""
    return query if len(query) <= _HINT_CHARS and "\n" not in query else ""


def _measure_json(text: str) -> Size:
    """As `measure_text`, with the comma that stands between two items."""
    size = measure_text(text)
    return Size(size.lines, size.chars + 1, size.size_bytes + 1)


def explain_steps(decision: Decision) -> dict[str, Any]:
    """The numbers behind a decision, for `--explain` and the machine form."""
    searched, said = decision.searched, decision.verdict
    return {
        "query": decision.query,
        "gate": None
        if said is None
        else {
            "is_open": said.is_open,
            "top_cosine": said.top_cosine,
            "threshold": said.threshold,
            "source": said.source,
            "score": said.score,
            "bar": said.bar or None,
            "parts": dict(said.parts) or None,
        },
        "fusion": None
        if searched is None
        else {
            "candidates": searched.n_candidates,
            "dense_weight": searched.weights[0],
            "lexical_weight": searched.weights[1],
            "top_bm25": searched.top_bm25,
            "is_symbol_like": searched.query.is_symbol_like,
        },
        "withheld": [_withheld(entry) for entry in decision.withheld],
    }


def _withheld(entry: Withheld) -> dict[str, Any]:
    return {"key": entry.hit.key, "reason": entry.reason, "relevance": round(entry.hit.relevance, 4)}
