"""`hybrid log`, `explain` and `mark`: the last decisions of the hooks, why one was made, and whether it was good.

An explanation names the setting or command that would have changed the decision; `hybrid eval gate --marks` counts what
people marked.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain, islice, takewhile
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.cli.colours import PlaceLinks
from hybrid.cli.common import add_common, positive, print_done, print_found, workspace_of
from hybrid.cli.operations import asking_here, configure_operation, perform_here, print_outcome
from hybrid.cli.pause import duration_s, session_id
from hybrid.health.explaining import item_place, learned_ids
from hybrid.log.events import compared_in, is_decision, is_prompt, log_folder, newest_events, seconds_of
from hybrid.log.marks import MEANINGS, add_mark, read_marks, remove_marks
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import bar, local_time, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from hybrid.log.marks import Mark
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
        _quoted_prompt(event),
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
            and (since_s is None or seconds_of(event.get("at")) >= since_s)
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
    score, threshold = compared_in(event)
    numbers = "" if score is None or threshold is None else f" {number(score)}/{bar(threshold)}"
    name = event.get("event")
    about = " (report)" if event.get("is_report") else "" if name in (None, "UserPromptSubmit") else f" ({name})"
    return f"{event.get('reason')}{numbers}{about}"


def _taken(event: dict[str, Any]) -> str:
    latency = event.get("latency_ms")
    return f"{latency:.0f} ms" if isinstance(latency, (int, float)) else "-"


def _quoted_prompt(event: dict[str, Any]) -> str:
    """Return the beginning of an event's prompt on one line, in quotes, else its digest, else ""."""
    if event.get("prompt"):
        return f'"{" ".join(str(event["prompt"]).split())[:_PROMPT_CHARS]}"'
    return f"prompt {event['prompt_digest']}" if event.get("prompt_digest") else ""


def _what(event: dict[str, Any]) -> str:
    items = [item_place(item) for item in event.get("items") or ()]
    more = f" and {len(items) - _SHOWN_ITEMS} more" if len(items) > _SHOWN_ITEMS else ""
    learned = "; ".join(f"{what} {', '.join(ids)}" for what, ids in learned_ids(event).items())
    return ", ".join(items[:_SHOWN_ITEMS]) + more or learned or str(event.get("error") or event.get("detail") or "")


def _local(at: object) -> str:
    return local_time(at) if seconds_of(at) else f"{'no time':<19}"


# --- explain ----------------------------------------------------------------------------------------------


def configure_explain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `explain`."""
    configure_operation(parser, "sessions")
    parser.set_defaults(run_action=_explain)


def _explain(args: argparse.Namespace) -> int:
    """Print the event with advice, on a terminal with links; exit code 1 when there is no such event."""
    outcome = perform_here("explain", args)
    links = places_in(asking_here(args).workspace)
    event: dict[str, Any] = outcome.data.get("event") or {}

    def paint() -> None:
        links.write([links.put_in(line, event.get("items") or ()) for line in outcome.text.split("\n")])

    return print_outcome(args, outcome, is_change=False, paint=None if args.text else paint)


# --- mark -------------------------------------------------------------------------------------------------


_USAGE = """hybrid mark ID good|noise [--note TEXT]
       hybrid mark --last good|noise [--note TEXT]
       hybrid mark list [--all] [--json]
       hybrid mark remove ID"""

_MARK_WORDS = ("good", "noise")


def configure_mark(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mark`."""
    parser.set_defaults(run_action=_mark)
    parser.usage = _USAGE
    parser.description = (
        "say of a decision whether context was wanted: of an injection, `good` or `noise`; of a silence, `good` means "
        "that speaking would have been good, `noise` that silence was right"
    )
    add_common(parser, example='hybrid mark --last noise --note "it was about another service"')
    about = "ID and `good` or `noise`; `list`; or `remove` and ID. `hybrid log` shows ids, their beginning is enough"
    parser.add_argument("words", nargs="+", metavar="WORD", help=about)
    parser.add_argument("--last", action="store_true", help="mark the answer to the last prompt here")
    parser.add_argument("--note", metavar="TEXT", default="", help="why, in your words; kept with the mark")
    parser.add_argument("--all", action="store_true", help="list the marks of every project")


def _mark(args: argparse.Namespace) -> int:
    """List, remove or add marks, as the words say; exit code 1 when there is no such decision, or no mark.

    Raises:
        HybridError: The words are none of the four forms, or an id fits several decisions or none that was decided.
    """
    workspace = workspace_of(args, is_strict=False)
    words: list[str] = args.words
    if words == ["list"]:
        return _list_marks(args, workspace)
    if len(words) == 2 and words[0] == "remove" and not args.last:
        return _remove_mark(args, workspace, words[1])
    if len(words) == (1 if args.last else 2) and words[-1] in _MARK_WORDS:
        return _add_mark(args, workspace, None if args.last else words[0], is_good=words[-1] == "good")
    raise HybridError(_mistake(words, is_last=args.last))


