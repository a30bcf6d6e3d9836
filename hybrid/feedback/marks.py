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

_WORDS = {True: "good", False: "noise"}
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
        return _WORDS[self.is_good]

    @property
    def is_injected(self) -> bool:
        """Return whether the agent got a text."""
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
        if (fields := _fields(line)) is None:
            continue
        event_id = str(fields["id"])
        marks.pop(event_id, None)  # A later mark takes the place at the end.
        marks[event_id] = _mark(fields)
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
    mark = Mark(is_good, _now(), redact(note), {key: event[key] for key in _KEPT if key in event})
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
        write_atomic(path, b"".join(line for line in lines if not _is_of(line, event_id)))


def _is_of(line: bytes, event_id: str) -> bool:
    fields = _fields(line)
    return fields is not None and str(fields["id"]) == event_id


@contextlib.contextmanager
def held(folder: Path) -> Generator[None]:
    """Hold the lock on the marks for the block, so that no line is added between reading and replacing the file."""
    lock = folder / "marks.lock"
    with locked(lock, _LOCK_S) as is_held:
        if not is_held:
            raise BusyError(f"{lock} cannot be locked: is its folder writable, is another `hybrid mark` running?")
        yield


def _fields(line: bytes) -> dict[str, Any] | None:
    """Return the fields of a line that is a mark of a decision, else None."""
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    fields = cast("dict[str, Any]", read)
    is_mark = fields.get("id") and fields.get("mark") in ("good", "noise") and isinstance(fields.get("event"), dict)
    return fields if is_mark else None


def _mark(fields: dict[str, Any]) -> Mark:
    event: dict[str, Any] = fields["event"] | {"id": str(fields["id"])}
    return Mark(fields["mark"] == "good", str(fields.get("marked_at") or ""), str(fields.get("note") or ""), event)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
