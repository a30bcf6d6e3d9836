"""Brings what older versions stored under the present rules for secrets: rows, words, vectors, log, ledgers, counters.

The service does it in a process of its own, commands do a part of it after their work, `hybrid doctor --fix` all of it.
Each store has its own mark of the rules under which it stands: the memory and the catalogs in their databases, the
small files together in `cleaned.json`. What is read before it is cleaned is read without its secrets. Whatever is
killed is gone on with; one process at a time is at work.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from hybrid.atomic import locked, read_regular, write_atomic
from hybrid.engine import cleaning_files
from hybrid.engine.memory_cleaning import rules_of_rows
from hybrid.engine.record_stores import RecordStores
from hybrid.errors import HybridError
from hybrid.redact import REDACT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hybrid.engine.workspace import Workspace
    from hybrid.records.memory.cleaning import Progress

NAME = "cleaned.json"
"""The mark of the small files and the figures of the last cleaning, in a `$HYBRID_HOME`."""

_NOT_ALL = "memory: not all"
_LOCK = "cleaning.lock"
_MAX_BYTES = 100_000
_WAL_TRIES = 20
_WAL_WAIT_S = 0.1
_FILES: tuple[tuple[str, Callable[[Workspace], int]], ...] = (
    ("log", cleaning_files.clean_log),
    ("sessions", cleaning_files.clean_ledgers),
    ("counters", cleaning_files.clean_counters),
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is known of the cleaning of a home.

    Attributes:
        rules: `REDACT_VERSION` it is about; empty when nothing was ever cleaned here.
        files: The small files that stand under them: `log`, `sessions`, `counters`.
        memory: Rows of the memory that changed under these rules.
        lines: Lines of log and ledgers, and files of counters, that changed.
        rebuilt: Indexes that were made again.
        dropped: Indexes that went.
        problems: What is not clean, and why, a sentence each.
        is_index_due: Whether rows changed since the index of the memory was made again.
        is_whole: Whether the indexes were looked at too, and nothing is left.
        at: When it went on last, ISO 8601, UTC.
    """

    rules: str = ""
    files: tuple[str, ...] = ()
    memory: int = 0
    lines: int = 0
    rebuilt: int = 0
    dropped: int = 0
    problems: tuple[str, ...] = ()
    is_index_due: bool = False
    is_whole: bool = False
    at: str = ""

    @property
    def failures(self) -> tuple[str, ...]:
        """What went wrong, without what only waits for more time."""
        return tuple(problem for problem in self.problems if not problem.startswith(_NOT_ALL))

    @property
    def is_done(self) -> bool:
        """Return whether all that this version knows of stands under the present rules."""
        return self.rules == REDACT_VERSION and self.is_whole and not self.problems

    @property
    def are_files_done(self) -> bool:
        """Return whether the small files stand under the present rules, whatever the indexes do."""
        return self.rules == REDACT_VERSION and len(self.files) == len(_FILES)

    def as_json(self) -> dict[str, Any]:
        """Stable keys, as they stand in the file and in the status."""
        lists = {"files": list(self.files), "problems": list(self.problems)}
        return {name: getattr(self, name) for name in self.__slots__} | lists


def read_cleaned(home: Path) -> Cleaned:
    """What the last cleaning noted; what cannot be read counts as never cleaned."""
    try:
        found: object = json.loads(read_regular(home / NAME, _MAX_BYTES))
        if not isinstance(found, dict):
            return Cleaned()
        fields = {name: value for name, value in cast("dict[str, Any]", found).items() if name in Cleaned.__slots__}
        fields |= dict[str, Any]({name: tuple(map(str, fields.get(name) or ())) for name in ("files", "problems")})
        return Cleaned(**fields)
    except (OSError, ValueError, TypeError, RecursionError):
        return Cleaned()


def is_due(workspace: Workspace, *, is_whole: bool = True) -> bool:
    """Return whether something may stand under other rules; costs a small file and one row of the memory.

    Args:
        workspace: Its home counts.
        is_whole: The indexes count too; without, rows and small files only.
    """
    cleaned = read_cleaned(workspace.home)
    if not (cleaned.is_done if is_whole else cleaned.are_files_done):
        return True
    try:
        return not RecordStores().memory(workspace).cleaned().is_done
    except (HybridError, OSError):
        return False  # Whoever uses the memory meets the same, and says so.


