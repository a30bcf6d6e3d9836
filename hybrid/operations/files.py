"""Files and records by their names, what belongs to a file, what a prompt would be given, and what is indexed.

What is read comes from indexed files only, secrets masked, and from records that may be given out here: lessons of an
accepted tree, rows of this project, or of all where the settings let projects share their memory.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from hybrid.base.errors import HybridError, IndexMissingError
from hybrid.capture.tools import PathRoots
from hybrid.knowledge.stores import names_of
from hybrid.operations.asking import BY_HAND, ForAgents, OperationError, Outcome, Shown, operation
from hybrid.operations.lessons import AROUND_ID, lessons_called, outcome_of
from hybrid.operations.memory import rows_text
from hybrid.operations.search import hit_json, project_of, steps_json
from hybrid.operations.types import Arguments, Nothing, option, word
from hybrid.prompting.clean import prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.lore.types import called, full_text, listed
from hybrid.records.memory.types import parse_name, record_of
from hybrid.records.types import KIND_OF_HIT, Record
from hybrid.redact import redact
from hybrid.render.marks import harmless, harmless_line
from hybrid.render.numbers import amount, evidence_line
from hybrid.sources.records import record_id
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid.answer.decide import Decision
    from hybrid.answer.select import Selection
    from hybrid.index.backend import SearchBackend
    from hybrid.operations.asking import Asking
    from hybrid.search.searcher import Searcher
    from hybrid.types import Hit
    from hybrid.workspace import Workspace

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
_ESCAPED = re.compile(r"/(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""An escape of `visible` in a path with forward slashes."""
_UNKNOWN = "  nothing known"
_PLACE = re.compile(r"(?P<path>.+?):(?P<start>\d{1,7})(?:-(?P<end>\d{1,7}))?\Z", re.DOTALL)


# --- read -------------------------------------------------------------------------------------------------


class ReadArguments(Arguments, frozen=True):
    """A hit or record by its reference, and the lines around it."""

    ref: Annotated[
        str,
        Meta(
            min_length=1,
            description="What names a hit or a record: `src/a.py:10-40`, `src/a.py`, `L001`, `dec-1a2b3c4d`, `o42`.",
        ),
    ]
    neighbours: Annotated[int, Meta(ge=0, le=10, description="Chunks of the file to show before and after it.")] = 1


@operation(
    "read",
    for_agents=ForAgents(
        "Read a hit",
        "Read a hit in full with the code around it, or a lesson, decision or observation by its id. Only indexed "
        "files of this project; secrets are masked.",
    ),
    is_of_files=True,
)
def read(asking: Asking, wanted: ReadArguments) -> Outcome:
    """Return a part of an indexed file with its neighbours, or a record in full.

    Raises:
        OperationError: The index has no such file, or no such record may be given here.
        HybridError: There is no index.
    """
    ref = wanted.ref.strip()
    return _record(asking, ref.strip(AROUND_ID)) or _read_file(asking, ref, wanted.neighbours)


def _read_file(asking: Asking, ref: str, neighbours: int) -> Outcome:
    from hybrid.answer.decide import span_reader

    searcher = asking.kinds.searcher(asking.workspace)
    path, first, last = _place(asking, searcher.backend, ref)
    chunks = _chunks(searcher.backend, path)
    lines = span_reader(asking.workspace, searcher).masked_lines(path)
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
    path = _relative(asking.workspace, ref)
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
    return next((one for one in paths if normpath(harmless_line(one).replace("\\", "/")) == path), path)


def _relative(workspace: Workspace, path: str, cwd: Path | None = None) -> str:
    """Return a typed path as index and history spell it, relative to the project; an absolute one lies outside."""
    root = workspace.require_project().root
    return PathRoots(str(root), str(cwd or root)).relative(path)


def _chunks(backend: SearchBackend, path: str) -> list[Hit]:
    """Return the chunks of a file in order of lines; none when the index does not have it."""
    import numpy as np

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


