"""Filters of the memory as a command or an HTTP request writes them, and what the store understands of them.

Both sides have the same parameters with the same meaning, and say the same when one of them is wrong.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import HybridError, ProjectError
from hybrid.base.home import expanded
from hybrid.project.registry import load_registry
from hybrid.records.memory.types import MEMORY_KINDS, OBSERVATION_TYPES, RowFilter, parse_name
from hybrid.records.types import SinceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind, Row


MAX_LIMIT = 100
DEFAULT_LIMIT = 10

TYPES = (*OBSERVATION_TYPES, "summary")
FORMS = ("index", "full")

_MOST_ID_DIGITS = 8
"""Digits that the number of a row may have: longer numbers are read as times."""

_SPAN = re.compile(r"([0-9]{1,4})([dw])")
_EPOCH = re.compile(r"[0-9]{9,14}(?:\.[0-9]{1,9})?")
_DAY_MS = 86_400_000
_MOST = {"d": 365, "w": 52}
_DAYS = {"d": 1, "w": 7}
_MS_FROM = 100_000_000_000
"""Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""
_FIRST = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Filters(Struct, frozen=True):
    """The filters of a request, as the user wrote them; nothing is checked yet.

    Attributes:
        limit: 1 to `MAX_LIMIT`.
        since: As `since_ms` reads it; empty for any age.
        types: Names from `TYPES`; `summary` stands alone. Empty for all.
        files: Project-relative paths.
    """

    limit: int = DEFAULT_LIMIT
    since: str = ""
    types: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class MemoryScope(Struct, frozen=True):
    """The projects whose rows are looked at.

    Attributes:
        key: Key of the only project whose rows are looked at; empty for all.
        name: Name of that project, or of the present one; empty for none.
        present: Key of the present project; empty for none.
        is_cross: Other projects' rows too, where `key` is empty.
    """

    key: str
    name: str
    present: str
    is_cross: bool

    @property
    def heading(self) -> str:
        """The heading of a list of these rows."""
        return f"# {self.name or 'all projects'} recent context"

    def wanted(self, filters: Filters, now_ms: int) -> RowFilter:
        """Return the filter that the store understands.

        Raises:
            HybridError: A filter has no such form.
        """
        unknown = [name for name in filters.types if name not in TYPES]
        if unknown:
            raise HybridError(f"type {unknown[0]!r} is none of {', '.join(TYPES)}")
        if "summary" in filters.types and len(filters.types) > 1:
            raise HybridError("summaries have no other type: ask for type summary alone")
        is_summary = filters.types == ("summary",)
        kinds: tuple[MemoryKind, ...] = ("summary",) if is_summary else ()
        return RowFilter(
            key=self.key,
            since_ms=since_ms(filters.since, now_ms) if filters.since.strip() else None,
            types=() if is_summary else filters.types,
            files=filters.files,
            kinds=kinds,
        )


def checked_limit(text: str) -> int:
    """Return a number of rows from its text.

    Raises:
        HybridError: It is no whole number from 1 to `MAX_LIMIT`.
    """
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9]) <= MAX_LIMIT:
        raise HybridError(f"{text!r} must be a whole number from 1 to {MAX_LIMIT}")
    return int(text)


def around(limit: int, before: int | None, after: int | None) -> tuple[int, int]:
    """Return how many rows to show before and after a row: a given number stays, else all make `limit` with the row."""
    before = (limit - 1) // 2 if before is None else before
    return before, max(limit - 1 - before, 0) if after is None else after


def project_named(text: str, home: Path, store: MemoryStore) -> tuple[str, str]:
    """Return the key and the name of a project that the registry or the memory knows.

    Args:
        text: Name, key, or a path where it lies or lay.
        home: `$HYBRID_HOME`.
        store: The store of the memory.

    Raises:
        ProjectError: None is called so, or several are.
    """
    entries = load_registry(home)
    kept = {one.key: one.project for one in store.stats().by_project}
    known = kept | {key: entry.name for key, entry in entries.items()}
    if text in known:
        return text, known[text]
    found = [key for key, name in known.items() if name == text]
    if not found and (os.sep in text or text.startswith("~")):
        path = os.path.realpath(expanded(text))
        found = [key for key, entry in entries.items() if entry.paths and path in entry.paths]
    if len(found) > 1:
        found = [key for key in found if key in kept] or found
    if len(found) == 1:
        return found[0], known[found[0]]
    if found:
        raise ProjectError(f"{len(found)} projects are called {text!r}: give a key, {' or '.join(sorted(found))}")
    raise ProjectError(f"no project {text!r} is known; `hybrid memory stats` lists names and keys")


