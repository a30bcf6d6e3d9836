"""`hybrid mark`: say of a decision whether speaking was good or noise, so that `hybrid eval gate --marks` can count."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.cli.common import add_common, print_done, print_found, workspace_of
from hybrid.cli.log import line_of
from hybrid.feedback.events import is_decision, is_prompt, log_folder
from hybrid.feedback.marks import add_mark, read_marks, remove_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.feedback.marks import Mark
    from hybrid.workspace import Workspace

_USAGE = """hybrid mark ID good|noise [--note TEXT]
       hybrid mark --last good|noise [--note TEXT]
       hybrid mark list [--all] [--json]
       hybrid mark remove ID"""

_WORDS = ("good", "noise")

_MEANINGS = {
    (True, True): "speaking was good",
    (True, False): "it should have been silent",
    (False, True): "it should have spoken",
    (False, False): "silence was right",
}
"""(has spoken, is good) → the meaning of that mark, shown so that a person who marks a good silence sees it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
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


def run(args: argparse.Namespace) -> int:
    """List, remove or add marks, as the words say; exit code 1 when there is no such decision, or no mark.

    Raises:
        HybridError: The words are none of the four forms, or an id fits several decisions or none that was decided.
    """
    workspace = workspace_of(args, is_strict=False)
    words: list[str] = args.words
    if words == ["list"]:
        return _list(args, workspace)
    if len(words) == 2 and words[0] == "remove" and not args.last:
        return _remove(args, workspace, words[1])
    if len(words) == (1 if args.last else 2) and words[-1] in _WORDS:
        return _add(args, workspace, None if args.last else words[0], is_good=words[-1] == "good")
    raise HybridError(_mistake(words, is_last=args.last))


def _mistake(words: Sequence[str], *, is_last: bool) -> str:
    """Return a message on what is wrong with words that are none of the four forms."""
    if words[0] == "list":
        return f"`hybrid mark list` takes no further word, and got {_shown(words[1:])}; --all lists every project's"
    if words[0] == "remove":
        return "`hybrid mark remove` takes one ID and no --last; `hybrid mark list` shows ids"
    if words[-1] not in _WORDS:
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


def _add(args: argparse.Namespace, workspace: Workspace, event_id: str | None, *, is_good: bool) -> int:
    event = _last(workspace) if event_id is None else _logged_or_marked(workspace, event_id)
    if event is None:
        return _told(args, None, "No prompt was answered here yet." if event_id is None else f"No event {event_id}.")
    if not is_decision(event):
        raise HybridError(f"event {event['id']} ({event.get('reason')}) was no decision; `hybrid log` shows others")
    mark = add_mark(log_folder(workspace.home), event, is_good=is_good, note=args.note)
    return _told(args, mark, f"{mark.event_id}  {mark.word}: {_MEANINGS[mark.is_injected, is_good]}")


def _remove(args: argparse.Namespace, workspace: Workspace, event_id: str) -> int:
    folder = log_folder(workspace.home)
    marks = {mark.event_id: mark for mark in read_marks(folder)}
    mark = marks.get(_only(marks, event_id))
    if mark is not None:
        remove_marks(folder, mark.event_id)
    return _told(args, mark, f"{mark.event_id}  no longer marked" if mark else f"No mark of an event {event_id}.")


def _list(args: argparse.Namespace, workspace: Workspace) -> int:
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
    return events.get(_only(events, event_id))


def _only(ids: Iterable[str], beginning: str) -> str:
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


def _last(workspace: Workspace) -> dict[str, Any] | None:
    return next((event for event in workspace.log.newest() if workspace.is_here(event) and is_prompt(event)), None)


def _told(args: argparse.Namespace, mark: Mark | None, text: str) -> int:
    if mark is None:
        return print_found(args, {"mark": None}, [], text)
    print_done(args, {"mark": mark.as_json()}, text)
    return 0
