"""Operations that agents are offered, by the names in `OPERATIONS`: look up, read, and write down.

They answer as `hybrid search` and `hybrid context` do. What is read comes from indexed files only, secrets masked, and
from records that may be given out here: lessons of an accepted tree, rows of this project, or of all where the settings
let projects share their memory. What an agent wrote says so.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from itertools import zip_longest
from pathlib import PurePosixPath
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np

from hybrid.answer import decide as answering
from hybrid.answer.decide import Turn
from hybrid.answer.pack import shortened
from hybrid.answer.session_start import start_session
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
from hybrid.ask.search import SearchRequest, find
from hybrid.base.digest import chunk_digest
from hybrid.base.text import one_line
from hybrid.base.tokens import part_terms
from hybrid.feedback import state as state_files
from hybrid.index.backend import Filter
from hybrid.index.history import open_history
from hybrid.index.roles import bit, roles
from hybrid.knowledge.collections import record_hit
from hybrid.knowledge.memory_intake import flush
from hybrid.knowledge.stores import names_of, open_stores
from hybrid.operations import types
from hybrid.operations.asking import CONNECTION, OperationError, Outcome, Shown
from hybrid.prompting.query import make_query
from hybrid.records.lessons.types import AI, Draft, full_lines, index_line, shown
from hybrid.records.lore.json_records import DecisionDraft
from hybrid.records.lore.types import field_lines, listed
from hybrid.records.lore.writing import head_commit, new_writer
from hybrid.records.memory.types import (
    Observation,
    Owner,
    RowFilter,
    iso,
    kind_of,
    name_of,
    record_of,
    title_of,
    type_of,
)
from hybrid.redact import redact
from hybrid.render.frame import Entry, render_entry
from hybrid.render.marks import harmless, harmless_line
from hybrid.render.numbers import amount
from hybrid.sources.records import RecordSource, path_at, path_of, record_id, record_text
from hybrid.types import FILE_KINDS, Hit, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.ask.search import ResultHit
    from hybrid.index.backend import ChunkView, SearchBackend
    from hybrid.operations.asking import Asking
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.memory.types import Row
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher


_MOST_PAGES = 200
"""Hits that may be paged through: further ones have little to do with the query."""
_FULL_CHARS = 24_000
"""Characters of the texts of one answer: some clients cut what is longer."""
_MOST_LINES = 400
"""Lines of one answer of `read`, at most."""
_MOST_NAMED = 20
"""Altered lines that one answer of `read` names."""
_TOGETHER = 50
"""Files that changed together with another that are looked at."""
_NAMED = 1.0
"""Worth of a test that is named after the file: as much as one that changed with every commit of the file."""
_MENTIONED = 0.5
"""Worth of the test that speaks most of what the file defines."""
_MOST_NAMES = 8
"""Definitions of a file by which tests that speak of it are looked for."""
_MOST_ALIKE = 50
_ESCAPED = re.compile(r"/(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""An escape of `visible` in a path with forward slashes."""
_PLACE = re.compile(r"(?P<path>.+?):(?P<start>\d{1,7})(?:-(?P<end>\d{1,7}))?\Z", re.DOTALL)


# --- search -----------------------------------------------------------------------------------------------


def search(asking: Asking, wanted: types.SearchArguments) -> Outcome:
    """Search files and records; hits of several kinds take turns, the best of each first.

    Raises:
        OperationError: The cursor is none of this operation.
        HybridError: Nothing can be searched here.
    """
    skip = offset_of(wanted.cursor)
    n_hits = min(skip + wanted.limit + 1, _MOST_PAGES)
    request = SearchRequest(tuple(wanted.kinds), wanted.path, top_k=n_hits)
    result = find(asking.workspace, make_query(wanted.query), request, asking.kinds)
    ordered = [hit for row in zip_longest(*(part.hits for part in result.lists)) for hit in row if hit is not None]
    page = ordered[skip : skip + wanted.limit]
    budget = _Budget(_FULL_CHARS)
    found: list[types.Found] = []
    shown: list[Shown] = []
    for one in page:
        hit, form = _found(one, wanted.detail, asking, budget)
        found.append(hit)
        if form:
            shown.append(Shown(one.hit, form))
    more = str(skip + len(page)) if len(ordered) > skip + len(page) else ""
    value = types.SearchResult(hits=found, next_cursor=more, problems=list(result.problems))
    return Outcome(value, _search_text(value, [one.header for one in page]), tuple(shown))


