"""`hybrid log`: the last decisions of the hooks, newest first."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import datetime
from itertools import chain, islice, takewhile
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from hybrid.cli.colours import PlaceLinks
from hybrid.cli.common import add_common, positive, print_found, workspace_of
from hybrid.cli.pause import duration_s, session_id
from hybrid.feedback.events import compared_in, log_folder, newest_events
from hybrid.health.explaining import item_place, learned_ids
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import bar, local_time, number

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hybrid.workspace import Workspace

_POLL_S = 0.5
_FOLLOWED_BYTES = 256_000
_PROMPT_CHARS = 60
_SHOWN_ITEMS = 3
_SHOWN_EVENTS = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid log --reason gate --since 2h\n  hybrid log --plot --since 7d")
    about = f"events to show (default: {_SHOWN_EVENTS}, with --plot all)"
    parser.add_argument("-n", "--limit", type=positive, help=about)
    parser.add_argument("--all", action="store_true", help="of every project")
    parser.add_argument("--session", nargs="?", const="", metavar="ID", help="of this agent session, or of one")
    parser.add_argument("--client", metavar="NAME", help="of one client")
    parser.add_argument("--reason", metavar="REASON", help="of one reason: injected, gate, same_topic, error, …")
    parser.add_argument("--since", type=duration_s, metavar="TIME", help="not older than: 30m, 2h, 1d")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("-f", "--follow", action="store_true", help="go on with what comes, until interrupted")
    about = "draw how long prompts took, and how far from the gate's bar they were, with your marks"
    form.add_argument("--plot", action="store_true", help=about)


def run(args: argparse.Namespace) -> int:
    """Print the last events, or follow the log; exit code 1 when no event fits."""
    workspace = workspace_of(args, is_strict=False)
    is_wanted = _wanted(args, workspace)
    if args.plot:
        return _plot(args, workspace, is_wanted)
    events = list(islice(filter(is_wanted, workspace.log.newest()), args.limit or _SHOWN_EVENTS))
    links = places_in(workspace)
    if args.follow:
        return _follow(log_folder(workspace.home), events, is_wanted, links)
    is_filtered = any((args.session is not None, args.client, args.reason, args.since is not None))
    nothing = "No such event was recorded." if is_filtered else "Nothing was recorded yet."
    return print_found(args, {"events": events}, [_linked(event, links) for event in events], nothing, links.write)


def _plot(args: argparse.Namespace, workspace: Workspace, is_wanted: Callable[[dict[str, Any]], bool]) -> int:
    """Draw the events, and those of marks that the log holds no more; exit code 1 when no prompt is among them."""
    from hybrid.cli.plots import is_utf8, lines_of, plots_of
    from hybrid.feedback.marks import read_marks

    marks = read_marks(log_folder(workspace.home))
    marked = filter(is_wanted, (dict(mark.event) for mark in marks))
    newest = filter(is_wanted, workspace.log.newest())
    by_id = {str(event.get("id")): event for event in chain(() if args.limit else marked, islice(newest, args.limit))}
    plots = plots_of(by_id.values(), {mark.event_id: mark.word for mark in marks})
    lines = lines_of(plots, width=get_terminal_size().columns, is_ascii=not is_utf8())
    return print_found(args, plots.as_json(), lines, "No prompt among them was recorded.")


def places_in(workspace: Workspace) -> PlaceLinks:
    """Return what makes links of places in the working tree of a workspace."""
    return PlaceLinks(workspace.config.terminal.links, str(workspace.project.root) if workspace.project else "")


def _linked(event: dict[str, Any], links: PlaceLinks) -> str:
    return links.put_in(line_of(event), event.get("items") or ())


def line_of(event: dict[str, Any]) -> str:
    """Return an event in one line: id, local time, client, reason with the gate's numbers, time, prompt, what came."""
    parts = [
        str(event.get("id")),
        _local(event.get("at")),
        f"{event.get('client') or '-':<8}",
        f"{_reason(event):<24}",
        f"{_taken(event):>8}",
        quoted_prompt(event, _PROMPT_CHARS),
        _what(event),
    ]
    return harmless_line("  ".join(part for part in parts if part).rstrip())


def _wanted(args: argparse.Namespace, workspace: Workspace) -> Callable[[dict[str, Any]], bool]:
    session = None if args.session is None else session_id(args.session)
    since_s = None if args.since is None else time.time() - args.since

    def is_wanted(event: dict[str, Any]) -> bool:
        return (
            (args.all or workspace.is_here(event))
            and (session is None or str(event.get("session") or "").startswith(session))
            and args.client in (None, event.get("client"))
            and args.reason in (None, event.get("reason"))
            and (since_s is None or _seconds(event.get("at")) >= since_s)
        )

    return is_wanted


def _follow(
    folder: Path, shown: list[dict[str, Any]], is_wanted: Callable[[dict[str, Any]], bool], links: PlaceLinks
) -> int:
    """Print the events shown, oldest first, then new ones as they come; returns 0 when the user interrupts."""
    new, last_id = shown, None
    try:
        while True:
            for event in reversed(new):
                links.write([_linked(event, links)])
                last_id = event.get("id")
            sys.stdout.flush()
            time.sleep(_POLL_S)
            new = _newer(folder, is_wanted, last_id)
    except KeyboardInterrupt:
        return 0


def _newer(folder: Path, is_wanted: Callable[[dict[str, Any]], bool], last_id: object) -> list[dict[str, Any]]:
    """Return the wanted events after the one with an id, newest first."""
    events = filter(is_wanted, newest_events(folder, max_bytes=_FOLLOWED_BYTES))
    return list(takewhile(lambda event: event.get("id") != last_id, events))


def _reason(event: dict[str, Any]) -> str:
    numbers = f" {text}" if (text := compared(event)) else ""
    name = event.get("event")
    about = " (report)" if event.get("is_report") else "" if name in (None, "UserPromptSubmit") else f" ({name})"
    return f"{event.get('reason')}{numbers}{about}"


def _taken(event: dict[str, Any]) -> str:
    latency = event.get("latency_ms")
    return f"{latency:.0f} ms" if isinstance(latency, (int, float)) else "-"


def quoted_prompt(event: dict[str, Any], most: int | None = None) -> str:
    """Return the prompt of an event on one line, in quotes and so many characters of it, else its digest, else ""."""
    if event.get("prompt"):
        return f'"{" ".join(str(event["prompt"]).split())[:most]}"'
    return f"prompt {event['prompt_digest']}" if event.get("prompt_digest") else ""


def compared(event: dict[str, Any]) -> str:
    """Return score and bar of the gate of an event, as `0.52/0.31`; empty without them."""
    score, threshold = compared_in(event)
    return f"{number(score)}/{bar(threshold)}" if score is not None and threshold is not None else ""


def _what(event: dict[str, Any]) -> str:
    items = [item_place(item) for item in event.get("items") or ()]
    more = f" and {len(items) - _SHOWN_ITEMS} more" if len(items) > _SHOWN_ITEMS else ""
    learned = "; ".join(f"{what} {', '.join(ids)}" for what, ids in learned_ids(event).items())
    return ", ".join(items[:_SHOWN_ITEMS]) + more or learned or str(event.get("error") or event.get("detail") or "")


def _local(at: object) -> str:
    return local_time(at) if _seconds(at) else f"{'no time':<19}"


def _seconds(at: object) -> float:
    """Return a time of the log in seconds since 1970; 0 for what is none."""
    try:
        return datetime.fromisoformat(str(at)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
