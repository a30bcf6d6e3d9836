"""`hybrid explain`: why an event got a text or nothing, and the setting or command that would have changed it."""

from __future__ import annotations

import argparse
from itertools import dropwhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.cli.common import add_common, print_found, workspace_of
from hybrid.cli.log import places_in
from hybrid.feedback.events import is_prompt
from hybrid.feedback.reasons import reason_of
from hybrid.health.explaining import advice, gate_rows, kind_rows, learned_ids
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import evidence_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.workspace import Workspace

_MARKS = {"topic": "", "read": " (read)", "names_gone": " (about code that is gone)"}
"""Reason of what was held back → what follows its place, for reasons that are shown by name."""


# --- the command ------------------------------------------------------------------------------------------


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid explain --last")
    about = "of an event, as `hybrid log` shows it; its beginning is enough"
    parser.add_argument("id", nargs="?", metavar="ID", help=about)
    parser.add_argument("--last", action="store_true", help="the last prompt (the default)")


def run(args: argparse.Namespace) -> int:
    """Print the event with advice; exit code 1 when there is no such event."""
    workspace = workspace_of(args, is_strict=False)
    event = workspace.log.find(args.id) if args.id else _last(workspace)
    hints = advice(event, _earlier(workspace, event), workspace.config) if event else []
    titles = _titles(workspace, event) if event and not args.json else {}
    lines = [*lines_of(event, titles), *(f"  try        {hint}" for hint in hints)] if event else []
    nothing = f"No event {args.id}." if args.id else "Nothing was recorded yet."
    links = places_in(workspace)
    shown = [links.put_in(line, (event or {}).get("items") or ()) for line in lines]
    return print_found(args, {"event": event, "advice": hints}, shown, nothing, links.write)


def _last(workspace: Workspace) -> dict[str, Any] | None:
    """Return the newest answer to a prompt, or failure; without any, the newest event of another kind."""
    newest = next(filter(workspace.is_here, workspace.log.newest()), None)
    here = filter(workspace.is_here, workspace.log.newest())
    return next((event for event in here if event.get("error") or is_prompt(event)), newest)


def _earlier(workspace: Workspace, event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events before this one of the same client, session, agent and project, newest first."""
    keys = ("client", "session", "agent", "project")
    from_here = dropwhile(lambda other: other.get("id") != event.get("id"), workspace.log.newest())
    return [other for other in from_here if all(other.get(key) == event.get(key) for key in keys)][1:]


def _titles(workspace: Workspace, event: dict[str, Any]) -> dict[str, str]:
    """Return id → title of the memory's rows that an event gave and that still exist, since the log keeps no titles."""
    from hybrid.ask.memory_lookup import id_of, rows_of
    from hybrid.knowledge.stores import RecordStores
    from hybrid.records.memory.types import name_of, title_of

    items = [item for item in event.get("items") or () if item.get("kind") in ("observation", "summary")]
    ids = [identity for item in items if (identity := id_of(str(item.get("id") or "")))]
    if not ids:
        return {}
    try:
        rows = rows_of(RecordStores().memory(workspace), ids)
    except (HybridError, OSError):
        return {}
    return {name_of(row): neutralise_line(title_of(row)) for row in rows}


def lines_of(event: dict[str, Any], titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return one event in full.

    Args:
        event: A line of the event log.
        titles: Id → title of rows of the memory.
    """
    reason = str(event.get("reason"))
    lines = [
        f"{event.get('id')}  {event.get('at')}  {reason}",
        known.sentence if (known := reason_of(reason)) else "",
        f"  client     {event.get('client')} (session {event.get('session') or 'none'}){_event(event)}",
        f"  prompt     {_prompt(event)}",
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
    for item in event.get("items") or ():
        name = item["name"] or titles.get(str(item.get("id")), "")
        why = f" ({item['why']})" if item.get("why") else ""
        lines.append(f"  {item['form']:<10} {_place(item)} {name}".rstrip() + why)
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


def _place(item: dict[str, Any]) -> str:
    """Return a record by its id, else the lines of a file."""
    if item.get("id"):
        return f"[{item['kind']}] {item['id']}"
    return f"{item['path']}:{item['start_line']}-{item['end_line']}"


def _event(event: dict[str, Any]) -> str:
    """Return `, ` and the event's name, or that it was a subagent's report; empty for a plain prompt."""
    name, source = event.get("event"), event.get("source")
    about = "" if name in (None, "UserPromptSubmit") else str(name)
    about = "a subagent's report" if event.get("is_report") else about
    return f", {about}{f' ({source})' if source and about else ''}" if about else ""


def _prompt(event: dict[str, Any]) -> str:
    """Return what was kept of the prompt, which is only the beginning of a long one."""
    kept, length = event.get("prompt"), event.get("prompt_chars")
    if not kept:
        return f"not kept (digest {event['prompt_digest']})" if event.get("prompt_digest") else "not kept"
    text = " ".join(str(kept).split())
    return f"{text}… ({length} characters)" if isinstance(length, int) and length > len(str(kept)) else text
