"""Operations on the memory: what happened in earlier sessions, for people and for programs that ask over HTTP.

What waits to be looked at is told of first. Filters restrict before limits count; what is forgotten goes for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from msgspec import Meta
from msgspec.structs import replace

from hybrid.ask import memory_lookup
from hybrid.ask.memory_lookup import (
    OpenMemory,
    RankedRow,
    list_text,
    newest_first,
    project_paths,
    require_ids,
    row_json,
    rows_of,
)
from hybrid.base.digest import chunk_digest
from hybrid.base.errors import HybridError
from hybrid.knowledge.memory_intake import flush
from hybrid.knowledge.stores import figures_form, open_stores, rows_in_words
from hybrid.operations.asking import CONNECTION, ForAgents, OperationError, Outcome, Shown, changing, operation
from hybrid.operations.search import GIVEN, more_after, offset_of
from hybrid.operations.types import Arguments, Cursor, Limit, Nothing, Paths, option, word
from hybrid.records.lessons.types import AI, Draft
from hybrid.records.memory.types import (
    MEMORY_KINDS,
    OBSERVATION_TYPES,
    ROW_TYPES,
    ForgetReport,
    Observation,
    Owner,
    body_lines,
    full_lines,
    index_line,
    kind_of,
    name_of,
    parse_name,
    record_of,
    row_name,
)
from hybrid.records.types import MemoryFormatError
from hybrid.redact import redact
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount, local_time
from hybrid.sources.records import path_of, record_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.ask.memory_lookup import RowRequest
    from hybrid.operations.asking import Asking
    from hybrid.records.memory.store import MemoryStore, RowCounts
    from hybrid.records.memory.types import MemoryKind, Row
    from hybrid.search.searcher import Mode
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_Value = TypeVar("_Value")

ALL, HERE = "*", "."
"""Projects that stand for all of them, and for the present one."""

_NOTHING = "Nothing found."
_BY_HAND = "manual"
"""The session of observations that somebody wrote down by hand."""
_SHOWN = 10
_MOST_TOLD = 100
_MOST_FILES = 12
_READ = "Another process is reading the database: the bytes go when it is done, or with the next forgetting."


_FORMS = ("index", "full")
_IDS = "o42, of a summary s7"


class MemoryFilters(Arguments, frozen=True, kw_only=True):
    """Filters of rows.

    `project` is a name, a key or a path, `.` for the present one or `*` for all; without it the settings decide.
    """

    project: Annotated[str, Meta(description="only of this project, by name or key")] = ""
    limit: Annotated[int, option("records to show, 1 to 100 (default: 10)", "N", ge=1, le=100)] = 10
    since: Annotated[str, option("today, yesterday, 7d, 2w, an ISO date or time, or an epoch", "TIME")] = ""
    type: Annotated[
        list[str], option(f"only this type, may be repeated: {', '.join(ROW_TYPES)}", "TYPE", choices=ROW_TYPES)
    ] = []
    file: Annotated[
        list[str], option("only what touched this file or folder of the project; may be repeated", "PATH")
    ] = []


class MemoryList(MemoryFilters, frozen=True, kw_only=True):
    """Filters, and how rows are shown: `verbose` with their prompts, `quiet` without days."""

    form: Annotated[str, option("a line each, or in full (default: index)", choices=_FORMS)] = ""
    explain: Annotated[bool, option("show the parts of each rank")] = False
    verbose: bool = False
    quiet: bool = False


@operation("memory recent", "the last work done", "--since 7d --type bugfix --explain")
def recent(asking: Asking, wanted: MemoryList) -> Outcome:
    """Return rows chosen by rank, shown by day."""
    memory, request = _look(asking, wanted)
    found = memory_lookup.recent(memory.store, request)
    is_filtered = wanted.since or wanted.type or wanted.file
    nothing = _NOTHING if found or is_filtered else _nothing_known(memory)
    listed = replace(_listed(memory, wanted, newest_first(found), nothing, by_day=True), data=_data(memory, found))
    return listed if wanted.quiet else replace(listed, text=f"{neutralise_line(memory.scope.heading)}\n{listed.text}")


class MemoryContext(MemoryFilters, frozen=True, kw_only=True):
    """Filters; without a limit as many rows as a session is told of at its start."""

    limit: Annotated[int, Meta(ge=1, le=100, description="records to show")] = 0
    form: Annotated[str, Meta(description="json, or the text alone", extra={"choices": ("json", "text")})] = "json"


@operation("memory context", route="/context")
def context(asking: Asking, wanted: MemoryContext) -> Outcome:
    """Return a project's last summary and the newest rows by day, as a session is told at its start."""
    usual = min(max(asking.workspace.config.memory.session_start, 1), _MOST_TOLD)
    memory, request = _look(asking, replace(wanted, limit=wanted.limit or usual))
    found, scope = memory_lookup.recent(memory.store, request), memory.scope
    last = [RankedRow(row) for row in memory.store.last_summaries(scope.key, 1)] if scope.key else []
    listed = list_text(newest_first(found), "index", here=scope.present, by_day=True) or _nothing_known(memory)
    text = "\n".join([scope.heading, *(list_text([one], "full") for one in last), listed])
    data = _data(memory, found, summary=row_json(last[0]) if last else None) | {"text": text}
    return Outcome(text, data=data, is_found=bool(found))


