"""Sessions: what one is given first, what is asked for most, prompts to write down, and why an answer was given."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import dropwhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from hybrid.base.errors import HybridError
from hybrid.health.explaining import advice, gate_rows, kind_rows, learned_ids
from hybrid.log.events import is_prompt, reason_of
from hybrid.log.outcomes import outcome_in_words
from hybrid.operations.asking import ForAgents, Outcome, operation
from hybrid.operations.types import Arguments, Nothing, option, word
from hybrid.records.memory.types import RowFilter, name_of, parse_name, title_of
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import evidence_line
from hybrid.types import HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.operations.asking import Asking
    from hybrid.workspace import Workspace


_LATELY = 30

_HAND_OVER = """\
Write a handoff for whoever goes on with this work. Say what was asked for, what is done and where, what is left, what \
blocks it, and what to look at first. Then store it with `hybrid lore handoff "MESSAGE" --next STEP --blocker \
BLOCKER`, or, where no command can be run, with the tool `remember`. Decisions that others may ask about go to \
`decide`."""

_LEARNED = """\
Look back at this session and find what the next one must know: what failed and why, what the project expects that its \
code does not say, what had to be found out twice. For each, look with the tool `lessons` whether it is known. Write \
down what is new with the tool `remember`, kind `lesson`: a short title, and the rule with its reason. Write nothing \
that the code or the commits say already; nothing is a good result too."""


@operation(
    "orientation",
    for_agents=ForAgents(
        "Orientation", "What this project is, what is open, and what was learned.", "hybrid://orientation"
    ),
)
def orientation(asking: Asking, wanted: Nothing) -> Outcome:
    """Return what a new session of this project is given."""
    from hybrid.answer.decide import Turn
    from hybrid.answer.session_start import start_session

    event = HookEvent(asking.client, "SessionStart", "", "", str(asking.workspace.cwd or ""), source="startup")
    decision = start_session(Turn(asking.workspace, event, asking.kinds, asking.environ))
    text = decision.text or f"Nothing is known of this project yet ({decision.reason})."
    return Outcome(text, frame=decision.text)


@operation(
    "hot_topics",
    for_agents=ForAgents("Hot topics", "The files and symbols that prompts asked for most.", "hybrid://hot-topics"),
)
def hot_topics(asking: Asking, wanted: Nothing) -> Outcome:
    """Return the files and symbols that were injected most, as `hot-topics.md` has them."""
    from hybrid.log import state as state_files

    state = state_files.read_state(asking.workspace.state_folder)
    return Outcome(state_files.hot_topics(state, datetime.fromtimestamp(asking.now_ms / 1000, timezone.utc)))


@operation(
    "hand_over",
    for_agents=ForAgents("Hand over", "Write a handoff for the next session from what was done here.", "hand-over"),
)
def hand_over(asking: Asking, wanted: Nothing) -> Outcome:
    """Return a prompt that asks for a handoff, with what the memory knows of this session."""
    return Outcome(_HAND_OVER + _done_lately(asking))


@operation(
    "learned",
    for_agents=ForAgents(
        "What did we learn?", "Find the lessons of this session and write them down.", "what-did-we-learn"
    ),
)
def learned(asking: Asking, wanted: Nothing) -> Outcome:
    """Return a prompt that asks for the lessons of a session, with what the memory knows of it."""
    return Outcome(_LEARNED + _done_lately(asking))


def _done_lately(asking: Asking) -> str:
    """Return the newest rows of the memory that this session left, or of the project where the session is unknown."""
    from hybrid.operations.memory import rows_text

    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    if not workspace.config.memory.enabled or not store.exists:
        return ""
    key = workspace.require_project().key
    rows = store.newest(RowFilter(key=key, session_id=asking.session_id), _LATELY) if asking.session_id else []
    rows = rows or store.newest(RowFilter(key=key), _LATELY)
    listed = rows_text(reversed(rows), here=key)
    return f"\n\nWhat was noted lately:\n{listed}" if rows else ""


# --- what was decided, and why ------------------------------------------------------------------------------


_MARKS = {
    "topic": "",
    "held_out": " (held out by the experiment)",
    "read": " (read)",
    "names_gone": " (about code that is gone)",
}
"""Reason of what was held back → what follows its place, for reasons that are shown by name."""


class Explain(Arguments, frozen=True):
    """An event of the log; without an id the last answer to a prompt."""

    id: Annotated[str, word("of an event, as `hybrid log` shows it; its beginning is enough", "ID")] = ""
    last: Annotated[bool, option("the last prompt (the default)")] = False
    text: Annotated[bool, option("the text of the injection alone, as the agent saw it")] = False


@operation("explain", "why something was injected, or why it was silent", "--last", is_tolerant=True)
def explain(asking: Asking, wanted: Explain) -> Outcome:
    """Return an event of the log with what would have changed it."""
    workspace = asking.workspace
    event = workspace.log.find(wanted.id) if wanted.id else _last_answer(workspace)
    if event is None:
        nothing = f"No event {wanted.id}." if wanted.id else "Nothing was recorded yet."
        return Outcome(nothing, data={"event": None, "advice": []}, is_found=False)
    text = workspace.texts.find(str(event.get("id")))
    if wanted.text:
        nothing = f"No text of {event.get('id')} is kept: it gave none, or it is older than `log.text_days`."
        return Outcome(text or nothing, frame=text, data={"text": text or None}, is_found=bool(text))
    hints = advice(event, _earlier(workspace, event), workspace.config)
    ended = (one for one in workspace.outcomes.newest() if event.get("id") in (one.get("decisions") or ()))
    outcome = next(ended, None)
    lines = [
        *lines_of_event(event, _titles(workspace, asking.kinds, event)),
        *(f"  outcome    {said}" for said in outcome_in_words(outcome or {})),
        *(f"  try        {hint}" for hint in hints),
    ]
    return Outcome("\n".join(lines), data={"event": event, "advice": hints, "outcome": outcome, "text": text or None})


def _last_answer(workspace: Workspace) -> dict[str, Any] | None:
    """Return the newest answer to a prompt, or failure; without any, the newest event of another kind."""
    newest = next(filter(workspace.is_here, workspace.log.newest()), None)
    here = filter(workspace.is_here, workspace.log.newest())
    return next((event for event in here if event.get("error") or is_prompt(event)), newest)


def _earlier(workspace: Workspace, event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events before this one of the same client, session, agent and project, newest first."""
    keys = ("client", "session", "agent", "project")
    from_here = dropwhile(lambda other: other.get("id") != event.get("id"), workspace.log.newest())
    return [other for other in from_here if all(other.get(key) == event.get(key) for key in keys)][1:]