def _record(asking: Asking, name: str) -> Outcome | None:
    """Return all of a record, as its command shows it; None when none of this id may be given here.

    Letter case decides only where two ids differ by nothing else: `s123` is a summary, `S123` a lesson.
    """
    return outcome_of(
        asking,
        lessons_called(asking, name)
        or _memory_row(asking, name.lower())
        or lessons_called(asking, name.upper())
        or _lore(asking, name),
    )


def _memory_row(asking: Asking, name: str) -> list[tuple[str, Record]]:
    """Return a row of the memory by its id, or its path in the index; none of a project that is kept apart."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    identity = parse_name(record_id(name))
    if identity is None or not store.exists or not workspace.config.memory.enabled:
        return []
    own = workspace.require_project().key
    rows = [row for row in store.named([identity]) if workspace.config.memory.cross_project or row.owner.key == own]
    return [(rows_text([row], "full", here=own), record_of(row, here=own)) for row in rows]


def _lore(asking: Asking, beginning: str) -> list[tuple[str, Record]]:
    """Return a record of lore by its id, or by the beginning of one that reaches beyond the word for its kind."""
    stores, workspace, wanted = asking.kinds.stores, asking.workspace, beginning.lower()
    known = {record.id.lower() for record in stores.lore(workspace)}
    if wanted not in known and not ("-" in wanted and any(identity.startswith(wanted) for identity in known)):
        return []
    one = called(listed(stores.shelf(workspace).read(), names_of(workspace)), beginning)
    return [(full_text(one), one.record)] if one else []


# --- context ----------------------------------------------------------------------------------------------


class Context(Arguments, frozen=True):
    """A prompt, and whose it is."""

    prompt: Annotated[
        str, word("the task in full sentences, as one would type it", "PROMPT", is_sentence=True, max_length=100_000)
    ]
    gate_threshold: Annotated[float, option("compare the raw top cosine with this", ge=-1, le=1)] | None = None
    client: Annotated[str, option("whose session (default: manual)")] = ""
    session: Annotated[str, option("leave out what this session already got", "ID")] = ""
    explain: Annotated[bool, option("show legs, fusion, gate, floor and what was held back")] = False


@operation(
    "context",
    "what an agent would get for a prompt, without recording it",
    '"how does the payment client retry?" --explain',
    for_agents=ForAgents(
        "Context for a task",
        "What hybrid would add to a prompt by itself: the few records that matter for a task, or nothing when nothing "
        "is close. Use it for a subtask in your own words.",
        takes=("prompt",),
    ),
    is_of_files=True,
)
def context(asking: Asking, wanted: Context) -> Outcome:
    """Return exactly what would be injected for a prompt; nothing is recorded as an injection."""
    from hybrid.answer.decide import Turn, decide

    client, session = wanted.client or asking.client, wanted.session or asking.session_id
    # Without a session there is nothing that was given before.
    flags = {"hooks.gate_threshold": wanted.gate_threshold, "hooks.dedup_enabled": None if session else False}
    workspace = open_workspace(asking.workspace.cwd or Path("/"), environ=asking.environ, flags=flags)
    event = prompt_event(client, session, str(workspace.cwd or ""), wanted.prompt)
    decision = decide(Turn(workspace, event, asking.kinds, asking.environ))
    name = workspace.project.name if workspace.project else None
    has_records = any(item.hit.is_record for item in decision.items)
    records = asking.kinds.by_path(workspace) if has_records else dict[str, Record]()
    data = context_json(decision, project=name, is_explained=wanted.explain, records=records)
    lines = [decision.text or decision.debug_line, *(_explanation(decision) if wanted.explain else ())]
    shown = tuple(Shown(hit, form) for item in decision.items for hit, form in item.given)
    return Outcome("\n".join(lines), shown, decision.text, data, decision.is_injected)


_HEADS = {"files": "chunk"}
"""Kind of records → the heading of the last column of its table; `record` for kinds that are not named here."""


def _explanation(decision: Decision) -> list[str]:
    """Return the numbers behind a decision, a line each: first those of the whole, then each kind with its hits."""
    from hybrid.answer.recording import english_part

    lines = ["", f"reason      {decision.reason}{f' ({decision.detail})' if decision.detail else ''}"]
    if decision.query:
        lines.append(f"query       {decision.query}")
    if said := english_part(decision, "text")["english"]:
        lines.append(f"in English  {said}")
    if decision.kinds:
        lines.append(f"topic id    {decision.topic_id or 'none'}")
    lines += [f"problem     {problem}" for problem in decision.problems]
    for kind in decision.kinds:
        lines += ["", *_of_kind(kind, decision)]
    return lines


def _of_kind(kind: Selection, decision: Decision) -> list[str]:
    """Return the lines on one kind: what its gate compared, how its lists were fused, and what became of each hit."""
    from hybrid.answer.recording import gate_part
    from hybrid.health.explaining import gate_rows, kind_rows

    compared = gate_part(kind.verdict) | {"is_open": kind.verdict.is_open}
    rows = gate_rows(compared) if kind.kind == "files" else kind_rows(kind.kind, compared)
    lines = [f"{label:<11} {text}" for label, text in rows]
    hits, fates = hits_of(kind, decision), fates_of(decision)
    if not hits:
        return lines
    searched = kind.searched
    dense_weight, lexical_weight = searched.weights
    lines += [
        f"fusion      {searched.n_candidates} candidates, weights dense {dense_weight} lexical {lexical_weight}",
        "",
        f"rank  cosine (rank)   bm25 (rank)     rrf      relevance  fate         {_HEADS.get(kind.kind, 'record')}",
    ]
    shown = {item.hit.key for item in decision.items}
    for hit in hits:
        lines.append(_row(hit, fate_of(hit, kind, fates)))
        if hit.evidence and hit.key in shown:
            lines.append(f"      {evidence_line(hit.evidence)}")
    return lines


def _row(hit: Hit, fate: str) -> str:
    cosine = "–" if hit.cosine is None else f"{hit.cosine:.3f}"
    bm25 = "–" if hit.bm25 is None else f"{hit.bm25:.2f}"
    legs = f"{cosine:>6} ({hit.cosine_rank or '–':>3})  {bm25:>6} ({hit.bm25_rank or '–':>3})"
    place = record_id(hit.path) if hit.is_record else f"{hit.path}:{hit.start_line}-{hit.end_line}"
    named = harmless_line(f"{place} {hit.name}")
    return f"{hit.rank or '–':>4}  {legs}  {hit.rrf:.5f}  {hit.relevance:>9.2f}  {fate:<11}  {named}"


def context_json(
    decision: Decision, *, project: str | None, is_explained: bool, records: Mapping[str, Record]
) -> dict[str, Any]:
    """Return the JSON of `hybrid context`.

    Args:
        decision: What would be given.
        project: Name of the project; None without one.
        is_explained: With the numbers behind it.
        records: Path in the index → record, of those that may be given here.
    """
    from hybrid.answer.recording import gate_part

    items: list[dict[str, Any]] = []
    for item in decision.items:
        record = records.get(item.hit.path) if item.hit.is_record else None
        form = hit_json(item.hit, project=project_of(record, project or ""), text=item.text) | {"form": item.form}
        if is_explained:
            form["steps"] = steps_json(item.hit)
        items.append(form)
    answer: dict[str, Any] = {
        "injected": decision.is_injected,
        "reason": decision.reason,
        "detail": decision.detail or None,
        **gate_part(decision.verdict),
        "topic_id": decision.topic_id or None,
        "items": items,
        "withheld": [{"key": entry.key, "reason": entry.reason} for entry in decision.withheld],
        "text": decision.text or None,
        "problems": list(decision.problems),
    }
    if is_explained:
        answer["steps"] = _steps_of(decision)
    return answer


def _steps_of(decision: Decision) -> dict[str, Any]:
    """Return the numbers behind a decision, with what became of every hit of every kind."""
    from hybrid.answer.decide import explain_steps
    from hybrid.answer.select import gate_form

    steps, fates = explain_steps(decision), fates_of(decision)
    for one in decision.kinds:
        hits = [_fate_form(hit, fate_of(hit, one, fates)) for hit in hits_of(one, decision)]
        steps["kinds"][one.kind] = gate_form(one.verdict) | {"hits": hits}
    return steps


def _fate_form(hit: Hit, fate: str) -> dict[str, Any]:
    from hybrid.answer.recording import place_of

    numbers = {"cosine": hit.cosine, "bm25": hit.bm25, "rrf": hit.rrf, "relevance": hit.relevance, "fate": fate}
    return {"rank": hit.rank or None, **place_of(hit), **numbers}


def fates_of(decision: Decision) -> dict[str, str]:
    """Return a mapping: key of a hit → the form in which it was given, or the reason why it was held back."""
    given = {hit.key: form for item in decision.items for hit, form in reversed(item.given)}
    return given | {entry.key: entry.reason for entry in decision.withheld}


def fate_of(hit: Hit, kind: Selection, fates: Mapping[str, str]) -> str:
    """Return the fate of one hit: as in `fates`, else `not reached`, or `kind_closed` when the gate was closed."""
    return fates.get(hit.key) or ("not reached" if kind.verdict.is_open else "kind_closed")


def hits_of(kind: Selection, decision: Decision) -> list[Hit]:
    """Return the hits of a kind, best first, then those given without being searched for (the latest handoff)."""
    shown = kind.collection.shown
    found = {hit.key: hit for hit in map(shown, kind.searched.hits)}
    given = (item.found for item in decision.items if KIND_OF_HIT[item.hit.kind].name == kind.kind)
    for hit in (*given, *(shown(entry.hit) for entry in kind.withheld)):
        found.setdefault(hit.key, hit)
    return list(found.values())


# --- what belongs to a file ---------------------------------------------------------------------------------


class ChangesWith(Arguments, frozen=True):
    """A file."""

    file: Annotated[str, word("a file of the project, as it is called now", "FILE")]
    limit: Annotated[int, option("of each, how many to show", ge=1)] = 10


@operation(
    "changes-with",
    "which files changed together with a file in earlier commits, and what tests it",
    "src/payments/client.py --limit 5",
    for_agents=ForAgents(
        "What belongs to a file",
        "For a file that you are about to change: the files that changed together with it in earlier commits, and the "
        "tests that probably cover it.",
        tool="related",
    ),
    is_of_files=True,
)
def changes_with(asking: Asking, wanted: ChangesWith) -> Outcome:
    """Return the files that changed together with a file, most often together first, and those that probably test it.

    Tests are found by the index; a person is answered from the commits alone where there is none.

    Raises:
        OperationError: The file lies outside of the project, or neither the index nor the commits know it.
        HybridError: There is no index, or for a person neither an index nor commits.
    """
    from hybrid.index.history_build import update_history
    from hybrid.search.covering_tests import is_test

    workspace, is_person = asking.workspace, asking.client == BY_HAND
    root = workspace.require_project().root
    path = _relative(workspace, wanted.file.strip(), workspace.cwd if is_person else None)
    if os.path.isabs(path):  # noqa: PTH117 - a text
        raise OperationError(f"{harmless_line(wanted.file)} lies outside of the project {root}")
    searcher: Searcher | None = None
    try:
        searcher = asking.kinds.searcher(workspace)
    except HybridError:
        if not is_person:
            raise
    path = _spelled(searcher.backend, path) if searcher else path
    history = update_history(workspace.place.folder, str(root))
    if history is None and searcher is None:
        raise HybridError(f"{root} has no commits that git can read: what changed together is not known")
    n_read, n_commits = (history.n_commits, history.n_commits_of(path)) if history else (0, 0)
    chunks = _chunks(searcher.backend, path) if searcher else []
    if not chunks and not n_commits:
        raise OperationError(f"neither the index nor the commits know a file {harmless_line(path)!r}")
    together = history.changed_with(path, max(wanted.limit, _TOGETHER)) if history else []
    tests = _tests(searcher, path, chunks, {one.path: one.share for one in together}) if searcher else []
    tests, companions = tests[: wanted.limit], [one for one in together if not is_test(one.path)][: wanted.limit]
    with_it = [f"  {one.share:4.0%}  {_path(one.path)} ({one.commits})" for one in companions] or [_UNKNOWN]
    tested = ["Tested by:", *([f"  {_path(test)}" for test in tests] or [_UNKNOWN])] if searcher else []
    head = f"{_path(path)}: in {amount(n_commits, 'commit')} of the {n_read:,} read"
    data = {
        "path": path,
        "commits": n_commits,
        "read": n_read,
        "files": [one._asdict() for one in together[: wanted.limit]],
        "tests": tests,
    }
    text = "\n".join([head, "Changes with:", *with_it, *tested])
    return Outcome(text, data=data, is_found=bool(together or tests))


def _path(path: str) -> str:
    return harmless_line(redact(path))


def _tests(searcher: Searcher, path: str, chunks: Sequence[Hit], shares: Mapping[str, float]) -> list[str]:
    """Return the tests of a file, likeliest first: by its name, by commits that touched both, by what it defines."""
    from hybrid.answer.decide import CONSIDERED
    from hybrid.index.backend import Filter
    from hybrid.search.covering_tests import is_test, named_alike

    if is_test(path):
        return []
    backend = searcher.backend
    worth = {test: share for test, share in shares.items() if is_test(test) and _file(backend, test) is not None}
    for test in named_alike(backend, path):
        if _file(backend, test) is not None:
            worth[test] = worth.get(test, 0.0) + _NAMED
    names = [view.name for view in chunks if view.name and view.chunk_kind != "lines"]
    if names:
        asked = make_query(" ".join(dict.fromkeys([PurePosixPath(path).stem, *names[:_MOST_NAMES]])))
        for hit in searcher.search(asked, top_k=CONSIDERED, mode="lexical", only=Filter(("code",))).hits:
            if is_test(hit.path):
                worth[hit.path] = max(worth.get(hit.path, 0.0), _MENTIONED * hit.relevance)
    return sorted(worth, key=lambda test: (-worth[test], test))


# --- what is indexed --------------------------------------------------------------------------------------


class IndexedFiles(Arguments, frozen=True):
    """A choice of files of the index; `after` is the path before the first."""

    show: Literal["all", "indexed", "skipped"] = "all"
    contains: str = ""
    after: str = ""
    limit: int = 100


@operation("index files")
def index_files(asking: Asking, wanted: IndexedFiles) -> Outcome:
    """Return a page of the files that the last builds looked at, in order of path; `reason` says why one is left out.

    Raises:
        IndexMissingError: The project has no index.
        HybridError: The catalog cannot be read.
    """
    from hybrid.index.catalog import Catalog

    place = asking.workspace.place
    if not place.catalog.exists():
        raise IndexMissingError("the project was not indexed yet")
    with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
        rows = catalog.listed(wanted.show, wanted.contains, wanted.after, wanted.limit + 1)
    shown = rows[: wanted.limit]
    names = ("path", "kind", "language", "size_bytes", "reason")
    files = [dict(zip(names, (redact(row[0]), *row[1:]), strict=True)) for row in shown]
    return Outcome("", data={"files": files, "next_after": shown[-1][0] if len(rows) > wanted.limit else ""})


@operation("index progress")
def index_progress(asking: Asking, wanted: Nothing) -> Outcome:
    """Return how far the running build is; `is_building` alone where that is not told."""
    from hybrid.index.build_progress import is_held, read_holder

    lock = asking.workspace.place.lock
    is_building = is_held(lock)
    holder = read_holder(lock) if is_building else None
    names = ("step", "done", "total", "share", "seconds_left")
    told = {name: getattr(holder, name) for name in names} if holder else {"share": 0.0}
    return Outcome("", data={"is_building": is_building, **told})
