"""`hybrid log`: the last decisions of the hooks, newest first."""

from __future__ import annotations

import argparse
from typing import Any

from hybrid.cli.common import add_common, positive, print_json, say, workspace_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid log --limit 20")
    parser.add_argument("-n", "--limit", type=positive, default=20, help="events to show (default: 20)")
    parser.add_argument("--all", action="store_true", help="of every project")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when there is nothing."""
    workspace = workspace_of(args, is_strict=False)
    key = None if args.all or workspace.project is None else workspace.project.key
    events = list(workspace.log.newest(project=key, limit=args.limit))
    if args.json:
        print_json({"events": events})
        return 0 if events else 1
    for event in events:
        say(line_of(event))
    if not events:
        say("Nothing was recorded yet.")
    return 0 if events else 1


def line_of(event: dict[str, Any]) -> str:
    """One event in one line."""
    top, threshold = event.get("top_cosine"), event.get("threshold")
    numbers = f" {top:.2f}/{threshold:.2f}" if top is not None and threshold is not None else ""
    shown = ", ".join(f"{item['path']}:{item['start_line']}" for item in event.get("items") or ())
    what = shown or event.get("error") or event.get("detail") or ""
    prompt = f'  "{(event.get("prompt") or "")[:60]}"'
    return f"{event.get('id')}  {str(event.get('at'))[:19]}  {event.get('reason')}{numbers}{prompt}  {what}"
