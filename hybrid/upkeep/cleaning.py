"""Takes secrets by the present rules out of what older versions stored: rows, indexes, log, ledgers, counters.

The service does it in a process of its own, commands do a part of it after their work, `hybrid doctor --fix` all of it.
Each store has a mark of the rules by which it was cleaned: the memory and the catalogs in their databases, the small
files together in `cleaned.json`. What is read before it is cleaned is read without its secrets. A cleaning that was
killed is gone on with by the next one; one process at a time is at work.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import time
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from hybrid.base.atomic import append_line, locked, read_regular, write_atomic
from hybrid.base.errors import HybridError
from hybrid.feedback import marks
from hybrid.feedback.events import log_folder
from hybrid.feedback.state import HOT_TOPICS, read_state, update_state, write_hot_topics
from hybrid.knowledge.memory_cleaning import redacted_strings, rules_of_rows, strings_in
from hybrid.knowledge.stores import RecordStores
from hybrid.project.find import FOLDER_NAME
from hybrid.project.registry import load_registry
from hybrid.redact import REDACT_VERSION, find_secrets, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hybrid.feedback.state import HookState
    from hybrid.records.memory.cleaning import CleaningState
    from hybrid.workspace import Workspace


# --- hybrid's own small files: log, marks, ledgers, counters ----------------------------------------------

_LATE_S = 0.05
"""Seconds, at most, from opening a file to appending a line to it; a cleaning waits so long twice for other writers."""
_LEFT_OVER_S = 3600.0
"""Seconds since its last change after which a temporary file belongs to a killed process."""


def clean_log(workspace: Workspace) -> int:
    """Take secrets out of the event log and the marks; return the number of lines that changed.

    Raises:
        OSError: A file cannot be read or written.
        HybridError: The marks are being changed.
    """
    folder = log_folder(workspace.home)
    if not folder.is_dir():
        return 0
    with workspace.log.held_parts() as parts:
        n = sum(map(clean_lines, parts))
    path = folder / marks.NAME
    if path.is_file():
        with marks.held(folder):
            n += clean_lines(path)
    return n


def clean_ledgers(workspace: Workspace) -> int:
    """Take secrets out of the ledgers of sessions; return the number of lines that changed.

    Raises:
        OSError: A ledger cannot be read or written; those before it are clean.
    """
    return sum(map(clean_lines, sorted((workspace.home / "sessions").glob("*.jsonl"))))


def clean_counters(workspace: Workspace) -> int:
    """Take secrets out of counters and hot topics of every known working tree; return how many trees changed.

    Raises:
        OSError: The counters of a tree cannot be locked or written; those before it are clean.
    """
    return sum(map(_clean_counters, _state_folders(workspace)))


def remove_left_overs(home: Path, now_s: float) -> None:
    """Delete temporary files of killed processes, which may hold secrets; those of the last hour stay."""
    for name in ("log", "sessions", "records", "projects"):
        for path in (home / name).rglob(".*.tmp"):
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < now_s - _LEFT_OVER_S:
                    path.unlink()


def clean_lines(path: Path) -> int:
    """Take secrets out of a file of JSON lines that others append to; return the number of lines that changed.

    A line that is no JSON is cleaned as text. The file keeps its times. After a change, lines that others append late
    are taken over for a tenth of a second.

    Raises:
        OSError: It cannot be read or written.
    """
    with path.open("rb") as old:
        lines = old.read().splitlines(keepends=True)
        cleaned = list(map(_cleaned_line, lines))
        n = sum(before is not after for before, after in zip(lines, cleaned, strict=True))
        if not n:
            return 0
        stat = os.fstat(old.fileno())
        if sys.platform == "win32":  # It replaces no file that is open.
            old.close()
        write_atomic(path, b"".join(cleaned))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        for _ in range(0 if sys.platform == "win32" else 2):
            for line in old.read().splitlines(keepends=True):
                append_line(path, _cleaned_line(line))
            time.sleep(_LATE_S)
    return n


def _cleaned_line(line: bytes) -> bytes:
    """Return a line without secrets; the same object when it holds none."""
    try:
        value: object = json.loads(line)
        if not find_secrets("\n".join(strings_in(value))):
            return line
        cleaned = redacted_strings(value)
    except (ValueError, RecursionError):
        text = line.decode("utf-8", "surrogateescape")
        shown = redact(text)
        return line if shown == text else shown.encode("utf-8", "surrogateescape")
    if cleaned == value:
        return line
    return json.dumps(cleaned, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _state_folders(workspace: Workspace) -> Iterator[Path]:
    yield from sorted((workspace.home / "projects").glob("*/trees/*/"))
    for entry in load_registry(workspace.home).values():
        for root in entry.paths:
            folder = Path(root) / FOLDER_NAME
            if folder.is_dir() and not folder.is_symlink():
                yield folder


def _clean_counters(folder: Path) -> int:
    topics = folder / HOT_TOPICS
    before = read_state(folder).as_json()
    is_clean = redacted_strings(before) == before
    has_topics = topics.is_file() and not topics.is_symlink()
    if has_topics:
        text = topics.read_text("utf-8", "replace").replace("\\_", "_")
        is_clean = is_clean and redact(text) == text
    if is_clean:
        return 0

    def change(state: HookState) -> None:
        for name, value in cleaned_counters(state).items():
            setattr(state, name, value)

    state = update_state(folder, change)
    if state is None:
        raise OSError(f"{folder} cannot be written")
    if has_topics:
        write_hot_topics(folder, state)
    return 1


def cleaned_counters(state: HookState) -> dict[str, object]:
    """Return the counters as JSON, without secrets in names; counts of files whose names become alike are added up."""
    counts = Counter[str]()
    for file, count in state.file_frequencies.items():
        counts[redact(file)] += count
    cleaned = redacted_strings(state.as_json() | {"file_frequencies": None})
    return cast("dict[str, object]", cleaned) | {"file_frequencies": dict(counts)}


NAME = "cleaned.json"
"""File of a `$HYBRID_HOME` that holds a `Cleaned`: which small files are clean, and the figures of the cleaning."""

_NOT_ALL = "memory: not all"
_LOCK = "cleaning.lock"
_MAX_BYTES = 100_000
_WAL_TRIES = 20
_WAL_WAIT_S = 0.1
_FILES: tuple[tuple[str, Callable[[Workspace], int]], ...] = (
    ("log", clean_log),
    ("sessions", clean_ledgers),
    ("counters", clean_counters),
)


class Cleaned(Struct, frozen=True):
    """The state of the cleaning of a home.

    Attributes:
        rules: `REDACT_VERSION` of the cleaning; empty when nothing was ever cleaned here.
        files: The small files that were cleaned by these rules: `log`, `sessions`, `counters`.
        memory: Rows of the memory that changed under these rules.
        lines: Lines of log and ledgers, and files of counters, that changed.
        rebuilt: Indexes that were made again.
        dropped: Indexes that were deleted.
        problems: What is not clean, and why, a sentence each.
        is_index_due: True when rows changed since the index of the memory was made again.
        is_whole: True when the indexes were looked at too, and nothing is left.
        at: When the cleaning last did something, ISO 8601, UTC.
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
        """The problems, without the one that says that the memory needs more time."""
        return tuple(problem for problem in self.problems if not problem.startswith(_NOT_ALL))

    @property
    def is_done(self) -> bool:
        """True when everything, the indexes too, was cleaned by the present rules without a problem."""
        return self.rules == REDACT_VERSION and self.is_whole and not self.problems

    @property
    def are_files_done(self) -> bool:
        """True when the small files were cleaned by the present rules, whatever the state of the indexes."""
        return self.rules == REDACT_VERSION and len(self.files) == len(_FILES)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON with stable keys, as `cleaned.json` and the status hold them."""
        return to_builtins(self)


def read_cleaned(home: Path) -> Cleaned:
    """Return the state that the last cleaning noted; an empty `Cleaned` when the file is missing or cannot be read."""
    try:
        return convert(json.loads(read_regular(home / NAME, _MAX_BYTES)), Cleaned)
    except (OSError, ValueError, RecursionError, ValidationError):
        return Cleaned()


def is_due(workspace: Workspace, *, is_whole: bool = True) -> bool:
    """Return whether something may need cleaning; reads a small file and one row. False when the memory cannot be read.

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
    """Clean memory, small files and, if wanted, indexes where they are not clean by the present rules yet.

    Args:
        workspace: Its home and settings count.
        environ: Environment of the process; working trees are indexed again with its settings.
        is_whole: The indexes too, which may take minutes; without, rows and small files only.
        has_time: Is asked between two pieces of work, of some ten milliseconds each.
        lock_s: How long to wait for another process that cleans, in seconds.

    Returns:
        The state after the cleaning; None when there is no home, another process cleans, or nothing can be written.
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
    """One cleaning under the lock; its figures are added to those of earlier cleanings by the same rules."""

    def __init__(self, workspace: Workspace, before: Cleaned, has_time: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._has_time = has_time
        self._store = RecordStores().memory(workspace)
        self._before = before
        self._now = replace(before, problems=())

    def clean_memory(self) -> None:
        """Clean the rows of the memory, batch by batch, as long as there is time; errors become problems."""
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

    def _cleaned_rows(self) -> CleaningState:
        """Clean as many rows as there is time for; return how far that is. Waits two seconds at most for readers."""
        before, rules, n_stuck = self._store.cleaned(), rules_of_rows(), 0
        while not before.is_done and self._has_time() and n_stuck < _WAL_TRIES:
            after = self._store.clean_some(rules, time.time_ns() // 1_000_000)
            if after == before:
                n_stuck += 1
                time.sleep(_WAL_WAIT_S)
            before = after
        return before

    def clean_files(self) -> None:
        """Clean log, ledgers and counters where they are not clean yet; errors and lack of time become problems."""
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
        """Delete temporary files of killed processes, and clean the indexes of records and projects."""
        from hybrid.upkeep.cleaning_indexes import IndexesCleaned, clean_projects, clean_records  # Brings numpy.

        remove_left_overs(self._workspace.home, time.time())
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
        """Return the state after the cleaning, written to `cleaned.json` if it changed and the home still exists."""
        from hybrid.upkeep.cleaning_indexes import older_indexes  # Brings numpy.

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