class BrowseMemory(MemoryFilters, frozen=True, kw_only=True):
    """A page of rows, newest first, or with words those that fit, best first; without a project of the present one.

    `before` is the `next_before` of the page before.
    """

    query: str = ""
    session: str = ""
    before: str = ""


@operation("memory browse")
def browse(asking: Asking, wanted: BrowseMemory) -> Outcome:
    """Return a page of the timeline, newest first, or what fits a query, best first; with the numbers of rows.

    Raises:
        OperationError: `before` is no place of a page, or a filter has no such form.
        HybridError: A project is not known, or the memory cannot be read.
    """
    # Summaries have no type and stand alone.
    sorts = [[name for name in wanted.type if name != "summary"], [name for name in wanted.type if name == "summary"]]
    looks = [_look(asking, replace(wanted, type=one), is_own=True) for one in filter(None, sorts)]
    looks = looks or [_look(asking, wanted, is_own=True)]
    memory = looks[0][0]
    requests = [replace(one, wanted=replace(one.wanted, session_id=wanted.session)) for _, one in looks]
    if wanted.query.strip():
        ranked = [row for one in requests for row in found_by(asking, memory, one, wanted.query)]
        ranked.sort(key=lambda one: -(one.parts.score if one.parts else 0.0))
        found, more = ranked[: wanted.limit], ""
    else:
        rows = [row for one in requests for row in _older(memory.store, one, wanted.before)]
        rows.sort(key=lambda row: (row.created_ms, MEMORY_KINDS.index(kind_of(row)), row.id), reverse=True)
        found = [RankedRow(row) for row in rows[: wanted.limit]]
        last = found[-1].row if len(rows) > wanted.limit else None
        more = f"{last.created_ms}.{name_of(last)}" if last else ""
    counted = _counted(memory.store)
    by_type = counted.of(memory.scope.key)
    named = [(key, name, sum(counted.of(key).values())) for key, name in counted.names.items()]
    is_counted = not (wanted.file or wanted.since.strip() or wanted.session or wanted.query.strip())
    data = _data(memory, found) | {
        "records": [_shown(one, body_lines(one.row)) for one in found],
        "next_before": more,
        "projects": sorted(named, key=lambda one: (-one[2], one[1], one[0])),
        "types": by_type,
        # Else only a look at each row would tell.
        "total": sum(n for name, n in by_type.items() if name in (wanted.type or by_type)) if is_counted else None,
        "is_enabled": asking.workspace.config.memory.enabled,
    }
    return Outcome("", data=data, is_found=bool(found))


_COUNTED: dict[str, RowCounts] = {}
"""Path of a memory → its counts at a change: to count 100,000 rows takes a fifth of a second."""


def _counted(store: MemoryStore) -> RowCounts:
    path = str(store.path)
    _COUNTED[path] = store.counts(_COUNTED.get(path))
    return _COUNTED[path]


