"""The memory as the engine, the commands and the service use it; what the parts do stands in their own modules.

One store is used by several threads, and several processes have one each of the same file. Reading a memory that is not
there finds nothing and makes nothing. Times are milliseconds since 1970. Everything may raise `MemoryDatabaseError`.

A method that writes imports what does it: a prompt only reads, and pays for every import.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.records.errors import MemoryBusyError
from hybrid.records.memory import reading
from hybrid.records.memory.database import Database, size_bytes
from hybrid.records.memory.reading import Clause, select_prompts, select_sessions
from hybrid.records.memory.texts import clean, clean_owner
from hybrid.records.memory.types import (
    LEAST_ANSWER_CHARS,
    MAX_INT,
    MEMORY_KINDS,
    NO_STATS,
    Flushed,
    ForgetReport,
    ImportReport,
    MemoryKind,
    MemoryStats,
    Observation,
    RowFilter,
    SessionSummary,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from hybrid.records.memory.counting import RowCounts
    from hybrid.records.memory.types import Extracted, Make, Owner, PendingEvent, Row, Session, Summarised, UserPrompt


class MemoryStore:
    """Sessions, prompts, observations and summaries in one database."""

    def __init__(self, path: Path) -> None:
        """Set the path of the database; nothing is opened or made before the first use."""
        self.path = path
        self.database = Database(path)

    @property
    def exists(self) -> bool:
        """True if the file of the memory is there, so that something was stored once."""
        return self.database.exists

    @property
    def set_aside(self) -> tuple[Path, ...]:
        """Damaged files that were replaced by a new memory, oldest first."""
        return tuple(sorted(self.path.parent.glob(f"{self.path.name}.corrupt-*")))

    def close(self) -> None:
        """Release the file; the next use opens it again."""
        self.database.close()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing -------------------------------------------------------------------------------------------

    def add_prompt(self, owner: Owner, text: str, now_ms: int, *, key: str = "") -> int:
        """Store a prompt, open its session, and return its number, from 1; the last one again within 2 s is the same.

        With `key`, the key of its event, the same event is stored once, whenever it comes again.
        """
        from hybrid.records.memory import writing

        return self.database.write(lambda db: writing.add_prompt(db, clean_owner(owner), text, now_ms, key=key))

    def add_event(self, owner: Owner, event: PendingEvent, *, window_ms: int, make: Make) -> bool:
        """Let a tool use wait for those that follow within the window.

        The use is committed first; then the first batch of its session, if it has ended, becomes an observation, a bare
        one that names the error if `make` raises. Nothing is locked while `make` is at work. A batch goes on waiting
        when the memory is in use by then.

        Args:
            owner: Session and project.
            event: The tool use.
            window_ms: The longest pause within a batch, in milliseconds.
            make: Turns a batch into an observation, or None.

        Returns:
            True if the use was stored; False if it waits already, was told within the last hour, or was forgotten.
        """
        from hybrid.records.memory import batching

        session = self.database.write(lambda db: batching.add_event(db, clean_owner(owner), event))
        if session is None:
            return False
        with contextlib.suppress(MemoryBusyError):  # What was asked for is done.
            batching.Batcher(self.database, make, window_ms).flush_first(session, event.created_ms)
        return True

    def flush(
        self, *, make: Make, now_ms: int, window_ms: int, session_id: str = "", most: int | None = None
    ) -> Flushed:
        """Turn ended batches, or all that waits of one session, into observations, each in its own transaction.

        Nothing is locked while `make` is at work; batches that another process has done meanwhile do not count.

        Args:
            make: Turns a batch into an observation, or None.
            now_ms: The present.
            window_ms: The longest pause within a batch, in milliseconds; a batch whose last use is younger waits on.
            session_id: The client's id of the session all of whose batches are done; empty for all sessions.
            most: How often `make` is called at most; None for as often as there are batches.
        """
        if not self.exists:
            return Flushed(0)
        from hybrid.records.memory import batching

        return batching.Batcher(self.database, make, window_ms).flush(now_ms, session_id, most)

    def n_waiting(self) -> int:
        """Return the number of tool uses that wait for their batch to end."""
        return self.database.read(reading.n_waiting, 0)

    def waiting_tools(self, session_id: str) -> list[str]:
        """Return the names of the tools whose uses wait in a session, each once; at least that of its last use does."""
        return self.database.read(lambda db: reading.waiting_tools(db, session_id), [])

    def add_observation(self, owner: Owner, told: Extracted, now_ms: int, *, digest: str = "") -> Observation | None:
        """Store an observation and return it; None if it is there, was forgotten, or is a repeat, which is counted.

        Args:
            owner: Session and project.
            told: The observation.
            now_ms: When it was made.
            digest: Digest by which the observation is known again; made of all the rest when empty.
        """
        from hybrid.records.memory import writing

        def work(db: sqlite3.Connection) -> Row | None:
            identity = writing.add_observation(db, clean_owner(owner), told, now_ms, digest)
            return None if identity is None else reading.rows(db, "observation", [identity])[identity]

        row = self.database.write(work)
        return row if isinstance(row, Observation) else None

    def add_summary(self, owner: Owner, told: Summarised, now_ms: int) -> SessionSummary | None:
        """Store and return the summary of the session's last prompt, in place of an earlier one; None if empty."""
        from hybrid.records.memory import writing

        def work(db: sqlite3.Connection) -> Row | None:
            identity = writing.add_summary(db, clean_owner(owner), told, now_ms)
            return None if identity is None else reading.rows(db, "summary", [identity])[identity]

        row = self.database.write(work)
        return row if isinstance(row, SessionSummary) else None

    def complete_session(self, session_id: str, now_ms: int) -> None:
        """Note the end of a session; nothing for an unknown one. Call `flush` for it first."""
        if self.exists:
            from hybrid.records.memory import writing

            self.database.write(lambda db: writing.complete_session(db, session_id, now_ms))

    # --- reading -------------------------------------------------------------------------------------------

    def newest(self, wanted: RowFilter, limit: int) -> list[Row]:
        """Return the newest wanted rows, newest first."""
        return self.database.read(lambda db: reading.newest(db, wanted, limit), [])

    def recent(self, wanted: RowFilter, key: str, limit: int) -> list[Row]:
        """Return the newest wanted rows of the project `key`, and observations of others, newest first.

        The project has at least half of the rows when it has so many.
        """
        return self.database.read(lambda db: reading.recent(db, wanted, key, limit), [])

    def places(self, wanted: RowFilter) -> list[tuple[MemoryKind, int, str]]:
        """Return kind, id and project key of every wanted row, without reading its text."""
        return self.database.read(lambda db: reading.places(db, wanted), [])

    def rows(self, kind: MemoryKind, ids: Sequence[int]) -> dict[int, Row]:
        """Return id → row for these ids, in their order; missing rows are left out."""
        return self.database.read(lambda db: reading.rows(db, kind, ids), {})

    def timeline(self, kind: MemoryKind, identity: int, before: int, after: int, wanted: RowFilter) -> list[Row]:
        """Return a row and at most so many wanted ones before and after it, oldest first; empty without that row."""

        def read(db: sqlite3.Connection) -> list[Row]:
            anchor = reading.rows(db, kind, [identity]).get(identity)
            return reading.timeline(db, anchor, before, after, wanted) if anchor else []

        return self.database.read(read, [])

    def timeline_at(self, ms: int, before: int, after: int, wanted: RowFilter) -> list[Row]:
        """Return at most so many wanted rows before and after a time, oldest first; those of that time are after."""
        return self.database.read(lambda db: reading.timeline(db, ms, before, after, wanted), [])

    def of_files(self, paths: Sequence[str], wanted: RowFilter, limit: int) -> list[Row]:
        """Return the newest wanted observations that touched one of the paths, or something below one."""
        return self.database.read(lambda db: reading.of_files(db, paths, wanted, limit), [])

    def session(self, session_id: str) -> Session | None:
        """Return the session with this id of the client; None for an unknown one."""
        clause = Clause().add("claude_session_id = ?", clean(session_id))
        return next(iter(self.database.read(lambda db: select_sessions(db, clause, "id", 1), [])), None)

    def n_sessions(self, key: str) -> int:
        """Return the number of sessions that belong to a project: of one that went on in another, the first counts."""
        sql = "SELECT count(*) FROM sessions WHERE project_key = ?"
        return self.database.read(lambda db: db.execute(sql, (clean(key),)).fetchone()[0], 0)

    def prompts(self, session_id: str) -> list[UserPrompt]:
        """Return the prompts of a session in their order."""
        clause = Clause().add("s.claude_session_id = ?", clean(session_id))
        return self.database.read(lambda db: select_prompts(db, clause, "r.prompt_number, r.id", reading.NO_LIMIT), [])

    def last_prompt(self, session_id: str, at_ms: int = MAX_INT) -> UserPrompt | None:
        """Return the last prompt of a session that is not later than a time; None before the first."""
        clause = Clause().add("s.claude_session_id = ?", clean(session_id)).add("r.created_at_epoch <= ?", at_ms)
        found = self.database.read(lambda db: select_prompts(db, clause, "r.created_at_epoch DESC, r.id DESC", 1), [])
        return found[0] if found else None

    def last_prompts(self, session_id: str, at_ms: int) -> list[UserPrompt]:
        """Return the prompts of a session of which each may be the last one at a time, if the clock was set back.

        The newest until then by its time, the one until then that was stored last, and all with a later time.
        """
        owned = ("s.claude_session_id = ?", clean(session_id))
        before = Clause().add(*owned).add("r.created_at_epoch <= ?", at_ms)
        ahead = Clause().add(*owned).add("r.created_at_epoch > ?", at_ms)

        def read(db: sqlite3.Connection) -> list[UserPrompt]:
            return [
                *select_prompts(db, before, "r.created_at_epoch DESC, r.id DESC", 1),
                *select_prompts(db, before, "r.id DESC", 1),
                *select_prompts(db, ahead, "r.id", reading.NO_LIMIT),
            ]

        return self.database.read(read, [])

    def last_summaries(self, key: str, limit: int, *, not_session: str = "") -> list[Row]:
        """Return the newest summaries of a project's turns that did something, newest first; small talk did nothing.

        Where no turn used a tool, as with a client that reports none, turns with a long answer count.

        Args:
            key: Key of the project.
            limit: The most summaries.
            not_session: Id of a session to leave out; empty for none.
        """
        wanted = RowFilter(key=key, not_session=not_session, kinds=("summary",), answer_chars=MAX_INT)
        return self.newest(wanted, limit) or self.newest(replace(wanted, answer_chars=LEAST_ANSWER_CHARS), limit)

    def worked(self, summaries: Sequence[int]) -> set[int]:
        """Return the ids of those summaries in whose turns a tool was used."""
        return self.database.read(lambda db: reading.worked(db, summaries), set())

    def touched_files(self, session_id: str) -> tuple[str, ...]:
        """Return the files of a session: written ones, then those only read; touched last comes first."""
        return self.database.read(lambda db: reading.touched_files(db, session_id), ())

    def session_rows(self, session_id: str) -> list[Row]:
        """Return all rows of a session, oldest first."""
        return self.database.read(lambda db: reading.session_rows(db, session_id), [])

    def all_rows(self, kind: MemoryKind) -> Iterator[Row]:
        """Yield all rows of a kind in the order of their ids; nothing is locked between two of them."""
        from hybrid.records.memory import exporting

        return exporting.all_rows(self.database, RowFilter(kinds=(kind,)))

    def stats(self) -> MemoryStats:
        """Return the counts of all rows, and the size of the file."""
        return self.database.read(lambda db: reading.stats(db, size_bytes(self.path)), NO_STATS)

    def counts(self, known: RowCounts | None = None) -> RowCounts:
        """Return the numbers of rows by project and type; with earlier counts of this memory it costs what changed."""
        from hybrid.records.memory import counting

        before, none = known or counting.RowCounts(), counting.RowCounts()
        return self.database.read(lambda db: counting.counts(db, _last_change(db), before), none)

    # --- what changed, for an index of the rows ------------------------------------------------------------

    def last_change(self) -> int:
        """Return the number of the last change of a row, which a new file begins high; 0 without a file."""
        return self.database.read(_last_change, 0)

    def changes_since(self, seq: int) -> list[tuple[MemoryKind, int]] | None:
        """Return kind and id of the rows added, changed or removed after a change, each once, in that order.

        Returns:
            None when the log does not reach back so far, or is that of another file: then any row may have changed.
        """

        def read(db: sqlite3.Connection) -> list[tuple[MemoryKind, int]] | None:
            found = db.execute("SELECT kind, row_id FROM changes WHERE seq > ? ORDER BY seq", (seq,)).fetchall()
            # Numbers have no gaps: fewer are left of a log that was trimmed, and none of one that ends before.
            return list(dict.fromkeys(found)) if len(found) == _last_change(db) - seq else None

        return self.database.read(read, [] if seq == 0 else None)

    def forget_changes(self, before_seq: int) -> None:
        """Drop the changes before one from the log, which never holds more than about 100,000."""
        if self.exists:
            self.database.write(lambda db: db.execute("DELETE FROM changes WHERE seq < ?", (before_seq,)))

    # --- forgetting ----------------------------------------------------------------------------------------

    def forget(self, kind: MemoryKind, ids: Sequence[int]) -> ForgetReport:
        """Forget rows for good: the text leaves the file, and neither an event nor an import brings a row back."""
        from hybrid.records.memory import forgetting

        return forgetting.for_good(self.database, lambda db: forgetting.forget(db, kind, ids))

    def forget_rows(self, ids: Sequence[tuple[MemoryKind, int]]) -> ForgetReport:
        """Forget rows of any kind, each by its kind and id, as `forget` does."""
        done = [self.forget(kind, [number for one, number in ids if one == kind]) for kind in MEMORY_KINDS]
        return ForgetReport(sum(one.n for one in done), all(one.is_wiped for one in done))

    def forget_session(self, session_id: str) -> ForgetReport:
        """Forget a session with its prompts, observations, summaries and waiting tool uses."""
        from hybrid.records.memory import forgetting

        return forgetting.for_good(self.database, lambda db: forgetting.forget_session(db, session_id))

    def forget_project(self, key: str) -> ForgetReport:
        """Forget all rows and waiting tool uses of a project."""
        from hybrid.records.memory import forgetting

        return forgetting.for_good(self.database, lambda db: forgetting.forget_project(db, key))

    def forget_everything(self) -> ForgetReport:
        """Forget all rows, and which rows were forgotten before: an earlier export may be imported again."""
        from hybrid.records.memory import forgetting

        return forgetting.for_good(self.database, forgetting.forget_everything)

    def prune(self, *, now_ms: int, before_ms: int | None = None, max_bytes: int | None = None) -> int:
        """Delete rows older than a time, then the oldest until the file is small enough; the file shrinks.

        Returns how many rows went; it leaves a tenth of the limit free.

        Args:
            now_ms: The present.
            before_ms: Time from which on rows stay; None to delete none by age.
            max_bytes: The most bytes in use; only above them the oldest rows go. None for any size. Tool uses that
                wait and active sessions stay, so that an empty memory may still be larger.

        Returns:
            The number of observations, summaries and prompts that were deleted.
        """
        if not self.exists:
            return 0
        from hybrid.records.memory import forgetting

        return forgetting.prune(self.database, before_ms, max_bytes, now_ms)

    # --- to and from elsewhere -----------------------------------------------------------------------------

    def export(self, wanted: RowFilter) -> Iterator[str]:
        """Yield the wanted rows as JSON Lines; see `hybrid.records.memory.exporting`."""
        from hybrid.records.memory import exporting

        return exporting.export_lines(self.database, wanted)

    def import_lines(
        self, lines: Iterable[str], now_ms: int, *, name: str = "import", is_dry: bool = False
    ) -> ImportReport:
        """Store the new rows among lines that `export` gave; rows that are here already stay as they are.

        Raises:
            MemoryImportError: A newer version wrote the lines, or all are blank.
        """
        from hybrid.records.memory import importing

        return importing.import_rows(self.database, importing.read_lines(lines, now_ms, name), is_dry=is_dry)


def _last_change(db: sqlite3.Connection) -> int:
    return db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()[0]