def offset_of(cursor: str) -> int:
    """Return how many hits come before a page.

    Raises:
        OperationError: The cursor is none.
    """
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 4):
        raise OperationError(f"cursor {cursor[:40]!r} is none: give the `next_cursor` of the page before, or none")
    return int(cursor or 0)


class _Budget:
    """The characters that the texts of one answer may still have."""

    def __init__(self, n_chars: int) -> None:
        self._left = n_chars

    def take(self, text: str, *, is_best_record: bool) -> str:
        """Return a text that fits, of the best record the beginning that does; empty for another one."""
        if len(text) > self._left:
            left = self._left
            text = shortened(text, lambda part: len(part) <= left, most=left) if is_best_record else ""
        self._left -= len(text)
        return text


def _found(one: ResultHit, detail: types.Detail, asking: Asking, budget: _Budget) -> tuple[types.Found, str]:
    """Return a hit for an agent, and the form in which its text stands in the answer; empty where it is left out.

    It is left out when the session was given all of it: of a part, an agent that asks again wants the rest. Nor is a
    part that it looked up a reason to keep back the text from its next prompt, so it counts as a place.
    """
    hit, whole = one.hit, one.text or ""
    is_given = detail == "lines" and asking.ledger.has_whole(hit.digest)
    text = "" if detail == "places" or is_given else whole if detail == "full" else one.telling
    text = budget.take(text, is_best_record=hit.is_record and hit.rank == 1)
    form = "full" if text and text == whole else "pointer"
    found = types.Found(
        ref=ref_of(hit),
        kind=hit.kind,  # pyright: ignore[reportArgumentType] - a hit's kind is one of these words
        title=harmless_line(redact(one.record.shown) if one.record else hit.name),
        cosine=round(hit.cosine or 0.0, 3),
        given=is_given,
        stale=one.text is None and not hit.is_record,
        text=text,
    )
    return found, "" if is_given else form


def ref_of(hit: Hit) -> str:
    """Return what `read` finds a hit by."""
    return record_id(hit.path) if hit.is_record else f"{harmless_line(hit.path)}:{hit.start_line}-{hit.end_line}"


def _search_text(value: types.SearchResult, headers: Sequence[str]) -> str:
    lines: list[str] = []
    for hit, header in zip(value.hits, headers, strict=True):
        note = "  (given earlier in this session)" if hit.given else ""
        note = "  (changed since it was indexed)" if hit.stale else note
        ref = "" if hit.kind in FILE_KINDS else f"  ref {hit.ref}"
        text = hit.text.split("\n") if hit.text else []
        lines += [f"{harmless_line(header)}{ref}{note}", *(f"  {line}".rstrip() for line in text)]
    if not value.hits:
        lines.append("Nothing found.")
    if value.next_cursor:
        lines.append(f"More: cursor {value.next_cursor}")
    return "\n".join([*lines, *value.problems])


# --- read -------------------------------------------------------------------------------------------------


def read(asking: Asking, wanted: types.ReadArguments) -> Outcome:
    """Return a part of an indexed file with its neighbours, or a record in full.

    Raises:
        OperationError: The index has no such file, or no such record may be given here.
        HybridError: There is no index.
    """
    ref = wanted.ref.strip()
    return read_record(asking, ref) or _read_file(asking, ref, wanted.neighbours)


def _read_file(asking: Asking, ref: str, neighbours: int) -> Outcome:
    searcher = asking.kinds.searcher(asking.workspace)
    path, first, last = _place(asking, searcher.backend, ref)
    chunks = _chunks(searcher.backend, path)
    lines = answering.span_reader(asking.workspace, searcher).masked_lines(path)
    if not chunks:
        raise OperationError(f"this project's index has no file or record {harmless_line(ref)!r}; `search` gives refs")
    if not lines:
        raise OperationError(f"{harmless_line(path)} is gone; the next build takes it out of the index")
    is_part = last > 0
    first, last = min(max(first, 1), len(lines)), min(last or len(lines), len(lines))
    first, last = _with_neighbours(chunks, first, max(first, last), neighbours if is_part else 0)
    last = min(last, first + _MOST_LINES - 1, len(lines))
    whole, name = lines[first - 1 : last], harmless_line(redact(path))
    part = harmless("\n".join(whole)).split("\n")  # As one, since a mark may be spread over lines.
    altered = [number for number, (line, shown) in enumerate(zip(whole, part, strict=True), first) if line != shown]
    value = types.ReadResult(
        ref=f"{name}:{first}-{last}",
        kind=chunks[0].kind,  # pyright: ignore[reportArgumentType] - a chunk's kind is one of these words
        start_line=first,
        end_line=last,
        total_lines=len(lines),
        altered=altered,
        text="\n".join(part),
    )
    numbered = (f"{number:>6}\t{line}" for number, line in enumerate(part, first))
    note = [f"({_altered(altered)})"] if altered else []
    text = "\n".join([f"{name}, lines {first} to {last} of {len(lines)}", *note, *numbered])
    inside = [_as_shown(view) for view in chunks if view.start_line >= first and view.end_line <= last]
    return Outcome(value, text, tuple(inside))


