"""Rows to and from elsewhere: as JSON Lines, and from the database of claude-mem.

Of what is read nothing is believed: texts are redacted, numbers bounded. A row that is there already is passed over, by
its digest, so that importing twice changes nothing.

The first line is `{"kind": "header", "format": "hybrid-memory", "version": 1}`. Every further line is one row, parents
first: sessions, prompts, observations, summaries. Times are `…_ms`, milliseconds since 1970; `created_at` is the same
for people. All kinds but the header have `session_id` (the client's), `project_key` and `project`.

session:
    `user_prompt`, `started_ms`, `completed_ms` (null while active), `status`, `prompt_counter`
prompt:
    `prompt_number`, `text`, `created_ms`, `created_at`
observation:
    `type`, `title`, `subtitle`, `narrative`, `facts`, `concepts`, `files_read`, `files_modified`, `prompt_number`,
    `discovery_tokens`, `repeat_count`, `created_ms`, `created_at`, `digest`
summary:
    `request`, `investigated`, `learned`, `completed`, `next_steps`, `notes`, `prompt_number`, `created_ms`,
    `created_at`; of a session's summary `turns`, a list of `[prompt_number, the six texts]`

The tables and columns of claude-mem had other names in other versions: a column is taken under any name it had, and
done without when it has none. Times are seconds, milliseconds or ISO texts; lists are JSON or plain text.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from msgspec.structs import asdict, astuple, replace

from hybrid.records.memory.database import TABLES, Clause, kinds_of, select, select_prompts, select_sessions, where
from hybrid.records.memory.types import (
    MAX_INT,
    OBSERVATION_TYPES,
    Extracted,
    MemoryImport,
    Observation,
    Owner,
    Session,
    SessionStatus,
    SessionSummary,
    Summarised,
    UserPrompt,
    clean,
    clean_summary,
    clean_told,
    content_digest,
    digest_of,
    iso,
    json_of_turns,
    session_of,
    text_of,
    texts_of,
    turns_of,
)
from hybrid.records.memory.writing import (
    insert_observation,
    insert_prompt,
    insert_summary,
    is_forgotten,
    prompt_digest,
    session_digest,
    summary_digest,
)
from hybrid.records.types import MemoryImportError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import Row, RowFilter

    ResolveKey = Callable[[str], tuple[str, str]]


FORMAT = "hybrid-memory"
VERSION = 1

AnyRow = Session | UserPrompt | Observation | SessionSummary
_KIND_NAMES: dict[type, str] = {
    Session: "session",
    UserPrompt: "prompt",
    Observation: "observation",
    SessionSummary: "summary",
}
_Found = TypeVar("_Found", bound=AnyRow)
_AT_ONCE = 200
"""Rows that are read or stored in one transaction."""


def export_lines(database: Database, wanted: RowFilter) -> Iterator[str]:
    """Yield the header, then the wanted rows, as lines without line ends; rows written meanwhile may be among them.

    Sessions are those that the rows belong to. Prompts are left out when kinds, types or files are restricted, and
    tool uses that still wait for their batch always: flush first.
    """
    yield json.dumps({"kind": "header", "format": FORMAT, "version": VERSION})
    for row in _all(database, wanted):
        yield json.dumps(_record_of(row), ensure_ascii=False)


def _all(database: Database, wanted: RowFilter) -> Iterator[AnyRow]:
    yield from _paged(database, lambda db, last: _sessions_after(db, wanted, last.owner.session_id if last else ""))
    if _has_prompts(wanted):
        yield from _paged(database, lambda db, last: select_prompts(db, _after(wanted, last), "r.id", _AT_ONCE))
    yield from all_rows(database, wanted)


def all_rows(database: Database, wanted: RowFilter) -> Iterator[Row]:
    """Yield the wanted rows, observations first, in the order of their ids; nothing is locked between two of them."""
    for kind in kinds_of(wanted):
        yield from _paged(
            database, lambda db, last, kind=kind: select(db, kind, _after(wanted, last), "r.id", _AT_ONCE)
        )


def _paged(database: Database, read: Callable[[sqlite3.Connection, Any], Sequence[_Found]]) -> Iterator[_Found]:
    """Yield what `read` gives after a value, None for the first, until that is fewer than `_AT_ONCE`."""
    last: _Found | None = None
    while True:
        found = database.read(lambda db, last=last: read(db, last), [])
        yield from found
        if len(found) < _AT_ONCE:
            return
        last = found[-1]


def _after(wanted: RowFilter, last: Row | UserPrompt | None) -> Clause:
    return where(wanted).add("r.id > ?", last.id if last else 0)


def _has_prompts(wanted: RowFilter) -> bool:
    return not (wanted.types or wanted.files or wanted.kinds)


def _sessions_after(db: sqlite3.Connection, wanted: RowFilter, after: str) -> list[Session]:
    parts: list[str] = []
    clause = Clause().add("claude_session_id > ?", after)
    rows = where(wanted)
    for table in [*(TABLES[kind] for kind in kinds_of(wanted)), *(["user_prompts"] if _has_prompts(wanted) else [])]:
        parts.append(f"id IN (SELECT r.session_id FROM {table} AS r WHERE {rows.sql})")
        clause.values += rows.values
    if _has_prompts(wanted):
        # A session that has nothing yet is wanted by what is known of it.
        empty = where(replace(wanted, session_id="", not_session=""))
        bare = empty.sql.replace("r.", "").replace("created_at_epoch", "started_at_epoch")
        parts.append(f"({bare})")
        clause.values += empty.values
        for part, value in (("= ?", wanted.session_id), ("<> ?", wanted.not_session)):
            if value:
                parts[-1] += f" AND claude_session_id {part}"
                clause.values.append(clean(value))
    clause.parts.append("(" + " OR ".join(f"({part})" for part in parts) + ")" if parts else "0")
    return select_sessions(db, clause, "claude_session_id", _AT_ONCE)


def _record_of(row: AnyRow) -> dict[str, Any]:
    """Return a row as the object of its line, with its keys in the order of the format."""
    owner = row.owner
    record = {"kind": _KIND_NAMES[type(row)], "session_id": owner.session_id, "project_key": owner.key}
    record |= {"project": owner.project}
    if isinstance(row, Session):
        return record | {name: value for name, value in asdict(row).items() if name != "owner"}
    number = {"prompt_number": row.prompt_number}
    when = {"created_ms": row.created_ms, "created_at": iso(row.created_ms)}
    if isinstance(row, UserPrompt):
        return record | number | {"text": row.text} | when
    record |= asdict(row.told) | number
    if isinstance(row, SessionSummary):
        turns = [[number, *astuple(told)] for number, told in turns_of(row.turns).items()]
        return record | when | ({"turns": turns} if turns else {})
    counts = {"discovery_tokens": row.discovery_tokens, "repeat_count": row.repeat_count}
    return record | counts | when | {"digest": row.digest}


# --- storing ------------------------------------------------------------------------------------------------

_MAX_PROBLEMS = 100
_T = TypeVar("_T")


def import_rows(database: Database, rows: Iterable[Numbered], *, is_dry: bool = False) -> MemoryImport:
    """Store the rows that are new and were not forgotten.

    Args:
        database: The database that gets the rows.
        rows: Rows with their numbers, redacted and clean; parents need not come first.
        is_dry: Store nothing; report what would be stored.
    """
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    n_problems = 0
    seen: set[str] = set()
    for some in _runs(rows):
        unread = [row for _, row in some if isinstance(row, Problem)]
        n_problems += len(unread)
        problems += unread[: _MAX_PROBLEMS - len(problems)]
        values = [row for _, row in some if not isinstance(row, Problem)]
        if is_dry:
            counts += database.read(lambda db, values=values: _would_keep(db, values, seen), None) or _new(values, seen)
        else:
            counts += database.write(lambda db, values=values: Counter(_keep(db, row) for row in values))
    return MemoryImport(
        n_sessions=counts["session"],
        n_prompts=counts["prompt"],
        n_observations=counts["observation"],
        n_summaries=counts["summary"],
        n_duplicates=counts["duplicate"],
        n_forgotten=counts["forgotten"],
        problems=tuple(problems),
        n_unread=n_problems,
    )


def _runs(rows: Iterable[_T]) -> Iterator[list[_T]]:
    source = iter(rows)
    while some := list(islice(source, _AT_ONCE)):
        yield some


def _would_keep(db: sqlite3.Connection, rows: Iterable[AnyRow], seen: set[str]) -> Counter[str]:
    reasons = [(row, _refused(db, row)) for row in rows]
    new = [row for row, reason in reasons if not reason]
    return Counter(reason for _, reason in reasons if reason) + _new(new, seen)


def _new(rows: Iterable[AnyRow], seen: set[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        digest = _digest(row)
        counts["duplicate" if digest in seen else _KIND_NAMES[type(row)]] += 1
        seen.add(digest)
    return counts


def _digest(row: AnyRow) -> str:
    session = row.owner.session_id
    if isinstance(row, Observation):
        return row.digest
    if isinstance(row, UserPrompt):
        return prompt_digest(session, row.prompt_number, row.text)
    return session_digest(session) if isinstance(row, Session) else summary_digest(row)


def _refused(db: sqlite3.Connection, row: AnyRow) -> str:
    """Return `duplicate` for a row that is there, `forgotten` for one that was forgotten, empty for a new one."""
    digest = _digest(row)
    if isinstance(row, (Observation, UserPrompt)):
        table = "observations" if isinstance(row, Observation) else "user_prompts"
        sql, values = f"SELECT 1 FROM {table} WHERE digest = ?", (digest,)
    elif isinstance(row, Session):
        sql, values = "SELECT 1 FROM sessions WHERE claude_session_id = ?", (row.owner.session_id,)
    else:
        # A turn is told of once in a project, and begins one summary; the one that is here stays.
        of_session = Clause().add("s.claude_session_id = ?", row.owner.session_id)
        there = [one for one in select(db, "summary", of_session, "r.id", -1) if isinstance(one, SessionSummary)]
        own = set[int]().union(*(one.prompt_numbers for one in there if one.owner.key == row.owner.key))
        if own & row.prompt_numbers or any(one.prompt_number == row.prompt_number for one in there):
            return "duplicate"
        sql, values = "SELECT 1 WHERE 0", ()
    if db.execute(sql, values).fetchone() is not None:
        return "duplicate"
    return "forgotten" if is_forgotten(db, digest) else ""


def _keep(db: sqlite3.Connection, row: AnyRow) -> str:
    reason = _refused(db, row)
    if reason:
        return reason
    if isinstance(row, Session):
        _insert_session(db, row)
    elif isinstance(row, Observation):
        insert_observation(db, _session_of(db, row), row)
    elif isinstance(row, UserPrompt):
        insert_prompt(db, _session_of(db, row), row)
    else:
        insert_summary(db, _session_of(db, row), row)
    return _KIND_NAMES[type(row)]


def _insert_session(db: sqlite3.Connection, session: Session) -> int:
    done = session.completed_ms
    cursor = db.execute(
        "INSERT INTO sessions(claude_session_id, project_key, project, user_prompt, started_at, started_at_epoch, "
        "completed_at, completed_at_epoch, status, prompt_counter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session.owner.session_id, session.owner.key, session.owner.project, session.user_prompt),
            *(iso(session.started_ms), session.started_ms, None if done is None else iso(done), done),
            *(session.status, session.prompt_counter),
        ),
    )
    return cursor.lastrowid or 0


def _session_of(db: sqlite3.Connection, row: UserPrompt | Observation | SessionSummary) -> int:
    """Return the id of the session of a row, made when missing; its next prompt gets a number above that of the row."""
    found = db.execute("SELECT id FROM sessions WHERE claude_session_id = ?", (row.owner.session_id,)).fetchone()
    if found is None:
        ended = Session(row.owner, "", row.created_ms, row.created_ms, "completed", row.prompt_number)
        return _insert_session(db, ended)
    db.execute("UPDATE sessions SET prompt_counter = max(prompt_counter, ?) WHERE id = ?", (row.prompt_number, *found))
    return found[0]


# --- reading lines ------------------------------------------------------------------------------------------

Numbered = tuple[int, AnyRow | Problem]
"""Number of a line or row of the source, and the row or the problem that was read there."""

_DIGEST_CHARS = 64
MAX_LINE_CHARS = 64_000_000
"""The most characters of a line that is read; no row is as long, but a file without line ends may be."""


def read_lines(lines: Iterable[str], now_ms: int, name: str) -> Iterator[Numbered]:
    """Yield the rows of lines that `export_lines` gave, a problem for each unread line; blank lines are passed over.

    Nothing is read from a line on that is longer than `MAX_LINE_CHARS`.

    Args:
        lines: Lines with or without line ends.
        now_ms: Time of rows that name none.
        name: Name of the file, for problems.

    Raises:
        MemoryImportError: A newer version wrote the lines, or all are blank.
    """
    is_empty = True
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_CHARS:
            message = f"longer than {MAX_LINE_CHARS:,} characters; neither this line nor what follows is read"
            yield number, Problem(name, number, message)
            return
        if not line.strip():
            continue
        is_empty = False
        try:
            record: object = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("a line is one JSON object")
            given = cast("dict[str, Any]", record)
            if given.get("kind") == "header":
                _check_header(given, name)
            else:
                yield number, _row(given, now_ms)
        except (ValueError, RecursionError) as error:
            yield number, Problem(name, number, f"not read: {error}"[:300])
    if is_empty:
        raise MemoryImportError(f"{name} is empty: give a file of `hybrid memory export`")


def _check_header(header: Mapping[str, Any], name: str) -> None:
    form, version = header.get("format"), header.get("version")
    if form != FORMAT or not isinstance(version, int):
        raise MemoryImportError(
            f"{name} holds {form!r} {version!r}, not {FORMAT!r}: give a file of `hybrid memory export`"
        )
    if version > VERSION:
        raise MemoryImportError(f"{name} has version {version}, this one knows up to {VERSION}: upgrade hybrid")


def _row(given: Mapping[str, Any], now_ms: int) -> AnyRow:
    kind = given.get("kind")
    owner = _owner_of(*(given.get(name) for name in ("session_id", "project_key", "project")))
    created = _whole(given.get("created_ms", now_ms), "created_ms")
    number = _whole(given.get("prompt_number", 0), "prompt_number")
    if kind == "session":
        return _session(given, owner, now_ms)
    if kind == "prompt":
        return UserPrompt(0, owner, text_of(given.get("text"), "text"), number, created)
    if kind == "observation":
        return _observation_of(given, owner, created, number)
    if kind == "summary":
        told = _summary_of(given)
        if told == Summarised():
            raise ValueError("the summary is empty")
        turns = json_of_turns(_turns(given.get("turns", [])))
        return SessionSummary(0, owner, told, number, created, "" if turns == "[]" else turns)
    raise ValueError(f"kind is {kind!r}, not session, prompt, observation or summary")


def _session(given: Mapping[str, Any], owner: Owner, now_ms: int) -> Session:
    status, done = given.get("status", "completed"), given.get("completed_ms")
    if status not in get_args(SessionStatus):
        raise ValueError(f"status is {status!r}, not one of {', '.join(get_args(SessionStatus))}")
    return Session(
        owner,
        text_of(given.get("user_prompt", ""), "user_prompt"),
        _whole(given.get("started_ms", now_ms), "started_ms"),
        None if done is None else _whole(done, "completed_ms"),
        status,
        _whole(given.get("prompt_counter", 0), "prompt_counter"),
    )


def _owner_of(session_id: object, key: object, project: object) -> Owner:
    """Return the owner of a row.

    Raises:
        ValueError: The id of the session or the key of the project is missing.
    """
    if not (isinstance(session_id, str) and session_id and isinstance(key, str) and key):
        raise ValueError("session_id and project_key are needed")
    return Owner(session_of(session_id), clean(key), text_of(project, "project") if isinstance(project, str) else "")


def _summary_of(given: Mapping[str, Any]) -> Summarised:
    """Return a clean summary; its parts are empty where they are missing.

    Raises:
        ValueError: A part is no text.
    """
    parts = (given.get(name, "") for name in Summarised.__struct_fields__)
    return clean_summary(Summarised(*(text_of(part, "a part of a summary") for part in parts)))


def _turns(given: object) -> dict[int, Summarised]:
    """Return the turns of a session's summary.

    Raises:
        ValueError: They have another form.
    """
    names, found = Summarised.__struct_fields__, dict[int, Summarised]()
    for turn in cast("list[object]", given) if isinstance(given, list) else []:
        number, *parts = cast("list[object]", turn) if isinstance(turn, list) else [None]
        if len(parts) != len(names):
            raise ValueError("turns is not a list of [prompt_number, six texts]")
        found[_whole(number, "turns")] = _summary_of(dict(zip(names, parts, strict=True)))
    return found


def _observation_of(given: Mapping[str, Any], owner: Owner, created_ms: int, prompt_number: int) -> Observation:
    """Return an observation; its digest is made of its content when it has none.

    Raises:
        ValueError: The type is unknown, or a part is of the wrong type.
    """
    if given.get("type") not in OBSERVATION_TYPES:
        raise ValueError(f"type is {given.get('type')!r}, not one of {', '.join(OBSERVATION_TYPES)}")
    title, subtitle, narrative = (text_of(given.get(name, ""), name) for name in ("title", "subtitle", "narrative"))
    lists = (texts_of(given.get(name, ()), name) for name in ("facts", "concepts", "files_read", "files_modified"))
    told = clean_told(Extracted(given["type"], title, subtitle, narrative, *lists))
    digest = given.get("digest")
    if not (isinstance(digest, str) and len(digest) == _DIGEST_CHARS and digest.isalnum()):
        digest = digest_of(owner.session_id, owner.key, created_ms, content_digest(told))
    tokens, repeats = (_whole(given.get(name, 0), name) for name in ("discovery_tokens", "repeat_count"))
    return Observation(0, owner, told, prompt_number, tokens, repeats, created_ms, clean(digest))


def _whole(value: object, name: str) -> int:
    """Return a number that is not negative.

    Raises:
        ValueError: The value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INT:
        raise ValueError(f"{name} is not a whole number of at least 0")
    return value


