"""Makes texts fit for the database, and their digests; everything that is stored passes here."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import astuple

from hybrid.base.digest import sha256_hex
from hybrid.base.text import cut
from hybrid.records.memory.types import MAX_TITLE_CHARS, OBSERVATION_TYPES, Extracted, Owner, Summarised
from hybrid.redact import redact
from hybrid.render.marks import plain_text, without_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KEY_BYTES = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_T = TypeVar("_T")


def clean(text: str) -> str:
    """Return text as SQLite and its full text can hold it: no lone surrogates, no NUL."""
    text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def clean_owner(owner: Owner) -> Owner:
    """Return an owner as it is stored; digests are made of this form."""
    return Owner(clean(owner.session_id), clean(owner.key), clean(owner.project))


def clean_line(text: str) -> str:
    """Return clean text on one line, each run of white space and control characters as one space."""
    spaced = "".join(c if c.isprintable() else " " for c in text) if not text.isprintable() else text
    return clean(" ".join(spaced.split()))


def clean_told(told: Extracted) -> Extracted:
    """Return an observation as it is stored: one line where promised, nothing empty, each file and concept once."""
    return Extracted(
        type=told.type if told.type in OBSERVATION_TYPES else "change",
        title=cut(clean_line(told.title), MAX_TITLE_CHARS),
        subtitle=clean_line(told.subtitle),
        narrative=clean(told.narrative).strip(),
        facts=_lines(told.facts),
        concepts=tuple(dict.fromkeys(_lines(told.concepts))),
        files_read=_paths(told.files_read),
        files_modified=_paths(told.files_modified),
    )


def clean_summary(told: Summarised) -> Summarised:
    """Return a summary as it is stored."""
    return Summarised(*(clean(part).strip() for part in astuple(told)))


def iso(ms: int) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds; one beyond the year 9999 as the last of that year."""
    try:
        when = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        when = datetime.max.replace(tzinfo=timezone.utc) if ms > 0 else _EPOCH
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def as_json(texts: Sequence[str]) -> str:
    """Return a JSON array; letters of other scripts stay letters, so that the full text finds them."""
    return json.dumps(texts, ensure_ascii=False) if texts else "[]"


def from_json(text: str) -> tuple[str, ...]:
    """Return the strings of an array that `as_json` wrote."""
    return tuple(json.loads(text)) if text != "[]" else ()


def digest_of(*parts: object) -> str:
    """Return the hex SHA-256 of some parts, made so that other parts, or the same split otherwise, give another one."""
    return sha256_hex(json.dumps(parts, ensure_ascii=True, default=str).encode())


def digest_of_events(digests: Iterable[str]) -> str:
    """Return the hex SHA-256 of the digests of the events behind an observation."""
    return sha256_hex("\n".join(digests).encode("utf-8", "surrogatepass"))


def content_digest(told: Extracted) -> str:
    """Return the hex SHA-256 of all parts of an observation."""
    return digest_of(*astuple(told))


def short_key(digest: str) -> bytes:
    """Return the 16 bytes that stand for a digest in the tables of known events and forgotten rows."""
    return bytes.fromhex(sha256_hex(digest.encode("utf-8", "surrogatepass")))[:_KEY_BYTES]


def chunked(items: Sequence[_T], size: int = 500) -> Iterable[Sequence[_T]]:
    """Return the items in runs of at most `size`: a statement takes only so many variables."""
    return (items[start : start + size] for start in range(0, len(items), size))


def marks(items: Sequence[object]) -> str:
    """Return a question mark for each item, separated by commas, for a statement of SQL."""
    return ",".join("?" * len(items))


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in map(clean_line, texts) if line)


def _paths(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in map(clean, paths) if path))


MAX_SESSION_CHARS = 200
"""The most characters of the id of a session."""


def session_of(session_id: str) -> str:
    """Return the id of a session; one that is too long or holds a secret is replaced by its SHA-256."""
    is_plain = len(session_id) <= MAX_SESSION_CHARS and text_of(session_id, "session_id") == session_id
    return session_id if is_plain else sha256_hex(session_id.encode("utf-8", "replace"))


def text_of(value: object, name: str) -> str:
    """Return a text without private spans and secrets; an empty one for null.

    Raises:
        ValueError: The value is no text; the message has its `name`.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return clean(_without_secrets(value))


def _without_secrets(text: str) -> str:
    """Return a text without private spans and secrets, also those that invisible characters hide.

    Invisible characters stay where they hide nothing.
    """
    plain = plain_text(text)
    found = redact(without_private(plain))
    return redact(without_private(text)) if found == plain else found


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts without private spans and secrets, also those over several; an empty list for null.

    Raises:
        ValueError: The value is no list of texts; the message has its `name`.
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
