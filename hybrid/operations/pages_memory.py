"""Operations of the page on the memory: a timeline with filters, one row in full, and forgetting for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.ask.memory_lookup import (
    Filters,
    MemoryScope,
    OpenMemory,
    across,
    project_named,
    project_paths,
    require_ids,
    rows_of,
)
from hybrid.ask.memory_lookup import search as search_memory
from hybrid.hooks.taking import forget_waiting
from hybrid.knowledge.memory_intake import flush
from hybrid.operations import page_types as types
from hybrid.operations.asking import OperationError, Outcome
from hybrid.records.memory.types import (
    MEMORY_KINDS,
    Observation,
    body_lines,
    full_lines,
    iso,
    kind_of,
    name_of,
    parse_name,
    title_of,
    type_of,
)
from hybrid.redact import redact
from hybrid.render.numbers import amount
from hybrid.upkeep.purging import purge_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.operations.asking import Asking
    from hybrid.records.memory.store import MemoryStore, RowCounts
    from hybrid.records.memory.types import Row, RowFilter
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

ALL = "*"
"""The project that stands for all of them."""

_MOST_FILES = 12
_MOST_FOUND = 100
"""Rows that a query finds at most: those beyond have little to do with it."""


def memory(asking: Asking, wanted: types.PageMemoryArguments) -> Outcome:
    """Return a page of the timeline, newest first, or what fits a query, best first.

    Raises:
        OperationError: `before` is no place of a page.
        HybridError: A filter has no such form, a project is not known, or the memory cannot be read.
    """
    store = asking.kinds.stores.memory(asking.workspace)
    if store.exists:
        flush(asking.workspace, store, asking.now_ms)
    opened = OpenMemory(asking.workspace, store, _scope(asking, store, wanted.project), asking.now_ms)
    rows, more = _found(asking, opened, wanted)
    counted = _counted(store)
    here = opened.scope.present
    by_type = counted.of(opened.scope.key)
    found = types.PageMemory(
        rows=[_row(one, here) for one in rows],
        next_before=more,
        projects=sorted(
            ((key, name, sum(counted.of(key).values())) for key, name in counted.names.items()),
            key=lambda one: (-one[2], one[1], one[0]),
        ),
        types=by_type,
        total=_total(wanted, by_type),
        is_enabled=asking.workspace.config.memory.enabled,
    )
    return Outcome(found)


def _total(wanted: types.PageMemoryArguments, by_type: Mapping[str, int]) -> int | None:
    """Return how many rows fit; None where only a look at each of them would tell."""
    if wanted.file.strip() or wanted.since.strip() or wanted.session or wanted.query.strip():
        return None
    return sum(n for name, n in by_type.items() if not wanted.types or name in wanted.types)


_COUNTED: dict[str, RowCounts] = {}
"""Path of a memory → its counts at a change: to count 100,000 rows takes a fifth of a second."""


def _counted(store: MemoryStore) -> RowCounts:
    path = str(store.path)
    _COUNTED[path] = store.counts(_COUNTED.get(path))
    return _COUNTED[path]


def _scope(asking: Asking, store: MemoryStore, project: str) -> MemoryScope:
    own = asking.workspace.project
    key, name = (own.key, own.name) if own else ("", "")
    if project == ALL:
        return MemoryScope("", name, key, is_cross=True)
    if project and project != key:
        return MemoryScope(*project_named(project, asking.workspace.home, store), key, is_cross=False)
    return MemoryScope(key, name, key, is_cross=not key)


def _found(asking: Asking, opened: OpenMemory, wanted: types.PageMemoryArguments) -> tuple[list[Row], str]:
    """Return the rows of a page, and the place of the next one, empty on the last page."""
    own = asking.workspace.project
    files = project_paths([wanted.file], None, own.root if own else None) if wanted.file.strip() else ()
    filters = [Filters(wanted.limit, wanted.since, names, files) for names in _sorts(wanted.types)]
    only = [replace(opened.scope.wanted(one, opened.now_ms), session_id=wanted.session) for one in filters]
    if wanted.query.strip():
        requests = [opened.request(one, min(wanted.limit, _MOST_FOUND)) for one in only]
        is_of_others = own is None or opened.scope.key != own.key
        where = across(asking.workspace) if is_of_others else asking.workspace
        ranked = [one for each in requests for one in search_memory(where, asking.kinds, wanted.query, each)]
        ranked.sort(key=lambda one: -(one.parts.score if one.parts else 0.0))
        return [one.row for one in ranked[: wanted.limit]], ""
    rows = sorted(
        (row for one in only for row in _older(opened.store, one, wanted.before, wanted.limit + 1)),
        key=lambda row: (row.created_ms, MEMORY_KINDS.index(kind_of(row)), row.id),
        reverse=True,
    )
    page = rows[: wanted.limit]
    return page, f"{page[-1].created_ms}.{name_of(page[-1])}" if len(rows) > wanted.limit else ""


def _sorts(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return sets of types, each of which a filter can have: summaries have no type and stand alone."""
    observations = tuple(name for name in names if name != "summary")
    return [*([observations] if observations or not names else []), *([("summary",)] if "summary" in names else [])]


