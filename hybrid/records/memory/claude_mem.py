"""Imports the database of claude-mem, which is only read.

Its tables and columns had other names in other versions: a column is taken under any name it had, and done without when
it has none. Times are seconds, milliseconds or ISO texts; lists are JSON or plain text.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from hybrid.records.errors import MemoryImportError
from hybrid.records.memory.importing import import_rows, observation_of, summary_of
from hybrid.records.memory.texts import clean, digest_of, text_of
from hybrid.records.memory.types import (
    OBSERVATION_TYPES,
    Observation,
    Owner,
    Session,
    SessionSummary,
    Summarised,
    UserPrompt,
)
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from hybrid.records.memory.importing import Numbered
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import ImportReport

    ResolveKey = Callable[[str], tuple[str, str]]

_TABLES = ("sdk_sessions", "observations", "session_summaries", "user_prompts")
_CLIENTS_SESSION = ("claude_session_id", "content_session_id")
_OWN_SESSION = ("sdk_session_id", "memory_session_id")
_SECONDS_BELOW = 100_000_000_000
_MAX_MS = 253_402_300_799_999


def import_database(
    path: Path, store: MemoryStore, resolve_key: ResolveKey, *, now_ms: int, is_dry: bool = False
) -> ImportReport:
    """Store the new sessions, prompts, observations and summaries of a claude-mem database.

    Args:
        path: The file of that database, which is neither changed nor locked.
        store: The memory that gets the rows.
        resolve_key: Returns key and name of a project that claude-mem knows by a name only.
        now_ms: Time of rows that have none.
        is_dry: Store nothing; report what would be stored.

    Raises:
        MemoryImportError: The file is no database of claude-mem.
        MemoryDatabaseError: The store cannot be written.
    """
    try:
        with closing(_open(path)) as db:
            return import_rows(store.database, _Reader(db, path.name, resolve_key, now_ms).rows(), is_dry=is_dry)
    except sqlite3.DatabaseError as error:
        raise MemoryImportError(f"{path} cannot be read: {error}; give the database file of claude-mem") from error


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise MemoryImportError(f"{path} is not there; give the database file of claude-mem")
    # Without a log nobody has it open, and reading need not make the files that readers and writers agree by.
    is_used = path.with_name(f"{path.name}-wal").exists()
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{'' if is_used else '&immutable=1'}", uri=True)
    db.row_factory = sqlite3.Row
    db.text_factory = _decoded
    try:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not names.intersection(_TABLES[:3]):
            raise MemoryImportError(f"{path} has none of the tables of claude-mem ({', '.join(_TABLES)})")
    except BaseException:
        db.close()
        raise
    return db


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Reader:
    """Reads the rows of one database as values of ours."""

    def __init__(self, db: sqlite3.Connection, name: str, resolve_key: ResolveKey, now_ms: int) -> None:
        self._db = db
        self._name = name
        self._resolve_key = resolve_key
        self._now_ms = now_ms
        self._projects: dict[str, tuple[str, str]] = {}
        self._sessions: dict[str, Session] = {}
        """Id of a session → session, by the ids of the client and by claude-mem's own, which observations name."""

    def rows(self) -> Iterator[Numbered]:
        """Yield rows with their numbers, sessions first, since the others name them; problems for unread rows."""
        makers = (self._session, self._observation, self._summary, self._prompt)
        for table, make in zip(_TABLES, makers, strict=True):
            if not self._db.execute(f"PRAGMA table_info({table})").fetchall():
                continue
            for number, row in enumerate(self._db.execute(f"SELECT * FROM {table} ORDER BY rowid"), 1):
                try:
                    found = make(dict(row))
                except (ValueError, TypeError) as error:
                    found = Problem(self._name, 0, f"{table}, row {number}: {error}"[:300])
                if found is not None:
                    yield number, found

    def _owner(self, given: Mapping[str, Any], *names: str) -> tuple[Owner, Session | None]:
        session_id = str(_first(given, *names) or "")
        if not session_id:
            raise ValueError("it names no session")
        session = self._sessions.get(session_id)
        project = str(given.get("project") or (session.owner.project if session else ""))
        if session is not None and not given.get("project"):
            return session.owner, session
        if project not in self._projects:
            self._projects[project] = self._resolve_key(project)
        key, name = self._projects[project]
        return Owner(clean(session.owner.session_id if session else session_id), key, name), session

    def _session(self, given: Mapping[str, Any]) -> Session:
        owner, _ = self._owner(given, *_CLIENTS_SESSION, *_OWN_SESSION)
        started = self._time(given, "started_at", None)
        session = Session(
            owner,
            text_of(_text(given.get("user_prompt")), "user_prompt"),
            started,
            max(started, _ms(_first(given, "completed_at_epoch", "completed_at")) or started),
            "failed" if given.get("status") == "failed" else "completed",  # None of them runs here.
            _count(given.get("prompt_counter")),
        )
        for name in (*_CLIENTS_SESSION, *_OWN_SESSION):
            if given.get(name):
                self._sessions[str(given[name])] = session
        return session

    def _observation(self, given: Mapping[str, Any]) -> Observation:
        owner, created, number = self._turn(given, *_OWN_SESSION, *_CLIENTS_SESSION)
        kind = given.get("type")
        told = {
            "type": kind if kind in OBSERVATION_TYPES else "change",
            "title": _text(given.get("title")),
            "subtitle": _text(given.get("subtitle")),
            "narrative": _text(_first(given, "narrative", "text")),
            "discovery_tokens": _count(given.get("discovery_tokens")),
        } | {name: _list(given.get(name)) for name in ("facts", "concepts", "files_read", "files_modified")}
        if not any(told[name] for name in ("title", "subtitle", "narrative", "facts")):
            raise ValueError("it tells nothing")
        # Nothing of a row that has no time may depend on when it is imported.
        stamp = _ms(_first(given, "created_at_epoch", "created_at"))
        told["digest"] = digest_of("claude-mem", owner.session_id, owner.key, stamp, given.get("id"), told)
        return observation_of(told, owner, created, number)

    def _summary(self, given: Mapping[str, Any]) -> SessionSummary | None:
        owner, created, number = self._turn(given, *_OWN_SESSION, *_CLIENTS_SESSION)
        told = summary_of({name: _text(given.get(name)) for name in Summarised.__struct_fields__})
        return SessionSummary(0, owner, told, number, created) if told != Summarised() else None

    def _prompt(self, given: Mapping[str, Any]) -> UserPrompt | None:
        owner, created, number = self._turn(given, *_CLIENTS_SESSION, *_OWN_SESSION)
        text = text_of(_text(_first(given, "prompt_text", "prompt")), "prompt_text")
        return UserPrompt(0, owner, text, number, created) if text.strip() else None

    def _turn(self, given: Mapping[str, Any], *names: str) -> tuple[Owner, int, int]:
        """Return owner, time and number of the prompt of a row; `names` are the columns that may name its session."""
        owner, session = self._owner(given, *names)
        return owner, self._time(given, "created_at", session), _count(given.get("prompt_number"))

    def _time(self, given: Mapping[str, Any], name: str, session: Session | None) -> int:
        found = _ms(given.get(f"{name}_epoch")) or _ms(given.get(name))
        return found or (session.started_ms if session else self._now_ms)


def _first(given: Mapping[str, Any], *names: str) -> Any:
    return next((given[name] for name in names if given.get(name) not in (None, "")), None)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= 2**31 else 0


def _ms(value: object) -> int | None:
    """Return the milliseconds of a time in seconds, in milliseconds or as ISO text; None for anything else."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
            value = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
        except (ValueError, OverflowError):
            value = float(value) if value.strip().replace(".", "", 1).isdecimal() else None
    if not isinstance(value, (int, float)) or not 0 < value <= _MAX_MS:
        return None
    return int(value * 1000) if value < _SECONDS_BELOW else int(value)


def _list(value: object) -> list[str]:
    """Return the texts of a JSON list; a text that is no JSON is one item."""
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    if isinstance(found, list):
        items = cast("list[object]", found)
        return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in items]
    return [found] if isinstance(found, str) else [value]
