"""Reads a lore folder, and again only what changed; the engine and the commands hold one store for each folder.

Reading never raises: a missing file is a source that is skipped, whatever else is wrong becomes a problem.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from hybrid.base.stamps import Stamp, stamp_of
from hybrid.records.errors import LoreReadError
from hybrid.records.lore import decisions, handoffs
from hybrid.records.lore.decisions import DecisionFile, DecisionLines
from hybrid.records.lore.eligible import RecordMaker
from hybrid.records.lore.files import read_file
from hybrid.records.lore.types import Handoff, Lore, PatternFile, seconds_of
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.records.lore.eligible import ProjectNames
    from hybrid.records.lore.files import LoreFolder
    from hybrid.records.types import Record

_Read = TypeVar("_Read")
_MOST_MAKERS = 32

_NO_PATTERNS = PatternFile((), (), ())
_NO_DECISIONS = DecisionFile((), ())


class _Kept(Struct, Generic[_Read], frozen=True):
    """The content of a file, and its stamp then; with `is_proof` the same stamp means the same content."""

    stamp: Stamp | None
    is_proof: bool
    content: _Read


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
        self._patterns: _Kept[PatternFile] | None = None
        self._decisions: _Kept[DecisionFile] | None = None
        self._sessions: dict[str, _Kept[Handoff | Problem | None]] = {}
        self._lore = Lore()

    def read(self) -> Lore:
        """Return all records and problems of the folder as it is now; the same object while nothing changed."""
        with self._lock:
            lore = self._read()
            if lore != self._lore:
                self._lore = lore
            return self._lore

    def records(self, project: ProjectNames) -> tuple[Record, ...]:
        """Return the records of this folder alone that may be given in a project; see `LoreShelf` for several."""
        return RecordMaker(project).records([self.read()])

    def _read(self) -> Lore:
        pattern_file, decision_file = self._pattern_file(), self._decision_file()
        sessions = [kept.content for kept in self._session_contents()]
        found = [one for one in sessions if isinstance(one, Handoff)]
        return Lore(
            patterns=pattern_file.patterns,
            anti_patterns=pattern_file.anti_patterns,
            decisions=decision_file.decisions,
            handoffs=tuple(sorted(found, key=lambda one: -seconds_of(one.created_at))),
            problems=(
                *pattern_file.problems,
                *decision_file.problems,
                *(one for one in sessions if isinstance(one, Problem)),
            ),
        )

    def _pattern_file(self) -> PatternFile:
        path = self.folder.patterns
        if not os.path.lexists(path):
            self._patterns = None
            return _NO_PATTERNS
        from hybrid.records.lore import patterns  # Brings the reader of YAML, which many a prompt has no need of.

        def parse(data: bytes | Problem | None) -> PatternFile:
            if isinstance(data, Problem):
                return PatternFile((), (), (data,))
            return _NO_PATTERNS if data is None else patterns.read_patterns(data, str(path))

        self._patterns = self._again(path, self._patterns, patterns.MAX_BYTES, parse)
        return self._patterns.content

    def _decision_file(self) -> DecisionFile:
        path = self.folder.decisions

        def parse(data: bytes | Problem | None) -> DecisionFile:
            if isinstance(data, Problem):
                return DecisionFile((), (data,))
            return _NO_DECISIONS if data is None else self._lines.read(data, str(path))

        self._decisions = self._again(path, self._decisions, decisions.MAX_BYTES, parse)
        return self._decisions.content

    def _session_contents(self) -> list[_Kept[Handoff | Problem | None]]:
        """Return for each of the latest sessions its handoff, a problem, or None for one without a handoff."""
        now: dict[str, _Kept[Handoff | Problem | None]] = {}
        for path in self._session_files():

            def parse(data: bytes | Problem | None, path: Path = path) -> Handoff | Problem | None:
                if not isinstance(data, bytes):
                    return data
                handoff = handoffs.read_session(data, str(path))
                if isinstance(handoff, str):
                    return Problem(str(path), 0, handoff)
                return None if handoff.is_empty else handoff

            before = self._sessions.get(path.name)
            now[path.name] = self._again(path, before, handoffs.MAX_BYTES, parse)
        self._sessions = now
        return list(now.values())

    def _session_files(self) -> Sequence[Path]:
        """Return the paths of the latest sessions, the newest name first; none when the folder cannot be read."""
        try:
            names = [path.name for path in self.folder.sessions.iterdir() if handoffs.is_session_file(path.name)]
        except (OSError, ValueError):
            return ()
        return [self.folder.sessions / name for name in sorted(names, reverse=True)[: handoffs.MAX_FILES]]

    def _again(
        self,
        path: Path,
        before: _Kept[_Read] | None,
        limit_bytes: int,
        parse: Callable[[bytes | Problem | None], _Read],
    ) -> _Kept[_Read]:
        """Return the parsed content of a file; `before` while its stamp proves that nothing changed.

        Args:
            path: Path of the file.
            before: The content that was read last; None for a file that was not read yet.
            limit_bytes: A longer file is refused.
            parse: Reads the bytes; it is given a problem for a file that is refused, and None for a missing one.
        """
        stamp, now_ns = stamp_of(path, follows_links=False), self._now_ns()
        if before is not None and before.is_proof and before.stamp == stamp:
            return before
        data: bytes | Problem | None
        try:
            data = read_file(path, self.folder, limit_bytes)
        except LoreReadError as error:
            data = Problem(str(path), 0, str(error))
        return _Kept(stamp, stamp is None or stamp.is_proof_at(now_ns), parse(data))


class LoreShelf:
    """The folders that count for a project, read as one; for any number of threads."""

    def __init__(self, stores: Sequence[LoreStore]) -> None:
        """Set the stores of the folders in order of precedence: the project's own first."""
        self.stores = tuple(stores)
        self._lock = threading.Lock()
        self._makers: dict[tuple[object, ...], tuple[tuple[Lore, ...], RecordMaker, tuple[Record, ...]]] = {}

    def read(self) -> tuple[Lore, ...]:
        """Return the content of each folder as it is now."""
        return tuple(store.read() for store in self.stores)

    def records(self, project: ProjectNames) -> tuple[Record, ...]:
        """Return the records that may be given in a project, in the order of `RecordMaker.records`.

        The same tuple as before while nothing changed.
        """
        lores = self.read()
        key = (project.name, project.key, project.others)
        with self._lock:
            known = self._makers.pop(key, None)
            if known is None or any(one is not other for one, other in zip(known[0], lores, strict=True)):
                maker = known[1] if known else RecordMaker(project)
                known = (lores, maker, maker.records(lores))
            self._makers[key] = known
            while len(self._makers) > _MOST_MAKERS:
                del self._makers[next(iter(self._makers))]
            return known[2]