def project_paths(texts: Sequence[str], cwd: Path | None, root: Path | None) -> tuple[str, ...]:
    """Return paths as the memory stores them: relative to the project, with forward slashes, or beginning with `~`.

    A relative path gives two when it may be meant from `cwd` or from the project's root; each path stands once.

    Args:
        texts: As written.
        cwd: The directory from which relative paths count, beside the root; None for the root alone.
        root: Root of the project; None without one.
    """
    found: list[str] = []
    for text in texts:
        path = Path(expanded(text))
        if path.is_absolute():
            found.append(_relative(path, root))
            continue
        if cwd is not None and root is not None:
            found.append(_relative(cwd / path, root))
        found.append(Path(os.path.normpath(text)).as_posix())
    return tuple(dict.fromkeys(found))


def _relative(path: Path, root: Path | None) -> str:
    plain = Path(os.path.normpath(path))
    for one in (plain, Path(os.path.realpath(plain))):
        for base in (root, root.resolve()) if root is not None else ():
            if one.is_relative_to(base):
                return one.relative_to(base).as_posix()
    home = Path.home()
    return f"~/{plain.relative_to(home).as_posix()}" if plain.is_relative_to(home) else plain.as_posix()


def id_of(text: str) -> tuple[MemoryKind, int] | None:
    """Return the kind and the number of the row that a text names; None for a text that is no id, such as a time."""
    digits = text.strip().lstrip("#oOsS")
    return parse_name(text) if len(digits) <= _MOST_ID_DIGITS else None


def require_ids(texts: Sequence[str]) -> list[tuple[MemoryKind, int]]:
    """Return the kind and the number of each row that is named, each once, without looking them up.

    Raises:
        HybridError: A text is no id.
    """
    found: list[tuple[MemoryKind, int]] = []
    for text in texts:
        identity = id_of(text)
        if identity is None:
            raise HybridError(f"{text!r} is no ID: an observation's is a number (42), a summary's has an s (s7)")
        found.append(identity)
    return list(dict.fromkeys(found))


def rows_of(store: MemoryStore, ids: Sequence[tuple[MemoryKind, int]]) -> list[Row]:
    """Return the rows with these ids in their order; what is not there is left out."""
    found: dict[tuple[MemoryKind, int], Row] = {}
    for kind in MEMORY_KINDS:
        numbers = [number for one, number in ids if one == kind]
        found |= {(kind, number): row for number, row in store.rows(kind, numbers).items()}
    return [found[identity] for identity in ids if identity in found]


def since_ms(text: str, now_ms: int, zone: tzinfo | None = None) -> int:
    """Return the time that a text means, in milliseconds since 1970.

    Args:
        text: `today` and `yesterday` (from midnight on), `Nd` (1 to 365 days ago), `Nw` (1 to 52 weeks ago), an ISO
            date or time, or seconds or milliseconds since 1970. Case does not matter.
        now_ms: The present.
        zone: Time zone of midnight and of times that name none; None for this machine's.

    Raises:
        SinceError: It is none of these.
    """
    written = text.strip().lower()
    if written in ("today", "yesterday"):
        return _midnight(now_ms, 0 if written == "today" else 1, zone)
    span = _SPAN.fullmatch(written)
    if span is not None and 1 <= int(span[1]) <= _MOST[span[2]]:
        return now_ms - int(span[1]) * _DAYS[span[2]] * _DAY_MS
    if _EPOCH.fullmatch(written):
        number = float(written)
        return int(number if number >= _MS_FROM else number * 1000)
    found = None if span else _iso_ms(text.strip(), zone)
    if found is None:
        raise SinceError(
            f"{text!r} is no time that is understood: give today, yesterday, 1d to 365d, 1w to 52w, an ISO date or "
            "time (2026-02-14, 2026-02-14T10:30), or seconds or milliseconds since 1970"
        )
    return found


def _midnight(now_ms: int, days_before: int, zone: tzinfo | None) -> int:
    day = datetime.fromtimestamp(now_ms / 1000, zone).date() - timedelta(days=days_before)
    # Midnight is looked for in the zone of that very day: the clocks may have changed since.
    return int(_aware(datetime(day.year, day.month, day.day), zone).timestamp() * 1000)


def _iso_ms(text: str, zone: tzinfo | None) -> int | None:
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
        when = found if found.tzinfo else _aware(found, zone)
        return round((when - _FIRST) / timedelta(milliseconds=1))
    except (ValueError, OverflowError, OSError):
        return None


def _aware(naive: datetime, zone: tzinfo | None) -> datetime:
    return naive.astimezone() if zone is None else naive.replace(tzinfo=zone)
