"""Decides what one prompt gets: the pipeline from turn to text, without a side effect; `recording` notes it after.

`Turn` is what is known of an event, `Decision` what it gets: every step that ends in silence says why in its `reason`.
A turn is made once, where an event comes in, and passed only within the service and `answer`; what lies below them is
given the fields that it needs.
"""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.answer.holdout import HELD_OUT, is_held_out
from hybrid.answer.select import Packer, Selection, all_withheld, gate_form, verdict_of
from hybrid.base.errors import (
    BusyError,
    IndexCorruptError,
    IndexMismatchError,
    IndexMissingError,
    IndexUnavailableError,
    ModelError,
)
from hybrid.base.home import is_switched_off
from hybrid.base.text import topic_id
from hybrid.knowledge.collections import AskingSession, FileCollection, LessonCollection, RecordCollection, SpanReader
from hybrid.knowledge.lessons_intake import is_capturing, without_captures
from hybrid.knowledge.stores import record_paths
from hybrid.models.registry import embedder_info, present_name
from hybrid.project.installs import has_tools
from hybrid.prompting.query import make_query, query_digest
from hybrid.prompting.rules import SEARCH, looks_back, prompt_verdict, topic_of
from hybrid.records.lessons.reranking import reranker
from hybrid.records.types import KINDS, OF_RECORDS
from hybrid.render.frame import Footer
from hybrid.render.numbers import amount, compared, number
from hybrid.search.scores import Verdict
from hybrid.session.ledger import EMPTY, Ledger
from hybrid.session.pauses import is_paused
from hybrid.types import Item
from hybrid.workspace import session_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.answer.select import Withheld
    from hybrid.capture.tools import PathRoots
    from hybrid.knowledge.collections import Collection
    from hybrid.knowledge.memory_collection import MemoryCollection
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.log.events import ReasonName
    from hybrid.search.gate.verdict import PromptPieces
    from hybrid.search.searcher import Judging, Searched, Searcher
    from hybrid.session.ledger import SessionKey
    from hybrid.types import Hit, HookEvent, Use
    from hybrid.workspace import Workspace