def _older(store: MemoryStore, request: RowRequest, before: str) -> list[Row]:
    """Return one row more than the limit says before a place, newest first; from the newest on without a place.

    Raises:
        OperationError: It is no place.
    """
    limit, only = request.limit + 1, request.wanted
    if not before:
        return store.newest(only, limit)
    ms, _, name = before.partition(".")
    identity = parse_name(name)
    if identity is None or not (ms.isascii() and ms.isdigit() and len(ms) < 16):
        raise OperationError(f"{before[:40]!r} is no place in the memory")
    found = store.timeline(*identity, limit, 0, only)
    # The row may have been forgotten meanwhile: then its time tells the place.
    return found[:-1] if found else store.timeline_at(int(ms), limit, 0, only)


def _shown(one: RankedRow, lines: Sequence[str]) -> dict[str, Any]:
    """Return a row as the page shows it: its JSON with lines and files, secrets masked."""
    row, form = one.row, row_json(one)
    files = [redact(path) for path in row.told.files[:_MOST_FILES]] if isinstance(row, Observation) else []
    return form | {
        "title": redact(form["title"] or "") or None,
        "lines": [redact(line) for line in lines],
        "files": files,
    }


class SearchMemory(MemoryList, frozen=True, kw_only=True):
    """A query, and the rows that it may find."""

    query: Annotated[str, word("words, a question", "QUERY", is_sentence=True)]
    mode: Annotated[str, option("legs that take part", choices=("hybrid", "dense", "lexical"))] = "hybrid"


@operation("memory search", "what fits a question, the best first", '"which test failed first" --here', route="/search")
def search(asking: Asking, wanted: SearchMemory) -> Outcome:
    """Return the rows that fit a query, best first.

    Raises:
        OperationError: The query says nothing.
        HybridError: A filter has no such form, or the index of the memory cannot be used.
    """
    if not wanted.query.strip():
        raise OperationError("say what to search")
    memory, request = _look(asking, wanted)
    found = found_by(asking, memory, request, wanted.query, cast("Mode", wanted.mode))
    is_off = not asking.workspace.config.memory.enabled
    off = "the memory is switched off, so it is not searched: `memory.enabled`" if is_off else ""
    listed = _listed(memory, wanted, found, query=wanted.query)
    return replace(listed, warning="; ".join(filter(None, (listed.warning, off))))


class MemoryOfFiles(MemoryList, frozen=True, kw_only=True):
    """Files or folders."""

    path: Annotated[list[str], word("a file, or a folder with everything in it", "PATH")]
    file: Annotated[list[str], Meta(description="another file that they touched")] = []


@operation(
    "memory files",
    "what was done with files, the newest first",
    "src/payments/client.py docs",
    route="/files",
)
def files(asking: Asking, wanted: MemoryOfFiles) -> Outcome:
    """Return rows on files or folders, newest first; of the present project unless told otherwise.

    Raises:
        OperationError: No file is named.
    """
    memory, request = _look(asking, wanted, is_own=True)
    paths = _paths(memory, wanted.path)
    if not paths:
        raise OperationError("say which file or folder, relative to its project")
    found = memory_lookup.of_files(memory.store, paths, request)
    return _listed(memory, wanted, found, by_day=True, files=list(paths))


class ShowRows(Arguments, frozen=True):
    """Rows by their ids; `verbose` tells more of each."""

    id: Annotated[list[str], word(_IDS, "ID", min_length=1)]
    form: Annotated[str, Meta(description="a line each, or in full", extra={"choices": _FORMS})] = ""
    verbose: bool = False


@operation("memory show", "records in full", "o42 s7", route="/observations/{id}")
def show(asking: Asking, wanted: ShowRows) -> Outcome:
    """Return rows in full, in the order asked for.

    Raises:
        OperationError: A text is no id.
    """
    ids = _as_asked(lambda: require_ids(wanted.id))
    memory = flushed(opened(asking))
    rows = rows_of(memory.store, ids)
    there = {name_of(row) for row in rows}
    missing = ", ".join(name for one in ids if (name := row_name(*one)) not in there)
    nothing = f"No record {', '.join(wanted.id)}; `hybrid memory recent` shows ids."
    wanted = replace(wanted, form=wanted.form or "full")
    listed = _listed(memory, wanted, [RankedRow(row) for row in rows], nothing)
    if wanted.verbose:
        listed.data["records"] = [_whole(row, memory) for row in rows]
    if not rows:
        return replace(listed, missing=", ".join(wanted.id))
    return replace(listed, warning=f"no record {missing}") if missing else listed