def _altered(lines: Sequence[int]) -> str:
    named = ", ".join(map(str, lines[:_MOST_NAMED])) + (", …" if len(lines) > _MOST_NAMED else "")
    of = f"line {named} is" if len(lines) == 1 else f"lines {named} are"
    return f"{of} altered here: the file has characters there that an agent or a terminal could obey"


def _place(asking: Asking, backend: SearchBackend, ref: str) -> tuple[str, int, int]:
    """Return path, first and last line that a text names; last is 0 for a whole file."""
    path = _relative(asking, ref)
    match = _PLACE.match(path)
    if match is None or _file(backend, path) is not None:
        return _spelled(backend, path), 1, 0
    start = int(match["start"])
    return _spelled(backend, match["path"]), start, int(match["end"] or start)


def _spelled(backend: SearchBackend, path: str) -> str:
    """Return the path of the file that is shown as `path`, for a name that is shown altered; else the same path."""
    if _file(backend, path) is not None or (path.isascii() and not _ESCAPED.search(path)):
        return path
    paths = map(backend.fields.path, range(backend.fields.n_files))
    return next((one for one in paths if _plain(harmless_line(one)) == path), path)


def _as_shown(view: ChunkView) -> Shown:
    hit = Hit(
        row=-1,
        rank=0,
        kind=view.kind,
        path=view.path,
        start_line=view.start_line,
        end_line=view.end_line,
        name=view.name,
        chunk_kind=view.chunk_kind,
        scope=view.scope,
        digest=view.digest,
        relevance=0.0,
    )
    return Shown(hit, "full")


def _relative(asking: Asking, path: str) -> str:
    """Return a path as the index spells it: relative to the project, with forward slashes."""
    root = asking.workspace.require_project().root
    plain = _plain(path)
    for base in (root.as_posix(), root.resolve().as_posix()):
        if plain.startswith(f"{base}/"):
            return plain[len(base) + 1 :]
    return plain


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


def _chunks(backend: SearchBackend, path: str) -> list[ChunkView]:
    """Return the chunks of a file in order of lines; none when the index does not have it."""
    file = _file(backend, path)
    if file is None:
        return []
    numbers = np.array([file])
    first, end = (int(backend.fields.of_files(field, numbers)[0]) for field in ("first_row", "end_row"))
    views = [backend.get(row) for row in range(first, end)]
    return sorted(views, key=lambda view: view.start_line)


def _file(backend: SearchBackend, path: str) -> int | None:
    """Return the number of a file that can be found; None when the index does not have it, or it is empty."""
    return next((file for file, known in backend.names.files_called(path.split("/")) if known == path), None)


def _with_neighbours(chunks: Sequence[ChunkView], first: int, last: int, n: int) -> tuple[int, int]:
    """Return a range of lines, widened to whole chunks and by `n` further ones on either side; as it is with 0."""
    if n == 0:
        return first, last
    inside = [at for at, view in enumerate(chunks) if view.end_line >= first and view.start_line <= last]
    if not inside:
        return first, last
    begin, end = chunks[max(inside[0] - n, 0)], chunks[min(inside[-1] + n, len(chunks) - 1)]
    return min(first, begin.start_line), max(last, end.end_line)


# --- context ----------------------------------------------------------------------------------------------


def context(asking: Asking, wanted: types.ContextArguments) -> Outcome:
    """Return what the hook would add to a prompt of this session; nothing is recorded as an injection."""
    event = HookEvent(
        asking.client, "UserPromptSubmit", asking.session_id, "", str(asking.workspace.cwd or ""), wanted.prompt
    )
    decision = answering.decide(Turn(asking.workspace, event, asking.kinds, asking.environ))
    refs = [ref_of(item.hit) for item in decision.items]
    text = decision.text if decision.is_injected else ""
    value = types.ContextResult(injected=decision.is_injected, reason=decision.reason, refs=refs, text=text)
    given = [one for item in decision.items for one in item.given] if decision.is_injected else []
    shown = tuple(Shown(hit, form) for hit, form in given)
    nothing = f"Nothing is close enough ({decision.reason}). `search` looks all the same."
    return Outcome(value, text or nothing, shown, frame=text)


