"""Reads a lore folder, and again only what changed; the engine and the commands hold one store for each folder.

Reading never raises: a missing file is a source that is skipped, whatever else is wrong becomes a problem.
"""

from __future__ import annotations

import os
import threading
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.stamps import Stamp, stamp_of
from hybrid.records.errors import LoreReadError
from hybrid.records.lore import decisions, handoffs
from hybrid.records.lore.decisions import DecisionLines
from hybrid.records.lore.eligible import RecordMaker
from hybrid.records.lore.files import read_file
from hybrid.records.lore.types import Lore, seconds_of
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.records.lore.eligible import ProjectNames
    from hybrid.records.lore.files import LoreFolder
    from hybrid.records.types import Record

_MOST_MAKERS = 32


class _Kept(Struct, frozen=True):
    """The content of a file, and its stamp then; with `is_proof` the same stamp means the same content."""

    stamp: Stamp | None
    is_proof: bool
    content: Lore


class LoreStore:
    """Reads the lore of one folder, for any number of threads."""

    def __init__(self, folder: LoreFolder, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Set the folder; nothing is read yet.

        Args:
            folder: The folder, which need not exist.
            now_ns: Clock in nanoseconds since the epoch: a file that is too new may still change under the same time.
        """
        self.folder = folder
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._lines = DecisionLines()
        self._kept: dict[str, _Kept] = {}
        self._before: dict[str, _Kept] = {}
        self._lore = Lore()

    def read(self) -> Lore:
        """Return all records and problems of the folder as it is now; the same object while nothing changed."""
        with self._lock:
            lore = self._read()
            if lore != self._lore:
                self._lore = lore
            return self._lore

    def _read(self) -> Lore:
        self._before, self._kept = self._kept, {}
        learned = self._patterns()
        decided = self._file(self.folder.decisions, decisions.MAX_BYTES, self._lines.read)
        sessions = [self._file(path, handoffs.MAX_BYTES, _read_session) for path in self._session_files()]
        found = [handoff for session in sessions for handoff in session.handoffs]
        return Lore(
            patterns=learned.patterns,
            anti_patterns=learned.anti_patterns,
            decisions=decided.decisions,
            handoffs=tuple(sorted(found, key=lambda one: -seconds_of(one.created_at))),
            problems=tuple(problem for part in (learned, decided, *sessions) for problem in part.problems),
        )

    def _patterns(self) -> Lore:
        if not os.path.lexists(self.folder.patterns):
            return Lore()
        from hybrid.records.lore import patterns  # Brings the reader of YAML, which many a prompt has no need of.

        return self._file(self.folder.patterns, patterns.MAX_BYTES, patterns.read_patterns)

    def _session_files(self) -> Sequence[Path]:
        """Return the paths of the latest sessions, the newest name first; none when the folder cannot be read."""
        try:
            names = [path.name for path in self.folder.sessions.iterdir() if handoffs.is_session_file(path.name)]
        except (OSError, ValueError):
            return ()
        return [self.folder.sessions / name for name in sorted(names, reverse=True)[: handoffs.MAX_FILES]]

    def _file(self, path: Path, limit_bytes: int, parse: Callable[[bytes, str], Lore]) -> Lore:
        """Return the content of a file: what was read last while its stamp proves that nothing changed.

        Args:
            path: Path of the file; a missing one has no content.
            limit_bytes: A longer file is refused, which is a problem.
            parse: Reads bytes; the path is for its problems.
        """
        stamp, now_ns = stamp_of(path, follows_links=False), self._now_ns()
        kept = self._before.get(str(path))
        if kept is None or not kept.is_proof or kept.stamp != stamp:
            try:
                data = read_file(path, self.folder, limit_bytes)
                content = Lore() if data is None else parse(data, str(path))
            except LoreReadError as error:
                content = Lore(problems=(Problem(str(path), 0, str(error)),))
            kept = _Kept(stamp, stamp is None or stamp.is_proof_at(now_ns), content)
        self._kept[str(path)] = kept
        return kept.content


def _read_session(data: bytes, file: str) -> Lore:
    """Return the handoff of a session, or the problem with its file; nothing for a session without a handoff."""
    handoff = handoffs.read_session(data, file)
    if isinstance(handoff, str):
        return Lore(problems=(Problem(file, 0, handoff),))
    return Lore() if handoff.is_empty else Lore(handoffs=(handoff,))


class LoreShelf:
    """The folders that count for a project, read as one; for any number of threads."""

    def __init__(self, stores: Sequence[LoreStore]) -> None:
        """Set the stores of the folders in order of precedence: the project's own first."""
        self.stores = tuple(stores)
        self._lock = threading.Lock()
        self._maker = lru_cache(_MOST_MAKERS)(RecordMaker)

    def read(self) -> tuple[Lore, ...]:
        """Return the content of each folder as it is now."""
        return tuple(store.read() for store in self.stores)

    def records(self, project: ProjectNames) -> tuple[Record, ...]:
        """Return the records that may be given in a project, in the order of `RecordMaker.records`.

        The same tuple as before while nothing changed.
        """
        lores = self.read()
        with self._lock:
            return self._maker(project).records(lores)
