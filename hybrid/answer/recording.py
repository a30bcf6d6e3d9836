"""Notes a decision after its text was written: ledger, event log, counters, hot topics; nothing here fails a hook.

The event log keeps enough of it for `hybrid explain`, without prompts, secrets or texts.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.answer.decide import NOTHING_FITS
from hybrid.answer.holdout import HELD_OUT
from hybrid.answer.select import without_secrets
from hybrid.answer.session_start import start_name
from hybrid.base.errors import HybridError
from hybrid.knowledge.lessons_intake import note_given
from hybrid.log.events import CITED, OUTCOMES, is_decision, is_prompt, log_folder, newest_events, seconds_of
from hybrid.log.given_texts import GivenText
from hybrid.log.outcomes import outcome_of
from hybrid.log.state import count_injection, is_hot_topics_due, update_state, write_hot_topics
from hybrid.project.find import marks_of
from hybrid.project.registry import is_forgotten
from hybrid.prompting.content import paths
from hybrid.prompting.lexicon import in_english
from hybrid.prompting.query import query_digest
from hybrid.records.types import KINDS
from hybrid.redact import redact
from hybrid.session.ledger import Given
from hybrid.sources.records import record_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hybrid.answer.decide import Decision, Turn
    from hybrid.knowledge.lessons_intake import TurnReport
    from hybrid.log.events import ReasonName
    from hybrid.log.state import HookState
    from hybrid.search.scores import Verdict
    from hybrid.types import CleanedPrompt, Hit, HookEvent, Item
    from hybrid.workspace import Workspace


_PROMPT_CHARS = 80
"""Characters of a prompt in the log: enough to know one's own prompt again, too few for what was pasted into it."""

_DIGEST_CHARS = 5_000
"""Characters of a prompt, at most, that make its digest, and that are said in English: as many as are searched for."""

_PROBLEM_CHARS = 300
_LAST_OUTCOMES = 5
_LOG_BYTES = 500_000
"""Bytes at the end of the log in which the decisions of a turn are looked for."""
_HELD_BACK = 5
_OF_MEMORY = KINDS["memory"].hits
_EXPLAINED = ("names_gone", HELD_OUT, "seen", "read", "budget", "stale", "topic")
_OF_GATE = ("top_cosine", "threshold", "threshold_source", "score", "bar", "parts")


def place_of(hit: Hit) -> dict[str, Any]:
    """Return the place of a hit: `kind`, `name`; `id` for a record, `path`, `start_line`, `end_line` for a file."""
    is_record = hit.is_record
    return {
        "kind": hit.kind,
        "id": record_id(hit.path) if is_record else None,
        "path": None if is_record else hit.path,
        "start_line": None if is_record else hit.start_line,
        "end_line": None if is_record else hit.end_line,
        "name": hit.name or None,
    }


def prompt_part(cleaned: CleanedPrompt, decision: Decision, how: str) -> dict[str, Any]:
    """Return the prompt as the log keeps it: without private spans, secrets replaced; nothing of one that opted out.

    Args:
        cleaned: The prompt.
        decision: Its query is kept in place of the prompt when there was a search.
        how: `text` keeps a digest and the first 80 characters, `hash` the digest, `none` nothing.

    Returns:
        `prompt`, `prompt_digest` (16 hex digits of SHA-256 of the cleaned prompt without secrets) and `prompt_chars`.
    """
    # A prompt that opted out is never searched with.
    text = "" if how == "none" else decision.query or ("" if cleaned.is_opted_out else cleaned.text)
    if not text:
        return {"prompt": None, "prompt_digest": None, "prompt_chars": None}
    return {
        "prompt": text[:_PROMPT_CHARS] if how == "text" else None,
        "prompt_digest": query_digest(text[:_DIGEST_CHARS]),
        "prompt_chars": len(text),
    }


def english_part(decision: Decision, how: str) -> dict[str, Any]:
    """Return `english`: the English words that a prompt in another language was searched for with, without secrets.

    It is None for an English prompt, and if the log does not keep the text of prompts (`how`, as of `prompt_part`).
    """
    query = decision.searched.query if decision.searched else None
    if query is None or not query.english or how != "text":
        return {"english": None}
    # Said in English, a secret has not the form by which it is known, and may be in pieces: then nothing is kept.
    said = in_english(query.text[:_DIGEST_CHARS])
    return {"english": None if redact(said) != said else " ".join(said.split())[:_PROMPT_CHARS] or None}


def passages_part(decision: Decision) -> dict[str, Any]:
    """Return `passages`: kind → number of the passages of a prompt that was searched for by its title, else None."""
    query = decision.searched.query if decision.searched else None
    return {"passages": Counter(part.kind for part in query.passages) if query and query.title else None}


