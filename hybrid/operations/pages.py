"""Operations of the page, by the names in `PAGES`: search, what is indexed, and the memory, as the commands do.

Reading changes nothing; what is forgotten goes for good.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.answer.recording import gate_part
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
from hybrid.ask.search import SearchRequest, find
from hybrid.base.errors import IndexMissingError
from hybrid.base.text import cut
from hybrid.base.tokens import query_tokens, tokens_of_word
from hybrid.hooks.taking import forget_waiting
from hybrid.index.catalog import Catalog
from hybrid.index.holder import is_held, read_holder
from hybrid.knowledge.collections import KINDS_OF
from hybrid.knowledge.memory_intake import flush
from hybrid.operations import types
from hybrid.operations.asking import OperationError
from hybrid.prompting.query import make_query
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
from hybrid.render.telling import GAP
from hybrid.sources.records import record_id
from hybrid.upkeep.purging import purge_index

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hybrid.ask.search import ResultHit, ResultList
    from hybrid.operations.asking import Asking
    from hybrid.records.memory.store import MemoryStore, RowCounts
    from hybrid.records.memory.types import Row, RowFilter
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


_LINE_CHARS = 200
_WORD = re.compile(r"\w+")


# --- search -----------------------------------------------------------------------------------------------


def search(asking: Asking, wanted: types.PageSearchArguments) -> types.PageSearchResult:
    """Search files and records.

    Raises:
        OperationError: A kind is none, or records are asked for by path.
        HybridError: Nothing can be searched here.
    """
    kinds = _kinds(wanted.kinds)
    if wanted.path and set(kinds) - set(KINDS_OF["files"]):
        raise OperationError("a path restricts files, and records lie in none: leave out the path or the records")
    query = make_query(wanted.query)
    result = find(asking.workspace, query, SearchRequest(kinds, wanted.path, top_k=wanted.limit), asking.kinds)
    terms = frozenset(query_tokens(f"{query.text} {query.english}"))
    lists = [_hits(one, terms) for one in result.lists]
    return types.PageSearchResult(lists=lists, problems=[redact(one) for one in result.problems])


def _kinds(names: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of hits behind some names: `lessons` stands for its kinds.

    Raises:
        OperationError: A name is none.
    """
    known = {kind for kinds in KINDS_OF.values() for kind in kinds}
    found = tuple(dict.fromkeys(kind for name in names for kind in KINDS_OF.get(name, (name,))))
    unknown = [kind for kind in found if kind not in known]
    if unknown:
        raise OperationError(f"{unknown[0][:40]!r} is no kind; there are {', '.join(sorted(known))}")
    return found


def _hits(part: ResultList, terms: Collection[str]) -> types.PageHits:
    gate = {"is_open": part.verdict.is_open, **gate_part(part.verdict)} if part.verdict else None
    return types.PageHits(kind=part.kind, gate=gate, hits=[_hit(one, terms) for one in part.hits])


def _hit(one: ResultHit, terms: Collection[str]) -> types.PageHit:
    hit = one.hit
    path = "" if hit.is_record else redact(hit.path)
    return types.PageHit(
        title=redact(_heading(one)),
        kind=hit.kind,
        ref=record_id(hit.path) if hit.is_record else f"{path}:{hit.start_line}-{hit.end_line}",
        path=path,
        language="" if hit.is_record else hit.language,
        cosine=hit.cosine,
        cosine_rank=hit.cosine_rank,
        bm25=hit.bm25,
        bm25_rank=hit.bm25_rank,
        rrf=hit.rrf,
        relevance=hit.relevance,
        evidence={name: value for name, value in hit.evidence.items() if abs(value) >= 0.005},
        lines=list(_lines(one, terms)),
        is_stale=one.text is None and not hit.is_record,
    )


def _heading(one: ResultHit) -> str:
    """Return the heading of a hit without its kind, which begins it in square brackets."""
    begin, _, rest = one.header.partition("] ")
    return rest if begin.startswith("[") and rest else one.header


