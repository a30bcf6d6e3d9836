"""Operations on lessons, lore and memory: look up, and write down; what an agent wrote says so.

Reading gives what may be given out here: lessons of an accepted tree, rows of this project, or of all where the
settings let projects share their memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.ask.memory_lookup import (
    Filters,
    MemoryScope,
    Note,
    OpenMemory,
    RankedRow,
    around,
    id_of,
    list_text,
    of_files,
    project_paths,
    recent,
    rows_of,
    told,
)
from hybrid.ask.memory_lookup import search as search_memory
from hybrid.base.digest import chunk_digest
from hybrid.base.text import one_line
from hybrid.knowledge.collections import record_hit
from hybrid.knowledge.memory_intake import flush
from hybrid.knowledge.stores import names_of, open_stores
from hybrid.operations import types
from hybrid.operations.asking import CONNECTION, OperationError, Outcome, Shown
from hybrid.operations.code import offset_of
from hybrid.records.lessons.types import AI, Draft, index_line, shown
from hybrid.records.lore.json_records import DecisionDraft
from hybrid.records.lore.writing import head_commit, new_writer
from hybrid.records.memory.types import Observation, Owner, iso, kind_of, name_of, record_of, title_of, type_of
from hybrid.sources.records import RecordSource, path_at, record_text

if TYPE_CHECKING:
    from hybrid.operations.asking import Asking
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.memory.types import Row

_MOST_ROWS = 100
"""Rows that may be paged through."""


# --- lessons ----------------------------------------------------------------------------------------------


def lessons(asking: Asking, wanted: types.LessonsArguments) -> Outcome:
    """Return one lesson, those that fit a query, or the most used.

    Raises:
        OperationError: There is no such lesson.
        LessonsError: The files cannot be read.
    """
    found = asking.kinds.stores.lessons(asking.workspace)
    relevance: dict[str, int] = {}
    if wanted.id:
        one = found.active.get(wanted.id.strip().upper())
        if one is None:
            raise OperationError(f"there is no active lesson {wanted.id[:40]!r}")
        chosen = [one]
    elif wanted.query.strip():
        hits = found.scorer.best(wanted.query, top_k=wanted.limit)
        chosen, relevance = [hit.lesson for hit in hits], {hit.lesson.id: hit.relevance for hit in hits}
    else:
        every = sorted(found.active.values(), key=lambda one: (-one.uses, -one.velocity, one.id))
        chosen = every[: wanted.limit]
    value = types.LessonsResult(lessons=[_lesson(one, relevance.get(one.id, 0)) for one in chosen])
    lines = [line for one in chosen for line in _lesson_lines(one)]
    paths = {record.id: path for path, record in RecordSource(found.records).by_path.items()}
    records = {record.id: record for record in found.records}
    given = [Shown(record_hit(paths[one.id], records[one.id]), "full") for one in chosen if one.id in paths]
    return Outcome(value, "\n".join(lines) or "No lesson fits.", tuple(given))


def _lesson(lesson: Lesson, relevance: int) -> types.LessonShown:
    lesson = shown(lesson)
    return types.LessonShown(
        id=lesson.id,
        title=one_line(lesson.title),
        content=lesson.content,
        category=one_line(lesson.category),
        stars=lesson.stars,
        uses=lesson.uses,
        relevance=relevance,
        by_agent=lesson.source == AI,
    )


def _lesson_lines(lesson: Lesson) -> list[str]:
    lines = shown(lesson).content.split("\n")
    return [one_line(index_line(lesson)), *(f"  {line}".rstrip() for line in lines if line)]


# --- lore -------------------------------------------------------------------------------------------------


def decide(asking: Asking, wanted: types.DecideArguments) -> Outcome:
    """Write a decision down, with the client as its author.

    Raises:
        OperationError: Lore is off.
        LoreError: A recent decision says nearly the same, or the file cannot be written.
    """
    workspace = asking.workspace
    if not workspace.config.lore.enabled:
        raise OperationError("lore is switched off here (`lore.enabled`)")
    project = workspace.require_project()
    shelf, commit = asking.kinds.stores.shelf(workspace), head_commit(project.root)
    draft = DecisionDraft(
        wanted.decision, wanted.why, tuple(wanted.alternatives), tuple(wanted.tags), commit, asking.client
    )
    identity = new_writer(shelf, names_of(workspace), asking.now_ms / 1000).add(draft)
    return _written(identity, "decision")


def _written(ref: str, what: str) -> Outcome:
    return Outcome(types.Written(ref=ref), f"Wrote down {what} {ref}.")


# --- memory -----------------------------------------------------------------------------------------------


def remember(asking: Asking, wanted: types.RememberArguments) -> Outcome:
    """Write an observation or a lesson down, with the client as its author.

    Raises:
        HybridError: The memory or the lessons are off, in use or cannot be written.
    """
    return _learn(asking, wanted) if wanted.kind == "lesson" else _note(asking, wanted)


def _learn(asking: Asking, wanted: types.RememberArguments) -> Outcome:
    if not asking.workspace.config.lessons.enabled:
        raise OperationError("lessons are switched off here (`lessons.enabled`)")
    store = open_stores(asking.workspace).of_project()
    draft = Draft(wanted.title, wanted.text or wanted.title, source=AI, triggers=tuple(wanted.triggers))
    added = store.add(draft, today=asking.today)
    if added.lesson is not None:
        return _written(added.lesson.id, "lesson")
    ref = added.duplicate_of.id if added.duplicate_of else ""
    note = f"not written: {ref} says nearly the same" if ref else "not written"
    return Outcome(types.Written(ref=ref, written=False, note=note), note)


def _note(asking: Asking, wanted: types.RememberArguments) -> Outcome:
    workspace = asking.workspace
    if not workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project = workspace.require_project()
    note = Note(wanted.type, wanted.title, f"noted by {asking.client}", wanted.text, wanted.facts, (), wanted.files)
    owner = Owner(asking.session_id or f"{CONNECTION}{asking.client}", project.key, project.name)
    row = asking.kinds.stores.memory(workspace).add_observation(owner, told(note, project.root), asking.now_ms)
    if row is not None:
        return _written(name_of(row), "observation")
    text = "not written again: the same was stored within the last hour, and counted there"
    return Outcome(types.Written(ref="", written=False, note=text), text)


def recall(asking: Asking, wanted: types.RecallArguments) -> Outcome:
    """Return rows of the memory: by a query, around a row, of files, or the newest.

    Raises:
        OperationError: The memory is off, or `around` names no row.
        HybridError: A filter has no such form, or the memory cannot be searched.
    """
    memory, skip = _memory(asking), offset_of(wanted.cursor)
    filters = Filters(
        wanted.limit,
        wanted.since,
        tuple(wanted.types),
        project_paths(wanted.files, None, memory.workspace.require_project().root),
    )
    rows = _rows(asking, memory, wanted, filters, min(skip + wanted.limit + 1, _MOST_ROWS))
    page = rows[skip : skip + wanted.limit]
    own = memory.scope.present
    records = {id(one): record_of(one.row, here=own) for one in page}
    digests = {key: chunk_digest(record_text(record)) for key, record in records.items()}
    given = {key for key, digest in digests.items() if asking.ledger.has_whole(digest)}
    value = types.RecallResult(
        records=[_row(one.row, wanted.detail, own, is_given=id(one) in given) for one in page],
        next_cursor=str(skip + len(page)) if len(rows) > skip + len(page) else "",
    )
    form = "full" if wanted.detail == "full" else "pointer"
    shown_rows = tuple(
        Shown(record_hit(path_at(kind_of(one.row), one.row.id, one.row.owner.key), records[id(one)]), form)
        for one in page
    )
    listed = list_text(page, "full" if wanted.detail == "full" else "index", here=own)
    text = listed or "Nothing is remembered of that."
    more = f"\nMore: cursor {value.next_cursor}" if value.next_cursor else ""
    return Outcome(value, f"{text}{more}", shown_rows)


def _memory(asking: Asking) -> OpenMemory:
    workspace = asking.workspace
    if not workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project, store = workspace.require_project(), asking.kinds.stores.memory(workspace)
    if store.exists:
        flush(workspace, store, asking.now_ms)
    is_cross = workspace.config.memory.cross_project
    scope = MemoryScope("" if is_cross else project.key, project.name, project.key, is_cross=is_cross)
    return OpenMemory(workspace, store, scope, asking.now_ms)


def _rows(
    asking: Asking, memory: OpenMemory, wanted: types.RecallArguments, filters: Filters, n_rows: int
) -> list[RankedRow]:
    request = memory.request(memory.scope.wanted(filters, memory.now_ms), n_rows)
    if wanted.around:
        identity = id_of(wanted.around)
        middle = rows_of(memory.store, [identity]) if identity else []
        # The store gives the row that is named, whosever it is.
        if identity is None or not middle or memory.scope.key not in ("", middle[0].owner.key):
            raise OperationError(f"the memory has no row {wanted.around[:40]!r}")
        before, after = around(wanted.limit, None, None)
        return [RankedRow(row) for row in memory.store.timeline(*identity, before, after, request.wanted)]
    if wanted.query.strip():
        return search_memory(memory.workspace, asking.kinds, wanted.query, request)
    if filters.files:
        return of_files(memory.store, filters.files, request)
    return recent(memory.store, request, is_cross=memory.scope.is_cross)


def _row(row: Row, detail: str, own: str, *, is_given: bool) -> types.Remembered:
    files = [one_line(path) for path in row.told.files] if isinstance(row, Observation) else list[str]()
    return types.Remembered(
        ref=name_of(row),
        kind=kind_of(row),
        when=iso(row.created_ms),
        type=type_of(row) or "",
        title=one_line(title_of(row) or ""),
        project=one_line(row.owner.project) if row.owner.key != own else "",
        files=files[:10] if detail == "full" else [],
        given=is_given,
        text="\n".join(record_of(row, here=own).lines) if detail == "full" else "",
    )
