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
from typing import TYPE_CHECKING

import numpy as np

from hybrid.answer import decide as answering
from hybrid.answer.decide import Turn
from hybrid.answer.pack import shortened
from hybrid.answer.session_start import start_session
from hybrid.ask.memory_lookup import (
    Note,
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
from hybrid.ask.search import SearchRequest, find
from hybrid.base.digest import chunk_digest
from hybrid.base.text import one_line
from hybrid.base.tokens import part_terms
from hybrid.feedback import state as state_files
from hybrid.index.backend import Filter
from hybrid.index.history import open_history
from hybrid.index.roles import bit, roles
from hybrid.knowledge.collections import record_hit
from hybrid.knowledge.stores import names_of, open_stores
from hybrid.operations import lore, types
from hybrid.operations.asking import CONNECTION, OperationError, Outcome, Shown
from hybrid.operations.memory import flushed, found_by, opened
from hybrid.prompting.clean import prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.lessons.types import AI, Draft, full_lines, index_line, is_id, shown
from hybrid.records.lore.types import called, full_text, listed
from hybrid.records.memory.types import Owner, RowFilter, name_of, record_of
from hybrid.records.scoring import MAX_RELEVANCE
from hybrid.redact import redact
from hybrid.render.marks import harmless, harmless_line
from hybrid.render.numbers import amount
from hybrid.sources.records import path_of, record_id, record_text
from hybrid.types import Hit, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.ask.memory_lookup import OpenMemory, RowRequest
    from hybrid.ask.search import ResultHit
    from hybrid.index.backend import SearchBackend
    from hybrid.operations.asking import Asking
    from hybrid.records.lessons.types import Lesson
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
_AROUND_ID = " []`#"
"""Characters around an id as people and agents write it: `[L001]`."""
_GIVEN = "  (given earlier in this session)"
_UNKNOWN = "  nothing known"
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
    lines: list[str] = []
    shown: list[Shown] = []
    for one in page:
        told, form = _found(one, wanted.detail, asking, budget)
        lines += told
        if form:
            shown.append(Shown(one.hit, form))
    lines = lines or ["Nothing found."]
    return Outcome("\n".join([*lines, *_more(skip, page, ordered), *result.problems]), tuple(shown))


def _more(skip: int, page: Sequence[object], every: Sequence[object]) -> list[str]:
    """Return a line with the cursor of the next page; none after the last page."""
    end = skip + len(page)
    return [f'More: cursor "{end}"'] if len(every) > end else []


def offset_of(cursor: str) -> int:
    """Return how many hits come before a page.

    Raises:
        OperationError: The cursor is none.
    """
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 4):
        raise OperationError(f"cursor {cursor[:40]!r} is none: give the one that the page before ends with, or none")
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


def _found(one: ResultHit, detail: types.Detail, asking: Asking, budget: _Budget) -> tuple[list[str], str]:
    """Return the lines of a hit, and the form in which its text stands in them; empty where it is left out.

    It is left out when the session was given all of it: of a part, an agent that asks again wants the rest. Nor is a
    part that it looked up a reason to keep back the text from its next prompt, so it counts as a place.
    """
    hit, whole = one.hit, one.text or ""
    is_given = detail == "lines" and asking.ledger.has_whole(hit.digest)
    text = "" if detail == "places" or is_given else whole if detail == "full" else one.telling
    text = budget.take(text, is_best_record=hit.is_record and hit.rank == 1)
    form = "full" if text and text == whole else "pointer"
    header, ref = harmless_line(one.header), ref_of(hit)
    # The title of a pattern does not say its id.
    named = header if ref in header.split() else f"{header}  ref {ref}"
    is_stale = one.text is None and not hit.is_record
    note = "  (changed since it was indexed)" if is_stale else _GIVEN if is_given else ""
    lines = [f"  {line}".rstrip() for line in text.split("\n")] if text else []
    return [f"{named}{note}", *lines], "" if is_given else form


def ref_of(hit: Hit) -> str:
    """Return what `read` finds a hit by."""
    return record_id(hit.path) if hit.is_record else f"{harmless_line(hit.path)}:{hit.start_line}-{hit.end_line}"


# --- read -------------------------------------------------------------------------------------------------


def read(asking: Asking, wanted: types.ReadArguments) -> Outcome:
    """Return a part of an indexed file with its neighbours, or a record in full.

    Raises:
        OperationError: The index has no such file, or no such record may be given here.
        HybridError: There is no index.
    """
    ref = wanted.ref.strip()
    return _record(asking, ref.strip(_AROUND_ID)) or _read_file(asking, ref, wanted.neighbours)


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
    numbered = (f"{number:>6}\t{line}" for number, line in enumerate(part, first))
    note = [f"({_altered(altered)})"] if altered else []
    text = "\n".join([f"{name}:{first}-{last} of {amount(len(lines), 'line')}", *note, *numbered])
    inside = [Shown(view, "full") for view in chunks if view.start_line >= first and view.end_line <= last]
    return Outcome(text, tuple(inside))


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


def _chunks(backend: SearchBackend, path: str) -> list[Hit]:
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