def gate_part(said: Verdict | None) -> dict[str, Any]:
    """Return what the gate compared, numbers with four digits.

    Returns:
        `top_cosine`, `threshold`, `threshold_source`, `score`, `bar` and `parts`, as of a `Verdict`; None for what is
        empty or not finite, and all of them without a verdict.
    """
    if said is None:
        return dict.fromkeys(_OF_GATE)
    return {
        "top_cosine": rounded(said.top_cosine),
        "threshold": rounded(said.threshold),
        "threshold_source": said.source,
        "score": rounded(said.score),
        "bar": said.bar or None,
        "parts": {name: rounded(value) for name, value in said.parts.items()} or None,
    }


def kinds_part(decision: Decision) -> dict[str, Any]:
    """Return what each kind of records said, beside the verdict that `gate_part` notes.

    Returns:
        `gate_kind`: whose that verdict is, None without one; `kinds`: kind of records → `is_open` and the keys of
        `gate_part`, None when none was searched; `problems`: why a kind was left out, None when none was.
    """
    first = next((one.kind for one in decision.kinds if one.verdict is decision.verdict), None)
    of_records = {one.kind: one.verdict for one in decision.kinds if one.kind != "files"}
    said = {kind: {"is_open": verdict.is_open, **gate_part(verdict)} for kind, verdict in of_records.items()}
    problems = [redact(problem)[:_PROBLEM_CHARS] for problem in decision.problems]
    return {"gate_kind": first, "kinds": said or None, "problems": problems or None}


def item_part(item: Item) -> dict[str, Any]:
    """Return one item as the log keeps it: place of its hit, its form and the reason for it, and its numbers."""
    found = without_secrets(item.found)
    hit = replace(item.hit, path=found.path)
    return {
        "key": found.key,
        **place_of(hit),
        "form": item.form,
        "why": f"{item.why}, without lines that were read" if item.is_rest else item.why or None,
        "cosine": rounded(hit.cosine),
        "cosine_rank": hit.cosine_rank,
        "bm25": rounded(hit.bm25),
        "bm25_rank": hit.bm25_rank,
        "rrf": round(hit.rrf, 6),
        "relevance": rounded(hit.relevance),
        "evidence": {name: round(value, 4) for name, value in hit.evidence.items() if round(value, 2)} or None,
    }


def rounded(value: float | None) -> float | None:
    """Return a number rounded to four digits, never −0; None for None and for what is not finite, which JSON lacks."""
    return None if value is None or not math.isfinite(value) else round(value, 4) + 0.0


def evidence_part(decision: Decision) -> dict[str, Any]:
    """Return the candidates behind a silence: the best one that was searched, and some that were held back.

    Returns:
        `best` ({key, kind, id, name, cosine, bm25} of the hit with the highest cosine, or None; `id` of records), and
        `held_back`: up to five {key, reason} of what was seen, read, stale, too long or about code that is gone, then
        of what is `topic`.
    """
    held = [entry for entry in decision.withheld if entry.reason in _EXPLAINED]
    held = sorted(held, key=lambda entry: entry.reason == "topic")[:_HELD_BACK]  # What was given tells more.
    return {
        "best": _best(decision),
        "held_back": [{"key": entry.key, "reason": entry.reason} for entry in held] or None,
    }


def _best(decision: Decision) -> dict[str, Any] | None:
    first = next((one for one in decision.kinds if one.verdict is decision.verdict), None)
    if decision.reason not in NOTHING_FITS or first is None or not first.searched.hits:
        return None
    nearest = max(first.searched.hits, key=lambda hit: -2.0 if hit.cosine is None else hit.cosine)
    hit = without_secrets(first.collection.shown(nearest))
    return {
        "key": hit.key,
        "kind": hit.kind,
        "id": redact(record_id(hit.path)) if hit.is_record else None,
        "name": hit.name or None,
        "cosine": rounded(hit.cosine),
        "bm25": rounded(hit.bm25),
    }


# --- the note itself ---------------------------------------------------------------------------------------


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
        event_id = workspace.log.append(_event_line(turn, decision, latency_ms))
        if decision.text and workspace.project is not None:
            text = decision.text if workspace.config.privacy.redact else redact(decision.text)
            has_memory = decision.reason != "injected" or any(one.hit.kind in _OF_MEMORY for one in decision.items)
            session, key = turn.event.session_id, workspace.project.key
            workspace.texts.add(GivenText(event_id, time.time(), key, session, text, has_memory))
    with contextlib.suppress(OSError):
        if decision.is_injected:
            _count(workspace, decision)
    with contextlib.suppress(OSError, HybridError):
        if decision.is_injected or decision.reason == "at_file":  # What a session begins with was not chosen for it.
            note_given(workspace, [record_id(item.hit.path) for item in decision.items if item.hit.kind == "lesson"])


