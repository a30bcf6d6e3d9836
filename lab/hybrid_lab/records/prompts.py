"""Asks judged prompts of a project that has records and no files, through the whole decision of the hook.

`hybrid eval records` calls it. Each prompt is asked in a session of its own, so nothing was given before. In process
nothing is recorded; through the hook it is, and what was given and never cited loses a little trust, as it would for a
user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from hybrid.answer.decide import Turn
from hybrid.answer.events import answer
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import clean, prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.types import OF_TREES
from hybrid_lab.records.report import RecordAsked, RecordsReport
from hybrid_lab.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.answer.decide import Decision
    from hybrid.answer.select import Selection
    from hybrid.evaluation.timing import Runner
    from hybrid.knowledge.collections import RecordCollection
    from hybrid.types import Hit
    from hybrid.workspace import Workspace
    from hybrid_lab.records.report import RecordPrompt

_DEPTH = 30
_DEADLINE_MS = 10_000
"""Of a hook that is measured for what it says, on a machine that does other things too."""


def evaluate_records(
    prompts: Sequence[RecordPrompt],
    workspace: Workspace,
    runner: Runner,
    *,
    through_hook: bool = False,
    report_prompt: Callable[[str], None] = lambda _: None,
) -> RecordsReport:
    """Ask every prompt.

    Args:
        prompts: Judged.
        workspace: Of a project with accepted records.
        runner: Of processes, with the same home.
        through_hook: What counts is what a hook process got for each prompt, from a service of its own.
        report_prompt: Hears the id of each prompt before it is asked.

    Raises:
        HybridError: The embedder cannot be loaded, or a hook failed.
    """
    kinds = OpenKinds(runner.environ)
    kinds.read(workspace)
    opened, problems = kinds.open(workspace, OF_TREES)
    records = cast("Sequence[RecordCollection]", opened)
    engine = _Engine(workspace, runner.environ, kinds, records)
    asked: list[RecordAsked] = []
    for prompt in prompts:
        report_prompt(prompt.id)
        asked.append(engine.ask(prompt))
    counts: dict[str, int] = {}
    for one in records:
        for record in one.by_path.values():
            counts[record.kind] = counts.get(record.kind, 0) + 1
    report = RecordsReport(tuple(asked), counts, problems=tuple(problems))
    return _through_hook(report, workspace, runner) if through_hook else report


class _Engine:
    """Asks in this process, and finds out why."""

    def __init__(
        self, workspace: Workspace, environ: Mapping[str, str], kinds: OpenKinds, records: Sequence[RecordCollection]
    ) -> None:
        self._workspace = workspace
        self._environ = environ
        self._kinds = kinds
        self._records = records
        self.ids = {path: record.id for one in records for path, record in one.by_path.items()}
        """Path in an index → id of its record; of two records with one id the second has another path."""

    def ask(self, prompt: RecordPrompt) -> RecordAsked:
        root = str(self._workspace.require_project().root)
        event = prompt_event("claude", f"evaluation-{prompt.id}", root, prompt.text)
        reply = answer(Turn(self._workspace, event, self._kinds, self._environ))
        reply.drop()
        decision = reply.decision
        items = [item for item in decision.items if prompt.counts(item.hit.kind)]
        given = tuple(self.ids.get(item.hit.path, item.hit.path) for item in items)
        homes = [one for one in self._records if self._is_among(one, prompt)]
        kinds = {kind.kind: kind for kind in decision.kinds}
        opened = [name for name, kind in kinds.items() if kind.verdict.is_open]
        hits = [hit for one in homes if (hit := self._best(one, prompt, kinds.get(one.kind)))]
        best = min(hits, key=lambda hit: hit.rank, default=None)
        names = {one.kind for one in homes} if prompt.gold else set(kinds)
        asked = RecordAsked(
            prompt=prompt,
            reason=decision.reason,
            detail=decision.detail,
            given=given,
            margins={name: kind.verdict.margin for name, kind in kinds.items()},
            is_open=not names.isdisjoint(opened),
            rank=best.rank if best else None,
            relevance=best.relevance if best else None,
            cosine=best.cosine if best else None,
            missed="",
        )
        return replace(asked, missed=self._missed(asked, decision, is_known=bool(homes)))

    def _is_among(self, records: RecordCollection, prompt: RecordPrompt) -> bool:
        return any(record.id in prompt.gold for record in records.by_path.values())

    def _best(self, records: RecordCollection, prompt: RecordPrompt, kind: Selection | None) -> Hit | None:
        """The best fitting record; behind a closed gate nothing was searched, so the prompt is as a whole."""
        hits: Iterable[Hit] = kind.searched.hits if kind else ()
        if not hits:
            hits = records.search(make_query(clean(prompt.text).text), top_k=_DEPTH).hits
        return next((hit for hit in hits if self.ids.get(hit.path) in prompt.gold), None)

    def _missed(self, asked: RecordAsked, decision: Decision, *, is_known: bool) -> str:
        if not asked.prompt.gold or asked.is_found:
            return ""
        if not is_known:
            return "unknown"
        if decision.reason == "prompt":
            return "rule"
        if not asked.is_open:
            return "gate"
        why = [entry.reason for entry in decision.withheld if self.ids.get(entry.hit.path) in asked.prompt.gold]
        return why[0] if why else "rank" if decision.is_injected else "session"


# --- through the hook --------------------------------------------------------------------------------------


def _through_hook(report: RecordsReport, workspace: Workspace, runner: Runner) -> RecordsReport:
    """The report with what hook processes got, by the event log of their service."""
    service, root = ServiceProcess(runner), workspace.require_project().root
    sessions = {one.prompt.id: f"hook-{root.name}-{number}" for number, one in enumerate(report.asked)}
    with service.running(root):
        for one in report.asked:
            deadline = {"HYBRID_HOOKS_DEADLINE_MS": str(_DEADLINE_MS)}
            service.hook(root, one.prompt.text, session=sessions[one.prompt.id], **deadline)
    logged = {event.get("session"): event for event in workspace.log.newest()}
    asked = [_as_logged(one, logged.get(sessions[one.prompt.id]) or {}) for one in report.asked]
    pairs = zip(report.asked, asked, strict=True)
    # Their order may differ: what was given to earlier prompts and never cited is trusted less.
    differs = tuple(one.prompt.id for one, other in pairs if set(one.given) != set(other.given))
    return replace(report, asked=tuple(asked), differs=differs)


def _as_logged(one: RecordAsked, event: Mapping[str, Any]) -> RecordAsked:
    """Return the record as asked, with the ids that the log says were delivered; none without a line in it."""
    items = [item for item in event.get("items") or () if one.prompt.counts(str(item.get("kind")))]
    given = tuple(str(item.get("id") or item.get("path")) for item in items)
    found = replace(
        one, given=given, reason=event.get("reason") or "not logged", detail=event.get("detail") or one.detail
    )
    if not one.prompt.gold or found.is_found:
        return replace(found, missed="")
    return replace(found, missed=one.missed or found.reason)