def _whole(row: Row, memory: OpenMemory) -> dict[str, Any]:
    n_rows = len(memory.store.session_rows(row.owner.session_id))
    one = RankedRow(row)
    return _shown(one, full_lines(row)) | {"prompt": redact(_asked(one, memory)), "session_rows": n_rows}


def _beside(side: str) -> Meta:
    return option(f"records {side} it, 0 to 100 (default: half of --limit)", "N", ge=0, le=100)


class Timeline(MemoryList, frozen=True, kw_only=True):
    """A row or a time, and how much around it."""

    at: Annotated[str, word("a record, or a time as for --since", "ID|DATE")]
    before: Annotated[int, _beside("before")] | None = None
    after: Annotated[int, _beside("after")] | None = None
    explain: Annotated[bool, Meta(description="without effect: no row is ranked")] = False


@operation(
    "memory timeline",
    "what happened before and after a record or a time, in one project unless told otherwise",
    "o42 --before 5 --after 5",
    route="/timeline",
)
def timeline(asking: Asking, wanted: Timeline) -> Outcome:
    """Return rows around a row or a time, oldest first.

    Raises:
        OperationError: It is neither.
    """
    memory, request = _look(asking, wanted, is_own=True)
    before, after = memory_lookup.around(wanted.limit, wanted.before, wanted.after)
    identity, store, only = memory_lookup.id_of(wanted.at), memory.store, request.wanted
    if identity is None:
        rows = store.timeline_at(
            _as_asked(lambda: memory_lookup.since_ms(wanted.at, asking.now_ms)), before, after, only
        )
    else:
        rows = rows_of(store, [identity])
        if rows:
            # What came before and after it was done in its own project, wherever one asks.
            only = replace(only, key=rows[0].owner.key) if wanted.project in ("", HERE) else only
            rows = store.timeline(*identity, before, after, only)
    missing = wanted.at if identity and not rows else ""
    nothing = f"No record {missing}." if missing else _NOTHING
    listed = _listed(memory, wanted, [RankedRow(row) for row in rows], nothing, by_day=True, at=wanted.at)
    return replace(listed, missing=missing)


@operation("memory stats", "how much is known, and of what", "--json")
def stats(asking: Asking, wanted: Nothing) -> Outcome:
    """Count what the memory holds."""
    memory = opened(asking)
    counted = memory.store.stats()
    data = figures_form(memory.workspace, memory.store, counted)
    is_any = bool(counted.n_sessions or counted.n_observations or counted.n_summaries)
    return Outcome("\n".join(_stats_lines(data)), data=data, is_found=is_any)


def _stats_lines(data: Mapping[str, Any]) -> list[str]:
    rows = [
        *((name, f"{data[name]:>9,}") for name in ("observations", "summaries", "prompts", "sessions", "pending")),
        ("from", local_time(data["oldest"] or "–")),
        ("to", local_time(data["newest"] or "–")),
        ("database", f"{data['size_bytes'] / 1e6:,.1f} MB, {data['path']}"),
        ("index", f"{data['index_bytes'] / 1e6:,.1f} MB"),
        *([("types", ", ".join(f"{name} {n:,}" for name, n in data["by_type"].items()))] if data["by_type"] else []),
    ]
    projects = (
        f"{one['key']}  {rows_in_words(one['observations'], one['summaries']):>34}  {neutralise_line(one['project'])}"
        for one in data["by_project"]
    )
    return [*(f"{label:<13}{text}" for label, text in rows), *projects]


# --- changing -----------------------------------------------------------------------------------------------


class AddRow(Arguments, frozen=True):
    """An observation that somebody writes down."""

    title: Annotated[str, word("what was done or found, in one line", "TITLE", is_sentence=True)]
    narrative: Annotated[str, option("what, why, and how it ended", "TEXT")] = ""
    type: Annotated[str, option("default: discovery", choices=OBSERVATION_TYPES)] = "discovery"
    fact: Annotated[list[str], option("may be repeated", "TEXT")] = []
    concept: Annotated[list[str], option("gotcha, pattern, …; may be repeated", "WORD")] = []
    file: Annotated[list[str], option("that it is about; may be repeated", "PATH")] = []


