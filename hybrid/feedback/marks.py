"""Marks: what a person says of decisions of the event log; `hybrid mark` writes them, `hybrid eval gate` counts them.

A mark is one appended line, and the last line of a decision counts. It copies what the log will rotate away. A line
that cannot be read is passed over and stays where it is: nothing here rewrites the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from hybrid.atomic import append_line
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME = "marks.jsonl"
"""The file, beside the event log."""

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


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person said of one decision.

    Attributes:
        is_good: Speaking was good; of a silent decision: it should have spoken. Either way context was wanted.
        marked_at: ISO 8601, UTC.
        note: In the person's words, without secrets; empty without.
        event: The decision, as the log has it but for what was injected.
    """

    is_good: bool
    marked_at: str
    note: str
    event: Mapping[str, Any]

    @property
    def event_id(self) -> str:
        """Of the decision."""
        return str(self.event["id"])

    @property
    def word(self) -> str:
        """`good` or `noise`."""
        return _WORDS[self.is_good]

    @property
    def is_injected(self) -> bool:
        """The agent got a text."""
        return self.event.get("reason") == "injected"

    def as_json(self) -> dict[str, Any]:
        """The keys as they stand in the file."""
        return {
            "id": self.event_id,
            "mark": self.word,
            "marked_at": self.marked_at,
            "note": self.note or None,
            "event": dict(self.event),
        }


def read_marks(folder: Path) -> list[Mark]:
    """The marks that count, the one that was made last first.

    Args:
        folder: Of the event log.

    Raises:
        OSError: The file is there and cannot be read.
    """
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return []
    found: dict[str, Mark] = {}
    for line in data.splitlines():
        if (fields := _fields(line)) is None:
            continue
        event_id = str(fields["id"])
        found.pop(event_id, None)  # A later mark takes the place at the end.
        if fields["mark"] is not None:
            found[event_id] = _mark(fields)
    return list(reversed(found.values()))


def add_mark(folder: Path, event: Mapping[str, Any], *, is_good: bool, note: str = "") -> Mark:
    """Mark a decision, in place of an earlier mark of it.

    Args:
        folder: Of the event log.
        event: A line of the event log, or the copy that an earlier mark has.
        is_good: See `Mark`.
        note: Secrets in it are replaced.

    Raises:
        OSError: The disk is full or read-only.
    """
    mark = Mark(is_good, _now(), redact(note), {key: event[key] for key in _KEPT if key in event})
    _append(folder, mark.as_json())
    return mark


def withdraw_mark(folder: Path, mark: Mark) -> None:
    """Take a mark back: a line says so, the older ones stay in the file and no longer count.

    Raises:
        OSError: As `add_mark`.
    """
    _append(folder, {"id": mark.event_id, "mark": None, "marked_at": _now()})


def _append(folder: Path, fields: Mapping[str, Any]) -> None:
    append_line(folder / NAME, json.dumps(fields, separators=(",", ":"), ensure_ascii=True).encode())


def _fields(line: bytes) -> dict[str, Any] | None:
    """What a line says, if it is a mark of a decision or takes one back."""
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    fields = cast("dict[str, Any]", read)
    if not fields.get("id") or "mark" not in fields:
        return None
    if fields["mark"] is None:
        return fields
    return fields if fields["mark"] in ("good", "noise") and isinstance(fields.get("event"), dict) else None


def _mark(fields: dict[str, Any]) -> Mark:
    event: dict[str, Any] = fields["event"] | {"id": str(fields["id"])}
    return Mark(fields["mark"] == "good", str(fields.get("marked_at") or ""), str(fields.get("note") or ""), event)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