def _with_neighbours(chunks: Sequence[Hit], first: int, last: int, n: int) -> tuple[int, int]:
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
    event = prompt_event(asking.client, asking.session_id, str(asking.workspace.cwd or ""), wanted.prompt)
    decision = answering.decide(Turn(asking.workspace, event, asking.kinds, asking.environ))
    if not decision.is_injected:
        return Outcome(f"Nothing is close enough ({decision.reason}). `search` looks all the same.")
    shown = tuple(Shown(hit, form) for item in decision.items for hit, form in item.given)
    return Outcome(decision.text, shown, frame=decision.text)


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
    companions = [one for one in together if not _is_test(one.path)][: wanted.limit]
    with_it = [f"  {one.share:4.0%}  {_path(one.path)} ({one.commits})" for one in companions] or [_UNKNOWN]
    tested = [f"  {_path(test)}" for test in tests[: wanted.limit]] or [_UNKNOWN]
    head = f"{_path(path)}: in {amount(n_commits, 'commit')}"
    return Outcome("\n".join([head, "Changes with:", *with_it, "Tested by:", *tested]))


def _path(path: str) -> str:
    return harmless_line(redact(path))


def _is_test(path: str) -> bool:
    return bool(roles(path, ()) & bit("test"))


def _tests(searcher: Searcher, path: str, chunks: Sequence[Hit], shares: Mapping[str, float]) -> list[str]:
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


def _record(asking: Asking, name: str) -> Outcome | None:
    """Return all of a record, as its command shows it; None when none of this id may be given here.

    Letter case decides only where two ids differ by nothing else: `s123` is a summary, `S123` a lesson.
    """
    return _outcome(
        asking,
        _lessons_called(asking, name)
        or _row(asking, name.lower())
        or _lessons_called(asking, name.upper())
        or _lore(asking, name),
    )


def _outcome(asking: Asking, found: Sequence[tuple[str, Record]]) -> Outcome | None:
    """Return records by their texts, secrets masked; None without any."""
    if not found:
        return None
    text = "\n".join(text for text, _ in found)
    shown = tuple(Shown(record_hit(record.id, record), "full") for _, record in found)
    return Outcome(redact(text) if asking.workspace.config.privacy.redact else text, shown)


def _lessons_called(asking: Asking, name: str) -> list[tuple[str, Record]]:
    """Return the lessons with an id: after branches were merged, two may have one."""
    if not is_id(name):
        return []
    found = asking.kinds.stores.lessons(asking.workspace)
    lesson = found.active.get(name)
    whole = {lesson.record().text: full_lines(lesson)} if lesson else {}
    records = [record for record in found.records if record.id == name]
    return [("\n".join(whole.get(one.text, [one.shown, *one.lines])), one) for one in records]