def _lines(one: ResultHit, terms: Collection[str]) -> Iterator[types.PageLine]:
    """Yield the telling lines of a hit with their numbers in the file; a gap has the number 0."""
    every = (one.text or "").split("\n")
    at = 0
    for line in one.telling.split("\n") if one.telling else ():
        found = next((place for place in range(at, len(every)) if cut(every[place], _LINE_CHARS) == line), None)
        is_numbered = found is not None and line != GAP and not one.hit.is_record
        at = at if found is None else found + 1
        yield types.PageLine(one.hit.start_line + (found or 0) if is_numbered else 0, highlighted(line, terms))


def highlighted(line: str, terms: Collection[str]) -> list[str]:
    """Return a line in pieces: plain, a word of the query, plain, and so on; the plain ones may be empty."""
    parts, plain = list[str](), 0
    for word in _WORD.finditer(line):
        if any(token in terms for token in tokens_of_word(word[0])):
            parts += [line[plain : word.start()], word[0]]
            plain = word.end()
    return [*parts, line[plain:]]


# --- files ------------------------------------------------------------------------------------------------


def files(asking: Asking, wanted: types.PageFilesArguments) -> types.PageFiles:
    """Return a page of the files that the last builds looked at.

    Raises:
        IndexMissingError: The project has no index.
        HybridError: The catalog cannot be read.
    """
    place = asking.workspace.place
    if not place.catalog.exists():
        raise IndexMissingError("the project was not indexed yet")
    with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
        rows = catalog.listed(wanted.show, wanted.contains, wanted.after, wanted.limit + 1)
    shown = rows[: wanted.limit]
    found = [
        types.PageFile(path=redact(path), kind=kind, language=language, size_bytes=size, reason=reason)
        for path, kind, language, size, reason in shown
    ]
    more = shown[-1][0] if len(rows) > wanted.limit else ""
    return types.PageFiles(files=found, next_after=more)


def progress(asking: Asking, wanted: types.Nothing) -> types.PageProgress:
    """Return how far the running build is."""
    lock = asking.workspace.place.lock
    holder = read_holder(lock) if is_held(lock) else None
    if holder is None:
        return types.PageProgress(is_building=is_held(lock))
    return types.PageProgress(
        is_building=True,
        step=holder.step,
        done=holder.done,
        total=holder.total,
        share=holder.share,
        seconds_left=holder.seconds_left,
    )


# --- memory -----------------------------------------------------------------------------------------------


ALL = "*"
"""The project that stands for all of them."""

_MOST_FILES = 12
_MOST_FOUND = 100
"""Rows that a query finds at most: those beyond have little to do with it."""


def memory(asking: Asking, wanted: types.PageMemoryArguments) -> types.PageMemory:
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
    return types.PageMemory(
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


def memory_row(asking: Asking, wanted: types.PageIdArguments) -> types.PageRowResult:
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
    return types.PageRowResult(
        row=_row(one, own.key if own else ""),
        lines=[redact(line) for line in full_lines(one)],
        prompt=redact(asked),
        n_session=len(store.session_rows(one.owner.session_id)),
    )


def memory_forget(asking: Asking, wanted: types.PageForgetArguments) -> types.PageDone:
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
        return types.PageDone(message="Nothing to forget: it is gone already", is_done=False)
    problems = purge_index(asking.workspace, store)
    message = f"Forgot {amount(n, 'row')} for good: text, full-text index and vectors are deleted"
    if not done.is_wiped:
        message += "; another process reads the database, so the bytes go when it is done"
    if problems:
        message = f"Forgot {amount(n, 'row')}, but an index still holds it: {redact('; '.join(problems))}; "
        message += "`hybrid memory prune` tries again"
    return types.PageDone(message=message)


def _forget_waiting(asking: Asking, session: str) -> int:
    def is_meant(workspace: Workspace, event: HookEvent) -> bool:
        return event.session_id == session

    return forget_waiting(asking.workspace.home, asking.environ, is_meant)


def titles(asking: Asking, wanted: types.PageTitlesArguments) -> types.PageTitles:
    """Return the titles of rows that are still there; ids that name none are left out."""
    store = asking.kinds.stores.memory(asking.workspace)
    ids = [identity for name in wanted.ids if (identity := parse_name(name)) is not None]
    if not store.exists or not ids:
        return types.PageTitles(titles={})
    return types.PageTitles(titles={name_of(one): redact(title_of(one)) for one in rows_of(store, ids)})