def _older(store: MemoryStore, only: RowFilter, before: str, limit: int) -> list[Row]:
    """Return the rows before a place, newest first; from the newest on without a place.

    Raises:
        OperationError: It is no place.
    """
    if not before:
        return store.newest(only, limit)
    ms, _, name = before.partition(".")
    identity = parse_name(name)
    if identity is None or not (ms.isascii() and ms.isdigit() and len(ms) < 16):
        raise OperationError(f"{before[:40]!r} is no place in the memory")
    around = store.timeline(*identity, limit, 0, only)
    # The row may have been forgotten meanwhile: then its time tells the place.
    rows = around[:-1] if around else store.timeline_at(int(ms), limit, 0, only)
    return rows[::-1]


def _row(row: Row, here: str) -> types.PageRow:
    is_observation = isinstance(row, Observation)
    return types.PageRow(
        ref=name_of(row),
        when=iso(row.created_ms),
        type=type_of(row),
        title=redact(title_of(row)),
        body=[redact(line) for line in body_lines(row)],
        project=row.owner.project,
        is_here=row.owner.key == here,
        session=row.owner.session_id,
        files=[redact(path) for path in row.told.files[:_MOST_FILES]] if is_observation else [],
        repeats=row.repeat_count if is_observation else 0,
    )


def row(asking: Asking, wanted: types.PageIdArguments) -> Outcome:
    """Return a row in full.

    Raises:
        HybridError: The text is no id, or there is no such row.
    """
    store = asking.kinds.stores.memory(asking.workspace)
    found = rows_of(store, require_ids([wanted.id]))
    if not found:
        raise OperationError(f"the memory has no row {wanted.id[:40]!r}: it was forgotten, or never there")
    one, own = found[0], asking.workspace.project
    prompts = store.prompts(one.owner.session_id)
    asked = next((prompt.text for prompt in prompts if prompt.prompt_number == one.prompt_number), "")
    result = types.PageRowResult(
        row=_row(one, own.key if own else ""),
        lines=[redact(line) for line in full_lines(one)],
        prompt=redact(asked),
        n_session=len(store.session_rows(one.owner.session_id)),
    )
    return Outcome(result)


def forget(asking: Asking, wanted: types.PageForgetArguments) -> Outcome:
    """Forget rows, or a session with its prompts and what hooks kept of it, for good; also in the indexes.

    Raises:
        HybridError: A text is no id, nothing is named, or another process holds the memory.
    """
    ids = require_ids(wanted.ids)
    if bool(ids) == bool(wanted.session):
        raise OperationError("name rows, or one session")
    store = asking.kinds.stores.memory(asking.workspace)
    n_waiting = _forget_waiting(asking, wanted.session) if wanted.session else 0
    done = store.forget_session(wanted.session) if wanted.session else store.forget(ids)
    n = done.n + n_waiting
    if not n:
        return Outcome(types.PageDone(message="Nothing to forget: it is gone already", is_done=False))
    problems = purge_index(asking.workspace, store)
    message = f"Forgot {amount(n, 'row')} for good: text, full-text index and vectors are deleted"
    if not done.is_wiped:
        message += "; another process reads the database, so the bytes go when it is done"
    if problems:
        message = f"Forgot {amount(n, 'row')}, but an index still holds it: {redact('; '.join(problems))}; "
        message += "`hybrid memory prune` tries again"
    return Outcome(types.PageDone(message=message))


def _forget_waiting(asking: Asking, session: str) -> int:
    def is_meant(workspace: Workspace, event: HookEvent) -> bool:
        return event.session_id == session

    return forget_waiting(asking.workspace.home, asking.environ, is_meant)


def titles(asking: Asking, wanted: types.PageTitlesArguments) -> Outcome:
    """Return the titles of rows that are still there; ids that name none are left out."""
    store = asking.kinds.stores.memory(asking.workspace)
    ids = [identity for name in wanted.ids if (identity := parse_name(name)) is not None]
    if not store.exists or not ids:
        return Outcome(types.PageTitles(titles={}))
    return Outcome(types.PageTitles(titles={name_of(one): redact(title_of(one)) for one in rows_of(store, ids)}))
