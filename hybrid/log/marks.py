"""Marks: what a person says of decisions of the event log; `hybrid mark` writes them, `hybrid eval gate` counts them.

A mark is one appended line, and the last line of a decision counts. It copies what the log will rotate away, the kept
beginning of the prompt too, so that taking a mark back takes its lines out of the file. A line that cannot be read is
passed over and stays where it is.
"""

from __future__ import annotations

import contextlib
import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.base.atomic import append_line, locked, write_atomic
from hybrid.base.errors import BusyError
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

NAME = "marks.jsonl"
"""Name of the file of marks, beside the event log."""

_LOCK_S = 5.0
"""Seconds to wait for another `hybrid mark`."""

MEANINGS = {
    (True, True): "speaking was good",
    (True, False): "it should have been silent",
    (False, True): "it should have spoken",
    (False, False): "silence was right",
}
"""(has spoken, is good) → the meaning of that mark, shown so that a person who marks a good silence sees it."""

_KEPT = (
    "id",
    "at",
    "project",
    "client",
    "event",
    "is_report",
    "reason",
    "detail",
    "top_cosine",
    "threshold",
    "threshold_source",
    "score",
    "bar",
    "parts",
    "gate",
    "prompt",
    "prompt_digest",
    "prompt_chars",
)
"""Keys of an event that a mark copies: what a measure or a person needs later, and nothing that was injected."""


class Mark(Struct, frozen=True):
    """A person's verdict on one decision.

    Attributes:
        is_good: Speaking was good; of a silent decision: it should have spoken. Either way context was wanted.
        marked_at: ISO 8601, UTC.
        note: Text in the person's words, without secrets; may be empty.
        event: The event of the decision, as the log has it but for what was injected.
    """

    is_good: bool
    marked_at: str
    note: str
    event: Mapping[str, Any]

    @property
    def event_id(self) -> str:
        """The id of the decision."""
        return str(self.event["id"])

    @property
    def word(self) -> str:
        """The word of the mark: `good` or `noise`."""
        return "good" if self.is_good else "noise"

    @property
    def is_injected(self) -> bool:
        """True if the agent got a text."""
        return self.event.get("reason") == "injected"

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the mark under the keys of the file."""
        return {
            "id": self.event_id,
            "mark": self.word,
            "marked_at": self.marked_at,
            "note": self.note or None,
            "event": dict(self.event),
        }


def read_marks(folder: Path) -> list[Mark]:
    """Return the marks that count, the one that was made last first.

    Args:
        folder: Folder of the event log.

    Raises:
        OSError: The file is there and cannot be read.
    """
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return []
    marks: dict[str, Mark] = {}
    for line in data.splitlines():
        if mark := _mark(line):
            marks.pop(mark.event_id, None)  # A later mark takes the place at the end.
            marks[mark.event_id] = mark
    return list(reversed(marks.values()))


def add_mark(folder: Path, event: Mapping[str, Any], *, is_good: bool, note: str = "") -> Mark:
    """Mark a decision, in place of an earlier mark of it.

    Args:
        folder: Folder of the event log.
        event: A line of the event log, or the copy that an earlier mark has.
        is_good: See `Mark`.
        note: Secrets in it are replaced.

    Raises:
        BusyError: Another process holds the lock, or none can be had here.
        OSError: The disk is full or read-only.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    mark = Mark(is_good, now, redact(note), {key: event[key] for key in _KEPT if key in event})
    line = json.dumps(mark.as_json(), separators=(",", ":"), ensure_ascii=True).encode()
    with held(folder):
        append_line(folder / NAME, line)
    return mark


def remove_marks(folder: Path, event_id: str) -> None:
    """Take every mark of a decision out of the file; the other lines stay as they are.

    Raises:
        BusyError, OSError: As `add_mark`.
    """
    path = folder / NAME
    with held(folder):
        lines = path.read_bytes().splitlines(keepends=True)
        others = [line for line in lines if not ((mark := _mark(line)) and mark.event_id == event_id)]
        write_atomic(path, b"".join(others))


@contextlib.contextmanager
def held(folder: Path) -> Generator[None]:
    """Hold the lock on the marks for the block, so that no line is added between reading and replacing the file."""
    lock = folder / "marks.lock"
    with locked(lock, _LOCK_S) as is_held:
        if not is_held:
            raise BusyError(f"{lock} cannot be locked: is its folder writable, is another `hybrid mark` running?")
        yield


def _mark(line: bytes) -> Mark | None:
    """Return the mark of a line; None for a line that is no mark of a decision."""
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    event, word, event_id = fields.get("event"), fields.get("mark"), fields.get("id")
    if not event_id or word not in ("good", "noise") or not isinstance(event, dict):
        return None
    kept = cast("dict[str, Any]", event) | {"id": str(event_id)}
    return Mark(word == "good", str(fields.get("marked_at") or ""), str(fields.get("note") or ""), kept)
