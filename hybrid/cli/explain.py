"""`hybrid explain`: why something was injected, or why it was silent, from the event log."""

from __future__ import annotations

import argparse
from typing import Any

from hybrid.cli.common import add_common, print_json, say, workspace_of

_REASONS = {
    "injected": "The gate was open and these records fitted.",
    "disabled": "hybrid is switched off by HYBRID_DISABLE.",
    "prompt": "The prompt itself asks for nothing that could be looked up.",
    "no_project": "The session's directory lies in no project.",
    "no_index": "The project was not indexed yet: run `hybrid reindex`.",
    "index_corrupt": "The index is damaged: run `hybrid reindex`.",
    "index_mismatch": "The index is of another format or model: run `hybrid reindex`.",
    "gate": "Nothing in the project is close enough: the raw top cosine lies below the threshold.",
    "no_results": "The gate was open, but no result reached the floor.",
    "same_topic": "The results are those of this session's last injection.",
    "all_seen": "This session already has every result.",
    "budget": "No result fits the budget.",
    "error": "The hook failed.",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid explain --last")
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="of an event, as `hybrid log` shows it; its beginning is enough"
    )
    parser.add_argument("--last", action="store_true", help="the newest event (the default)")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when there is no such event."""
    workspace = workspace_of(args, is_strict=False)
    key = workspace.project.key if workspace.project else None
    event = workspace.log.find(args.id) if args.id else next(workspace.log.newest(project=key, limit=1), None)
    if args.json:
        print_json({"event": event})
    elif event is None:
        say(f"No event {args.id}." if args.id else "Nothing was recorded yet.")
    else:
        say("\n".join(lines_of(event)))
    return 0 if event else 1


def lines_of(event: dict[str, Any]) -> list[str]:
    """One event in full."""
    reason = str(event.get("reason"))
    lines = [
        f"{event.get('id')}  {event.get('at')}  {reason}",
        _REASONS.get(reason, ""),
        f"  client     {event.get('client')} (session {event.get('session') or 'none'})",
        f"  prompt     {event.get('prompt')}",
    ]
    for label, key in (("detail", "detail"), ("error", "error"), ("topic id", "topic_id")):
        if event.get(key):
            lines.append(f"  {label:<10} {event[key]}")
    if event.get("threshold") is not None:
        source = event.get("threshold_source")
        lines.append(
            f"  gate       raw top cosine {event.get('top_cosine')}, opens from {event['threshold']} ({source})"
        )
    for item in event.get("items") or ():
        lines.append(
            f"  {item['form']:<10} {item['path']}:{item['start_line']}-{item['end_line']} {item['name'] or ''}"
        )
        lines.append(
            f"             cosine {item['cosine']} (rank {item['cosine_rank']}), bm25 {item['bm25']} "
            f"(rank {item['bm25_rank']}), rrf {item['rrf']}, relevance {item['relevance']}"
        )
    if event.get("withheld"):
        held = ", ".join(f"{count} {why}" for why, count in sorted(event["withheld"].items()))
        lines.append(f"  held back  {held}")
    lines += [f"  settings   {problem}" for problem in event.get("config_problems") or ()]
    if event.get("latency_ms") is not None:
        lines.append(f"  latency    {event['latency_ms']} ms, {event.get('bytes')} bytes")
    return lines
