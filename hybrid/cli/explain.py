"""`hybrid explain`: why something was injected, or why it was silent, from the event log."""

from __future__ import annotations

import argparse
from itertools import dropwhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.cli.advice import advice
from hybrid.cli.common import add_common, print_json, say, workspace_of
from hybrid.cli.gate_words import gate_rows, kind_rows
from hybrid.cli.log import learned_ids
from hybrid.feedback.health import is_prompt
from hybrid.feedback.reasons import reason_of
from hybrid.render.marks import neutralise_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.workspace import Workspace


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
        say("\n".join([*lines_of(event, _titles(workspace, event)), *(f"  try        {hint}" for hint in hints)]))
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


def _titles(workspace: Workspace, event: dict[str, Any]) -> dict[str, str]:
    """Id → title of the rows of the memory that an event gave and that are there still: the log keeps no titles."""
    from hybrid.ask.memory_filters import id_of, rows_of
    from hybrid.knowledge.stores import RecordStores
    from hybrid.records.memory.showing import name_of, title_of

    items = [item for item in event.get("items") or () if item.get("kind") in ("observation", "summary")]
    ids = [found for item in items if (found := id_of(str(item.get("id") or "")))]
    if not ids:
        return {}
    try:
        rows = rows_of(RecordStores().memory(workspace), ids)
    except (HybridError, OSError):
        return {}
    return {name_of(row): neutralise_line(title_of(row)) for row in rows}


def lines_of(event: dict[str, Any], titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """One event in full.

    Args:
        event: Of the log.
        titles: Of rows of the memory, by their ids.
    """
    reason = str(event.get("reason"))
    lines = [
        f"{event.get('id')}  {event.get('at')}  {reason}",
        known.sentence if (known := reason_of(reason)) else "",
        f"  client     {event.get('client')} (session {event.get('session') or 'none'}){_event(event)}",
        f"  prompt     {_prompt(event)}",
    ]
    for label, key in (("detail", "detail"), ("error", "error"), ("topic id", "topic_id")):
        if event.get(key):
            lines.append(f"  {label:<10} {event[key]}")
    lines += [f"  {label:<10} {', '.join(ids)}" for label, ids in learned_ids(event).items()]
    lines += [f"  {label:<10} {text}" for label, text in _gates(event)]
    for item in event.get("items") or ():
        name = item["name"] or titles.get(str(item.get("id")), "")
        lines.append(f"  {item['form']:<10} {_place(item)} {name}".rstrip())
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