@changing(
    "memory add",
    "write down an observation of your own",
    '"Deploys need the VPN" --type discovery --fact "the registry is internal"',
)
def add(asking: Asking, wanted: AddRow) -> Outcome:
    """Store an observation without private spans and secrets, or count it if it was stored within the last hour.

    Raises:
        HybridError: There is no project here, the title says nothing, or the memory cannot be written.
    """
    project = asking.workspace.require_project()
    sort = cast("ObservationType", wanted.type)
    note = memory_lookup.Note(sort, wanted.title, "", wanted.narrative, wanted.fact, wanted.concept, wanted.file)
    owner, store = Owner(_BY_HAND, project.key, project.name), asking.kinds.stores.memory(asking.workspace)
    row = store.add_observation(owner, memory_lookup.told(note, project.root), asking.now_ms)
    if row is None:
        said = "Not stored: the same was stored within the last hour; it was counted there."
        return Outcome(said, data={"records": [], "repeated": True})
    data = {"records": [row_json(RankedRow(row))], "repeated": False}
    return Outcome(neutralise_line(index_line(row)), data=data)


class ForgetRows(Arguments, frozen=True):
    """Rows to forget for good; without `yes` it is only said which."""

    id: Annotated[list[str], word(_IDS, "ID", is_one_of="must")] = []
    session: Annotated[str, option("all of a session; --verbose of the lists shows its ID", "ID", is_one_of="must")] = (
        ""
    )
    project_data: Annotated[str, option("all of a project, by name or key", "NAME", is_one_of="must")] = ""
    everything: Annotated[bool, option("all of all projects", is_one_of="must")] = False
    yes: Annotated[bool, option("do not ask")] = False


@changing("memory forget", "delete for good: the row, its full text and its vector", "o42 s7")
def forget(asking: Asking, wanted: ForgetRows) -> Outcome:
    """Delete rows for good, also from the indexes and from what hooks kept; without `yes` only say which.

    Raises:
        OperationError: A text is no id, or not one of a session, a project, everything and rows is named.
        HybridError: A project is not known, or another process holds the memory.
    """
    from hybrid.hooks.taking import forget_waiting
    from hybrid.index.plan import silent
    from hybrid.upkeep.purging import purge_index  # Brings numpy.

    memory, ids = opened(asking), _as_asked(lambda: require_ids(wanted.id))
    if sum(map(bool, (ids, wanted.session, wanted.project_data, wanted.everything))) != 1:
        raise OperationError("name rows, or one session")
    named = wanted.project_data
    key, name = memory_lookup.project_named(named, asking.workspace.home, memory.store) if named else ("", "")
    what = _named(memory, wanted, ids, name)
    if not wanted.yes:
        return Outcome(what, is_found=bool(what))

    def is_meant(workspace: Workspace, event: HookEvent) -> bool:
        if key:
            return workspace.project is not None and workspace.project.key == key
        return wanted.everything or bool(wanted.session and event.session_id == wanted.session)

    store, n_waiting = memory.store, 0 if ids else forget_waiting(asking.workspace.home, asking.environ, is_meant)
    done = ForgetReport(0, is_wiped=True)
    if what and wanted.everything:
        done = store.forget_everything()
    elif what:
        one = wanted.session
        done = store.forget_project(key) if key else store.forget_session(one) if one else store.forget(ids)
    n = done.n + n_waiting
    problems = purge_index(asking.workspace, store, progress=asking.progress or silent) if n else ()
    said = [f"Forgot {amount(n, 'row')} for good: text, full-text index and vectors are deleted, and do not come back."]
    if not done.is_wiped:
        said.append(_READ)
    data = {
        "forgotten": n,
        "is_gone": done.is_wiped and not problems,
        "problems": list(problems),
        "set_aside": [str(path) for path in store.set_aside],
    }
    return Outcome("\n".join(said) if n else "Nothing to forget.", data=data, is_found=bool(n))


