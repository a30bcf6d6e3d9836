"""Notes a decision after its text was written: ledger, event log, counters, hot topics; nothing here fails a hook."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hybrid.engine.injecting import session_key
from hybrid.feedback.hot_topics import is_due, write_hot_topics
from hybrid.feedback.state import Given, count_injection, update_state
from hybrid.prompting.clean import clean
from hybrid.redact import redact

if TYPE_CHECKING:
    from hybrid.engine.injecting import Decision
    from hybrid.engine.workspace import Workspace
    from hybrid.feedback.state import HookState
    from hybrid.types import Hit, Item, HookEvent

_PROMPT_CHARS = 300
_REDACTED_CHARS = 5_000
"""So much of a prompt is looked through for secrets, so that none is cut in half where the log's part ends."""


def record(workspace: Workspace, event: HookEvent, decision: Decision, *, latency_ms: float) -> None:
    """Note a decision; a disk that is full or read-only loses the note, never the prompt."""
    with contextlib.suppress(OSError):
        if decision.is_injected:
            key = session_key(workspace, event)
            workspace.ledgers.record(key, decision.topic_id, [(i.hit.digest, i.form) for i in decision.items])
    with contextlib.suppress(OSError):
        workspace.log.append(_event_line(workspace, event, decision, latency_ms))
    with contextlib.suppress(OSError):
        if decision.is_injected:
            _count(workspace, decision)


def record_error(workspace: Workspace | None, event: HookEvent | None, error: BaseException | str) -> None:
    """Note a failure of a hook; without a workspace there is nowhere to note it."""
    if workspace is None:
        return
    message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        workspace.log.append(
            {
                "project": workspace.project.key if workspace.project else None,
                "client": event.client if event else None,
                "session": event.session_id if event else None,
                "event": event.event if event else None,
                "reason": "error",
                "error": message[:500],
            }
        )


def _count(workspace: Workspace, decision: Decision) -> None:
    hits = [_without_secrets(item.hit) for item in decision.items]
    given = [Given(hit.key, hit.path, hit.name) for hit in hits]
    every = workspace.config.log.hot_topics_every

    def change(state: HookState) -> None:
        count_injection(state, decision.topic_id, given)
        if is_due(state, every=every):
            with contextlib.suppress(OSError):
                write_hot_topics(workspace.state_folder, state)
                state.hot_topics_generated_at = state.injection_count

    update_state(workspace.state_folder, change)


def _event_line(workspace: Workspace, event: HookEvent, decision: Decision, latency_ms: float) -> dict[str, Any]:
    said = decision.verdict
    withheld: dict[str, int] = {}
    for entry in decision.withheld:
        withheld[entry.reason] = withheld.get(entry.reason, 0) + 1
    return {
        "project": workspace.project.key if workspace.project else None,
        "root": str(workspace.project.root) if workspace.project else None,
        "client": event.client,
        "session": event.session_id,
        "agent": event.agent_id or None,
        "event": event.event,
        "prompt": _logged_prompt(event.prompt, decision, workspace.config.privacy.log_prompts),
        "reason": decision.reason,
        "detail": decision.detail or None,
        "top_cosine": _rounded(said.top_cosine) if said else None,
        "threshold": _rounded(said.threshold) if said else None,
        "threshold_source": said.source if said else None,
        "topic_id": decision.topic_id or None,
        "items": [_item_line(item) for item in decision.items],
        "withheld": withheld,
        "bytes": len(decision.text.encode("utf-8", "replace")),
        "latency_ms": round(latency_ms, 2),
        "config_problems": list(workspace.loaded.problems) or None,
    }


def _item_line(item: Item) -> dict[str, Any]:
    hit = _without_secrets(item.hit)
    return {
        "key": hit.key,
        "kind": hit.kind,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "name": hit.name or None,
        "form": item.form,
        "cosine": _rounded(hit.cosine),
        "cosine_rank": hit.cosine_rank,
        "bm25": _rounded(hit.bm25),
        "bm25_rank": hit.bm25_rank,
        "rrf": round(hit.rrf, 6),
        "relevance": _rounded(hit.relevance),
    }


def _without_secrets(hit: Hit) -> Hit:
    """The hit as it may be noted, whatever may be shown; all but its path comes without secrets from the index."""
    return replace(hit, path=redact(hit.path))


def _logged_prompt(prompt: str, decision: Decision, how: str) -> str | None:
    """The prompt as the log keeps it: without private spans, secrets replaced; nothing of one that opted out."""
    if how == "none":
        return None
    cleaned = clean(prompt)
    text = decision.query or ("" if cleaned.is_opted_out else cleaned.text)
    if how == "hash":
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16] if text else None
    return redact(text[:_REDACTED_CHARS])[:_PROMPT_CHARS]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
