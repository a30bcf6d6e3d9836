"""`hybrid explain`: why something was injected, or why it was silent, from the event log."""

from __future__ import annotations

import argparse
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from hybrid.cli.advice import advice
from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.cli.gate_words import gate_rows, kind_rows
from hybrid.cli.log import learned_ids
from hybrid.feedback.health import is_prompt

if TYPE_CHECKING:
    from hybrid.engine.workspace import Workspace

_REASONS = {
    "injected": "The gate was open and these records fitted.",
    "disabled": "hybrid is switched off by HYBRID_DISABLE.",
    "paused": "hybrid is paused here.",
    "prompt": "The prompt itself asks for nothing that could be looked up.",
    "no_project": "The session's directory lies in no project.",
    "no_index": "The project was not indexed yet.",
    "index_corrupt": "The index is damaged.",
    "index_mismatch": "The index is of another format or model.",
    "gate": "Nothing in the project is close enough to the prompt: the gate stayed closed.",
    "no_results": "The gate was open, but no result reached the floor.",
    "late": "Something fitted, but the agent did not wait for it.",
    "same_topic": "The results are those of this session's last injection.",
    "all_seen": "This session already has every result.",
    "budget": "No result fits the budget.",
    "oriented": "A new session was told where it is and how to search.",
    "given_back": "After a compaction the session got back the best of what it had been given.",
    "briefed": "A subagent got the best of what its session had been given.",
    "resumed": "A resumed session still has what it was given.",
    "repeated": "The same start was answered already: the hook is registered twice.",
    "nothing_given": "There was nothing to give back.",
    "reset": "The client compacts its context: what was given may be given again.",
    "learned": "At the end of a turn lessons were cited or written down.",
    "off": "A setting switches this off.",
    "error": "The hook failed.",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid explain --last")
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="of an event, as `hybrid log` shows it; its beginning is enough"
    )
    parser.add_argument("--last", action="store_true", help="the last prompt (the default)")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when there is no such event."""
    workspace = workspace_of(args, is_strict=False)
    event = workspace.log.find(args.id) if args.id else _last(workspace)
    hints = advice(event, _earlier(workspace, event), workspace.config) if event else []
    if args.json:
        print_json({"event": event, "advice": hints})
    elif event is None:
        say(f"No event {args.id}." if args.id else "Nothing was recorded yet.")
    else:
        say("\n".join([*lines_of(event), *(f"  try        {hint}" for hint in hints)]))
    return 0 if event else 1


def _last(workspace: Workspace) -> dict[str, Any] | None:
    """The newest answer to a prompt, or failure; without any, the newest event of another kind."""
    newest = next(filter(workspace.is_here, workspace.log.newest()), None)
    here = filter(workspace.is_here, workspace.log.newest())
    return next((event for event in here if event.get("error") or is_prompt(event)), newest)


def _earlier(workspace: Workspace, event: dict[str, Any]) -> list[dict[str, Any]]:
    """Older events of the same conversation, newest first."""
    keys = ("client", "session", "agent", "project")
    found: list[dict[str, Any]] = []
    for other in dropwhile(lambda other: other.get("id") != event.get("id"), workspace.log.newest()):
        if all(other.get(key) == event.get(key) for key in keys):
            found.append(other)
    return found[1:]


def lines_of(event: dict[str, Any]) -> list[str]:
    """One event in full."""
    reason = str(event.get("reason"))
    lines = [
        f"{event.get('id')}  {event.get('at')}  {reason}",
        _REASONS.get(reason, ""),
        f"  client     {event.get('client')} (session {event.get('session') or 'none'}){_event(event)}",
        f"  prompt     {_prompt(event)}",
    ]
    for label, key in (("detail", "detail"), ("error", "error"), ("topic id", "topic_id")):
        if event.get(key):
            lines.append(f"  {label:<10} {event[key]}")
    lines += [f"  {label:<10} {', '.join(ids)}" for label, ids in learned_ids(event).items()]
    lines += [f"  {label:<10} {text}" for label, text in _gates(event)]
    for item in event.get("items") or ():
        lines.append(f"  {item['form']:<10} {_place(item)} {item['name'] or ''}".rstrip())
        lines.append(
            f"             cosine {item['cosine']} (rank {item['cosine_rank']}), bm25 {item['bm25']} "
            f"(rank {item['bm25_rank']}), rrf {item['rrf']}, relevance {item['relevance']}"
        )
    if event.get("withheld"):
        held = ", ".join(f"{count} {why}" for why, count in sorted(event["withheld"].items()))
        lines.append(f"  held back  {held}")
    lines += [f"  problem    {problem}" for problem in event.get("problems") or ()]
    lines += [f"  settings   {problem}" for problem in event.get("config_problems") or ()]
    if event.get("latency_ms") is not None:
        lines.append(f"  latency    {event['latency_ms']} ms, {event.get('bytes')} bytes")
    return lines


def _gates(event: dict[str, Any]) -> list[tuple[str, str]]:
    """The verdict of each kind; lines of earlier versions know only that on files."""
    kinds: dict[str, dict[str, Any]] = event.get("kinds") or {}
    rows = [] if event.get("gate_kind") in kinds else gate_rows(event)
    return rows + [row for kind, said in kinds.items() for row in kind_rows(kind, said)]


def _place(item: dict[str, Any]) -> str:
    """A record by its id, else the lines of a file."""
    return (
        f"[{item['kind']}] {item['id']}"
        if item.get("id")
        else f"{item['path']}:{item['start_line']}-{item['end_line']}"
    )


def _event(event: dict[str, Any]) -> str:
    """What happened, when it was no prompt."""
    name, source = event.get("event"), event.get("source")
    about = "a subagent's report" if event.get("is_report") else "" if name in (None, "UserPromptSubmit") else str(name)
    return f", {about}{f' ({source})' if source and about else ''}" if about else ""


def _prompt(event: dict[str, Any]) -> str:
    """What was kept of the prompt; it is only the beginning of a long one."""
    kept, length = event.get("prompt"), event.get("prompt_chars")
    if not kept:
        return f"not kept (digest {event['prompt_digest']})" if event.get("prompt_digest") else "not kept"
    text = " ".join(str(kept).split())
    return f"{text}… ({length} characters)" if isinstance(length, int) and length > len(str(kept)) else text