# --- claude-mem ---------------------------------------------------------------------------------------------

_TABLES = ("sdk_sessions", "observations", "session_summaries", "user_prompts")
_CLIENTS_SESSION = ("claude_session_id", "content_session_id")
_OWN_SESSION = ("sdk_session_id", "memory_session_id")
_SECONDS_BELOW = 100_000_000_000
_MAX_MS = 253_402_300_799_999


def import_database(
    path: Path, database: Database, resolve_key: ResolveKey, *, now_ms: int, is_dry: bool = False
) -> MemoryImport:
    """Store the new sessions, prompts, observations and summaries of a claude-mem database.

    Args:
        path: The file of that database, which is neither changed nor locked.
        database: The memory that gets the rows.
        resolve_key: Returns key and name of a project that claude-mem knows by a name only.
        now_ms: Time of rows that have none.
        is_dry: Store nothing; report what would be stored.

    Raises:
        MemoryImportError: The file is no database of claude-mem.
        MemoryDatabaseError: The memory cannot be written.
    """
    if not path.is_file():
        raise MemoryImportError(f"{path} is not there; give the database file of claude-mem")
    # Without a log nobody has it open, and reading need not make the files that readers and writers agree by.
    is_used = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'' if is_used else '&immutable=1'}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as db:
            db.row_factory = sqlite3.Row
            db.text_factory = partial(str, encoding="utf-8", errors="replace")
            names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not names.intersection(_TABLES[:3]):
                raise MemoryImportError(f"{path} has none of the tables of claude-mem ({', '.join(_TABLES)})")
            return import_rows(database, _Reader(db, path.name, resolve_key, now_ms).rows(), is_dry=is_dry)
    except sqlite3.DatabaseError as error:
        raise MemoryImportError(f"{path} cannot be read: {error}; give the database file of claude-mem") from error


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
        return _observation_of(told, owner, created, number)

    def _summary(self, given: Mapping[str, Any]) -> SessionSummary | None:
        owner, created, number = self._turn(given, *_OWN_SESSION, *_CLIENTS_SESSION)
        told = _summary_of({name: _text(given.get(name)) for name in Summarised.__struct_fields__})
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