def _named(memory: OpenMemory, wanted: ForgetRows, ids: Sequence[tuple[MemoryKind, int]], project: str) -> str:
    """Return a text for a person that says what would be forgotten; empty when there is nothing."""
    store = memory.store
    if wanted.everything:
        counted = store.stats()
        n = counted.n_observations + counted.n_summaries + counted.n_prompts + counted.n_sessions + counted.n_pending
        return f"Everything: {rows_in_words(counted.n_observations, counted.n_summaries)}" if n else ""
    if project:
        return f"Everything of the project {project}"
    if wanted.session:
        session = store.session(wanted.session)
        return f"Session {wanted.session} of {session.owner.project}, with its prompts" if session else ""
    rows = rows_of(store, ids)
    shown = list_text([RankedRow(row) for row in rows[:_SHOWN]], "index", here=memory.scope.present)
    return f"{shown}\n… {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else shown


# --- for agents -------------------------------------------------------------------------------------------


ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
_MOST_ROWS = 100
"""Rows that may be paged through."""


class RecallArguments(Arguments, frozen=True):
    """A choice of rows of the memory: by a query, around a row, of files, or the newest."""

    query: Annotated[str, Meta(max_length=5000, description="What it should be about; empty: the newest.")] = ""
    around: Annotated[str, Meta(description="An id (`o42`, `s7`): what came before and after it.")] = ""
    files: Paths = []
    types: Annotated[list[ObservationType], Meta(description="Only these sorts of work.")] = []
    since: Annotated[str, Meta(description="`7d`, `12h` or a date such as 2026-01-31.")] = ""
    limit: Limit = 10
    detail: Annotated[Literal["lines", "full"], Meta(description="lines: one line each. full: all of it.")] = "lines"
    cursor: Cursor = ""


@operation(
    "recall",
    for_agents=ForAgents(
        "Recall earlier work",
        "What earlier sessions did here: fixes, features, findings, failed attempts. By a question, by files, around a "
        "row, or the newest. Use it before you debug or redo something.",
    ),
)
def recall(asking: Asking, wanted: RecallArguments) -> Outcome:
    """Return rows of the memory: by a query, around a row, of files, or the newest.

    Raises:
        OperationError: The memory is off, or `around` names no row.
        HybridError: A filter has no such form, or the memory cannot be searched.
    """
    from hybrid.knowledge.collections import record_hit

    if not asking.workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project, skip = asking.workspace.require_project(), offset_of(wanted.cursor)
    memory = flushed(opened(asking))
    files = project_paths(wanted.files, None, project.root)
    only = memory.scope.wanted(asking.now_ms, wanted.since, wanted.types, files)
    request = memory.request(only, min(skip + wanted.limit + 1, _MOST_ROWS))
    rows = _recalled(asking, memory, wanted, request)
    page = rows[skip : skip + wanted.limit]
    own, form = memory.scope.present, "full" if wanted.detail == "full" else "index"
    told: list[str] = []
    shown_rows: list[Shown] = []
    for one in page:
        record = record_of(one.row, here=own)
        is_given = asking.ledger.has_whole(chunk_digest(record_text(record)))
        head, end, rest = list_text([one], form, here=own).partition("\n")
        told.append(f"{head}{GIVEN if is_given else ''}{end}{rest}")
        shown_rows.append(Shown(record_hit(path_of(one.row), record), "full" if form == "full" else "pointer"))
    listed = ("\n\n" if form == "full" else "\n").join(told) or "Nothing is remembered of that."
    return Outcome("\n".join([listed, *more_after(skip, page, rows)]), tuple(shown_rows))


def _recalled(asking: Asking, memory: OpenMemory, wanted: RecallArguments, request: RowRequest) -> list[RankedRow]:
    if wanted.around:
        identity = memory_lookup.id_of(wanted.around)
        middle = rows_of(memory.store, [identity]) if identity else []
        # The store gives the row that is named, whosever it is.
        if identity is None or not middle or memory.scope.key not in ("", middle[0].owner.key):
            raise OperationError(f"the memory has no row {wanted.around[:40]!r}")
        before, after = memory_lookup.around(wanted.limit, None, None)
        return [RankedRow(row) for row in memory.store.timeline(*identity, before, after, request.wanted)]
    if wanted.query.strip():
        return found_by(asking, memory, request, wanted.query)
    if request.wanted.files:
        return memory_lookup.of_files(memory.store, request.wanted.files, request)
    return memory_lookup.recent(memory.store, request)


