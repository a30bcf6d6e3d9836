"""The memory as a question sees it: which projects, times, files and rows are meant by what was typed, and the newest.

Used by the operations on the memory, and by others that name a row or a project.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from hybrid.base.errors import HybridError, ProjectError
from hybrid.base.home import expanded
from hybrid.capture.tools import PathRoots, own_home
from hybrid.knowledge.memory_intake import flush
from hybrid.operations.asking import OperationError
from hybrid.operations.types import Arguments, option
from hybrid.project.registry import load_registry
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import (
    LEAST_ANSWER_CHARS,
    ROW_TYPES,
    ObservationType,
    RowFilter,
    parse_name,
)
from hybrid.records.types import MemoryFormatError
from hybrid.search.ranking.memory import Present, RankedRow, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from hybrid.operations.asking import Asking
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind
    from hybrid.search.searcher import Mode
    from hybrid.workspace import Workspace

ALL, HERE = "*", "."
"""Projects that stand for all of them, and for the present one."""


RowType = Literal[ObservationType, "summary"]


class MemoryFilters(Arguments, frozen=True, kw_only=True):
    """Filters of rows.

    `project` is a name, a key or a path, `.` for the present one or `*` for all; without it the settings decide.
    """

    project: Annotated[str, Meta(description="only of this project, by name or key")] = ""
    limit: Annotated[int, option("records to show", "N", ge=1, le=100)] = 10
    since: Annotated[str, option("today, yesterday, 7d, 2w, an ISO date or time, or an epoch", "TIME")] = ""
    type: Annotated[list[RowType], option("only this type", "TYPE", choices=ROW_TYPES)] = []
    file: Annotated[list[str], option("only what touched this file or folder", "PATH")] = []


class Look(Struct, frozen=True):
    """The memory as a question sees it.

    Attributes:
        workspace: The workspace of the directory.
        store: The database that the settings name.
        only: Restricts the rows; its key is that of the only project whose rows are looked at, empty for all.
        name: Name of that project, or of the present one; empty for none.
        present: The time and the project from which rows are ranked; no file counts as present.
        limit: Rows at most.
        warning: Why some of what waits is not told of yet; empty for nothing.
    """

    workspace: Workspace
    store: MemoryStore
    only: RowFilter
    name: str
    present: Present
    limit: int = 0
    warning: str = ""

    @property
    def heading(self) -> str:
        """The heading of a list of these rows."""
        return f"# {self.name or 'all projects'} recent context"


def opened(asking: Asking, project: str = "", *, is_own: bool = False) -> Look:
    """Return the memory with the projects whose rows are looked at.

    Args:
        asking: Who asks, and where.
        project: As of `MemoryFilters`.
        is_own: Without a project only the present one's rows, also where the settings want those of all.

    Raises:
        ProjectError: The project is not known, or there is none here.
    """
    workspace, store = asking.workspace, asking.kinds.stores.memory(asking.workspace)
    settings = workspace.config.memory
    if project == HERE:
        workspace.require_project()
    own, name = (workspace.project.key, workspace.project.name) if workspace.project else ("", "")
    if project in ("", ALL, HERE, own):
        is_apart = is_own or project != "" or not settings.cross_project
        key = "" if project == ALL or not is_apart else own
    else:
        key, name = project_named(project, workspace.home, store)
        own = own or key
    return Look(workspace, store, RowFilter(key=key), name, Present(asking.now_ms, own, (), settings.half_life_days))


def look_at(asking: Asking, wanted: MemoryFilters, *, is_own: bool = False) -> Look:
    """Return the memory, up to date, as it is asked for; `is_own` as of `opened`.

    Raises:
        OperationError: A filter has no such form.
        ProjectError: The project is not known, or there is none here.
    """
    # A path means a file of this project; another one may have one of the same name.
    look = _flushed(opened(asking, wanted.project, is_own=is_own or bool(wanted.file)))
    only = RowFilter(
        look.only.key,
        since_ms(wanted.since, asking.now_ms) if wanted.since.strip() else None,
        tuple(dict.fromkeys(wanted.type)),
        paths_of(look, wanted.file),
    )
    return replace(look, only=only, limit=wanted.limit)


def _flushed(look: Look) -> Look:
    """Make observations of what has waited long enough, and return the memory, with a warning where that failed."""
    if not look.store.exists:
        return look
    try:
        return replace(look, warning="; ".join(flush(look.workspace, look.store, look.present.now_ms)))
    except MemoryFormatError:
        raise
    except HybridError as error:  # A database that cannot be written may still be read.
        return replace(look, warning=str(error))


def paths_of(look: Look, texts: Sequence[str]) -> tuple[str, ...]:
    """Return typed paths as the memory has them; relative ones count from here (in this project) and from its root."""
    own = look.workspace.project
    is_here = own is not None and look.only.key in ("", own.key)
    return project_paths(texts, look.workspace.cwd if is_here else None, own.root if own else None)


def found_by(asking: Asking, look: Look, query: str, mode: Mode = "hybrid") -> list[RankedRow]:
    """Return the rows that fit a query, best first; empty when none is near, or the memory has no index.

    Raises:
        HybridError: The index of the memory cannot be used.
    """
    workspace = look.workspace
    # Where projects are kept apart, each has an index of its own rows; who names another one wants that of all.
    if workspace.project is None or look.only.key != workspace.project.key:
        config = workspace.config
        shared = replace(config, memory=replace(config.memory, cross_project=True))
        workspace = replace(workspace, loaded=replace(workspace.loaded, config=shared))
    try:
        memory = asking.kinds.memory(workspace, waits=True)
    except (OSError, ValueError) as error:
        raise HybridError(f"memory: {error}") from error
    return memory.found(make_query(query), look.only, look.present, look.limit, mode) if memory else []


def newest(look: Look) -> list[RankedRow]:
    """Return the newest rows, newest first; of all projects half are the present one's if it has so many.

    Turns in which nothing was done and little was said are left out.
    """
    only, here = replace(look.only, answer_chars=LEAST_ANSWER_CHARS), look.present.key
    is_shared = here and not only.key
    rows = look.store.recent(only, here, look.limit) if is_shared else look.store.newest(only, look.limit)
    return [RankedRow(row, parts_of(row, look.present)) for row in rows]


def of_files(look: Look, paths: tuple[str, ...]) -> list[RankedRow]:
    """Return the rows that tell of one of these files, the newest first."""
    rows = look.store.of_files(paths, look.only, look.limit)
    return [RankedRow(row, parts_of(row, look.present)) for row in rows]


# --- what was typed ---------------------------------------------------------------------------------------


_SPAN = re.compile(r"([0-9]{1,3})([dw])")
_EPOCH = re.compile(r"[0-9]{9,14}(?:\.[0-9]{1,9})?")
_DAY_MS = 86_400_000
_MOST_DAYS = 365
_MS_FROM = 100_000_000_000
"""Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""
_FIRST = datetime(1970, 1, 1, tzinfo=timezone.utc)


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
    """Return paths as the memory stores them, each once: relative to the project, or outside of it as they are.

    A relative path gives two when it may be meant from `cwd` or from the project's root.

    Args:
        texts: As written.
        cwd: The directory from which relative paths count, beside the root; None for the root alone.
        root: Root of the project; None without one.
    """
    places = [PathRoots(str(root or ""), str(place or ""), own_home()) for place in (root and cwd, root)]
    return tuple(dict.fromkeys(of.relative(expanded(text)) for text in texts for of in places if of.cwd or not root))


