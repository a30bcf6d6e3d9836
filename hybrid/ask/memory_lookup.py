"""The memory for commands, tools and HTTP: newest, by a query, around a row, by file; as JSON and as text; and notes.

All have the same filters with the same meaning, and say the same when one of them is wrong. Filters restrict before
limits count; every answer carries the named parts of its rank. A note is an observation that somebody writes down: by
hand in a command, or an agent through a tool.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from hybrid.base.errors import HybridError, ProjectError
from hybrid.base.home import expanded
from hybrid.project.registry import load_registry
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import (
    LEAST_ANSWER_CHARS,
    MAX_TITLE_CHARS,
    MEMORY_KINDS,
    ROW_TYPES,
    Extracted,
    Observation,
    RowFilter,
    SessionSummary,
    full_lines,
    index_line,
    iso,
    kind_of,
    moment_text,
    name_of,
    parse_name,
    title_of,
    type_of,
)
from hybrid.records.types import SinceError
from hybrid.redact import redact
from hybrid.render.marks import neutralise, neutralise_line, without_private
from hybrid.render.numbers import amount
from hybrid.search.ranking.memory import Parts, Present, parts_of
from hybrid.sources.records import path_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind, ObservationType, Row
    from hybrid.search.searcher import Mode
    from hybrid.workspace import Workspace


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


class MemoryScope(Struct, frozen=True):
    """The projects whose rows are looked at.

    Attributes:
        key: Key of the only project whose rows are looked at; empty for all.
        name: Name of that project, or of the present one; empty for none.
        present: Key of the present project; empty for none.
    """

    key: str
    name: str
    present: str

    @property
    def heading(self) -> str:
        """The heading of a list of these rows."""
        return f"# {self.name or 'all projects'} recent context"

    def wanted(self, now_ms: int, since: str = "", types: Sequence[str] = (), files: Sequence[str] = ()) -> RowFilter:
        """Return the filter that the store understands.

        Args:
            now_ms: The present time in milliseconds since 1970.
            since: As `since_ms` reads it; empty for any age.
            types: Types of observations; `summary` stands alone. Empty for all.
            files: Project-relative paths.

        Raises:
            HybridError: A filter has no such form.
        """
        named = tuple(dict.fromkeys(types))
        unknown = [name for name in named if name not in ROW_TYPES]
        if unknown:
            raise HybridError(f"type {unknown[0]!r} is none of {', '.join(ROW_TYPES)}")
        if "summary" in named and len(named) > 1:
            raise HybridError("summaries have no other type: ask for type summary alone")
        is_summary = named == ("summary",)
        return RowFilter(
            key=self.key,
            since_ms=since_ms(since, now_ms) if since.strip() else None,
            types=() if is_summary else named,
            files=tuple(files),
            kinds=("summary",) if is_summary else (),
        )


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
            raise HybridError(f"{text!r} is no ID: an observation's begins with o (o42), a summary's with s (s7)")
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


# --- rows -------------------------------------------------------------------------------------------------


_CANDIDATES = 100
"""Hits, at least, that are ranked: what is merely recent must not bring in what fits worst."""


class RankedRow(Struct, frozen=True):
    """A row of the memory with the parts of its rank, which are None where nothing was ranked (a timeline)."""

    row: Row
    parts: Parts | None = None


class RowRequest(Struct, frozen=True):
    """A request for rows.

    Attributes:
        wanted: Restricts the rows.
        present: The time and the project from which the rows are ranked.
        limit: Rows at most.
    """

    wanted: RowFilter
    present: Present
    limit: int


class OpenMemory(Struct, frozen=True):
    """The memory as a directory or a request sees it.

    Attributes:
        workspace: The workspace of the directory.
        store: The database that the settings name.
        scope: The projects whose rows are looked at.
        now_ms: The present time in milliseconds since 1970.
        warning: Why some of what waits is not told of yet; empty for nothing.
    """

    workspace: Workspace
    store: MemoryStore
    scope: MemoryScope
    now_ms: int
    warning: str = ""

    @property
    def present(self) -> Present:
        """The time and the project from which rows are ranked; no file counts as present."""
        return Present(self.now_ms, self.scope.present, (), self.workspace.config.memory.half_life_days)

    def request(self, wanted: RowFilter, limit: int) -> RowRequest:
        """Return the request for at most `limit` rows that a filter lets through, ranked from here and now."""
        return RowRequest(wanted, self.present, limit)


def recent(store: MemoryStore, request: RowRequest) -> list[RankedRow]:
    """Return the newest rows, newest first; of all projects half are the present one's if it has so many.

    Turns in which nothing was done and little was said are left out.
    """
    wanted, present = replace(request.wanted, answer_chars=LEAST_ANSWER_CHARS), request.present
    is_shared = present.key and not wanted.key
    limit = request.limit
    rows = store.recent(wanted, present.key, limit) if is_shared else store.newest(wanted, limit)
    return [RankedRow(row, parts_of(row, present)) for row in rows]


def across(workspace: Workspace) -> Workspace:
    """Return a workspace whose memory is that of all projects, for whoever asks for more than prompts get unasked."""
    loaded = workspace.loaded
    config = replace(loaded.config, memory=replace(loaded.config.memory, cross_project=True))
    return replace(workspace, loaded=replace(loaded, config=config))


def search(
    workspace: Workspace, kinds: OpenKinds, query: str, request: RowRequest, *, mode: Mode = "hybrid"
) -> list[RankedRow]:
    """Return the rows that fit a query, best first; empty when none is near, or the memory has no index.

    Within a project the summaries of others are left out; so are small talk and a row that repeats a better one.

    Args:
        workspace: The workspace whose memory is searched.
        kinds: Gives the open memory; it restricts nothing, `request.wanted` does.
        query: As typed.
        request: Filters, present and limit.
        mode: Legs that take part.

    Raises:
        HybridError: The index of the memory cannot be used.
    """
    from hybrid.index.backend import Filter
    from hybrid.knowledge.memory_collection import fair_search, is_told_here
    from hybrid.knowledge.small_talk import talk_among
    from hybrid.sources.records import project_glob

    wanted, present, limit = request.wanted, request.present, request.limit
    try:
        memory = kinds.memory(workspace, waits=True)
    except (OSError, ValueError) as error:
        raise HybridError(f"memory: {error}") from error
    if memory is None:
        return []
    documents = _documents(memory.store, wanted)
    only = Filter(kinds=wanted.kinds, path=project_glob(wanted.key) if wanted.key else "", documents=documents)
    # What is merely recent must not bring in what fits worst: as many are ranked as could be among the first.
    asked = make_query(query)
    whose, most = "" if wanted.key else present.key, max(limit, _CANDIDATES)
    found = fair_search(memory.searcher, whose, asked, top_k=most, mode=mode, only=only)
    own, fitting = wanted.key or present.key, memory.near(found)
    rows = {hit.key: row for hit in found.hits if hit.row in fitting and (row := memory.rows.of(hit)) is not None}
    talk = talk_among(rows.values(), memory.store)
    told = {
        key
        for key, row in rows.items()
        if is_told_here(row, own) and not (isinstance(row, SessionSummary) and row.id in talk)
    }
    hits = [hit for hit in found.hits if hit.relevance > 0 and hit.key in told]
    best = memory.ranked(hits, present, asked)[:limit]
    return [RankedRow(row, parts) for hit, parts in best if (row := memory.rows.get(hit.path)) is not None]


def of_files(store: MemoryStore, paths: Sequence[str], request: RowRequest) -> list[RankedRow]:
    """Return the rows that tell of one of these files, the newest first."""
    rows = store.of_files(tuple(paths), request.wanted, request.limit)
    return [RankedRow(row, parts_of(row, request.present)) for row in rows]


def row_json(found: RankedRow) -> dict[str, Any]:
    """Return one row as it stands in `--json`; absent values are None, absent lists are empty."""
    row, parts = found.row, found.parts
    is_observation = isinstance(row, Observation)
    told = asdict(row.told)
    return {
        "id": name_of(row),
        "kind": kind_of(row),
        "session_id": row.owner.session_id,
        "project": row.owner.project,
        "project_key": row.owner.key,
        "type": type_of(row),
        "title": title_of(row) or None,
        "subtitle": told.get("subtitle") or None,
        "narrative": told.get("narrative") or None,
        **{name: list(told.get(name, ())) for name in ("facts", "concepts", "files_read", "files_modified")},
        "summary": None if is_observation else {name: text or None for name, text in told.items()},
        "created_at": iso(row.created_ms),
        "created_at_epoch": row.created_ms,
        "prompt_number": row.prompt_number,
        "repeat_count": row.repeat_count if is_observation else None,
        "score": round(parts.score, 4) if parts else None,
        "parts": parts.as_json() if parts else None,
    }


def _documents(store: MemoryStore, wanted: RowFilter) -> frozenset[str] | None:
    """Return the index paths of the rows that pass filters unknown to the index; None without such a filter."""
    if not (wanted.types or wanted.files or wanted.session_id or wanted.not_session or wanted.since_ms is not None):
        return None
    return frozenset(path_at(kind, number, key) for kind, number, key in store.places(wanted))


_INDENT = "      "


def list_text(
    found: Sequence[RankedRow], form: str, *, here: str | None = None, by_day: bool = False, is_explained: bool = False
) -> str:
    """Return rows as text without a line end behind the last one.

    Args:
        found: In the order in which they are shown.
        form: `index`, a line each, or `full`.
        here: Key of the present project, as `index_line` takes it.
        by_day: Say the day above the first row of each; for rows in the order of time.
        is_explained: Say the parts of each rank below it.
    """
    if form == "full":
        return "\n\n".join("\n".join(_whole(one, here, is_explained=is_explained)) for one in found)
    lines: list[str] = []
    for day, rows in groupby(found, lambda one: moment_text(one.row.created_ms)[:10]):
        lines += [f"## {day}"] if by_day else []
        for one in rows:
            lines += [neutralise_line(index_line(one.row, here=here)), *(_explained(one) if is_explained else ())]
    return "\n".join(lines)


def nothing_known(store: MemoryStore, scope: MemoryScope, window_ms: int) -> str:
    """Return a sentence in place of an empty list: that uses of tools still wait, or that there are no sessions yet.

    Args:
        store: May hold uses of tools of which nothing is told yet.
        scope: The projects whose rows were asked for.
        window_ms: Milliseconds after the last use of a tool until it becomes an observation.
    """
    if n := store.n_waiting():
        said = f"{amount(n, 'use')} of tools {'waits' if n == 1 else 'wait'} for what follows"
        return f"Nothing is told of yet: {said}; ask again in {max(window_ms / 1000, 1):.0f} s."
    return f"No previous sessions found {'for this' if scope.name else 'in any'} project yet."


def newest_first(found: Sequence[RankedRow]) -> list[RankedRow]:
    """Return the same rows, newest first, for a list by days."""
    return sorted(found, key=lambda one: (-one.row.created_ms, -one.row.id))


def parts_line(parts: Parts) -> str:
    """Return the parts of a rank on one line: `0.830 = recency 0.120 + type 0.070 + similarity 0.600 + …`."""
    signed = [
        f"{'-' if value < 0 else '+'} {name} {abs(value):.3f}"
        for name, value in parts.as_json().items()
        if value or name != "repetition"
    ]
    return f"{parts.score:.3f} = {' '.join(signed).removeprefix('+ ')}"


def _whole(one: RankedRow, here: str | None, *, is_explained: bool) -> Iterator[str]:
    yield neutralise_line(index_line(one.row, here=here))
    yield from _explained(one) if is_explained else ()
    for line in _body(one.row):
        for part in neutralise(line).split("\n"):
            yield f"{_INDENT}{part}".rstrip()


def _body(row: Row) -> list[str]:
    """Return the lines of a row below its title."""
    lines = full_lines(row)
    first = title_of(row)
    lines = lines[1:] if lines and " ".join(lines[0].split()) == first else lines
    if isinstance(row, SessionSummary) and row.told.request and " ".join(row.told.request.split()) != first:
        return [f"Request: {row.told.request}", *lines]
    return lines


def _explained(one: RankedRow) -> list[str]:
    return [f"{_INDENT}{parts_line(one.parts)}"] if one.parts else []


# --- notes ------------------------------------------------------------------------------------------------


class Note(Struct, frozen=True):
    """An observation as it was written, with secrets and private spans.

    Attributes:
        type: The sort of work.
        title: One line; a longer one is cut, and stands whole in the narrative.
        subtitle: One line that says more.
        narrative: Prose.
        facts: Single statements.
        concepts: Words to find it by.
        files: Paths, absolute or relative to the project.
    """

    type: ObservationType
    title: str
    subtitle: str = ""
    narrative: str = ""
    facts: Sequence[str] = ()
    concepts: Sequence[str] = ()
    files: Sequence[str] = ()


def told(note: Note, root: Path) -> Extracted:
    """Return a note as the memory stores it, without private spans and secrets.

    Raises:
        HybridError: The title is empty.
    """
    title = " ".join(_clean(note.title).split())
    if not title:
        raise HybridError("the TITLE is empty; an observation must say something")
    narrative = _clean(note.narrative).strip()
    if len(title) > MAX_TITLE_CHARS:
        narrative = f"{title}\n{narrative}".strip()
        end = title.rfind(" ", 0, MAX_TITLE_CHARS)
        title = f"{title[: end if end > 0 else MAX_TITLE_CHARS - 1]}…"
    return Extracted(
        note.type,
        title,
        subtitle=" ".join(_clean(note.subtitle).split()),
        narrative=narrative,
        facts=tuple(map(_clean, note.facts)),
        concepts=tuple(map(_clean, note.concepts)),
        files_read=project_paths(note.files, None, root),
    )


def _clean(text: str) -> str:
    return redact(without_private(text))