class RememberArguments(Arguments, frozen=True):
    """The observation, or the lesson."""

    title: Annotated[str, Meta(min_length=1, max_length=400, description="One line that says what was found or done.")]
    text: Annotated[str, Meta(max_length=8000, description="More, in prose; of a lesson the rule itself.")] = ""
    kind: Annotated[
        Literal["observation", "lesson"],
        Meta(description="observation: what happened here. lesson: a rule for work to come."),
    ] = "observation"
    type: Annotated[ObservationType, Meta(description="Sort of an observation.")] = "discovery"
    facts: Annotated[list[str], Meta(max_length=20, description="Single statements: names, numbers, commands.")] = []
    files: Paths = []
    triggers: Annotated[
        list[str], Meta(max_length=20, description="Words that should bring a lesson though it does not hold them.")
    ] = []


@changing(
    "remember",
    for_agents=ForAgents(
        "Remember something",
        "Write down a finding for later sessions, or (kind `lesson`) a rule for work to come. Only what the code and "
        "the commits do not say already.",
    ),
)
def remember(asking: Asking, wanted: RememberArguments) -> Outcome:
    """Write an observation or a lesson down, with the client as its author.

    Raises:
        HybridError: The memory or the lessons are off, in use or cannot be written.
    """
    return _learn(asking, wanted) if wanted.kind == "lesson" else _note(asking, wanted)


def _learn(asking: Asking, wanted: RememberArguments) -> Outcome:
    if not asking.workspace.config.lessons.enabled:
        raise OperationError("lessons are switched off here (`lessons.enabled`)")
    store = open_stores(asking.workspace).of_project()
    draft = Draft(wanted.title, wanted.text or wanted.title, source=AI, triggers=tuple(wanted.triggers))
    added = store.add(draft, today=asking.today)
    if added.lesson is not None:
        return Outcome(f"Wrote down lesson {added.lesson.id}.")
    twin = added.duplicate_of.id if added.duplicate_of else "another lesson"
    return Outcome(f"Not written: {twin} says nearly the same.")


def _note(asking: Asking, wanted: RememberArguments) -> Outcome:
    workspace = asking.workspace
    if not workspace.config.memory.enabled:
        raise OperationError("the memory is switched off here (`memory.enabled`)")
    project = workspace.require_project()
    note = memory_lookup.Note(
        wanted.type, wanted.title, f"noted by {asking.client}", wanted.text, wanted.facts, (), wanted.files
    )
    owner = Owner(asking.session_id or f"{CONNECTION}{asking.client}", project.key, project.name)
    row = asking.kinds.stores.memory(workspace).add_observation(
        owner, memory_lookup.told(note, project.root), asking.now_ms
    )
    if row is not None:
        return Outcome(f"Wrote down observation {name_of(row)}.")
    return Outcome("Not written again: the same was stored within the last hour, and counted there.")


# --- parts --------------------------------------------------------------------------------------------------


def opened(asking: Asking, project: str = "", *, is_own: bool = False) -> OpenMemory:
    """Return the memory with the projects whose rows are looked at.

    Args:
        asking: Who asks, and where.
        project: As of `MemoryFilters`.
        is_own: Without a project only the present one's rows, also where the settings want those of all.

    Raises:
        ProjectError: The project is not known, or there is none here.
    """
    workspace, store = asking.workspace, asking.kinds.stores.memory(asking.workspace)
    if project == HERE:
        workspace.require_project()
    own = workspace.project
    key, name = (own.key, own.name) if own else ("", "")
    if project not in ("", ALL, HERE, key):
        named, name = memory_lookup.project_named(project, workspace.home, store)
        return OpenMemory(workspace, store, memory_lookup.MemoryScope(named, name, key or named), asking.now_ms)
    is_apart = is_own or project != "" or not workspace.config.memory.cross_project
    only = "" if project == ALL or not is_apart else key
    return OpenMemory(workspace, store, memory_lookup.MemoryScope(only, name, key), asking.now_ms)