# --- related ----------------------------------------------------------------------------------------------


def related(asking: Asking, wanted: types.RelatedArguments) -> Outcome:
    """Return the files that changed together with a file, and those that probably test it.

    Raises:
        OperationError: Neither the index nor the history knows the file.
        HybridError: There is no index.
    """
    backend = asking.kinds.searcher(asking.workspace)
    path = _spelled(backend.backend, _relative(asking, wanted.path.strip()))
    history = open_history(asking.workspace.place.folder)
    n_commits = history.n_commits_of(path) if history else 0
    chunks = _chunks(backend.backend, path)
    if not chunks and not n_commits:
        raise OperationError(f"neither the index nor the commits know a file {harmless_line(path)!r}")
    together = history.changed_with(path, _TOGETHER) if history else []
    tests = _tests(backend, path, chunks, {one.path: one.share for one in together})
    companions = [
        types.Companion(path=harmless_line(redact(one.path)), share=round(one.share, 2), commits=one.commits)
        for one in together
        if not _is_test(one.path)
    ][: wanted.limit]
    shown = [harmless_line(redact(test)) for test in tests[: wanted.limit]]
    value = types.RelatedResult(
        path=harmless_line(redact(path)), changes_with=companions, tests=shown, commits=n_commits
    )
    lines = [f"{value.path}: in {amount(n_commits, 'commit')}", "Changes with:"]
    lines += [f"  {one.share:4.0%}  {one.path} ({one.commits})" for one in companions] or ["  nothing known"]
    lines += ["Tested by:", *([f"  {test}" for test in shown] or ["  nothing known"])]
    return Outcome(value, "\n".join(lines))


def _is_test(path: str) -> bool:
    return bool(roles(path, ()) & bit("test"))


def _tests(searcher: Searcher, path: str, chunks: Sequence[ChunkView], shares: Mapping[str, float]) -> list[str]:
    """Return the tests of a file, likeliest first: by its name, by commits that touched both, by what it defines."""
    if _is_test(path):
        return []
    backend = searcher.backend
    worth = {test: share for test, share in shares.items() if _is_test(test) and _file(backend, test) is not None}
    for test in _named_alike(backend, path):
        worth[test] = worth.get(test, 0.0) + _NAMED
    names = [view.name for view in chunks if view.name and view.chunk_kind != "lines"]
    if names:
        asked = make_query(" ".join(dict.fromkeys([PurePosixPath(path).stem, *names[:_MOST_NAMES]])))
        for hit in searcher.search(asked, top_k=answering.CONSIDERED, mode="lexical", only=Filter(("code",))).hits:
            if _is_test(hit.path):
                worth[hit.path] = max(worth.get(hit.path, 0.0), _MENTIONED * hit.relevance)
    return sorted(worth, key=lambda test: (-worth[test], test))


def _named_alike(backend: SearchBackend, path: str) -> list[str]:
    """Return the tests whose file name has all words of the file's own name."""
    words = part_terms(PurePosixPath(path).stem)
    if not words:
        return []
    files = backend.names.files_with("stem", words[0])
    for word in words[1:]:
        files = np.intersect1d(files, backend.names.files_with("stem", word))
    found = [backend.fields.path(file) for file in np.unique(files)[:_MOST_ALIKE].tolist()]
    return [test for test in found if test != path and _is_test(test) and _file(backend, test) is not None]


def read_record(asking: Asking, ref: str) -> Outcome | None:
    """Return all of a lesson, a record of lore or a row of the memory; None when none with this ref may be given here.

    The title is the line that names it, the text everything below.
    """
    name = record_id(ref.lower())
    # The path of a row in the index counts as the row's id: whose row it is, is looked at there.
    is_path = "/" in ref and "/" not in name
    known = asking.kinds.by_path(asking.workspace)
    path = None if is_path else next((path for path in (ref, ref.upper(), ref.lower()) if path in known), None)
    if path is not None:
        record = known[path]
        lines = _lines(asking, record)
    else:
        row = _row(asking, name if is_path else ref.lstrip("#"))
        if row is None:
            return None
        own = asking.workspace.require_project().key
        path, record, lines = path_of(row), record_of(row, here=own), list_text([RankedRow(row)], "full", here=own)
    text = redact(lines) if asking.workspace.config.privacy.redact else lines
    title, _, rest = text.partition("\n")
    value = types.ReadResult(ref=ref, kind=record.kind, title=one_line(title), text=dedent(rest))
    return Outcome(value, text, (Shown(record_hit(path, record), "full"),))