def _row(asking: Asking, name: str) -> list[tuple[str, Record]]:
    """Return a row of the memory by its id, or its path in the index; none of a project that is kept apart."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    identity = id_of(record_id(name)) if re.fullmatch(r"[os]?[1-9]\d{0,7}", record_id(name)) else None
    if identity is None or not store.exists or not workspace.config.memory.enabled:
        return []
    own = workspace.require_project().key
    rows = [row for row in rows_of(store, [identity]) if workspace.config.memory.cross_project or row.owner.key == own]
    return [(list_text([RankedRow(row)], "full", here=own), record_of(row, here=own)) for row in rows]


def _lore(asking: Asking, beginning: str) -> list[tuple[str, Record]]:
    """Return a record of lore by its id, or by the beginning of one that reaches beyond the word for its kind."""
    stores, workspace, wanted = asking.kinds.stores, asking.workspace, beginning.lower()
    known = {record.id.lower() for record in stores.lore(workspace)}
    if wanted not in known and not ("-" in wanted and any(identity.startswith(wanted) for identity in known)):
        return []
    one = called(listed(stores.shelf(workspace).read(), names_of(workspace)), beginning)
    return [(full_text(one), one.record)] if one else []


_MOST_ROWS = 100
"""Rows that may be paged through."""


# --- lessons ----------------------------------------------------------------------------------------------


def lessons(asking: Asking, wanted: types.LessonsArguments) -> Outcome:
    """Return one lesson, those that fit a query, or the most used.

    Raises:
        OperationError: There is no such lesson.
        LessonsError: The files cannot be read.
    """
    if wanted.id:
        one = _outcome(asking, _lessons_called(asking, wanted.id.strip(_AROUND_ID).upper()))
        if one is None:
            raise OperationError(f"there is no active lesson {wanted.id[:40]!r}")
        return one
    found = asking.kinds.stores.lessons(asking.workspace)
    relevance: dict[str, int] = {}
    if wanted.query.strip():
        hits = found.scorer.best(wanted.query, top_k=wanted.limit)
        chosen, relevance = [hit.lesson for hit in hits], {hit.lesson.id: hit.relevance for hit in hits}
    else:
        every = sorted(found.active.values(), key=lambda one: (-one.uses, -one.velocity, one.id))
        chosen = every[: wanted.limit]
    lines = [line for one in chosen for line in _lesson_lines(one, relevance.get(one.id))]
    records = {record.id: record for record in found.records}
    given = [Shown(record_hit(one.id, records[one.id]), "full") for one in chosen]
    return Outcome("\n".join(lines) or "No lesson fits.", tuple(given))


def _lesson_lines(lesson: Lesson, relevance: int | None) -> list[str]:
    fits = "" if relevance is None else f" (relevance {relevance}/{MAX_RELEVANCE})"
    lines = shown(lesson).content.split("\n")
    return [f"{one_line(index_line(lesson))}{fits}", *(f"  {line}".rstrip() for line in lines if line)]


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
    workspace.require_project()
    decision = types.AddDecision(text=wanted.decision, why=wanted.why, alternative=wanted.alternatives, tag=wanted.tags)
    return Outcome(f"Wrote down decision {lore.decide(asking, decision, asking.client).data['id']}.")


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
        return Outcome(f"Wrote down lesson {added.lesson.id}.")
    twin = added.duplicate_of.id if added.duplicate_of else "another lesson"
    return Outcome(f"Not written: {twin} says nearly the same.")


def _note(asking: Asking, wanted: types.RememberArguments) -> Outcome:
    workspace = asking.workspace
    if not workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project = workspace.require_project()
    note = Note(wanted.type, wanted.title, f"noted by {asking.client}", wanted.text, wanted.facts, (), wanted.files)
    owner = Owner(asking.session_id or f"{CONNECTION}{asking.client}", project.key, project.name)
    row = asking.kinds.stores.memory(workspace).add_observation(owner, told(note, project.root), asking.now_ms)
    if row is not None:
        return Outcome(f"Wrote down observation {name_of(row)}.")
    return Outcome("Not written again: the same was stored within the last hour, and counted there.")


def recall(asking: Asking, wanted: types.RecallArguments) -> Outcome:
    """Return rows of the memory: by a query, around a row, of files, or the newest.

    Raises:
        OperationError: The memory is off, or `around` names no row.
        HybridError: A filter has no such form, or the memory cannot be searched.
    """
    if not asking.workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project, skip = asking.workspace.require_project(), offset_of(wanted.cursor)
    memory = flushed(opened(asking))
    files = project_paths(wanted.files, None, project.root)
    only = memory.scope.wanted(asking.now_ms, wanted.since, wanted.types, files)
    request = memory.request(only, min(skip + wanted.limit + 1, _MOST_ROWS))
    rows = _rows(asking, memory, wanted, request)
    page = rows[skip : skip + wanted.limit]
    own, form = memory.scope.present, "full" if wanted.detail == "full" else "index"
    told: list[str] = []
    shown_rows: list[Shown] = []
    for one in page:
        record = record_of(one.row, here=own)
        is_given = asking.ledger.has_whole(chunk_digest(record_text(record)))
        head, end, rest = list_text([one], form, here=own).partition("\n")
        told.append(f"{head}{_GIVEN if is_given else ''}{end}{rest}")
        shown_rows.append(Shown(record_hit(path_of(one.row), record), "full" if form == "full" else "pointer"))
    listed = ("\n\n" if form == "full" else "\n").join(told) or "Nothing is remembered of that."
    return Outcome("\n".join([listed, *_more(skip, page, rows)]), tuple(shown_rows))


def _rows(asking: Asking, memory: OpenMemory, wanted: types.RecallArguments, request: RowRequest) -> list[RankedRow]:
    if wanted.around:
        identity = id_of(wanted.around)
        middle = rows_of(memory.store, [identity]) if identity else []
        # The store gives the row that is named, whosever it is.
        if identity is None or not middle or memory.scope.key not in ("", middle[0].owner.key):
            raise OperationError(f"the memory has no row {wanted.around[:40]!r}")
        before, after = around(wanted.limit, None, None)
        return [RankedRow(row) for row in memory.store.timeline(*identity, before, after, request.wanted)]
    if wanted.query.strip():
        return found_by(asking, memory, request, wanted.query)
    if request.wanted.files:
        return of_files(memory.store, request.wanted.files, request)
    return recent(memory.store, request)


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
    event = HookEvent(asking.client, "SessionStart", "", "", str(asking.workspace.cwd or ""), source="startup")
    decision = start_session(Turn(asking.workspace, event, asking.kinds, asking.environ))
    text = decision.text or f"Nothing is known of this project yet ({decision.reason})."
    return Outcome(text, frame=decision.text)


def hot_topics(asking: Asking, _: types.Nothing) -> Outcome:
    """Return the files and symbols that were injected most, as `hot-topics.md` has them."""
    state = state_files.read_state(asking.workspace.state_folder)
    return Outcome(state_files.hot_topics(state, datetime.fromtimestamp(asking.now_ms / 1000, timezone.utc)))


def hand_over(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for a handoff, with what the memory knows of this session."""
    return Outcome(_HAND_OVER + _done_lately(asking))


def learned(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for the lessons of a session, with what the memory knows of it."""
    return Outcome(_LEARNED + _done_lately(asking))


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