def flushed(memory: OpenMemory) -> OpenMemory:
    """Make observations of what has waited long enough, and return the memory, with a warning where that failed."""
    if not memory.store.exists:
        return memory
    try:
        return replace(memory, warning="; ".join(flush(memory.workspace, memory.store, memory.now_ms)))
    except MemoryFormatError:
        raise
    except HybridError as error:  # A database that cannot be written may still be read.
        return replace(memory, warning=str(error))


def found_by(
    asking: Asking, memory: OpenMemory, request: RowRequest, query: str, mode: Mode = "hybrid"
) -> list[RankedRow]:
    """Return the rows that fit a query, best first.

    Raises:
        HybridError: The index of the memory cannot be used.
    """
    own = memory.workspace.project
    # Where projects are kept apart, each has an index of its own rows; who names another one wants that of all.
    is_of_others = own is None or memory.scope.key != own.key
    workspace = memory_lookup.across(memory.workspace) if is_of_others else memory.workspace
    return memory_lookup.search(workspace, asking.kinds, query, request, mode=mode)


def _look(asking: Asking, wanted: MemoryFilters, *, is_own: bool = False) -> tuple[OpenMemory, RowRequest]:
    # A path means a file of this project; another one may have one of the same name.
    memory = flushed(opened(asking, wanted.project, is_own=is_own or bool(wanted.file)))
    paths = _paths(memory, wanted.file)
    only = _as_asked(lambda: memory.scope.wanted(asking.now_ms, wanted.since, wanted.type, paths))
    return memory, memory.request(only, wanted.limit)


def _paths(memory: OpenMemory, texts: Sequence[str]) -> tuple[str, ...]:
    """Return typed paths as the memory has them; relative ones count from here (in this project) and from its root."""
    own = memory.workspace.project
    is_here = own is not None and memory.scope.key in ("", own.key)
    return project_paths(texts, memory.workspace.cwd if is_here else None, own.root if own else None)


def _as_asked(read: Callable[[], _Value]) -> _Value:
    """Return what an argument means.

    Raises:
        OperationError: It has no such form.
    """
    try:
        return read()
    except HybridError as error:
        raise OperationError(str(error)) from error


def _nothing_known(memory: OpenMemory) -> str:
    return memory_lookup.nothing_known(memory.store, memory.scope, memory.workspace.config.memory.batch_window_ms)


def _data(memory: OpenMemory, found: Sequence[RankedRow], **echoed: object) -> dict[str, Any]:
    """Return rows as JSON, after what was asked (`echoed`) and the project; `query` is None without a query."""
    return {
        "query": None,
        **echoed,
        "project": memory.scope.name or None,
        "records": [row_json(one) for one in found],
    }


def _listed(
    memory: OpenMemory,
    wanted: MemoryList | ShowRows,
    found: Sequence[RankedRow],
    nothing: str = _NOTHING,
    *,
    by_day: bool = False,
    **echoed: object,
) -> Outcome:
    """Return rows as text and as data, after the echoed arguments."""
    scope, data = memory.scope, _data(memory, found, **echoed)
    if not found:
        return Outcome(nothing, data=data, is_found=False, warning=memory.warning)
    here, is_explained = scope.present or scope.key, getattr(wanted, "explain", False)
    if wanted.verbose:
        each = (
            f"{list_text([one], wanted.form, here=here, is_explained=is_explained)}\n      {_origin(one, memory)}"
            for one in found
        )
        return Outcome(("\n\n" if wanted.form == "full" else "\n").join(each), data=data, warning=memory.warning)
    is_by_day = by_day and not getattr(wanted, "quiet", False)
    text = list_text(found, wanted.form, here=here, by_day=is_by_day, is_explained=is_explained)
    return Outcome(text, data=data, warning=memory.warning)


def _origin(one: RankedRow, memory: OpenMemory) -> str:
    """Return a line with the session of a row, and the prompt it comes of, if known."""
    row, asked = one.row, _asked(one, memory)
    said = f": {asked}" if asked else ""
    return neutralise_line(f"session {row.owner.session_id}, {row.owner.project}, prompt {row.prompt_number}{said}")


def _asked(one: RankedRow, memory: OpenMemory) -> str:
    prompts = memory.store.prompts(one.row.owner.session_id)
    return next((prompt.text for prompt in prompts if prompt.prompt_number == one.row.prompt_number), "")