def _titles(workspace: Workspace, kinds: OpenKinds, event: dict[str, Any]) -> dict[str, str]:
    """Return id → title of the memory's rows that an event gave and that still exist, since the log keeps no titles."""
    items = [item for item in event.get("items") or () if item.get("kind") in ("observation", "summary")]
    ids = [identity for item in items if (identity := parse_name(str(item.get("id") or "")))]
    if not ids:
        return {}
    try:
        rows = kinds.stores.memory(workspace).named(ids)
    except (HybridError, OSError):
        return {}
    return {name_of(row): neutralise_line(title_of(row)) for row in rows}


def lines_of_event(event: dict[str, Any], titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return one event in full.

    Args:
        event: A line of the event log.
        titles: Id → title of rows of the memory.
    """
    reason = str(event.get("reason"))
    lines = [
        f"{event.get('id')}  {event.get('at')}  {reason}",
        known.sentence if (known := reason_of(reason)) else "",
        f"  client     {event.get('client')} (session {event.get('session') or 'none'}){_named_event(event)}",
        f"  prompt     {_kept_prompt(event)}",
    ]
    if event.get("english"):
        lines.append(f"  in English {event['english']}")
    if passages := event.get("passages"):
        found = ", ".join(f"{count} {kind}" for kind, count in passages.items())
        lines.append(f"  by title   its first line counts most; the prompt has {found}")
    for label, key in (("detail", "detail"), ("error", "error"), ("topic id", "topic_id")):
        if event.get(key):
            lines.append(f"  {label:<10} {event[key]}")
    lines += [f"  {label:<10} {', '.join(ids)}" for label, ids in learned_ids(event).items()]
    lines += [f"  {label:<10} {text}" for label, text in _gates(event)]
    for item in (*(event.get("items") or ()), *(event.get("held") or ())):
        name = item["name"] or titles.get(str(item.get("id")), "")
        why = f" ({item['why']})" if item.get("why") else ""
        lines.append(f"  {item['form']:<10} {_place_of(item)} {name}".rstrip() + why)
        lines.append(
            f"             cosine {item['cosine']} (rank {item['cosine_rank']}), bm25 {item['bm25']} "
            f"(rank {item['bm25_rank']}), rrf {item['rrf']}, relevance {item['relevance']}"
        )
        if item.get("evidence"):
            lines.append(f"             {evidence_line(item['evidence'])}")
    if event.get("withheld"):
        held = ", ".join(f"{count} {why}" for why, count in sorted(event["withheld"].items()))
        lines.append(f"  held back  {held}")
    for entry in event.get("held_back") or ():
        if entry.get("reason") in _MARKS:
            mark = _MARKS[entry["reason"]]
            lines.append(f"             {str(entry.get('key')).rpartition(':')[0]}{mark}")
    lines += [f"  problem    {problem}" for problem in event.get("problems") or ()]
    lines += [f"  settings   {problem}" for problem in event.get("config_problems") or ()]
    if event.get("latency_ms") is not None:
        lines.append(f"  latency    {event['latency_ms']} ms, {event.get('bytes')} bytes")
    return lines


def _gates(event: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the verdict of each kind; lines of earlier versions know only that on files."""
    kinds: dict[str, dict[str, Any]] = event.get("kinds") or {}
    rows = [] if event.get("gate_kind") in kinds else gate_rows(event)
    return rows + [row for kind, compared in kinds.items() for row in kind_rows(kind, compared)]


def _place_of(item: dict[str, Any]) -> str:
    """Return a record by its id, else the lines of a file."""
    if item.get("id"):
        return f"[{item['kind']}] {item['id']}"
    return f"{item['path']}:{item['start_line']}-{item['end_line']}"


def _named_event(event: dict[str, Any]) -> str:
    """Return `, ` and the event's name, or that it was a subagent's report; empty for a plain prompt."""
    name, source = event.get("event"), event.get("source")
    about = "" if name in (None, "UserPromptSubmit") else str(name)
    about = "a subagent's report" if event.get("is_report") else about
    return f", {about}{f' ({source})' if source and about else ''}" if about else ""


def _kept_prompt(event: dict[str, Any]) -> str:
    """Return what was kept of the prompt, which is only the beginning of a long one."""
    kept, length = event.get("prompt"), event.get("prompt_chars")
    if not kept:
        return f"not kept (digest {event['prompt_digest']})" if event.get("prompt_digest") else "not kept"
    text = " ".join(str(kept).split())
    return f"{text}… ({length} characters)" if isinstance(length, int) and length > len(str(kept)) else text