def _mistake(words: Sequence[str], *, is_last: bool) -> str:
    """Return a message on what is wrong with words that are none of the four forms."""
    if words[0] == "list":
        return f"`hybrid mark list` takes no further word, and got {_shown(words[1:])}; --all lists every project's"
    if words[0] == "remove":
        return "`hybrid mark remove` takes one ID and no --last; `hybrid mark list` shows ids"
    if words[-1] not in _MARK_WORDS:
        return (
            f"{words[-1]!r} is no mark; write `hybrid mark ID good` or `hybrid mark ID noise`; `hybrid log` shows ids"
        )
    if is_last:
        return f"--last takes the place of the ID; leave out --last or {_shown(words[:-1])}"
    if len(words) == 1:
        mark = words[0]
        return f"`hybrid mark {mark}` needs a decision: `hybrid mark --last {mark}`, or an ID as `hybrid log` shows it"
    return f"one decision is marked at a time, and {_shown(words[:-1])} are {len(words) - 1}"


def _shown(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words))


def _add_mark(args: argparse.Namespace, workspace: Workspace, event_id: str | None, *, is_good: bool) -> int:
    event = _last_prompt(workspace) if event_id is None else _logged_or_marked(workspace, event_id)
    if event is None:
        return _told_mark(
            args, None, "No prompt was answered here yet." if event_id is None else f"No event {event_id}."
        )
    if not is_decision(event):
        raise HybridError(f"event {event['id']} ({event.get('reason')}) was no decision; `hybrid log` shows others")
    mark = add_mark(log_folder(workspace.home), event, is_good=is_good, note=args.note)
    return _told_mark(args, mark, f"{mark.event_id}  {mark.word}: {MEANINGS[mark.is_injected, is_good]}")


def _remove_mark(args: argparse.Namespace, workspace: Workspace, event_id: str) -> int:
    folder = log_folder(workspace.home)
    marks = {mark.event_id: mark for mark in read_marks(folder)}
    mark = marks.get(_only_id(marks, event_id))
    if mark is not None:
        remove_marks(folder, mark.event_id)
    return _told_mark(args, mark, f"{mark.event_id}  no longer marked" if mark else f"No mark of an event {event_id}.")


def _list_marks(args: argparse.Namespace, workspace: Workspace) -> int:
    marks = [mark for mark in read_marks(log_folder(workspace.home)) if args.all or workspace.is_here(mark.event)]
    notes = (f"  ({' '.join(mark.note.split())})" if mark.note else "" for mark in marks)
    lines = [f"{mark.word:<5}  {line_of(dict(mark.event))}{note}" for mark, note in zip(marks, notes, strict=True)]
    nothing = "No decision was marked yet; `hybrid mark ID good` or `noise` marks one."
    return print_found(args, {"marks": [mark.as_json() for mark in marks]}, lines, nothing)


def _logged_or_marked(workspace: Workspace, event_id: str) -> dict[str, Any] | None:
    """Return the decision whose id begins so, from the log or, if rotated away, from its mark; None without one.

    Raises:
        HybridError: The id is empty, or several begin so.
    """
    marked = {mark.event_id: dict(mark.event) for mark in read_marks(log_folder(workspace.home))}
    logged = {str(event["id"]): event for event in workspace.log.newest() if event.get("id")}
    events = marked | logged
    return events.get(_only_id(events, event_id))


def _only_id(ids: Iterable[str], beginning: str) -> str:
    """Return the one id that begins with a text; empty when none does.

    Raises:
        HybridError: The text is empty, or several ids begin so; what is written must be the decision that was meant.
    """
    if not beginning:
        raise HybridError("an empty ID means no event; `hybrid log` shows ids, `--last` is the last one")
    matching = [event_id for event_id in ids if event_id.startswith(beginning)]
    if len(matching) > 1:
        raise HybridError(
            f"{len(matching)} events begin with {beginning!r}; give more of the ID, `hybrid log` shows it"
        )
    return matching[0] if matching else ""


def _last_prompt(workspace: Workspace) -> dict[str, Any] | None:
    return next((event for event in workspace.log.newest() if workspace.is_here(event) and is_prompt(event)), None)


def _told_mark(args: argparse.Namespace, mark: Mark | None, text: str) -> int:
    if mark is None:
        return print_found(args, {"mark": None}, [], text)
    print_done(args, {"mark": mark.as_json()}, text)
    return 0
