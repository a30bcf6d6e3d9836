"""Takes over rows of other memories: reads the JSON Lines that `exporting` wrote, and stores what is new.

Nothing is believed: texts are redacted, numbers bounded. A row that is there already is passed over, by its digest, so
that importing twice changes nothing. `claude_mem` makes rows with the same helpers.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from hybrid.records.errors import MemoryImportError
from hybrid.records.memory.exporting import FORMAT, KIND_NAMES, VERSION, AnyRow
from hybrid.records.memory.texts import (
    clean,
    clean_summary,
    clean_told,
    content_digest,
    digest_of,
    iso,
    session_of,
    text_of,
    texts_of,
)
from hybrid.records.memory.types import (
    MAX_INT,
    OBSERVATION_TYPES,
    Extracted,
    ImportReport,
    Observation,
    Owner,
    Session,
    SessionStatus,
    SessionSummary,
    Summarised,
    UserPrompt,
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
from hybrid.records.types import Problem

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

    from hybrid.records.memory.database import Database


_AT_ONCE = 200
_MAX_PROBLEMS = 100
_T = TypeVar("_T")


def import_rows(database: Database, rows: Iterable[Numbered], *, is_dry: bool = False) -> ImportReport:
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
    return ImportReport(
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
        counts["duplicate" if digest in seen else KIND_NAMES[type(row)]] += 1
        seen.add(digest)
    return counts


def _digest(row: AnyRow) -> str:
    session = row.owner.session_id
    if isinstance(row, Observation):
        return row.digest
    if isinstance(row, UserPrompt):
        return prompt_digest(session, row.prompt_number, row.text)
    return session_digest(session) if isinstance(row, Session) else summary_digest(session, row.prompt_number, row.told)


def _refused(db: sqlite3.Connection, row: AnyRow) -> str:
    """Return `duplicate` for a row that is there, `forgotten` for one that was forgotten, empty for a new one."""
    digest = _digest(row)
    if isinstance(row, (Observation, UserPrompt)):
        table = "observations" if isinstance(row, Observation) else "user_prompts"
        sql, values = f"SELECT 1 FROM {table} WHERE digest = ?", (digest,)
    elif isinstance(row, Session):
        sql, values = "SELECT 1 FROM sessions WHERE claude_session_id = ?", (row.owner.session_id,)
    else:
        # A prompt has one summary; the one that is here stays.
        sql = (
            "SELECT 1 FROM session_summaries AS r JOIN sessions AS s ON s.id = r.session_id "
            "WHERE s.claude_session_id = ? AND r.prompt_number = ?"
        )
        values = (row.owner.session_id, row.prompt_number)
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
    return KIND_NAMES[type(row)]


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
    owner = owner_of(*(given.get(name) for name in ("session_id", "project_key", "project")))
    created = whole(given.get("created_ms", now_ms), "created_ms")
    number = whole(given.get("prompt_number", 0), "prompt_number")
    if kind == "session":
        return _session(given, owner, now_ms)
    if kind == "prompt":
        return UserPrompt(0, owner, text_of(given.get("text"), "text"), number, created)
    if kind == "observation":
        return observation_of(given, owner, created, number)
    if kind == "summary":
        told = summary_of(given)
        if told == Summarised():
            raise ValueError("the summary is empty")
        return SessionSummary(0, owner, told, number, created)
    raise ValueError(f"kind is {kind!r}, not session, prompt, observation or summary")


def _session(given: Mapping[str, Any], owner: Owner, now_ms: int) -> Session:
    status, done = given.get("status", "completed"), given.get("completed_ms")
    if status not in get_args(SessionStatus):
        raise ValueError(f"status is {status!r}, not one of {', '.join(get_args(SessionStatus))}")
    return Session(
        owner,
        text_of(given.get("user_prompt", ""), "user_prompt"),
        whole(given.get("started_ms", now_ms), "started_ms"),
        None if done is None else whole(done, "completed_ms"),
        status,
        whole(given.get("prompt_counter", 0), "prompt_counter"),
    )


def owner_of(session_id: object, key: object, project: object) -> Owner:
    """Return the owner of a row.

    Raises:
        ValueError: The id of the session or the key of the project is missing.
    """
    if not (isinstance(session_id, str) and session_id and isinstance(key, str) and key):
        raise ValueError("session_id and project_key are needed")
    return Owner(session_of(session_id), clean(key), text_of(project, "project") if isinstance(project, str) else "")


def summary_of(given: Mapping[str, Any]) -> Summarised:
    """Return a clean summary; its parts are empty where they are missing.

    Raises:
        ValueError: A part is no text.
    """
    parts = (given.get(name, "") for name in Summarised.__struct_fields__)
    return clean_summary(Summarised(*(text_of(part, "a part of a summary") for part in parts)))


def observation_of(given: Mapping[str, Any], owner: Owner, created_ms: int, prompt_number: int) -> Observation:
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
    tokens, repeats = (whole(given.get(name, 0), name) for name in ("discovery_tokens", "repeat_count"))
    return Observation(0, owner, told, prompt_number, tokens, repeats, created_ms, clean(digest))


def whole(value: object, name: str) -> int:
    """Return a number that is not negative.

    Raises:
        ValueError: The value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INT:
        raise ValueError(f"{name} is not a whole number of at least 0")
    return value
