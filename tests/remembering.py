"""Small pieces of what the memory's store is given, and extractors that say what they were given."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from hybrid.records.memory.types import Extracted, Owner, PendingEvent
from hybrid.records.memory.writing import open_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore

DAY_MS = 86_400_000
NOW_MS = 1_771_000_000_000
"""2026-02-13, 16:26:40 UTC."""
WINDOW_MS = 3_000

HERE = Owner("s1", "1" * 16, "shop")
THERE = Owner("s2", "2" * 16, "bank")


def told(title: str = "", **parts: object) -> Extracted:
    """What is told of a change, unless something else is given."""
    return Extracted(**{"type": "change", "title": title} | parts)  # pyright: ignore[reportArgumentType]


def event(name: str, tool: str = "Edit", at_ms: int = NOW_MS, tokens: int = 1) -> PendingEvent:
    """A tool use that is known by its name."""
    return PendingEvent(tool, json.dumps({"name": name}), hashlib.sha256(name.encode()).hexdigest(), tokens, at_ms)


def make(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
    """Tells the names of the uses in the title, and the prompt; nothing of uses of `Nothing`."""
    names = " ".join(json.loads(one.payload)["name"] for one in events)
    if events[0].tool == "Nothing":
        return None
    return Extracted("change", names, subtitle=events[0].tool, narrative=prompt)


def fails(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
    """An extractor with a defect."""
    raise LookupError(f"no rule for {events[0].tool}")


def begin_session(store: MemoryStore, owner: Owner, now_ms: int) -> None:
    """Open a session without a prompt."""
    store.database.write(lambda db: open_session(db, owner, now_ms))


def titles(store: MemoryStore) -> list[str]:
    """Of all observations, in the order in which they were stored."""
    return [row.told.title for row in store.all_rows("observation")]  # pyright: ignore[reportAttributeAccessIssue]


def bytes_on_disk(path: Path) -> bytes:
    """Everything of a database that lies in its folder."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*")))
