"""Notes a decision after its text was written: ledger, event log, counters, hot topics; nothing here fails a hook."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from hybrid.answer.log_fields import (
    english_part,
    evidence_part,
    gate_part,
    item_part,
    kinds_part,
    passages_part,
    prompt_part,
    without_secrets,
)
from hybrid.answer.session_start import start_name
from hybrid.base.errors import HybridError
from hybrid.feedback.events import CITED
from hybrid.feedback.state import InjectedChunk, count_injection, is_hot_topics_due, update_state, write_hot_topics
from hybrid.knowledge.lessons_intake import note_given
from hybrid.project.find import marks_of
from hybrid.project.registry import is_forgotten
from hybrid.prompting.query import query_digest
from hybrid.redact import redact
from hybrid.session.ledger import Given
from hybrid.sources.records import record_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.answer.turn import Decision, Turn
    from hybrid.feedback.reasons import ReasonName
    from hybrid.feedback.state import HookState
    from hybrid.knowledge.lessons_intake import TurnReport
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


_MOST_ERROR_CHARS = 500


def record(turn: Turn, decision: Decision, *, latency_ms: float) -> None:
    """Note a decision in ledger, event log and counters; a disk that is full or read-only loses the note silently."""
    workspace = turn.workspace
    with contextlib.suppress(OSError):
        if decision.reason != "late":  # It never reached the agent.
            _note_in_ledger(turn, decision)
            if turn.event.event == "UserPromptSubmit" and workspace.config.lessons.remind_every:
                workspace.ledgers.note_prompt(turn.key, is_reminded=decision.reason == "reminded")
    with contextlib.suppress(OSError):
        workspace.log.append(_event_line(turn, decision, latency_ms))
    with contextlib.suppress(OSError):
        if decision.is_injected:
            _count(workspace, decision)
    with contextlib.suppress(OSError, HybridError):
        if decision.is_injected:  # What a session begins with was not chosen for a prompt.
            note_given(workspace, [record_id(item.hit.path) for item in decision.items if item.hit.kind == "lesson"])


def _note_in_ledger(turn: Turn, decision: Decision) -> None:
    """Note what the agent was given, and which hits fitted although it had them; nothing when there are none.

    Raises:
        OSError: The disk is full or read-only.
    """
    again = [entry.hit.digest for entry in decision.withheld if entry.reason == "seen"]
    start = start_name(turn.event) if turn.event.event == "SessionStart" and decision.text else ""
    if not (decision.items or again or start):
        return
    shown = [hit for item in decision.items for hit in (item.hit, *item.adjoining)]
    is_unasked = decision.reason in ("given_back", "briefed")
    forms = [(hit.digest, form) for item in decision.items for hit, form in item.given]
    given = Given(
        # First lines answer no question: a file that is given by them counts as named.
        [(digest, "pointer" if is_unasked and form == "preview" else form) for digest, form in forms],
        decision.topic_id if decision.is_injected else None,
        asked=query_digest(redact(decision.query)) if decision.is_injected else "",
        hits=() if decision.reason == "given_back" else shown,
        again=again,
        start=start,
    )
    turn.workspace.ledgers.record(turn.key, given)


def record_error(workspace: Workspace | None, event: HookEvent | None, error: BaseException | str) -> None:
    """Append a failure of a hook to the event log, without secrets; does nothing without a workspace."""
    if workspace is not None:
        message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        _append(workspace, event, "error", error=redact(message[: 4 * _MOST_ERROR_CHARS])[:_MOST_ERROR_CHARS])


def record_learned(workspace: Workspace, event: HookEvent, learned: TurnReport) -> None:
    """Append to the event log which lessons the agent cited and wrote down; does nothing when it did neither."""
    if learned.cited or learned.recorded:
        _append(workspace, event, "learned", cited=list(learned.cited), recorded=list(learned.recorded))


def record_cited(workspace: Workspace, lesson_ids: Sequence[str]) -> None:
    """Append to the event log which lessons a person cited."""
    _append(workspace, None, "cited", event=CITED, cited=list(lesson_ids))


def _append(workspace: Workspace, of: HookEvent | None, reason: ReasonName, **fields: object) -> None:
    """Append a line to the event log that is no decision; a disk that is full or read-only loses it silently.

    Args:
        workspace: The workspace of the log.
        of: The event behind the line; None when a person or the service acted.
        reason: The reason of the line.
        fields: Further fields, also in place of those of the event.
    """
    line = {
        "project": workspace.project.key if workspace.project else None,
        "client": of.client if of else None,
        "session": of.session_id if of else None,
        "event": of.event if of else None,
        "reason": reason,
    }
    with contextlib.suppress(OSError):
        workspace.log.append(line | fields)


def _count(workspace: Workspace, decision: Decision) -> None:
    project = workspace.require_project()
    if not project.has_folder and is_forgotten(project.key, marks_of(project), workspace.home):
        # Records of all projects come there too; counters in the home would make it a project again, without a name.
        return
    # Records are no files: which lessons help is counted beside them.
    shown = (hit for item in decision.items for hit in (item.hit, *item.adjoining))
    hits = [without_secrets(hit) for hit in shown if not hit.is_record]
    given = [InjectedChunk(hit.key, hit.path, hit.name) for hit in hits]
    every = workspace.config.log.hot_topics_every

    def change(state: HookState) -> None:
        count_injection(state, decision.topic_id, given)
        if is_hot_topics_due(state, every=every):
            with contextlib.suppress(OSError):
                write_hot_topics(workspace.state_folder, state)
                state.hot_topics_generated_at = state.injection_count

    update_state(workspace.state_folder, change)


def _event_line(turn: Turn, decision: Decision, latency_ms: float) -> dict[str, Any]:
    workspace, event = turn.workspace, turn.event
    return {
        "project": workspace.project.key if workspace.project else None,
        "root": str(workspace.project.root) if workspace.project else None,
        "client": event.client,
        "session": event.session_id,
        "agent": event.agent_id or None,
        "event": event.event,
        "source": event.source or None,
        "is_report": decision.is_report,
        **prompt_part(turn.cleaned, decision, workspace.config.privacy.log_prompts),
        **english_part(decision, workspace.config.privacy.log_prompts),
        **passages_part(decision),
        "reason": decision.reason,
        "detail": decision.detail or None,
        **gate_part(decision.verdict),
        **kinds_part(decision),
        "topic_id": decision.topic_id or None,
        "items": [item_part(item) for item in decision.items],
        "withheld": Counter(entry.reason for entry in decision.withheld),
        **evidence_part(decision),
        "bytes": len(decision.text.encode("utf-8", "replace")),
        "latency_ms": round(latency_ms, 2),
        "config_problems": list(workspace.loaded.problems) or None,
    }
