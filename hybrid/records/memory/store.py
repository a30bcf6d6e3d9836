"""The memory as the engine, the commands and the service use it: what is read, and what is asked of other modules.

One store is used by several threads, and several processes have one each of the same file. Reading a memory that is not
there finds nothing and makes nothing. Times are milliseconds since 1970. Everything may raise `MemoryDatabaseError`.

What is wanted restricts before a limit counts. Rows of one time stand in the order of their kinds, then of their ids.
A method that changes rows imports what does it: a prompt only reads, and pays for every import.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.memory.database import (
    MAX_TRIES,
    N_TRIES,
    OF_SESSION,
    TABLES,
    WORKED,
    Clause,
    Database,
    kinds_of,
    select,
    select_prompts,
    select_sessions,
    size_bytes,
    where,
)
from hybrid.records.memory.types import (
    LEAST_ANSWER_CHARS,
    MAX_INT,
    MEMORY_KINDS,
    NO_STATS,
    OBSERVATION_TYPES,
    Flushed,
    ForgetReport,
    MemoryImport,
    MemoryKind,
    MemoryStats,
    Observation,
    ProjectCount,
    Row,
    RowFilter,
    SessionSummary,
    chunked,
    clean,
    clean_owner,
    kind_of,
    marks,
)
from hybrid.records.types import MemoryBusyError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from hybrid.records.memory.remedies import Remedy
    from hybrid.records.memory.types import Extracted, Make, Owner, PendingEvent, Run, Session, Summarised, UserPrompt

_NO_LIMIT = -1
_MAX_PATHS = 200
"""The most paths in one statement, which takes only so many variables."""
_NEWEST_FIRST = "r.created_at_epoch DESC, r.id DESC"
_OLDEST_FIRST = "r.created_at_epoch, r.id"
_MOST_OF_SESSION = 10
"""Summaries of one session that are looked past: older versions stored one for each turn."""
_MOST_LOOKED_AT = 1_000
"""Changed rows that are looked up to bring counts up to date; when more changed, all are counted."""


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
        from hybrid.records.memory import writing

        session = self.database.write(lambda db: writing.add_event(db, clean_owner(owner), event))
        if session is None:
            return False
        with contextlib.suppress(MemoryBusyError):  # What was asked for is done.
            writing.Batcher(self.database, make, window_ms).flush_first(session, event.created_ms)
        return True

    def note_run(self, owner: Owner, run: Run | None, step: str, now_ms: int) -> None:
        """Take in a run of a command, and what a use of a tool may have done for one that failed; see `remedies.note`.

        Nothing is written for a step while no command of the session waits for one.
        """
        from hybrid.records.memory import remedies

        session = clean_owner(owner).session_id
        if (run and run.error) or self.database.read(lambda db: remedies.is_waiting(db, session), False):
            self.database.write(lambda db: remedies.note(db, clean_owner(owner), run, step, now_ms))

    def remedy(self, key: str, run: Run, *, not_session: str) -> Remedy | None:
        """Return what made a failure pass in another session of a project; None when that is not known."""
        from hybrid.records.memory import remedies

        return self.database.read(lambda db: remedies.find(db, key, run, not_session), None)

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
        from hybrid.records.memory import writing

        return writing.Batcher(self.database, make, window_ms).flush(now_ms, session_id, most)

    def n_waiting(self) -> int:
        """Return the number of tool uses that wait for their batch to end."""
        return self.database.read(_n_waiting, 0)

    def waiting_tools(self, session_id: str) -> list[str]:
        """Return the names of the tools whose uses wait in a session, each once; at least that of its last use does."""
        is_waiting = f"session_id = {OF_SESSION} AND {N_TRIES} <= {MAX_TRIES}"
        found = self._fetch(f"SELECT tool FROM pending_events WHERE {is_waiting} ORDER BY id", clean(session_id))
        return list(dict.fromkeys(tool for (tool,) in found))

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
            return _row_of(db, "observation", writing.add_observation(db, clean_owner(owner), told, now_ms, digest))

        row = self.database.write(work)
        return row if isinstance(row, Observation) else None

    def add_summary(self, owner: Owner, told: Summarised, now_ms: int) -> SessionSummary | None:
        """Take the session's last turn into its summary, and return that; None if the turn is empty."""
        from hybrid.records.memory import writing

        def work(db: sqlite3.Connection) -> Row | None:
            return _row_of(db, "summary", writing.add_summary(db, clean_owner(owner), told, now_ms))

        row = self.database.write(work)
        return row if isinstance(row, SessionSummary) else None

    def complete_session(self, session_id: str, now_ms: int) -> None:
        """Note the end of a session; nothing for an unknown one. Call `flush` for it first."""
        if self.exists:
            from hybrid.records.memory import writing

            self.database.write(lambda db: writing.complete_session(db, session_id, now_ms))

    # --- reading -------------------------------------------------------------------------------------------

    def newest(self, wanted: RowFilter, limit: int, *, not_key: str = "") -> list[Row]:
        """Return the newest wanted rows, newest first; none of the project `not_key`."""
        found: list[Row] = []
        for kind in kinds_of(wanted):
            found += self._select(kind, where(wanted, kind, not_key=not_key), _NEWEST_FIRST, max(0, limit))
        return sorted(found, key=_place, reverse=True)[: max(0, limit)]

    def recent(self, wanted: RowFilter, key: str, limit: int) -> list[Row]:
        """Return the newest wanted rows of the project `key`, and observations of others, newest first.

        The project has at least half of the rows when it has so many. With a key in the filter others are left out.
        """
        own = self.newest(replace(wanted, key=key), limit)
        if wanted.key or "observation" not in kinds_of(wanted):
            return own
        others = self.newest(replace(wanted, kinds=("observation",)), limit, not_key=key)
        together = sorted([*own, *others], key=_place, reverse=True)[: max(0, limit)]
        n_own = sum(row.owner.key == key for row in together)
        n_own = max(n_own, min(len(own), (limit + 1) // 2))
        return sorted([*own[:n_own], *others[: max(0, limit - n_own)]], key=_place, reverse=True)

    def places(self, wanted: RowFilter) -> list[tuple[MemoryKind, int, str]]:
        """Return kind, id and project key of every wanted row, without reading its text."""
        found: list[tuple[MemoryKind, int, str]] = []
        for kind in kinds_of(wanted):
            clause = where(wanted, kind)
            sql = f"SELECT '{kind}', r.id, r.project_key FROM {TABLES[kind]} AS r WHERE {clause.sql}"
            found += self._fetch(sql, *clause.values)
        return found

    def rows(self, kind: MemoryKind, ids: Sequence[int]) -> dict[int, Row]:
        """Return id → row for these ids, in their order; missing rows are left out."""
        found: dict[int, Row] = {}
        for some in chunked(list(dict.fromkeys(ids))):
            clause = Clause().add(f"r.id IN ({marks(some)})", *some)
            found |= {row.id: row for row in self._select(kind, clause, "r.id", _NO_LIMIT)}
        return {identity: found[identity] for identity in ids if identity in found}

    def named(self, ids: Sequence[tuple[MemoryKind, int]]) -> list[Row]:
        """Return the rows of these kinds and ids in their order; missing rows are left out."""
        found = {kind: self.rows(kind, [number for one, number in ids if one == kind]) for kind in MEMORY_KINDS}
        return [found[kind][number] for kind, number in ids if number in found[kind]]

    def timeline(self, kind: MemoryKind, identity: int, before: int, after: int, wanted: RowFilter) -> list[Row]:
        """Return a row and at most so many wanted ones before and after it, oldest first; empty without that row."""

        def work(db: sqlite3.Connection) -> list[Row]:
            row = _row_of(db, kind, identity)
            return _around(db, _place(row), [row], before, after, wanted) if row else []

        return self.database.read(work, [])

    def timeline_at(self, ms: int, before: int, after: int, wanted: RowFilter) -> list[Row]:
        """Return at most so many wanted rows before and after a time, oldest first; those of that time are after."""
        return self.database.read(lambda db: _around(db, (ms, -1, 0), [], before, after, wanted), [])

    def of_files(self, paths: Sequence[str], wanted: RowFilter, limit: int) -> list[Row]:
        """Return the newest wanted observations that touched one of the paths, or something below one."""
        found: list[Row] = []
        for some in chunked(list(dict.fromkeys(paths)), _MAX_PATHS):
            found += self.newest(replace(wanted, files=tuple(some)), limit)
        by_id = {row.id: row for row in found}
        return sorted(by_id.values(), key=_place, reverse=True)[: max(0, limit)]

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
        return self._prompts(session_id, Clause(), "r.prompt_number, r.id", _NO_LIMIT)

    def last_prompt(self, session_id: str, at_ms: int = MAX_INT) -> UserPrompt | None:
        """Return the last prompt of a session that is not later than a time; None before the first."""
        until = Clause().add("r.created_at_epoch <= ?", at_ms)
        return next(iter(self._prompts(session_id, until, _NEWEST_FIRST, 1)), None)

    def last_prompts(self, session_id: str, at_ms: int) -> list[UserPrompt]:
        """Return the prompts of a session of which each may be the last one at a time, if the clock was set back.

        The newest until then by its time, the one until then that was stored last, and all with a later time.
        """
        ahead = Clause().add("r.created_at_epoch > ?", at_ms)
        return [
            *filter(None, [self.last_prompt(session_id, at_ms)]),
            *self._prompts(session_id, Clause().add("r.created_at_epoch <= ?", at_ms), "r.id DESC", 1),
            *self._prompts(session_id, ahead, "r.id", _NO_LIMIT),
        ]

    def last_summaries(self, key: str, limit: int, *, not_session: str = "") -> list[Row]:
        """Return the newest summaries of a project's sessions that did something, newest first, one of each.

        Small talk did nothing. Where no session used a tool, as with a client that reports none, long answers count.

        Args:
            key: Key of the project.
            limit: The most summaries.
            not_session: Id of a session to leave out; empty for none.
        """
        wanted = RowFilter(key=key, not_session=not_session, kinds=("summary",), answer_chars=MAX_INT)
        most = limit * _MOST_OF_SESSION
        found = self.newest(wanted, most) or self.newest(replace(wanted, answer_chars=LEAST_ANSWER_CHARS), most)
        first: dict[str, Row] = {}
        for row in found:
            first.setdefault(row.owner.session_id, row)
        return list(first.values())[:limit]

    def worked(self, summaries: Sequence[int]) -> set[int]:
        """Return the ids of those summaries in whose turns a tool was used."""
        found: set[int] = set()
        for some in chunked(list(dict.fromkeys(summaries))):
            sql = f"SELECT r.id FROM session_summaries AS r WHERE r.id IN ({marks(some)}) AND {WORKED}"
            found.update(identity for (identity,) in self._fetch(sql, *some))
        return found

    def touched_files(self, session_id: str) -> tuple[str, ...]:
        """Return the files of a session: written ones, then those only read; touched last comes first."""
        found = self._fetch(
            "SELECT f.path FROM observation_files AS f JOIN observations AS r ON r.id = f.observation_id "
            f"WHERE r.session_id = {OF_SESSION} "
            "GROUP BY f.path ORDER BY max(f.is_modified) DESC, max(r.created_at_epoch) DESC, max(r.id) DESC, f.path",
            clean(session_id),
        )
        return tuple(path for (path,) in found)

    def session_rows(self, session_id: str) -> list[Row]:
        """Return all rows of a session, oldest first."""
        clause = where(RowFilter(session_id=session_id))
        found = [row for kind in MEMORY_KINDS for row in self._select(kind, clause, "r.id", _NO_LIMIT)]
        return sorted(found, key=_place)

    def all_rows(self, kind: MemoryKind) -> Iterator[Row]:
        """Yield all rows of a kind in the order of their ids; nothing is locked between two of them."""
        from hybrid.records.memory import transfer

        return transfer.all_rows(self.database, RowFilter(kinds=(kind,)))

    def stats(self) -> MemoryStats:
        """Return the counts of all rows, and the size of the file."""
        return self.database.read(lambda db: stats(db, size_bytes(self.path)), NO_STATS)

    def counts(self, known: RowCounts | None = None) -> RowCounts:
        """Return the numbers of rows by project and type; with earlier counts of this memory it costs what changed."""
        return self.database.read(lambda db: _counts(db, known or RowCounts()), RowCounts())

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

    def forget(self, ids: Sequence[tuple[MemoryKind, int]]) -> ForgetReport:
        """Forget rows, each by its kind and id, for good: neither an event nor an import brings one back."""
        from hybrid.records.memory import forgetting

        return forgetting.for_good(self.database, lambda db: forgetting.forget(db, ids))

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
        """Yield the wanted rows as JSON Lines; see `hybrid.records.memory.transfer`."""
        from hybrid.records.memory import transfer

        return transfer.export_lines(self.database, wanted)

    def import_lines(
        self, lines: Iterable[str], now_ms: int, *, name: str = "import", is_dry: bool = False
    ) -> MemoryImport:
        """Store the new rows among lines that `export` gave; rows that are here already stay as they are.

        Raises:
            MemoryImportError: A newer version wrote the lines, or all are blank.
        """
        from hybrid.records.memory import transfer

        return transfer.import_rows(self.database, transfer.read_lines(lines, now_ms, name), is_dry=is_dry)

    # --- one statement ---------------------------------------------------------------------------------------

    def _fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.database.read(lambda db: db.execute(sql, values).fetchall(), [])

    def _select(self, kind: MemoryKind, clause: Clause, order: str, limit: int) -> list[Row]:
        return self.database.read(lambda db: select(db, kind, clause, order, limit), [])

    def _prompts(self, session_id: str, clause: Clause, order: str, limit: int) -> list[UserPrompt]:
        clause.add("s.claude_session_id = ?", clean(session_id))
        return self.database.read(lambda db: select_prompts(db, clause, order, limit), [])


def _row_of(db: sqlite3.Connection, kind: MemoryKind, identity: int | None) -> Row | None:
    """Return a row by its id; None without one. What was just written is read in the same transaction."""
    return next(iter(select(db, kind, Clause().add("r.id = ?", identity), "r.id", 1)), None)


def _around(
    db: sqlite3.Connection,
    place: tuple[int, int, int],
    middle: list[Row],
    before: int,
    after: int,
    wanted: RowFilter,
) -> list[Row]:
    """Return rows before and after a place in one reading: a summary that is rewritten meanwhile is not in both."""
    earlier = _beside(db, place, wanted, before, is_after=False)
    return [*earlier, *middle, *_beside(db, place, wanted, after, is_after=True)]


def _beside(
    db: sqlite3.Connection, place: tuple[int, int, int], wanted: RowFilter, limit: int, *, is_after: bool
) -> list[Row]:
    """Return at most `limit` wanted rows next to a place (`_place`) on one side of it, in the order of time."""
    ms, kind_number, identity = place
    compare, order = (">", _OLDEST_FIRST) if is_after else ("<", _NEWEST_FIRST)
    found: list[Row] = []
    for kind in kinds_of(wanted):
        clause, number = where(wanted, kind), MEMORY_KINDS.index(kind)
        if number == kind_number:
            clause.add(f"(r.created_at_epoch, r.id) {compare} (?, ?)", ms, identity)
        else:
            # At the same time a later kind comes after, an earlier one before.
            is_same_time_too = (number > kind_number) == is_after
            clause.add(f"r.created_at_epoch {compare}{'=' if is_same_time_too else ''} ?", ms)
        found += select(db, kind, clause, order, max(0, limit))
    found.sort(key=_place, reverse=not is_after)
    return sorted(found[: max(0, limit)], key=_place)


def _last_change(db: sqlite3.Connection) -> int:
    return db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()[0]


def _place(row: Row) -> tuple[int, int, int]:
    """Return the sort key of a row: its time, its kind, its id."""
    return row.created_ms, MEMORY_KINDS.index(kind_of(row)), row.id


def _n_waiting(db: sqlite3.Connection, *, is_aside: bool = False) -> int:
    """Return the number of tool uses that wait for extraction, or that were set aside."""
    sign = ">" if is_aside else "<="
    return db.execute(f"SELECT count(*) FROM pending_events WHERE {N_TRIES} {sign} {MAX_TRIES}").fetchone()[0]


def stats(db: sqlite3.Connection, n_bytes: int) -> MemoryStats:
    """Return the counts of all rows; `n_bytes` becomes their size."""
    tables = ("sessions", "observations", "session_summaries", "user_prompts")
    counts = tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
    by_type = dict(db.execute("SELECT type, count(*) FROM observations GROUP BY type").fetchall())
    ends = "SELECT min(created_at_epoch), max(created_at_epoch) FROM"
    times = [at for table in TABLES.values() for at in db.execute(f"{ends} {table}").fetchone() if at is not None]
    return MemoryStats(
        *counts,  # In the order of the fields.
        n_pending=_n_waiting(db),
        n_aside=_n_waiting(db, is_aside=True),
        by_type={kind: by_type[kind] for kind in OBSERVATION_TYPES if kind in by_type},
        by_project=_by_project(db),
        oldest_ms=min(times, default=None),
        newest_ms=max(times, default=None),
        size_bytes=n_bytes,
    )


def _by_project(db: sqlite3.Connection) -> tuple[ProjectCount, ...]:
    # The name beside max() is that of the newest row.
    found: dict[str, tuple[str, int, int]] = {}
    for place, table in enumerate(TABLES.values()):
        sql = f"SELECT project_key, project, count(*), max(created_at_epoch) FROM {table} GROUP BY project_key"
        for key, project, n, _ in db.execute(sql).fetchall():
            name, *counts = found.get(key, (project, 0, 0))
            counts[place] = n
            found[key] = (name, counts[0], counts[1])
    counted = [ProjectCount(key, *rest) for key, rest in found.items()]
    return tuple(sorted(counted, key=lambda one: (-one.n_observations, one.project, one.key)))


class RowCounts(Struct, frozen=True):
    """The numbers of rows after a change.

    Attributes:
        change: Number of the last change that is counted; 0 for no memory.
        last_id: Largest id of the observations; 0 without any.
        observations: (key of a project, type) → number of observations.
        summaries: Key of a project → number of summaries.
        names: Key of a project → its name in the newest row.
    """

    change: int = 0
    last_id: int = 0
    observations: dict[tuple[str, str], int] = {}
    summaries: dict[str, int] = {}
    names: dict[str, str] = {}

    def of(self, key: str) -> dict[str, int]:
        """Return type → number of rows of a project, or with an empty key of all; summaries under `summary`."""
        found: dict[str, int] = {}
        for (project, kind), n in self.observations.items():
            if key in ("", project):
                found[kind] = found.get(kind, 0) + n
        n_summaries = sum(n for project, n in self.summaries.items() if key in ("", project))
        return found | ({"summary": n_summaries} if n_summaries else {})


def _counts(db: sqlite3.Connection, known: RowCounts) -> RowCounts:
    """Return the counts of all rows; `known` are earlier ones of the same file, or none.

    To count 100,000 rows takes a fifth of a second. Ids are never given twice, and the type and project of an
    observation never change: new ones are added, and only when some are gone all are counted again.
    """
    change = _last_change(db)
    if change == known.change:
        return known
    before = known if known.change and _has_all(db, change, known) else RowCounts()
    observations = dict(before.observations)
    # In the order of the table: an index by project would lead to each row once more.
    sql = "SELECT project_key, type, count(*), max(id) FROM observations NOT INDEXED WHERE id > ? GROUP BY 1, 2"
    last_id = before.last_id
    for key, kind, n, highest in db.execute(sql, (before.last_id,)).fetchall():
        observations[key, kind] = observations.get((key, kind), 0) + n
        last_id = max(last_id, highest)
    summaries = dict(db.execute("SELECT project_key, count(*) FROM session_summaries GROUP BY 1").fetchall())
    keys = sorted({key for key, _ in observations} | set(summaries))
    return RowCounts(change, last_id, observations, summaries, {key: _name(db, key) for key in keys})


def _has_all(db: sqlite3.Connection, change: int, known: RowCounts) -> bool:
    """Return whether every observation that was counted is there still."""
    sql = "SELECT kind, row_id FROM changes WHERE seq > ? LIMIT ?"
    changed = db.execute(sql, (known.change, _MOST_LOOKED_AT + 1)).fetchall()
    # Numbers have no gaps: fewer are left of a log that was trimmed, and none of another file.
    if len(changed) != change - known.change or len(changed) > _MOST_LOOKED_AT:
        return False
    old = list({row_id for kind, row_id in changed if kind == "observation" and row_id <= known.last_id})
    there = "SELECT count(*) FROM observations WHERE id IN"
    return sum(db.execute(f"{there} ({marks(some)})", some).fetchone()[0] for some in chunked(old)) == len(old)


def _name(db: sqlite3.Connection, key: str) -> str:
    newest = "SELECT created_at_epoch, project FROM {} WHERE project_key = ? ORDER BY created_at_epoch DESC LIMIT 1"
    found = [db.execute(newest.format(table), (key,)).fetchone() for table in ("observations", "session_summaries")]
    return max((row for row in found if row), default=(0, ""))[1]
