"""Replays a recorded session of an agent over the tree that it worked in, with files as the session saw them.

`followups` and `replays` ask in the middle of it. A tree of about the same time stands in for the one of the session: a
file that the session read whole before it changed it is put there as it was read, and its edits are made again. So the
tree agrees with the session where the session looked, and nowhere else.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.capture import dialects
from hybrid.capture.definitions import without_line_numbers
from hybrid.capture.tools import PathRoots, tool_use
from hybrid.evaluation.measures import QrelsError
from hybrid.hooks.event import EventError, parse_event
from hybrid.types import HookEvent

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from hybrid_lab.memory.replay import Recording

_HOME = "/home/replayed"
_MOST_LINES = 1_990
"""Lines from which on what was read may be the beginning of a longer file."""


class SessionEvent(Struct, frozen=True):
    """An event of a recorded session.

    Attributes:
        number: Of its line, from 0.
        fields: As the client sent it, with the paths of here.
        event: The same as hybrid reads it; None for one that it does not answer.
    """

    number: int
    fields: Mapping[str, Any]
    event: HookEvent | None


def session_events(recording: Recording, root: Path) -> list[SessionEvent]:
    """Return the events of a recording, told of a tree at `root`.

    Raises:
        QrelsError: A line is not JSON.
    """
    events: list[SessionEvent] = []
    for ref, line in recording.events:
        for name, path in (("$PROJECT", str(root)), ("$HOME", _HOME)):
            line = line.replace(name, json.dumps(path)[1:-1])
        try:
            fields: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise QrelsError(f"{ref}: {error}") from error
        event: HookEvent | None = None
        with contextlib.suppress(EventError):
            event = parse_event(line.encode("utf-8"), client="claude", event="", cwd=str(root))
        events.append(SessionEvent(int(ref.rpartition(":")[2]), fields, event))
    return events


class SeenTree:
    """The files of a tree, changed as a session saw and changed them, and put back by `restore`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: dict[Path, str | None] = {}

    def overlay(self, events: list[SessionEvent]) -> None:
        """Put the files that the session read whole before it changed them in place as they were read.

        Raises:
            OSError: A file cannot be written.
        """
        settled: set[Path] = set()
        for one in events:
            tool, path = _tool(one.fields), self._path(one.fields)
            if path is None or path in settled:
                continue
            if tool in ("Edit", "Write"):
                settled.add(path)
            elif tool == "Read" and (text := _read_whole(one.fields)):
                settled.add(path)
                self._write(path, text)

    def follow(self, fields: Mapping[str, Any]) -> None:
        """Make the edit that an event tells of; any other event changes nothing.

        Raises:
            OSError: A file cannot be written.
        """
        tool, path, given = _tool(fields), self._path(fields), _input(fields)
        if path is None or fields.get("hook_event_name") != "PostToolUse":
            return
        if tool == "Write":
            self._write(path, str(given.get("content", "")))
        elif tool == "Edit" and path.exists():
            old, new = str(given.get("old_string", "")), str(given.get("new_string", ""))
            text = path.read_text(encoding="utf-8", errors="replace")
            self._write(path, text.replace(old, new, -1 if given.get("replace_all") else 1) if old else text)

    def restore(self) -> None:
        """Put every file back as it was before the session."""
        for path, text in self._before.items():
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(text, encoding="utf-8")
        self._before.clear()

    def _path(self, fields: Mapping[str, Any]) -> Path | None:
        """Return the file of the tree that a tool was used on; None for another one."""
        path = Path(str(_input(fields).get("file_path") or "/"))
        return path if self._root in path.parents and ".." not in path.parts else None

    def _write(self, path: Path, text: str) -> None:
        if path not in self._before:
            self._before[path] = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def seen_tree(root: Path, events: list[SessionEvent]) -> Generator[SeenTree]:
    """Give a tree with the files that a session read, and put everything back at the end."""
    tree = SeenTree(root)
    try:
        tree.overlay(events)
        yield tree
    finally:
        tree.restore()


def opened_files(event: HookEvent, root: Path) -> set[str]:
    """Return the files that a use of a tool read or wrote, relative to the root; searches name files, and open none."""
    if event.call is None:
        return set()
    use = tool_use(event.call, PathRoots(str(root), event.cwd))
    files = use.files_written if use.kind == "search" else (*use.files_read, *use.files_written)
    return {path for path in files if not use.is_failed}


def _tool(fields: Mapping[str, Any]) -> str:
    return str(fields.get("tool_name") or "")


def _input(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    found = fields.get("tool_input")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _read_whole(fields: Mapping[str, Any]) -> str:
    """Return the text of a file that was read whole; empty where only a part was, or nothing."""
    given, response = _input(fields), cast("object", fields.get("tool_response"))
    if given.get("offset") or given.get("limit") or fields.get("hook_event_name") != "PostToolUse":
        return ""
    answer: Mapping[str, object] = cast("dict[str, object]", response) if isinstance(response, dict) else {}
    file = answer.get("file")
    lines = cast("dict[str, int]", file) if isinstance(file, dict) else {}
    if lines.get("totalLines", 0) > lines.get("numLines", 0):
        return ""
    text = dialects.result_text(fields.get("tool_response")).split("<system-reminder>")[0]
    if text.count("\n") >= _MOST_LINES or not text.strip():
        return ""
    return without_line_numbers(text).rstrip("\n") + "\n"
