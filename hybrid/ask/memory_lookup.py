"""Looks things up in the memory for commands and HTTP: newest, by a query, around a row, by file; as JSON and as text.

Filters restrict before limits count; every answer carries the named parts of its rank.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from hybrid.ask.memory_filters import MemoryScope
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import (
    LEAST_ANSWER_CHARS,
    Observation,
    RowFilter,
    SessionSummary,
    full_lines,
    index_line,
    iso,
    kind_of,
    moment_text,
    name_of,
    title_of,
    type_of,
)
from hybrid.render.marks import neutralise, neutralise_line
from hybrid.render.numbers import amount
from hybrid.search.ranking.memory import Parts, Present, parts_of
from hybrid.sources.records import path_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Owner, Row
    from hybrid.search.searcher import Mode
    from hybrid.workspace import Workspace


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
        limit: Rows at most, 1 to `MAX_LIMIT`.
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
    """

    workspace: Workspace
    store: MemoryStore
    scope: MemoryScope
    now_ms: int

    @property
    def present(self) -> Present:
        """The time and the project from which rows are ranked; no file counts as present."""
        return Present(self.now_ms, self.scope.present, (), self.workspace.config.memory.half_life_days)

    def scope_of(self, owner: Owner) -> MemoryScope:
        """Return a scope with the rows of one project only, the owner's."""
        return MemoryScope(owner.key, owner.project, self.scope.present, is_cross=False)

    def request(self, wanted: RowFilter, limit: int) -> RowRequest:
        """Return the request for at most `limit` rows that a filter lets through, ranked from here and now."""
        return RowRequest(wanted, self.present, limit)


def recent(store: MemoryStore, request: RowRequest, *, is_cross: bool) -> list[RankedRow]:
    """Return the newest rows, newest first; with `is_cross` half of them are the present project's if it has so many.

    Turns in which nothing was done and little was said are left out.

    Args:
        store: The store of the memory.
        request: The filter and the number of rows.
        is_cross: Also other projects' rows.
    """
    wanted, present, limit = replace(request.wanted, answer_chars=LEAST_ANSWER_CHARS), request.present, request.limit
    if is_cross and present.key and not wanted.key:
        rows = store.recent(wanted, present.key, limit)
    else:
        rows = store.newest(replace(wanted, key=wanted.key or ("" if is_cross else present.key)), limit)
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
    from hybrid.base.errors import HybridError
    from hybrid.index.backend import Filter
    from hybrid.knowledge.memory_collection import (
        LEAST_NEARNESS,
        NEAR_SHARE,
        FairSearcher,
        is_told_here,
        near,
        ranked,
        row_of,
    )
    from hybrid.knowledge.small_talk import talk_among
    from hybrid.sources.records import project_glob

    wanted, present, limit = request.wanted, request.present, request.limit
    try:
        view = kinds.memory_view(workspace, waits=True)
    except (OSError, ValueError) as error:
        raise HybridError(f"memory: {error}") from error
    if view is None:
        return []
    documents = _documents(view.store, wanted)
    only = Filter(kinds=wanted.kinds, path=project_glob(wanted.key) if wanted.key else "", documents=documents)
    searcher = FairSearcher(view.searcher, present.key) if present.key and not wanted.key else view.searcher
    # What is merely recent must not bring in what fits worst: as many are ranked as could be among the first.
    asked = make_query(query)
    found = searcher.search(asked, top_k=max(limit, _CANDIDATES), mode=mode, only=only)
    own, fitting = wanted.key or present.key, near(found, view, LEAST_NEARNESS, NEAR_SHARE)
    rows = {hit.key: row for hit in found.hits if hit.row in fitting and (row := row_of(view.rows, hit)) is not None}
    talk = talk_among(rows.values(), view.store)
    told = {
        key
        for key, row in rows.items()
        if is_told_here(row, own) and not (isinstance(row, SessionSummary) and row.id in talk)
    }
    hits = [hit for hit in found.hits if hit.relevance > 0 and hit.key in told]
    best = ranked(hits, view, present, asked)[:limit]
    return [RankedRow(row, parts) for hit, parts in best if (row := view.rows.get(hit.path)) is not None]


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