def require_ids(texts: Sequence[str]) -> list[tuple[MemoryKind, int]]:
    """Return the kind and the number of each row that is named, each once, without looking them up.

    Raises:
        OperationError: A text is no id.
    """
    found: list[tuple[MemoryKind, int]] = []
    for text in texts:
        identity = parse_name(text)
        if identity is None:
            raise OperationError(f"{text!r} is no ID: an observation's begins with o (o42), a summary's with s (s7)")
        found.append(identity)
    return list(dict.fromkeys(found))


def since_ms(text: str, now_ms: int, zone: tzinfo | None = None) -> int:
    """Return the time that a text means, in milliseconds since 1970.

    Args:
        text: `today` and `yesterday` (from midnight on), `Nd` (1 to 365 days ago), `Nw` (1 to 52 weeks ago), an ISO
            date or time, or seconds or milliseconds since 1970. Case does not matter.
        now_ms: The present.
        zone: Time zone of midnight and of times that name none; None for this machine's.

    Raises:
        OperationError: It is none of these.
    """
    written = text.strip().lower()
    if written in ("today", "yesterday"):
        return _midnight(now_ms, 0 if written == "today" else 1, zone)
    span = _SPAN.fullmatch(written)
    days = int(span[1]) * (7 if span[2] == "w" else 1) if span else 0
    if 1 <= days <= _MOST_DAYS:
        return now_ms - days * _DAY_MS
    if _EPOCH.fullmatch(written):
        number = float(written)
        return int(number if number >= _MS_FROM else number * 1000)
    found = _iso_ms(text.strip(), zone)
    if found is None:
        raise OperationError(
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