def clean_home(
    workspace: Workspace,
    environ: Mapping[str, str],
    *,
    is_whole: bool,
    has_time: Callable[[], bool] = lambda: True,
    lock_s: float = 0.0,
) -> Cleaned | None:
    """Clean what is not clean yet.

    Args:
        workspace: Its home and settings count.
        environ: Of the process; working trees are indexed again with its settings.
        is_whole: The indexes too, which may take minutes; without, rows and small files only.
        has_time: Is asked between two pieces of work, of some ten milliseconds each.
        lock_s: How long to wait for another process that cleans, in seconds.

    Returns:
        What is known now; None when another process is at work, or nothing can be written here.
    """
    home = workspace.home
    if not home.is_dir():
        return None
    with locked(home / _LOCK, lock_s) as held:
        if not held:
            return None
        before = read_cleaned(home)
        run = _Run(workspace, before if before.rules == REDACT_VERSION else Cleaned(REDACT_VERSION), has_time)
        run.clean_memory()
        run.clean_files()
        if is_whole:
            run.clean_indexes(environ)
        return run.noted()


class _Run:
    """One cleaning under the lock: what it did is added to what earlier ones did under the same rules."""

    def __init__(self, workspace: Workspace, before: Cleaned, has_time: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._has_time = has_time
        self._store = RecordStores().memory(workspace)
        self._before = before
        self._now = replace(before, problems=())

    def clean_memory(self) -> None:
        """Clean the rows, batch by batch."""
        try:
            progress = self._cleaned_rows()
            if progress.rules == REDACT_VERSION and progress.n_rows != self._now.memory:
                self._now = replace(self._now, memory=progress.n_rows, is_index_due=True)
            if not progress.is_done:
                self._problem(f"{_NOT_ALL} of {self._store.path} is looked through and written anew yet")
        except (HybridError, OSError, sqlite3.DatabaseError) as error:
            self._problem(f"memory: {error}")
        finally:
            self._store.close()

    def _cleaned_rows(self) -> Progress:
        """How far the rows are after all that there is time for; a reader in the way is waited for, not for ever."""
        before, rules, n_stuck = self._store.cleaned(), rules_of_rows(), 0
        while not before.is_done and self._has_time() and n_stuck < _WAL_TRIES:
            after = self._store.clean_some(rules, time.time_ns() // 1_000_000)
            if after == before:
                n_stuck += 1
                time.sleep(_WAL_WAIT_S)
            before = after
        return before

    def clean_files(self) -> None:
        """Clean log, ledgers and counters, those that are not clean yet."""
        for name, clean in _FILES:
            if name in self._now.files:
                continue
            if not self._has_time():
                self._problem(f"{name}: not looked through yet")
                continue
            try:
                n = clean(self._workspace)
                self._now = replace(self._now, lines=self._now.lines + n, files=(*self._now.files, name))
            except (HybridError, OSError) as error:
                self._problem(f"{name}: {error}")

    def clean_indexes(self, environ: Mapping[str, str]) -> None:
        """Clean the indexes of records and projects."""
        from hybrid.engine.cleaning_indexes import IndexesCleaned, clean_projects, clean_records  # Brings numpy.

        cleaning_files.remove_left_overs(self._workspace.home, time.time())
        done = IndexesCleaned()
        clean_records(self._workspace, self._store, done, is_changed=self._now.is_index_due)
        self._store.close()
        is_index_due = self._now.is_index_due and bool(done.problems)
        clean_projects(self._workspace, environ, done)
        for problem in done.problems:
            self._problem(problem)
        self._now = replace(
            self._now,
            rebuilt=self._now.rebuilt + done.n_rebuilt,
            dropped=self._now.dropped + done.n_dropped,
            is_index_due=is_index_due,
        )

    def noted(self) -> Cleaned:
        """What is known now, written down where that is possible."""
        from hybrid.engine.cleaning_indexes import older_indexes  # Brings numpy.

        is_whole = not self._now.is_index_due and not older_indexes(self._workspace.home)
        found = replace(self._now, is_whole=is_whole)
        # A home that was deleted meanwhile is not made again.
        if found != self._before and self._workspace.home.is_dir():
            found = replace(found, at=datetime.now(timezone.utc).isoformat(timespec="seconds"))
            try:
                write_atomic(self._workspace.home / NAME, json.dumps(found.as_json(), indent=1).encode())
            except OSError as error:
                return replace(found, problems=(*found.problems, str(error)))
        return found

    def _problem(self, text: str) -> None:
        self._now = replace(self._now, problems=(*self._now.problems, text))