def _row(asking: Asking, name: str) -> Row | None:
    """Return a row of the memory by its id; None for one that is not there or of a project that is kept apart."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    identity = id_of(name) if re.fullmatch(r"[os]?\d{1,8}", name) else None
    if identity is None or not store.exists or not workspace.config.memory.enabled:
        return None
    rows = rows_of(store, [identity])
    is_here = bool(rows) and rows[0].owner.key == workspace.require_project().key
    return rows[0] if rows and (is_here or workspace.config.memory.cross_project) else None


def _lines(asking: Asking, record: Record) -> str:
    """Return the lines of a lesson or of a record of lore; of the latter without keys that say nothing more."""
    stores, workspace = asking.kinds.stores, asking.workspace
    if record.kind == "lesson":
        lesson = stores.lessons(workspace).active.get(record.id)
        # After branches were merged, two lessons may have one id.
        return "\n".join(full_lines(lesson) if lesson and lesson.record() == record else [record.shown, *record.lines])
    every = listed(stores.shelf(workspace).read(), names_of(workspace))
    lines = [render_entry(Entry(record.kind, record.shown, record.lines))]
    for one in every:
        if one.record.key == record.key:
            fields = {key: value for key, value in one.value.fields.items() if value or value == 0}
            if record.id in record.shown:
                fields.pop("id", None)
            lines += [f"  {line}" for line in field_lines({"status": one.status, **fields})]
    return "\n".join(lines)


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
        records=[_remembered(one.row, wanted.detail, own, is_given=id(one) in given) for one in page],
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


def _remembered(row: Row, detail: str, own: str, *, is_given: bool) -> types.Remembered:
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


# --- texts that nobody searched for -------------------------------------------------------------------------


_LATELY = 30

_HAND_OVER = """\
Write a handoff for whoever goes on with this work. Say what was asked for, what is done and where, what is left, what \
blocks it, and what to look at first. Then store it with `hybrid lore handoff "MESSAGE" --next STEP --blocker \
BLOCKER`, or, where no command can be run, with the tool `remember`. Decisions that others may ask about go to \
`decide`."""

_LEARNED = """\
Look back at this session and find what the next one must know: what failed and why, what the project expects that its \
code does not say, what had to be found out twice. For each, look with the tool `lessons` whether it is known. Write \
down what is new with the tool `remember`, kind `lesson`: a short title, and the rule with its reason. Write nothing \
that the code or the commits say already; nothing is a good result too."""


def orientation(asking: Asking, _: types.Nothing) -> Outcome:
    """Return what a new session of this project is given."""
    event = HookEvent(asking.client, "SessionStart", "", "", str(asking.workspace.cwd or ""), "", source="startup")
    decision = start_session(Turn(asking.workspace, event, asking.kinds, asking.environ))
    text = decision.text or f"Nothing is known of this project yet ({decision.reason})."
    return Outcome(types.TextResult(text), text, frame=decision.text)


def hot_topics(asking: Asking, _: types.Nothing) -> Outcome:
    """Return the files and symbols that were injected most, as `hot-topics.md` has them."""
    state = state_files.read_state(asking.workspace.state_folder)
    return _text(state_files.hot_topics(state, datetime.fromtimestamp(asking.now_ms / 1000, timezone.utc)))


def hand_over(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for a handoff, with what the memory knows of this session."""
    return _text(_HAND_OVER + _done_lately(asking))


def learned(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for the lessons of a session, with what the memory knows of it."""
    return _text(_LEARNED + _done_lately(asking))


def _done_lately(asking: Asking) -> str:
    """Return the newest rows of the memory that this session left, or of the project where the session is unknown."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    if not workspace.config.memory.enabled or not store.exists:
        return ""
    key = workspace.require_project().key
    rows = store.newest(RowFilter(key=key, session_id=asking.session_id), _LATELY) if asking.session_id else []
    rows = rows or store.newest(RowFilter(key=key), _LATELY)
    listed = list_text([RankedRow(row) for row in reversed(rows)], "index", here=key)
    return f"\n\nWhat was noted lately:\n{listed}" if rows else ""


def _text(text: str) -> Outcome:
    return Outcome(types.TextResult(text), text)
