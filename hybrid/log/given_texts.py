"""Keeps the texts that agents were given, as they saw them: `hybrid explain --text` and the page show them.

They are one file beside the event log, bounded by size and age. What is forgotten of a project or of the memory goes
from it too.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hybrid.base.atomic import append_line, locked, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "given.jsonl"
"""Name of the file, beside the event log."""
MAX_BYTES = 5_000_000
_LEFT = 0.5
"""Share of the largest size down to which the oldest texts go, so that it is not time again with the next one."""
_LOCK_S = 0.2
_DAY_S = 86_400


class GivenText(Struct, frozen=True):
    """A text that an agent was given.

    Attributes:
        id: Id of the decision in the event log.
        at_s: Seconds since 1970.
        project: Key of the project.
        session: The client's id of the session.
        text: As the agent saw it, without secrets.
        has_memory: Rows of the memory are in it.
    """

    id: str
    at_s: float
    project: str
    session: str
    text: str
    has_memory: bool = False


_DECODER = msgspec.json.Decoder(GivenText)


class GivenTexts:
    """The kept texts of one `$HYBRID_HOME`.

    Args:
        folder: Folder of the event log.
        days: Days for which a text is kept; 0 keeps none.
    """

    def __init__(self, folder: Path, *, days: int) -> None:
        self.path = folder / NAME
        self._lock = folder / "given.lock"
        self._days = days

    def add(self, one: GivenText) -> None:
        """Keep a text; it is lost where another process writes for too long.

        Raises:
            OSError: The disk is full or read-only.
        """
        if not self._days:
            return
        line = msgspec.json.encode(one)
        with locked(self._lock, _LOCK_S) as held:
            if not held:
                return
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_size + len(line) > MAX_BYTES:
                    self._rewrite(self._newest(int(MAX_BYTES * _LEFT)))
            append_line(self.path, line)

    def find(self, event_id: str) -> str:
        """Return the text of a decision; empty where none was kept, or no more."""
        return next((one.text for one in reversed(self._read()) if one.id == event_id), "")

    def forget(self, is_meant: Callable[[GivenText], bool]) -> None:
        """Take texts out for good.

        Raises:
            OSError: The file is being written for too long, or cannot be.
        """
        if not self.path.exists():
            return
        with locked(self._lock, 5.0) as held:
            if not held:
                raise OSError(f"{self.path} is being written: try again")
            every = self._read()
            kept = [one for one in every if not is_meant(one)]
            if len(kept) < len(every):
                self._rewrite(kept)

    def expire(self, now_s: float) -> None:
        """Take out what is older than the settings want, all of it if they want none.

        Raises:
            OSError: As for `forget`.
        """
        self.forget(lambda one: one.at_s <= now_s - self._days * _DAY_S)

    def _read(self) -> list[GivenText]:
        """Return the kept texts, oldest first; lines that cannot be read are passed over."""
        found: list[GivenText] = []
        with contextlib.suppress(OSError):
            for line in self.path.read_bytes().splitlines():
                with contextlib.suppress(msgspec.MsgspecError):
                    found.append(_DECODER.decode(line))
        return found

    def _newest(self, max_bytes: int) -> list[GivenText]:
        kept: list[GivenText] = []
        for one in reversed(self._read()):
            max_bytes -= len(msgspec.json.encode(one))
            if max_bytes < 0:
                break
            kept.append(one)
        return kept[::-1]

    def _rewrite(self, kept: list[GivenText]) -> None:
        write_atomic(self.path, b"".join(msgspec.json.encode(one) + b"\n" for one in kept))
