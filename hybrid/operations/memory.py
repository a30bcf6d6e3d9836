"""Operations on the memory: what happened in earlier sessions, for people, agents, and programs that ask over HTTP.

What waits to be looked at is told of first. Filters restrict before limits count, and every row has the named parts of
its rank. What is forgotten goes for good.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from msgspec import Meta
from msgspec.structs import asdict, replace

from hybrid.base.text import chunk_digest
from hybrid.knowledge.stores import figures_form, rows_in_words
from hybrid.operations.asking import (
    BY_HAND,
    CONNECTION,
    ForAgents,
    OperationError,
    Outcome,
    Shown,
    changing,
    operation,
    require_enabled,
)
from hybrid.operations.memory_look import (
    HERE,
    Look,
    MemoryFilters,
    found_by,
    look_at,
    newest,
    of_files,
    opened,
    paths_of,
    project_named,
    project_paths,
    require_ids,
    since_ms,
)
from hybrid.operations.search import GIVEN, MODES, more_after, offset_of
from hybrid.operations.types import Arguments, Cursor, Nothing, option, word
from hybrid.records.memory.types import (
    MAX_TITLE_CHARS,
    OBSERVATION_TYPES,
    Extracted,
    ForgetReport,
    Observation,
    ObservationType,
    Owner,
    SessionSummary,
    body_lines,
    full_lines,
    index_line,
    iso,
    kind_of,
    moment_text,
    name_of,
    parse_name,
    record_of,
    row_name,
    title_of,
    type_of,
)
from hybrid.redact import redact
from hybrid.render.marks import neutralise, neutralise_line, without_private
from hybrid.render.numbers import amount, local_time
from hybrid.search.ranking.memory import Parts, RankedRow
from hybrid.sources.records import path_of, record_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.operations.asking import Asking
    from hybrid.records.memory.store import MemoryStore, RowCounts
    from hybrid.records.memory.types import MemoryKind, Row
    from hybrid.search.searcher import Mode
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_NOTHING = "Nothing found."
_SHOWN = 10
_MOST_TOLD = 100
_MOST_FILES = 12
_READ = "Another process is reading the database: the bytes go when it is done, or with the next forgetting."
_FORMS = ("index", "full")
_IDS = "o42, of a summary s7"


class MemoryList(MemoryFilters, frozen=True, kw_only=True):
    """Filters, and how rows are shown: `verbose` with their prompts, `quiet` without days."""

    form: Annotated[str, option("a line each, or in full (default: index)", choices=_FORMS)] = ""
    explain: Annotated[bool, option("show the parts of each rank")] = False
    verbose: bool = False
    quiet: bool = False


@operation("memory recent", "the last work done", "--since 7d --type bugfix --explain")
def recent(asking: Asking, wanted: MemoryList) -> Outcome:
    """Return rows chosen by rank, shown by day."""
    look = look_at(asking, wanted)
    found = newest(look)
    is_filtered = wanted.since or wanted.type or wanted.file
    nothing = _NOTHING if found or is_filtered else _nothing_known(look)
    listed = _listed(look, wanted, found, nothing, by_day=True)
    return listed if wanted.quiet else replace(listed, text=f"{neutralise_line(look.heading)}\n{listed.text}")


class MemoryContext(MemoryFilters, frozen=True, kw_only=True):
    """Filters; without a limit as many rows as a session is told of at its start."""

    limit: Annotated[int, Meta(ge=1, le=100, description="records to show")] = 0
    form: Annotated[str, Meta(description="json, or the text alone", extra={"choices": ("json", "text")})] = "json"


@operation("memory context", route="/context")
def context(asking: Asking, wanted: MemoryContext) -> Outcome:
    """Return a project's last summary and the newest rows by day, as a session is told at its start."""
    usual = min(max(asking.workspace.config.memory.session_start, 1), _MOST_TOLD)
    look = look_at(asking, replace(wanted, limit=wanted.limit or usual))
    found, key = newest(look), look.only.key
    last = [RankedRow(row) for row in look.store.last_summaries(key, 1)] if key else []
    listed = list_text(found, here=look.present.key, by_day=True) or _nothing_known(look)
    text = "\n".join([look.heading, *(list_text([one], "full") for one in last), listed])
    data = _data(look, found, summary=row_json(last[0]) if last else None) | {"text": text}
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
    look = look_at(asking, wanted, is_own=True)
    look = replace(look, only=replace(look.only, session_id=wanted.session))
    if wanted.query.strip():
        found, more = found_by(asking, look, wanted.query), ""
    else:
        rows = _older(look, wanted.before)
        found = list(map(RankedRow, rows[: wanted.limit]))
        last = found[-1].row if len(rows) > wanted.limit else None
        more = f"{last.created_ms}.{name_of(last)}" if last else ""
    counted = _counted(look.store)
    by_type = counted.of(look.only.key)
    named = [(key, name, sum(counted.of(key).values())) for key, name in counted.names.items()]
    is_counted = not (wanted.file or wanted.since.strip() or wanted.session or wanted.query.strip())
    data = _data(look, found) | {
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


def _older(look: Look, before: str) -> list[Row]:
    """Return one row more than the limit says before a place, newest first; from the newest on without a place.

    Raises:
        OperationError: It is no place.
    """
    limit = look.limit + 1
    if not before:
        return look.store.newest(look.only, limit)
    ms, _, name = before.partition(".")
    identity = parse_name(name)
    if identity is None or not (ms.isascii() and ms.isdigit() and len(ms) < 16):
        raise OperationError(f"{before[:40]!r} is no place in the memory")
    found = look.store.timeline(*identity, limit, 0, look.only)
    # The row may have been forgotten meanwhile: then its time tells the place.
    return found[:-1] if found else look.store.timeline_at(int(ms), limit, 0, look.only)


def _shown(one: RankedRow, lines: Sequence[str]) -> dict[str, Any]:
    """Return a row as the page shows it: its JSON with lines and files, secrets masked."""
    row, form = one.row, row_json(one)
    files = row.told.files[:_MOST_FILES] if isinstance(row, Observation) else ()
    title = redact(form["title"] or "") or None
    return form | {"title": title, "lines": list(map(redact, lines)), "files": list(map(redact, files))}


class SearchMemory(MemoryList, frozen=True, kw_only=True):
    """A query, and the rows that it may find."""

    query: Annotated[str, word("words, a question", "QUERY", is_sentence=True)]
    mode: Annotated[str, option("legs that take part", choices=MODES)] = "hybrid"


@operation(
    "memory search",
    "what fits a question, the best first",
    '"which test failed first" --here',
    route="/search",
    is_one_at_a_time=True,
)
def search(asking: Asking, wanted: SearchMemory) -> Outcome:
    """Return the rows that fit a query, best first.

    Raises:
        OperationError: The query says nothing.
        HybridError: A filter has no such form, or the index of the memory cannot be used.
    """
    if not wanted.query.strip():
        raise OperationError("say what to search")
    look = look_at(asking, wanted)
    found = found_by(asking, look, wanted.query, cast("Mode", wanted.mode))
    is_off = not asking.workspace.config.memory.enabled
    off = "the memory is switched off, so it is not searched: `memory.enabled`" if is_off else ""
    listed = _listed(look, wanted, found, query=wanted.query)
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
    look = look_at(asking, wanted, is_own=True)
    paths = paths_of(look, wanted.path)
    if not paths:
        raise OperationError("say which file or folder, relative to its project")
    return _listed(look, wanted, of_files(look, paths), by_day=True, files=list(paths))


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
    ids = require_ids(wanted.id)
    look = look_at(asking, MemoryFilters())
    rows = look.store.named(ids)
    there = {name_of(row) for row in rows}
    missing = ", ".join(name for one in ids if (name := row_name(*one)) not in there)
    nothing = f"No record {', '.join(wanted.id)}; `hybrid memory recent` shows ids."
    wanted = replace(wanted, form=wanted.form or "full")
    listed = _listed(look, wanted, list(map(RankedRow, rows)), nothing)
    if wanted.verbose:
        listed.data["records"] = [
            _shown(RankedRow(row), full_lines(row))
            | {"prompt": redact(_asked(row, look)), "session_rows": len(look.store.session_rows(row.owner.session_id))}
            for row in rows
        ]
    if not rows:
        return replace(listed, missing=", ".join(wanted.id))
    return replace(listed, warning=f"no record {missing}") if missing else listed


def _beside(side: str) -> Meta:
    return option(f"records {side} it, by default half of --limit", "N", ge=0, le=100)


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
    look = look_at(asking, wanted, is_own=True)
    sides = around(wanted.limit, wanted.before, wanted.after)
    identity, only = parse_name(wanted.at), look.only
    if identity is None:
        rows = look.store.timeline_at(since_ms(wanted.at, asking.now_ms), *sides, only)
    else:
        rows = look.store.named([identity])
        if rows:
            # What came before and after it was done in its own project, wherever one asks.
            only = replace(only, key=rows[0].owner.key) if wanted.project in ("", HERE) else only
            rows = look.store.timeline(*identity, *sides, only)
    missing = wanted.at if identity and not rows else ""
    nothing = f"No record {missing}." if missing else _NOTHING
    listed = _listed(look, wanted, list(map(RankedRow, rows)), nothing, by_day=True, at=wanted.at)
    return replace(listed, missing=missing)


def around(limit: int, before: int | None = None, after: int | None = None) -> tuple[int, int]:
    """Return how many rows to show before and after a row: a given number stays, else all make `limit` with the row."""
    before = (limit - 1) // 2 if before is None else before
    return before, max(limit - 1 - before, 0) if after is None else after


@operation("memory stats", "how much is known, and of what", "--json")
def stats(asking: Asking, wanted: Nothing) -> Outcome:
    """Count what the memory holds."""
    look = opened(asking)
    counted = look.store.stats()
    data = figures_form(look.workspace, look.store, counted)
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

    title: Annotated[str, word("what was done or found, in one line", "TITLE", is_sentence=True, max_length=1000)]
    narrative: Annotated[str, option("what, why, and how it ended", "TEXT", max_length=20_000)] = ""
    type: Annotated[ObservationType, option("sort of work", choices=OBSERVATION_TYPES)] = "discovery"
    fact: Annotated[list[str], option("a name, a number, a command", "TEXT", max_length=20)] = []
    concept: Annotated[list[str], option("gotcha, pattern, …", "WORD")] = []
    file: Annotated[list[str], option("that it is about", "PATH")] = []


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
    by_agent = "" if asking.client == BY_HAND else asking.client
    owner = Owner(asking.session_id or (f"{CONNECTION}{by_agent}" if by_agent else BY_HAND), project.key, project.name)
    told = replace(_told(wanted, project.root), subtitle=f"noted by {by_agent}" if by_agent else "")
    row = asking.kinds.stores.memory(asking.workspace).add_observation(owner, told, asking.now_ms)
    if row is None:
        said = "Not stored: the same was stored within the last hour; it was counted there."
        return Outcome(said, data={"records": [], "repeated": True})
    data = {"records": [row_json(RankedRow(row))], "repeated": False}
    return Outcome(neutralise_line(index_line(row)), data=data)


def _told(wanted: AddRow, root: Path) -> Extracted:
    """Return an observation as the memory stores it: the title on one line, the whole of a long one before the rest.

    Raises:
        OperationError: The title is empty.
    """
    title, narrative = " ".join(_clean(wanted.title).split()), _clean(wanted.narrative).strip()
    if not title:
        raise OperationError("the TITLE is empty; an observation must say something")
    if len(title) > MAX_TITLE_CHARS:
        narrative = f"{title}\n{narrative}".strip()
        end = title.rfind(" ", 0, MAX_TITLE_CHARS)
        title = f"{title[: end if end > 0 else MAX_TITLE_CHARS - 1]}…"
    facts, concepts = tuple(map(_clean, wanted.fact)), tuple(map(_clean, wanted.concept))
    paths = project_paths(wanted.file, None, root)
    return Extracted(wanted.type, title, narrative=narrative, facts=facts, concepts=concepts, files_read=paths)


def _clean(text: str) -> str:
    return redact(without_private(text))


class OneRow(Arguments, frozen=True):
    """A row by its id."""

    id: Annotated[str, word(_IDS, "ID")]


@changing("memory promote", "make a record a lesson for all projects: only so other projects are given it", "o42")
def promote(asking: Asking, wanted: OneRow) -> Outcome:
    """Write a row down as a lesson for all projects; the row stays.

    Raises:
        OperationError: There is no such row, or its text is no id.
        HybridError: The lesson cannot be written.
    """
    from hybrid.knowledge.stores import open_stores
    from hybrid.records.lessons.types import Draft

    rows = look_at(asking, MemoryFilters()).store.named(require_ids([wanted.id]))
    if not rows:
        raise OperationError(f"no record {wanted.id}; `hybrid memory recent` shows ids")
    title, name = title_of(rows[0]), name_of(rows[0])
    draft = Draft(title, redact("\n".join(body_lines(rows[0]))) or title)
    added = open_stores(asking.workspace).system.add(draft, today=asking.today)
    if added.lesson is not None:
        return Outcome(f"{name} is now {added.lesson.id}, for all projects", data={"lesson": added.lesson.id})
    twin = added.duplicate_of.id if added.duplicate_of else "another lesson"
    return Outcome(f"Not written: {twin} says nearly the same.", data={"lesson": twin}, is_found=False)


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

    look, ids = opened(asking), require_ids(wanted.id)
    if sum(map(bool, (ids, wanted.session, wanted.project_data, wanted.everything))) != 1:
        raise OperationError("name rows, or one session")
    named, store = wanted.project_data, look.store
    key, name = project_named(named, asking.workspace.home, store) if named else ("", "")
    what = _named(look, wanted, ids, name)
    if not wanted.yes:
        return Outcome(what, is_found=bool(what))

    def is_meant(workspace: Workspace, event: HookEvent) -> bool:
        if key:
            return workspace.project is not None and workspace.project.key == key
        return wanted.everything or bool(wanted.session and event.session_id == wanted.session)

    n_waiting = 0 if ids else forget_waiting(asking.workspace.home, asking.environ, is_meant)
    done = ForgetReport(0, is_wiped=True)
    if what and wanted.everything:
        done = store.forget_everything()
    elif what:
        one = wanted.session
        done = store.forget_project(key) if key else store.forget_session(one) if one else store.forget(ids)
    n = done.n + n_waiting
    problems = purge_index(asking.workspace, store, progress=asking.progress or silent) if n else ()
    # Rows that go may be in the text of an injection.
    one_session = wanted.session
    asking.workspace.texts.forget(
        lambda text: (
            wanted.everything
            or (bool(ids) and text.has_memory)
            or (bool(key) and text.project == key)
            or (bool(one_session) and text.session == one_session)
        )
    )
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


def _named(look: Look, wanted: ForgetRows, ids: Sequence[tuple[MemoryKind, int]], project: str) -> str:
    """Return a text for a person that says what would be forgotten; empty when there is nothing."""
    store = look.store
    if wanted.everything:
        counted = store.stats()
        n = counted.n_observations + counted.n_summaries + counted.n_prompts + counted.n_sessions + counted.n_pending
        return f"Everything: {rows_in_words(counted.n_observations, counted.n_summaries)}" if n else ""
    if project:
        return f"Everything of the project {project}"
    if wanted.session:
        session = store.session(wanted.session)
        return f"Session {wanted.session} of {session.owner.project}, with its prompts" if session else ""
    rows = store.named(ids)
    shown = rows_text(rows[:_SHOWN], here=look.present.key)
    return f"{shown}\n… {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else shown


# --- for agents -------------------------------------------------------------------------------------------


_MOST_ROWS = 100
"""Rows that may be paged through."""


class RecallArguments(MemoryFilters, frozen=True, kw_only=True):
    """A choice of rows of the memory: by a query, around a row, of files, or the newest."""

    query: Annotated[str, Meta(max_length=5000, description="What it should be about; empty: the newest.")] = ""
    around: Annotated[str, Meta(description="An id (`o42`, `s7`): what came before and after it.")] = ""
    detail: Annotated[Literal["lines", "full"], Meta(description="lines: one for each. full: all.")] = "lines"
    cursor: Cursor = ""


# One tool where people have four commands: a tool costs each agent some 500 characters, and a page ends with a cursor.
@operation(
    "recall",
    for_agents=ForAgents(
        "Recall earlier work",
        "What earlier sessions did here: fixes, features, findings, failed attempts. By a question, by files, around a "
        "row, or the newest. Use it before you debug or redo something.",
        takes=("query", "around", "file", "type", "since", "limit", "detail", "cursor"),
    ),
)
def recall(asking: Asking, wanted: RecallArguments) -> Outcome:
    """Return rows of the memory: by a query, around a row, of files, or the newest.

    Raises:
        OperationError: The memory is off, or `around` names no row, or a filter has no such form.
        HybridError: The memory cannot be searched.
    """
    from hybrid.knowledge.collections import record_hit

    require_enabled(asking, "memory")
    asking.workspace.require_project()
    skip = offset_of(wanted.cursor)
    look = look_at(asking, replace(wanted, limit=min(skip + wanted.limit + 1, _MOST_ROWS)))
    rows = _recalled(asking, look, wanted)
    page = rows[skip : skip + wanted.limit]
    own, form = look.present.key, wanted.detail
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


def _recalled(asking: Asking, look: Look, wanted: RecallArguments) -> list[RankedRow]:
    if wanted.around:
        identity = parse_name(wanted.around)
        middle = look.store.named([identity]) if identity else []
        # The store gives the row that is named, whosever it is.
        if identity is None or not middle or look.only.key not in ("", middle[0].owner.key):
            raise OperationError(f"the memory has no row {wanted.around[:40]!r}")
        return list(map(RankedRow, look.store.timeline(*identity, *around(wanted.limit), look.only)))
    if wanted.query.strip():
        return found_by(asking, look, wanted.query)
    return of_files(look, look.only.files) if look.only.files else newest(look)


class RememberArguments(AddRow, frozen=True, kw_only=True):
    """The observation, or the lesson."""

    kind: Annotated[
        Literal["observation", "lesson"],
        Meta(description="observation: what happened here. lesson: a rule for work to come, which `narrative` is."),
    ] = "observation"
    trigger: Annotated[
        list[str], Meta(max_length=20, description="Words that should bring a lesson though it does not hold them.")
    ] = []


# One tool for `memory add` and `lessons add`: two would tell every agent the same twice.
@changing(
    "remember",
    for_agents=ForAgents(
        "Remember something",
        "Write down a finding for later sessions, or (kind `lesson`) a rule for work to come. Only what the code and "
        "the commits do not say already.",
        takes=("title", "narrative", "kind", "type", "fact", "file", "trigger"),
    ),
)
def remember(asking: Asking, wanted: RememberArguments) -> Outcome:
    """Write an observation or a lesson down, with the client as its author.

    Raises:
        HybridError: The memory or the lessons are off, in use or cannot be written.
    """
    if wanted.kind == "lesson":
        from hybrid.operations.lessons import AddLesson
        from hybrid.operations.lessons import add as add_lesson

        require_enabled(asking, "lessons")
        return add_lesson(asking, AddLesson(wanted.title, wanted.narrative or wanted.title, trigger=wanted.trigger))
    require_enabled(asking, "memory")
    return add(asking, wanted)


# --- rows as JSON and as text -------------------------------------------------------------------------------


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


def _data(look: Look, found: Sequence[RankedRow], **echoed: object) -> dict[str, Any]:
    """Return rows as JSON, after what was asked (`echoed`) and the project; `query` is None without a query."""
    return {"query": None, **echoed, "project": look.name or None, "records": list(map(row_json, found))}


def _nothing_known(look: Look) -> str:
    """Return a sentence in place of an empty list: that uses of tools still wait, or that there are no sessions yet."""
    if n := look.store.n_waiting():
        window_ms = look.workspace.config.memory.batch_window_ms
        said = f"{amount(n, 'use')} of tools {'waits' if n == 1 else 'wait'} for what follows"
        return f"Nothing is told of yet: {said}; ask again in {max(window_ms / 1000, 1):.0f} s."
    return f"No previous sessions found {'for this' if look.name else 'in any'} project yet."


def _listed(
    look: Look,
    wanted: MemoryList | ShowRows,
    found: Sequence[RankedRow],
    nothing: str = _NOTHING,
    *,
    by_day: bool = False,
    **echoed: object,
) -> Outcome:
    """Return rows as text and as data, after the echoed arguments."""
    data = _data(look, found, **echoed)
    if not found:
        return Outcome(nothing, data=data, is_found=False, warning=look.warning)
    here, is_explained = look.present.key or look.only.key, getattr(wanted, "explain", False)
    if wanted.verbose:
        each = (
            f"{list_text([one], wanted.form, here=here, is_explained=is_explained)}\n{_INDENT}{_origin(one.row, look)}"
            for one in found
        )
        return Outcome(("\n\n" if wanted.form == "full" else "\n").join(each), data=data, warning=look.warning)
    is_by_day = by_day and not getattr(wanted, "quiet", False)
    text = list_text(found, wanted.form, here=here, by_day=is_by_day, is_explained=is_explained)
    return Outcome(text, data=data, warning=look.warning)


def _origin(row: Row, look: Look) -> str:
    """Return a line with the session of a row, and the prompt it comes of, if known."""
    said = f": {asked}" if (asked := _asked(row, look)) else ""
    return neutralise_line(f"session {row.owner.session_id}, {row.owner.project}, prompt {row.prompt_number}{said}")


def _asked(row: Row, look: Look) -> str:
    prompts = look.store.prompts(row.owner.session_id)
    return next((prompt.text for prompt in prompts if prompt.prompt_number == row.prompt_number), "")


_INDENT = "      "


def list_text(
    found: Sequence[RankedRow],
    form: str = "",
    *,
    here: str | None = None,
    by_day: bool = False,
    is_explained: bool = False,
) -> str:
    """Return rows as text without a line end behind the last one.

    Args:
        found: In the order in which they are shown.
        form: `full`, or else a line each.
        here: Key of the present project, as `index_line` takes it.
        by_day: Say the day above the first row of each; for rows in the order of time.
        is_explained: Say the parts of each rank below it.
    """
    is_full, lines = form == "full", list[str]()
    for day, rows in groupby(found, lambda one: moment_text(one.row.created_ms)[:10]):
        lines += [f"## {day}"] if by_day and not is_full else []
        for one in rows:
            lines += [""] if is_full and lines else []
            lines.append(neutralise_line(index_line(one.row, here=here)))
            lines += [f"{_INDENT}{parts_line(one.parts)}"] if is_explained and one.parts else []
            body = [part for line in _body(one.row) for part in neutralise(line).split("\n")] if is_full else ()
            lines += [f"{_INDENT}{line}".rstrip() for line in body]
    return "\n".join(lines)


def rows_text(rows: Iterable[Row], form: str = "", *, here: str) -> str:
    """Return rows that are not ranked as `list_text` does."""
    return list_text([RankedRow(row) for row in rows], form, here=here)


def parts_line(parts: Parts) -> str:
    """Return the parts of a rank on one line: `0.830 = recency 0.120 + type 0.070 + similarity 0.600 + …`."""
    signed = [
        f"{'-' if value < 0 else '+'} {name} {abs(value):.3f}"
        for name, value in parts.as_json().items()
        if value or name != "repetition"
    ]
    return f"{parts.score:.3f} = {' '.join(signed).removeprefix('+ ')}"


def _body(row: Row) -> list[str]:
    """Return the lines of a row below its title."""
    lines = full_lines(row)
    first = title_of(row)
    lines = lines[1:] if lines and " ".join(lines[0].split()) == first else lines
    if isinstance(row, SessionSummary) and row.told.request and " ".join(row.told.request.split()) != first:
        return [f"Request: {row.told.request}", *lines]
    return lines
