"""Lore folders to try the stores on, and small writers for their files."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.records.lore.store import LoreFolder, LoreShelf, LoreStore
from hybrid.records.lore.types import ProjectNames
from hybrid.records.lore.writing import LoreWriter, Moment

if TYPE_CHECKING:
    from pathlib import Path

NOW_S = 1_770_702_484.0
"""2026-02-10T05:48:04Z."""


@dataclass(frozen=True)
class Given:
    """A lore folder in a temporary place."""

    folder: LoreFolder

    def decisions(self, *fields: dict[str, Any] | bytes) -> None:
        """Write decisions.jsonl; bytes stand as they are."""
        self.folder.decisions.parent.mkdir(parents=True, exist_ok=True)
        lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in fields]
        self.folder.decisions.write_bytes(b"".join(line + b"\n" for line in lines))

    def patterns(self, text: str | bytes) -> None:
        """Write patterns.yaml."""
        self.folder.patterns.parent.mkdir(parents=True, exist_ok=True)
        self.folder.patterns.write_bytes(text if isinstance(text, bytes) else text.encode())

    def session(self, name: str, fields: dict[str, Any] | bytes) -> None:
        """Write a session."""
        self.folder.sessions.mkdir(parents=True, exist_ok=True)
        data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        (self.folder.sessions / name).write_bytes(data)

    @property
    def store(self) -> LoreStore:
        """A new store, which trusts no time."""
        return LoreStore(self.folder, now_ns=lambda: 0)

    @property
    def shelf(self) -> LoreShelf:
        """The folder alone."""
        return LoreShelf([self.store])

    def writer(self, *others: Given, project: str = "shop", now_s: float = NOW_S) -> LoreWriter:
        """Writes here; ids count up from 1."""
        count = itertools.count(1)
        shelf = LoreShelf([self.store, *(other.store for other in others)])
        return LoreWriter(shelf, self.folder, project, Moment(now_s, lambda: f"{next(count):08x}"))

    def shown(self, project: ProjectNames | None = None) -> list[str]:
        """The header lines of what may be given in a project, `shop` by default."""
        records = self.shelf.records(project or ProjectNames("shop", "a" * 16))
        return [f"[{record.kind}] {record.shown}" for record in records]


@pytest.fixture
def lore(tmp_path: Path) -> Given:
    """An empty personal folder."""
    return Given(LoreFolder(tmp_path / "lore", "personal"))


@pytest.fixture
def other_lore(tmp_path: Path) -> Given:
    """A second folder, a project's."""
    return Given(LoreFolder(tmp_path / "tree" / ".hybrid" / "lore", "project"))


def decision(identity: str = "dec-00000001", text: str = "Use JSONL for storage", **more: Any) -> dict[str, Any]:
    """A decision in the form of the file."""
    return {
        "id": identity,
        "timestamp": "2026-02-10T03:48:04Z",
        "decision": text,
        "rationale": "append-only, grep-friendly",
        "outcome": "pending",
        **more,
    }


def session(message: str = "Half done", **more: Any) -> dict[str, Any]:
    """A session with a handoff."""
    at = "2026-02-14T10:00:00Z"
    return {"id": "session-20260214-100000-aaaaaaaa", "handoff": {"message": message, "created_at": at}, **more}