class Decision(Struct, frozen=True):
    """The answer to one event, and its reason.

    Attributes:
        reason: `injected`, or why not; `log.events` says what each means.
        detail: More about it, for people: the prompt rule, the error.
        text: What the agent gets; empty when silent.
        query: What was searched with; empty when nothing was.
        verdict: The verdict of the gate; None when the gate was not reached.
        topic_id: Topic id of the results; empty without results.
        items: Shown, best first.
        withheld: Hits that were not shown, with the reason.
        searched: The search behind it, in the files when they have an index; None when there was none.
        kinds: For every kind that was searched, the search, the verdict of the kind's gate, and its hits.
        problems: What went wrong with a kind that was left out, a sentence each.
        is_report: True when a subagent's report was searched with, not a prompt.
        notices: Lines for the user about what was learned from the prompt.
        untold: Lines for the user about earlier events of the session, whose hooks could not show them.
        is_unfinished: Something that the prompt asks for could not be written down yet.
        noted: Digests that the ledger is to know beside those of the items.
        held: Items that were held out and would have been given.
    """

    reason: ReasonName
    detail: str = ""
    text: str = ""
    query: str = ""
    verdict: Verdict | None = None
    topic_id: str = ""
    items: tuple[Item, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    searched: Searched | None = None
    kinds: tuple[Selection, ...] = ()
    problems: tuple[str, ...] = ()
    is_report: bool = False
    notices: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    is_unfinished: bool = False
    noted: tuple[bytes, ...] = ()
    held: tuple[Item, ...] = ()

    def held_back(self) -> Decision:
        """Return the decision of a session that is held out: it gives nothing, and notes what it would have given."""
        held = (*self.items, *self.held)
        return replace(self, reason=HELD_OUT, detail=self.reason, text="", items=(), held=held)

    @property
    def is_injected(self) -> bool:
        """True when a text was found by a search; False for silence, a session's start or a reminder."""
        return self.reason == "injected"

    @property
    def debug_line(self) -> str:
        """One line that says what was done with the event and why, for a person who debugs a hook."""
        if self.reason == "gate" and self.verdict:
            return f"hybrid: skipped ({_missed(self.verdict)})"
        if self.is_injected:
            return f"hybrid: injected {amount(len(self.items), 'item')}, {len(self.text)} characters"
        if self.text:
            return f"hybrid: {self.reason}, {len(self.text)} characters"
        return f"hybrid: skipped ({self.reason}{': ' + self.detail if self.detail else ''})"


def _missed(verdict: Verdict) -> str:
    """Return the score and the threshold that a closed gate compared, as text for `debug_line`."""
    if verdict.score is None:
        return "gate: nothing to compare"
    if verdict.threshold is None:
        return f"semantic={number(verdict.score)}, gate=unknown"
    score, threshold = compared(verdict.score, verdict.threshold)
    return f"semantic={score} {'<' if score != threshold else '<='} gate={threshold}"


class Turn(Struct, frozen=True, dict=True, eq=False):
    """An event that is answered, or that is taken in later without an answer.

    Attributes:
        workspace: The workspace of the event's directory, with the settings in force.
        event: The event, of any client.
        kinds: The open stores and indexes; the service passes those that it keeps open.
        environ: Environment variables of the client.
        until_s: Monotonic time at which the answer must be there; None for the configured deadline from now on.
        at_ms: When the event came, milliseconds since 1970.
        is_late: The event was kept because its hook ran out of time: its effects are wanted, and no text.
    """

    workspace: Workspace
    event: HookEvent
    kinds: OpenKinds
    environ: Mapping[str, str] = os.environ
    until_s: float | None = None
    at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    is_late: bool = False

    @cached_property
    def deadline_s(self) -> float:
        """Monotonic time at which the answer must be there."""
        if self.until_s is not None:
            return self.until_s
        return time.monotonic() + self.workspace.config.hooks.deadline_ms / 1000

    @cached_property
    def off(self) -> Decision | None:
        """The decision `disabled` or `paused` where the owner switched hybrid off or paused it; None where it is on."""
        if is_switched_off(self.environ):
            return Decision("disabled", "HYBRID_DISABLE is set")
        project, event = self.workspace.project, self.event
        # A pause that began after a kept event came is not meant for it.
        at_s = self.at_ms / 1000 if self.is_late else None
        scope = is_paused(
            self.workspace.home, project.key if project else None, event.client, event.session_id, at_s=at_s
        )
        return Decision("paused", scope) if scope else None

    def holds_out(self, *record: str) -> bool:
        """Return whether an experiment holds the session out, or of its records the one at a path of the index."""
        share = self.workspace.config.experiment.holdout
        return share > 0 and is_held_out(share, self.event.session_id, *record)

    @cached_property
    def has_tools(self) -> bool:
        """True where our MCP server was installed for the client."""
        project = self.workspace.project
        return has_tools(self.workspace.home, self.event.client, project.root if project else None)

    @cached_property
    def roots(self) -> PathRoots:
        """The folders from which paths in the turn's use of a tool are told; there must be a project."""
        from hybrid.capture.tools import PathRoots, own_home  # A prompt has no need of it.

        return PathRoots(str(self.workspace.require_project().root), self.event.cwd, own_home())

    @cached_property
    def use(self) -> Use | None:
        """The files that the turn's use of a tool read and wrote; None without one, or for another kind of tool."""
        from hybrid.capture.shown import use_of  # Brings what knows the tools of all clients.

        return use_of(self.event.call, self.roots, self.at_ms / 1000) if self.event.call else None

    @cached_property
    def key(self) -> SessionKey:
        """The key of the session's ledger."""
        return session_key(self.workspace, self.event)


# --- one prompt -------------------------------------------------------------------------------------------


CONSIDERED = 30
"""Hits taken from a search in files or in the memory: what fits a budget is seldom more than ten."""
_FITTING = 2
"""Files that fit a prompt best: a record that names one of them is raised."""
_TOPIC_HITS = 10
_HINT_CHARS = 60
_REPORT_SHARE = 0.5
"""Share of the budget for what fits a report: it stands beside the report itself, whose author has read most of it."""
_REPORT_CHARS = 2_000
"""Characters of a report that are searched for: its beginning says what was done."""
_LEAST_REPORT_CHARS = 50
"""Characters of the shortest report that may bring lessons."""
_REPORT_HEADING = "Relevant lessons after subagent work"
NOTHING_FITS = ("gate", "no_results")
"""Reasons of a silence (`Decision.reason`) that mean: a search found nothing close enough."""
_LEFT_ALONE = ("opted_out", "machine_made", "subagent_report", "slash_command", "empty", "skip_prefix")
"""Reasons of a prompt rule that silence a prompt even when it asks about earlier sessions."""
_WITHOUT_INDEX: dict[type[IndexUnavailableError], ReasonName] = {
    IndexMissingError: "no_index",
    IndexMismatchError: "index_mismatch",
    IndexCorruptError: "index_corrupt",
}
_LOWEST = float("-inf")
"""The margin of a kind whose gate compared nothing: such a kind is sorted last."""


class _Lookup(Struct, frozen=True):
    """The text that is searched for in a turn, and what kind of text it is.

    Attributes:
        text: The text of the prompt or of the report, cleaned.
        is_report: The text is a subagent's report.
        is_back: The prompt asks about earlier sessions themselves, so the last summaries answer it.
        topic: The words of a prompt about earlier work that say which it means: the memory is searched for these.
        is_searched: False for a prompt that a rule silences and that looks back all the same: files and lessons have
            nothing to say to it.
    """

    text: str
    is_report: bool = False
    is_back: bool = False
    topic: str = ""
    is_searched: bool = True


def decide(turn: Turn) -> Decision:
    """Return the decision on the prompt of a turn, or on the report of a subagent when the event brings one."""
    if turn.off is not None:
        return turn.off
    event, hooks = turn.event, turn.workspace.config.hooks
    cleaned = event.prompt if event.report.is_blank else event.report
    is_report = not event.report.is_blank or (hooks.subagent_reports and cleaned.subagent_report is not None)
    if is_report:
        cleaned = replace(cleaned, text=cleaned.text[:_REPORT_CHARS], is_machine_made=False, subagent_report=None)
    elif is_capturing(turn.workspace, event) and not cleaned.is_machine_made:
        cleaned = replace(cleaned, text=without_captures(cleaned.text))
    reason = prompt_verdict(cleaned, skip_prefixes=() if is_report else hooks.skip_prefixes)
    is_back = reason not in _LEFT_ALONE and not is_report and looks_back(cleaned.text)
    if reason != SEARCH and not is_back:
        return Decision("prompt", reason, is_report=is_report)
    project = turn.workspace.project
    topic = topic_of(cleaned.text, project.name if project else "") if is_back else ""
    decision = _search(turn, _Lookup(cleaned.text, is_report, is_back and not topic, topic, reason == SEARCH))
    if reason != SEARCH and not decision.is_injected:
        return Decision("prompt", reason)
    return replace(decision, is_report=is_report)


def _search(turn: Turn, lookup: _Lookup) -> Decision:
    workspace, kinds, config = turn.workspace, turn.kinds, turn.workspace.config
    if workspace.project is None:
        return Decision("no_project")
    collections: list[Collection] = []
    missing: Decision | None = None
    try:
        if lookup.is_searched:
            searcher = kinds.searcher(workspace)
            collections.append(file_collection(workspace, searcher))
    except tuple(_WITHOUT_INDEX) as error:
        missing = Decision(_WITHOUT_INDEX[type(error)], str(error))
    except BusyError as error:
        missing = Decision("loading", str(error))
    ledger = workspace.ledgers.read(turn.key)
    session = AskingSession(turn.event.session_id, int(ledger.starts.get("compact", 0.0) * 1000))
    records, problems = kinds.open(workspace, _kinds_for(lookup), session=session)
    for lessons in records:
        if isinstance(lessons, LessonCollection):
            # The key to a language model is the owner's: it comes from this process, never from the client.
            lessons.rerank = reranker(config.lessons, os.environ, turn.deadline_s)
            lessons.max_items = config.lessons.after_report if lookup.is_report else lessons.max_items
    collections += records
    # A sentence if an index other than the working tree's own answers.
    borrowed = (one.searcher.stands_in for one in collections if one.kind == "files" and one.searcher.stands_in)
    problems = (*problems, *borrowed, *_model_before(collections, workspace))
    if not collections:
        return missing or Decision("no_results")
    decision = _Injection(turn, lookup, collections, ledger).decide()
    if missing and decision.reason in NOTHING_FITS:
        return replace(missing, kinds=decision.kinds, problems=problems)
    return replace(decision, problems=problems)


def _kinds_for(lookup: _Lookup) -> Sequence[str]:
    """Return the kinds of records that have something to say to a text."""
    if lookup.is_report:  # Who reads a report is told of rules that concern it, and only if there is something to it.
        return ("lessons",) if len(lookup.text) >= _LEAST_REPORT_CHARS else ()
    # What was left off is what a prompt without words of its own asks for.
    return OF_RECORDS if lookup.is_searched else ("lore", "memory")


def _model_before(collections: Sequence[Collection], workspace: Workspace) -> list[str]:
    """Return a sentence for each model other than that of the settings, whose index still answers."""
    name = workspace.config.model.name
    wanted = present_name(name)
    kinds: dict[str, list[str]] = {}
    for collection in collections:
        kinds.setdefault(collection.searcher.embedder.info.name, []).append(collection.kind)
    before = {model: ", ".join(of) for model, of in kinds.items() if model not in (wanted, name)}
    if not before:
        return []
    until = f" until it is embedded with {wanted}"
    try:
        embedder_info(name, workspace.home)
    except ModelError as error:
        until = f", since that of the settings cannot: {error}"
    return [f"{of}: the index made with {model} answers{until}" for model, of in before.items()]


def file_collection(workspace: Workspace, searcher: Searcher) -> FileCollection:
    """Return the files of a workspace as a collection; where the settings name packages, those at hand come first."""
    near, patterns = None, workspace.config.index.roots
    if patterns and workspace.cwd is not None:
        from hybrid.project.packages import nearness_of  # Only a monorepo has need of it.

        near = nearness_of(workspace.require_project().root, workspace.cwd, patterns)
    return FileCollection(searcher, workspace.config, near, **_span_options(workspace, searcher))


def span_reader(workspace: Workspace, searcher: Searcher | None = None) -> SpanReader:
    """Return a reader of the present text of hits in the project's files, redacted if the settings want it.

    Of what the index of another tree found, only files that the rules of this tree list are read.
    """
    return SpanReader(**_span_options(workspace, searcher))


def _span_options(workspace: Workspace, searcher: Searcher | None) -> dict[str, Any]:
    root, settings = workspace.require_project().root, workspace.config.index
    rules = None
    if searcher is not None and searcher.lender:
        from hybrid.sources.listing import Lister  # Seldom needed: an index of the tree's own holds what is listed.
        from hybrid.sources.patterns import listing_options

        options = listing_options(root, settings, workspace.home, record_paths(workspace))
        # No prompt waits for git: a tracked file that a rule ignores is left out until the tree has its own index.
        rules = Lister(os.path.realpath(root), replace(options, use_git=False))
    is_redacting = workspace.config.privacy.redact
    return {"root": root, "max_file_bytes": settings.max_file_bytes, "is_redacting": is_redacting, "rules": rules}


class _Injection:
    """Searches some collections for one text and decides what of their hits is given."""

    def __init__(
        self,
        turn: Turn,
        lookup: _Lookup,
        collections: Sequence[Collection],
        ledger: Ledger,
    ) -> None:
        self._lookup = lookup
        self._memory = cast("MemoryCollection | None", next((one for one in collections if one.kind == "memory"), None))
        self._workspace = turn.workspace
        self._now_s = turn.at_ms / 1000
        self._hooks = turn.workspace.config.hooks
        self._collections = collections
        self._query = make_query(lookup.text)
        self._ledger = ledger if self._hooks.dedup_enabled else EMPTY
        self._is_first = not ledger.last_topic_id
        self._turn = turn

    def decide(self) -> Decision:
        found = self._searched()
        first = found[0] if found[0].is_files else max(found, key=_margin)
        base = Decision(
            "gate",
            query=self._query.text,
            verdict=first.verdict,
            searched=first.searched,
            kinds=tuple(found),
        )
        chosen = sorted((one for one in found if one.verdict.is_open), key=_margin, reverse=True)
        if self._lookup.topic:  # Earlier work was asked for, so it comes first.
            chosen.sort(key=lambda one: one.collection.kind != "memory")
        if self._lookup.is_back:  # A search for no topic finds anything but what happened last.
            chosen = [one for one in chosen if one.collection.kind != "memory"]
        # For a prompt about earlier sessions.
        last = self._memory.last_summaries() if self._memory and self._lookup.is_back else []
        if not chosen and not self._lookup.is_back:
            return base
        for selection in chosen:
            selection.pass_floor()
            if self._workspace.config.experiment.holdout:
                selection.keep(HELD_OUT, lambda hit: not (hit.is_record and self._turn.holds_out(hit.path)))
        keys = [hit.key for selection in chosen for hit in selection.hits[:_TOPIC_HITS]]
        chosen += self._handoff(found, chosen)
        _put_first(last, found, chosen)
        if not chosen:
            return base
        # The handoff comes with the first injection only: with it the same prompt would be another topic next time.
        topic = topic_id(keys or [hit.key for selection in chosen for hit in selection.hits])
        base = replace(base, topic_id=topic, withheld=all_withheld(chosen))
        # What an open kind of records found was left out; of the files the gate said no.
        nothing = "no_results" if first.verdict.is_open or not first.is_files else "gate"
        if not topic:
            return replace(base, reason=nothing)
        is_same_topic = self._hooks.dedup_enabled and topic == self._ledger.last_topic_id
        for selection in chosen:
            selection.drop_known(
                self._ledger, self._hooks, is_same_topic=is_same_topic, is_same_query=self._is_same_query
            )
            if self._hooks.skip_read:
                selection.drop_read(self._ledger)
        if not any(selection.hits for selection in chosen):
            reason = "same_topic" if is_same_topic else "all_seen"
            return replace(base, reason=reason, withheld=all_withheld(chosen))
        n_seen = sum(entry.reason == "seen" for selection in chosen for entry in selection.withheld)
        for selection in chosen:
            selection.recheck()
        is_any_left = any(selection.hits for selection in chosen)
        text = self._packer(chosen, n_seen).pack(chosen)
        items = tuple(item for selection in chosen for item in selection.items)
        # The session may have the beginning of the one record that was left, and there is no room for more of it.
        left_over = "budget" if any(selection.hits for selection in chosen) else "all_seen"
        reason = "injected" if items else left_over if is_any_left else nothing
        return replace(base, reason=reason, items=items, text=text, withheld=all_withheld(chosen))

    @cached_property
    def _is_same_query(self) -> bool:
        """True when the session was given something for these very words, since its last reset."""
        return bool(self._ledger.asked) and query_digest(self._query.text) in self._ledger.asked

    def _searched(self) -> list[Selection]:
        """Search every collection and judge the hits; the pieces of the prompt are embedded once for each model."""
        found: list[Selection] = []
        is_auto = self._hooks.gate_threshold == "auto"
        asked: dict[str, PromptPieces] = {}
        for collection in self._collections:
            searcher = collection.searcher
            model = searcher.embedder.info.key
            if is_auto and searcher.gate and model not in asked:
                asked[model] = searcher.gate.ask(self._query.text, searcher.english(self._query), is_prompt=True)
            if is_auto and self._lookup.topic and self._memory and collection is self._memory:
                # For the earlier work that a prompt asks for, a floor decides in place of the gate.
                searched = collection.search(make_query(self._lookup.topic), top_k=CONSIDERED)
                found.append(Selection(collection, searched, self._memory.asked_for(searched)))
                continue
            searched = collection.search(
                self._query,
                top_k=KINDS[collection.kind].n_considered,
                # What a closed gate kept back is of interest among files only.
                judging=self._judging(collection, asked.get(model)) if is_auto else None,
            )
            found.append(Selection(collection, searched, verdict_of(searched, collection, self._workspace.loaded)))
            if collection.kind == "files" and len(self._collections) > 1 and self._looks_up_names(searcher):
                self._show_code(found[-1])
        return found

    def _judging(self, collection: Collection, asked: PromptPieces | None) -> Judging:
        from hybrid.search.searcher import Judging  # Brings numpy.

        names_fitting = collection.names_fitting if collection.code and collection.code.fitting else None
        return Judging(asked, stops_when_closed=collection.kind != "files", names_fitting=names_fitting)

    def _looks_up_names(self, searcher: Searcher) -> bool:
        """Return whether records are to look up what they name; the index of another tree says nothing of this one.

        Nor does an overlay say what the team's index holds.
        """
        return self._hooks.check_names and not searcher.lender and searcher.is_whole

    def _show_code(self, files: Selection) -> None:
        """Let the records look up what they name in the index of the files, and whether that fits the prompt."""
        from hybrid.knowledge.named_code import ProjectCode  # Brings numpy.

        searcher, hits = files.collection.searcher, files.searched.hits if files.verdict.is_open else ()
        fitting = frozenset(tuple(dict.fromkeys(hit.path for hit in hits))[:_FITTING])
        root = self._workspace.require_project().root
        code = ProjectCode(root, searcher.backend, searcher.history, fitting)
        for collection in self._collections:
            if collection.kind != "files":
                collection.code = code

    def _handoff(self, found: Sequence[Selection], chosen: Sequence[Selection]) -> list[Selection]:
        """Add the latest handoff to the hits of the lore, if it is new enough and the session got no injection yet.

        Returns:
            The selection of the lore when it was not among the chosen ones, else nothing.
        """
        days = self._workspace.config.lore.handoff_days
        if self._lookup.is_report or not days or not self._is_first:
            return []
        lore = next((one for one in found if one.collection.kind == "lore"), None)
        if lore is None or not isinstance(lore.collection, RecordCollection):
            return []
        hit = lore.collection.latest_handoff(since_s=self._now_s - days * 86_400)
        if hit is None or self._turn.holds_out(hit.path) or any(hit.key == other.key for other in lore.hits):
            return []
        lore.hits.append(hit)
        return [] if lore in chosen else [lore]

    def _packer(self, chosen: Sequence[Selection], n_seen: int) -> Packer:
        query, config = self._query.text, self._workspace.config
        # A search to type is short and on one line.
        hint = query if len(query) <= _HINT_CHARS and "\n" not in query else None
        cites_lessons = any(one.collection.kind == "lessons" and one.hits for one in chosen)
        tools = self._turn.has_tools
        footer = Footer(given_earlier=n_seen, search_hint=hint, has_tools=tools, cites_lessons=cites_lessons)
        if self._lookup.is_report:
            return Packer(config, self._ledger, footer, _REPORT_SHARE, {"lessons": _REPORT_HEADING})
        return Packer(config, self._ledger, footer)


def _put_first(hits: list[Hit], found: Sequence[Selection], chosen: list[Selection]) -> None:
    """Let these be the hits of the memory, and put that first in `chosen`; nothing without hits."""
    if hits:
        memory = next(one for one in found if one.collection.kind == "memory")
        memory.hits = hits
        chosen.insert(0, memory)


def _margin(selection: Selection) -> float:
    return _LOWEST if selection.verdict.margin is None else selection.verdict.margin


def explain_steps(decision: Decision) -> dict[str, Any]:
    """Return the numbers behind a decision, for `--explain` and the machine form."""
    searched, said = decision.searched, decision.verdict
    return {
        "query": decision.query,
        "gate": None if said is None else gate_form(said),
        "kinds": {one.kind: gate_form(one.verdict) for one in decision.kinds},
        "fusion": None
        if searched is None
        else {
            "candidates": searched.n_candidates,
            "dense_weight": searched.weights[0],
            "lexical_weight": searched.weights[1],
            "top_bm25": searched.top_bm25,
            "is_symbol_like": searched.query.is_symbol_like,
        },
        "withheld": [
            {"key": entry.key, "reason": entry.reason, "relevance": round(entry.hit.relevance, 4)}
            for entry in decision.withheld
        ],
    }
