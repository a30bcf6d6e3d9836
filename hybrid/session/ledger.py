"""The ledger of an agent session: digests already given and the last topic id; the engine asks it, hooks write it.

A ledger is an append-only file of JSON lines, one write each: hooks that run at the same time never lose each other's
entries, a killed one leaves at most a half line, which reading skips. Standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hybrid.atomic import append_line, locked

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from pathlib import Path

_DAY_S = 86_400
_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose ledger it is.

    Attributes:
        client: claude, codex, …; `manual` by hand.
        session_id: The agent's; something stable when the client sent none.
        agent_id: Of a subagent; empty in the main conversation.
    """

    client: str
    session_id: str
    agent_id: str = ""

    @property
    def file_name(self) -> str:
        """A name that is safe on every file system and does not show the session id."""
        material = "\0".join((self.client, self.session_id, self.agent_id))
        return hashlib.sha256(material.encode("utf-8", "surrogatepass")).hexdigest()[:32] + _SUFFIX


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a session got since its last reset.

    Attributes:
        given: Hex digest of a chunk → the fullest form it was given in (`full`, `preview` or `pointer`).
        last_topic_id: Of the last injection; empty before the first.
        n_damaged: Lines that could not be read.
    """

    given: Mapping[str, str] = field(default_factory=dict[str, str])
    last_topic_id: str = ""
    n_damaged: int = 0

    def allows(self, digest: bytes, form: str) -> bool:
        """May a chunk be given in this form? What was shown in part may follow once in full, nothing comes twice."""
        before = self.given.get(digest.hex())
        return before is None or (before != "full" and form == "full")


EMPTY = Ledger()


class LedgerStore:
    """The ledgers of all sessions, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: SessionKey) -> Ledger:
        """The ledger of a session; an unreadable file counts as an empty one."""
        try:
            data = (self._folder / key.file_name).read_bytes()
        except OSError:
            return EMPTY
        given: dict[str, str] = {}
        topic = ""
        n_damaged = 0
        for line in filter(None, data.splitlines()):
            try:
                entry = json.loads(line)
                if entry.get("reset") is not None:
                    given, topic = {}, ""
                for digest, form in entry.get("given", ()):
                    if given.get(digest) != "full":
                        given[str(digest)] = str(form)
                topic = str(entry.get("topic", topic))
            except (ValueError, TypeError, AttributeError, RecursionError):
                n_damaged += 1
        return Ledger(given, topic, n_damaged)

    def record(self, key: SessionKey, topic: str, given: Iterable[tuple[bytes, str]]) -> None:
        """Note what was given, after it was written to the agent.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"topic": topic, "given": [[digest.hex(), form] for digest, form in given]})

    def reset(self, key: SessionKey, why: str) -> None:
        """Forget what was given: the agent's context no longer holds it (`compact`, `clear`)."""
        self._append(key, {"reset": why})

    @contextlib.contextmanager
    def turn(self, key: SessionKey, timeout_s: float) -> Generator[bool]:
        """Keep other hooks of this session out from reading its ledger until what was given is recorded.

        Two registrations of the hook run at the same time and would both give the same; the second waits, reads what
        the first gave, and is silent. After `timeout_s` seconds it goes on without waiting.
        """
        with locked(self._folder / f"{key.file_name}.lock", timeout_s) as held:
            yield held

    def end(self, key: SessionKey) -> None:
        """Stamp the end of a session; a resumed one keeps its ledger."""
        if (self._folder / key.file_name).exists():
            self._append(key, {"end": True})

    def expire(self, days: float, now_s: float) -> int:
        """Delete ledgers that nothing was written to for so many days; returns how many."""
        count = 0
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{_SUFFIX}*"):
                with contextlib.suppress(OSError):
                    if path.stat().st_mtime < now_s - days * _DAY_S:
                        path.unlink()
                        count += 1
        return count

    def _append(self, key: SessionKey, entry: dict[str, Any]) -> None:
        line = {"t": round(time.time(), 3), **entry}
        append_line(self._folder / key.file_name, json.dumps(line, separators=(",", ":")).encode())
