"""Reads the rows of JSON Lines that `transfer` wrote, believing nothing: texts are redacted, numbers bounded.

`importing` stores them; `claude_mem` makes values with the same helpers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast, get_args

from hybrid.base.digest import sha256_hex
from hybrid.records.errors import MemoryImportError
from hybrid.records.memory.texts import clean, clean_summary, clean_told, content_digest, digest_of, summary_parts
from hybrid.records.memory.transfer import FORMAT, VERSION
from hybrid.records.memory.types import (
    MAX_INT,
    Extracted,
    Observation,
    ObservationType,
    Owner,
    Session,
    SessionStatus,
    SessionSummary,
    Summarised,
    UserPrompt,
)
from hybrid.records.types import Problem
from hybrid.redact import redact
from hybrid.render.marks import plain_text, without_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

AnyRow = Session | UserPrompt | Observation | SessionSummary
Numbered = tuple[int, AnyRow | Problem]
"""Number of the line or row it comes from, and what was read there."""

_DIGEST_CHARS = 64
MAX_LINE_CHARS = 64_000_000
"""Of a line that is read: far beyond any row, and what a file without line ends may cost."""
MAX_SESSION_CHARS = 200
"""Of the id of a session."""


def read_lines(lines: Iterable[str], now_ms: int, name: str) -> Iterator[Numbered]:
    """The rows of what `export_lines` gave; blank lines are passed over.

    Args:
        lines: With or without line ends.
        now_ms: Time of rows that name none.
        name: Of the file, for problems.

    Raises:
        MemoryImportError: A newer version wrote it, or nothing stands there.
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
        parts = (given.get(name, "") for name in Summarised.__struct_fields__)
        told = clean_summary(Summarised(*(text_of(part, "a part of a summary") for part in parts)))
        if not any(summary_parts(told)):
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
    """Whose a row is.

    Raises:
        ValueError: Session or key are missing.
    """
    if not (isinstance(session_id, str) and session_id and isinstance(key, str) and key):
        raise ValueError("session_id and project_key are needed")
    return Owner(session_of(session_id), clean(key), text_of(project, "project") if isinstance(project, str) else "")


def session_of(session_id: str) -> str:
    """The id of a session; one that is too long or holds a secret is replaced by its SHA-256."""
    is_plain = len(session_id) <= MAX_SESSION_CHARS and text_of(session_id, "session_id") == session_id
    return session_id if is_plain else sha256_hex(session_id.encode("utf-8", "replace"))


def observation_of(given: Mapping[str, Any], owner: Owner, created_ms: int, prompt_number: int) -> Observation:
    """An observation; its digest is made of its content when it has none.

    Raises:
        ValueError: The type is unknown, or a part is of the wrong type.
    """
    if given.get("type") not in get_args(ObservationType):
        raise ValueError(f"type is {given.get('type')!r}, not one of {', '.join(get_args(ObservationType))}")
    title, subtitle, narrative = (text_of(given.get(name, ""), name) for name in ("title", "subtitle", "narrative"))
    lists = (texts_of(given.get(name, ()), name) for name in ("facts", "concepts", "files_read", "files_modified"))
    told = Extracted(given["type"], title, subtitle, narrative, *lists)
    told = clean_told(told)
    digest = given.get("digest")
    if not (isinstance(digest, str) and len(digest) == _DIGEST_CHARS and digest.isalnum()):
        digest = digest_of(owner.session_id, owner.key, created_ms, content_digest(told))
    tokens, repeats = (whole(given.get(name, 0), name) for name in ("discovery_tokens", "repeat_count"))
    return Observation(0, owner, told, prompt_number, tokens, repeats, created_ms, clean(digest))


def text_of(value: object, name: str) -> str:
    """A text without private spans and secrets; nothing for null.

    Raises:
        ValueError: It is none.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return clean(_without_secrets(value))


def _without_secrets(text: str) -> str:
    """A text without what characters that nobody sees may hide too; they stay where they hide nothing."""
    plain = plain_text(text)
    found = redact(without_private(plain))
    return redact(without_private(text)) if found == plain else found


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """A list of texts without private spans and secrets, also those over several; nothing for null.

    Raises:
        ValueError: It is none.
    """
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is not a list of texts")
    items = cast("list[object]", value)
    texts = tuple(one for one in items if isinstance(one, str))
    if len(texts) < sum(one is not None for one in items):
        raise ValueError(f"a part of {name} is not a text")
    together = "\n".join(texts)
    cleaned = _without_secrets(together)
    return tuple(map(clean, texts)) if cleaned == together else tuple(clean(cleaned).split("\n"))


def whole(value: object, name: str) -> int:
    """A number that is not negative.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INT:
        raise ValueError(f"{name} is not a whole number of at least 0")
    return value