def _note_in_ledger(turn: Turn, decision: Decision) -> None:
    """Note what the agent was given, and which hits fitted although it had them; nothing when there are none.

    Raises:
        OSError: The disk is full or read-only.
    """
    again = [entry.hit.digest for entry in decision.withheld if entry.reason == "seen"]
    start = start_name(turn.event) if turn.event.event == "SessionStart" and decision.text else ""
    if not (decision.items or decision.held or again or start or decision.noted):
        return
    # What is held out counts as given, so that both sides of an experiment are asked for the same.
    found = [item.found for item in (*decision.items, *decision.held)]
    is_unasked = decision.reason in ("given_back", "briefed")
    is_of_prompt = decision.is_injected or (decision.reason == HELD_OUT and decision.detail == "injected")
    forms = [(hit.digest, form) for item in (*decision.items, *decision.held) for hit, form in item.given]
    given = Given(
        # First lines answer no question: a file that is given by them counts as named.
        [
            *((digest, "pointer" if is_unasked and form == "preview" else form) for digest, form in forms),
            *((digest, "full") for digest in decision.noted),
        ],
        decision.topic_id if is_of_prompt else None,
        asked=query_digest(decision.query) if is_of_prompt else "",
        hits=() if decision.reason == "given_back" else found,
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


def record_outcome(turn: Turn, cited: Collection[str]) -> None:
    """Append to the log of outcomes what became of the decisions of the turn that ended before an event; never raises.

    Args:
        turn: A turn of the main conversation.
        cited: Ids of the lessons that the agent cited in the turn.
    """
    workspace, event = turn.workspace, turn.event
    with contextlib.suppress(OSError):
        uses = workspace.ledgers.take_uses(turn.key)
        decisions = list(_ended(turn))
        # What a session begins with belongs to its first turn.
        is_turn = bool(uses) or any(map(is_prompt, decisions))
        is_counted = workspace.config.experiment.holdout > 0
        files_of = partial(_files_of, turn)
        outcome = outcome_of(decisions, uses, cited, files_of, is_counted=is_counted) if is_turn else {}
        if outcome:
            prompt = next((one["prompt"] for one in decisions if one.get("prompt")), "")
            if prompt:
                from hybrid.search.ranking.query_terms import is_wish  # Slow to load.

                outcome["task"] = "change" if is_wish(prompt) else "question"
            whose = {"project": workspace.project.key if workspace.project else None, "session": event.session_id}
            if is_counted:
                whose["arm"] = "held_out" if turn.holds_out() else "given"
            workspace.outcomes.append({**whose, "client": event.client, **outcome})


def _ended(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a session whose outcome was not noted yet, but for that on the turn's own prompt.

    What came too late for its agent is none.
    """
    session, project = turn.event.session_id, turn.workspace.project
    if project is None or not session:
        return
    folder, until_s = log_folder(turn.workspace.home), turn.at_ms / 1000

    def is_own(line: Mapping[str, Any]) -> bool:
        return line.get("session") == session and line.get("project") == project.key

    ended = filter(is_own, newest_events(folder, max_bytes=_LOG_BYTES, name=OUTCOMES))
    # A turn that a prompt ended is noted after that prompt's own decision, so ids tell what was noted, not times.
    noted = {name for line in islice(ended, _LAST_OUTCOMES) for name in line.get("decisions") or ()}
    for line in filter(is_own, newest_events(folder, max_bytes=_LOG_BYTES)):
        if line.get("id") in noted:
            return
        if is_decision(line) and line.get("reason") != "late" and seconds_of(line.get("at")) < until_s:
            yield line


def _files_of(turn: Turn, item: Mapping[str, Any]) -> list[str]:
    """Return the files that the record of an item of the log names; none for one that is gone."""
    _, _, path = str(item.get("key")).rpartition(":")[0].partition(":")
    about = str(item.get("why") or "").removeprefix("about ")
    with contextlib.suppress(HybridError, OSError, KeyError):
        record = turn.kinds.by_path(turn.workspace)[path]
        return [about, *paths("\n".join((record.name, *record.lines)))]
    return [about]


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
    shown = (hit for item in decision.items for hit in item.shown)
    hits = [without_secrets(hit) for hit in shown if not hit.is_record]
    every = workspace.config.log.hot_topics_every

    def change(state: HookState) -> None:
        count_injection(state, decision.topic_id, hits)
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
        **prompt_part(event.prompt, decision, workspace.config.privacy.log_prompts),
        **english_part(decision, workspace.config.privacy.log_prompts),
        **passages_part(decision),
        "reason": decision.reason,
        "detail": decision.detail or None,
        **gate_part(decision.verdict),
        **kinds_part(decision),
        "topic_id": decision.topic_id or None,
        "items": [item_part(item) for item in decision.items],
        **({"held": [item_part(item) for item in decision.held]} if decision.held else {}),
        "withheld": Counter(entry.reason for entry in decision.withheld),
        **evidence_part(decision),
        "bytes": len(decision.text.encode("utf-8", "replace")),
        "latency_ms": round(latency_ms, 2),
        "config_problems": list(workspace.loaded.problems) or None,
    }
