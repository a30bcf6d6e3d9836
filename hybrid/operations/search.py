"""Searches of files and records: by people and the page, by agents; in this project, or in several.

Agents are answered as `hybrid search` is, with a bound on the characters of one answer. Nothing is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from msgspec import Meta

from hybrid.base.errors import HybridError
from hybrid.base.tokens import query_tokens, tokens_of_word
from hybrid.operations.asking import ForAgents, OperationError, Outcome, Shown, operation
from hybrid.operations.types import Arguments, Cursor, Limit, option, word
from hybrid.prompting.query import make_query
from hybrid.records.types import HIT_KINDS, KINDS, OF_RECORDS, HitKind, hits_named
from hybrid.redact import redact
from hybrid.render.marks import harmless_line, without_marks
from hybrid.render.numbers import amount, evidence_line
from hybrid.sources.records import record_id

if TYPE_CHECKING:
    from collections.abc import Collection

    from hybrid.ask.search import EverywhereResult, FoundIn, ResultHit, ResultList, SearchRequest, SearchResult
    from hybrid.operations.asking import Asking
    from hybrid.prompting.query import Query
    from hybrid.records.types import Record
    from hybrid.search.searcher import Mode
    from hybrid.types import Hit

# --- for agents -------------------------------------------------------------------------------------------

Detail = Literal["places", "lines", "full"]

_MOST_PAGES = 200
"""Hits that may be paged through: further ones have little to do with the query."""
_FULL_CHARS = 24_000
"""Characters of the texts of one answer: some clients cut what is longer."""
GIVEN = "  (given earlier in this session)"


class SearchArguments(Arguments, frozen=True):
    """A query, and limits on what it finds."""

    query: Annotated[
        str, Meta(min_length=1, max_length=5000, description="A question in words, or names of the code; both work.")
    ]
    kinds: Annotated[
        list[HitKind],
        Meta(description="Only these kinds. Empty: code and documents, and the records that are close enough."),
    ] = []
    path: Annotated[str, Meta(description="Glob over file paths, such as `src/**` or `*.md`; empty for all.")] = ""
    limit: Limit = 8
    detail: Annotated[
        Detail,
        Meta(description="places: where only. lines: the lines that tell most. full: whole chunks."),
    ] = "lines"
    cursor: Cursor = ""


# Two rows: an agent pages through all kinds in turn, without what its session has; a person sees a list of each kind.
@operation(
    "search",
    for_agents=ForAgents(
        "Search the project",
        "Search code, documents, lessons, decisions and earlier work by meaning and by words together. Use it first to "
        "find where something is done, above all when you do not know its name. Returns the best hits with the lines "
        "that tell most; `read` gives more of one.",
    ),
    is_of_files=True,
)
def search_for_agent(asking: Asking, wanted: SearchArguments) -> Outcome:
    """Search files and records; hits of several kinds take turns, the best of each first.

    Raises:
        OperationError: The cursor is none of this operation.
        HybridError: Nothing can be searched here.
    """
    from hybrid.ask.search import SearchRequest, find

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
    return Outcome("\n".join([*lines, *more_after(skip, page, ordered), *result.problems]), tuple(shown))


def more_after(skip: int, page: Sequence[object], every: Sequence[object]) -> list[str]:
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
            from hybrid.answer.pack import shortened

            left = self._left
            text = shortened(text, lambda part: len(part) <= left, most=left) if is_best_record else ""
        self._left -= len(text)
        return text


def _found(one: ResultHit, detail: Detail, asking: Asking, budget: _Budget) -> tuple[list[str], str]:
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
    note = "  (changed since it was indexed)" if is_stale else GIVEN if is_given else ""
    lines = [f"  {line}".rstrip() for line in text.split("\n")] if text else []
    return [f"{named}{note}", *lines], "" if is_given else form


def ref_of(hit: Hit) -> str:
    """Return what `read` finds a hit by."""
    return record_id(hit.path) if hit.is_record else f"{harmless_line(hit.path)}:{hit.start_line}-{hit.end_line}"


# --- for people -------------------------------------------------------------------------------------------

NAMED = (*HIT_KINDS, *OF_RECORDS)
MODES = ("hybrid", "dense", "lexical")
Lists = Sequence[tuple[str, Sequence[tuple["FoundIn | None", "ResultHit"]]]]
"""Headings, empty for none, with their hits; each hit with the one of several projects that it is of."""


class Search(Arguments, frozen=True, kw_only=True):
    """A query, and where to look; `lines` tells what the page shows of each hit."""

    query: Annotated[str, word("words, a question, an identifier", "QUERY", is_sentence=True)]
    limit: Annotated[int, option("hits of a list to show", ge=1)] = 10
    kind: Annotated[list[str], option("only this kind (default: files, then what fits)", "KIND", choices=NAMED)] = []
    mode: Annotated[str, option("legs that take part", choices=MODES)] = "hybrid"
    path: Annotated[str, option("only files that match, for example 'src/*.py' or docs", "GLOB")] = ""
    all: Annotated[bool, option("search the files of every indexed project", is_one_of="may")] = False
    group: Annotated[str, option("search the files of a group of projects", "NAME", is_one_of="may")] = ""
    team: Annotated[
        bool, option("search this project and the other repositories of the team's index", is_one_of="may")
    ] = False
    explain: Annotated[bool, option("show scores, fusion and evidence")] = False
    verbose: bool = False
    quiet: bool = False
    lines: bool = False


@operation("search", "search the project", '"where are retries capped" --limit 5 --path src', is_of_files=True)
def search(asking: Asking, wanted: Search) -> Outcome:
    """Search files and records, or the files of several projects.

    Raises:
        HybridError: Nothing can be searched, or records by path or in several projects.
    """
    from hybrid.ask.search import find

    query, request = make_query(wanted.query), _request(wanted)
    if wanted.all or wanted.group or wanted.team:
        return _everywhere(asking, wanted, query, request)
    result = find(asking.workspace, query, request, asking.kinds)
    if wanted.lines:
        terms = frozenset(query_tokens(f"{query.text} {query.english}"))
        lists = [_on_page(part, terms) for part in result.lists]
        return Outcome("", data={"lists": lists, "problems": [redact(one) for one in result.problems]})
    name = asking.workspace.require_project().name
    data = search_json(query, wanted.mode, result, project=name, is_explained=wanted.explain)
    found = [part for part in result.lists if part.hits]
    has_headings = not wanted.quiet and any(part.kind != "files" for part in found)
    lists = [(_heading(part, wanted) if has_headings else "", [(None, hit) for hit in part.hits]) for part in found]
    return _outcome(lists, wanted, data, result.problems)


def _request(wanted: Search) -> SearchRequest:
    from hybrid.ask.search import SearchRequest

    kinds = tuple(dict.fromkeys(kind for name in wanted.kind for kind in hits_named(name)))
    if wanted.path and set(kinds) - set(KINDS["files"].hits):
        raise OperationError("a path restricts files, and records lie in none: leave out the path or the records")
    return SearchRequest(kinds, wanted.path, cast("Mode", wanted.mode), wanted.limit)


def _everywhere(asking: Asking, wanted: Search, query: Query, request: SearchRequest) -> Outcome:
    """Search the files of several projects.

    Raises:
        HybridError: There is no such group, or nothing of it can be searched.
    """
    option = f"--group {wanted.group}" if wanted.group else "--team" if wanted.team else "--all"
    if set(request.kinds) - set(KINDS["files"].hits):
        raise OperationError(f"{option} searches files: leave out --kind {wanted.kind[0]}, or the option")
    if wanted.team:
        from hybrid.ask.team import find_in_team

        result = find_in_team(asking.workspace, query, request)
    else:
        result = _in_projects(asking, wanted.group, query, request)
    data = everywhere_json(query, wanted.mode, result, is_explained=wanted.explain)
    is_open = any(one.selection.verdict.is_open for one in result.asked)
    why = "" if is_open else f": no gate of {amount(len(result.asked), 'project')} opens"
    hits: Lists = [("", [(one, one.found) for one in result.hits])] if result.hits else []
    return _outcome(hits, wanted, data, [harmless_line(one) for one in result.problems], f"Nothing found{why}.")


def _in_projects(asking: Asking, group: str, query: Query, request: SearchRequest) -> EverywhereResult:
    """Search the projects of a group, or all.

    Raises:
        HybridError: There is no such group, or no project of it has an index and a working tree.
    """
    from hybrid.ask.search import find_everywhere
    from hybrid.project.registry import load_groups
    from hybrid.upkeep.projects import workspaces_of

    groups = load_groups(asking.workspace.home)
    if group and group not in groups:
        raise HybridError(f"no group is called {group}; `hybrid projects group` lists them")
    found = workspaces_of(asking.workspace, groups[group] if group else None, asking.environ)
    if not found:
        option = f"--group {group}" if group else "--all"
        raise HybridError(f"{option} finds no project with an index and a working tree; `hybrid projects` lists them")
    return find_everywhere(found, query, request, asking.kinds)


def _heading(part: ResultList, wanted: Search) -> str:
    """Return the name of a list's kind, with the numbers of its gate where they are wanted and it was asked."""
    from hybrid.answer.recording import gate_part
    from hybrid.health.explaining import gate_rows

    rows = gate_rows(gate_part(part.verdict)) if part.verdict and wanted.explain else []
    return f"{part.kind.capitalize()}{f': {rows[0][1]}' if rows else ''}"


def _outcome(
    lists: Lists, wanted: Search, data: dict[str, Any], problems: Sequence[str], nothing: str = "Nothing found."
) -> Outcome:
    lines: list[str] = []
    for number, (heading, hits) in enumerate(lists):
        lines += [f"{chr(10) if number else ''}{heading}"] if heading else []
        for place, one in hits:
            lines += [f"{one.hit.rank:>2}  {of_project(place)}{harmless_line(one.header)}"]
            lines += [f"      {aside}" for aside in asides_of(one, wanted, is_here=place is None)]
            lines += [f"      {line}".rstrip() for line in lines_of(one, wanted)]
    text = "\n".join(lines) or nothing
    return Outcome(text, data=data, is_found=bool(lines), warning="\n".join(problems), found=lists)


def of_project(place: FoundIn | None) -> str:
    """Return the beginning of the line that names a hit of one of several projects."""
    return f"{harmless_line(place.project)}: " if place else ""


def asides_of(one: ResultHit, wanted: Search, *, is_here: bool) -> list[str]:
    """Return what is said about a hit: what gave it its place, and that its file is another now."""
    said = [_steps(one.hit)] if wanted.explain else []
    said += [evidence_line(one.hit.evidence)] if wanted.explain and one.hit.evidence else []
    is_stale = one.text is None and is_here and not wanted.quiet
    return [*said, "(changed since it was indexed: run `hybrid reindex`)"] if is_stale else said


def lines_of(one: ResultHit, wanted: Search) -> list[str]:
    """Return the telling lines of a hit, or all."""
    text = "" if wanted.quiet or one.text is None else one.text if wanted.verbose else one.telling
    # As one, since a mark may be spread over lines.
    return without_marks(text).split("\n") if text else []


def _steps(hit: Hit) -> str:
    dense = "no vector" if hit.cosine is None else f"cosine {hit.cosine:.3f}"
    lexical = "no query term" if hit.bm25 is None else f"bm25 {hit.bm25:.2f}"
    dense_rank = f" (rank {hit.cosine_rank})" if hit.cosine_rank else ""
    lexical_rank = f" (rank {hit.bm25_rank})" if hit.bm25_rank else ""
    return f"{dense}{dense_rank}; {lexical}{lexical_rank}; rrf {hit.rrf:.5f}; relevance {hit.relevance:.2f}"


# --- as JSON: keys are stable ----------------------------------------------------------------------------


def hit_json(hit: Hit, *, project: str | None, text: str | None) -> dict[str, Any]:
    """Return one hit as JSON: place, numbers, project and text; absent values are None."""
    from hybrid.answer.recording import place_of

    return {
        "rank": hit.rank,
        **place_of(hit),
        "language": None if hit.is_record else hit.language,
        "cosine": hit.cosine,
        "bm25": hit.bm25,
        "rrf": hit.rrf,
        "relevance": hit.relevance,
        "project": project,
        "text": text,
    }


def steps_json(hit: Hit) -> dict[str, Any]:
    """Return what gave a hit its place: rank and score in each leg, the fusion, and the evidence for its file."""
    return {
        "dense": {"rank": hit.cosine_rank, "cosine": hit.cosine},
        "lexical": {"rank": hit.bm25_rank, "bm25": hit.bm25},
        "fusion": {"rrf": hit.rrf, "rank": hit.rank},
        "evidence": {name: value for name, value in hit.evidence.items() if value} or None,
        "floor": {"relevance": hit.relevance},
        "chunk": {
            "kind": hit.chunk_kind,
            "scope": hit.scope or None,
            "signature": hit.signature or None,
            "key": hit.key,
        },
    }


def project_of(record: Record | None, own: str) -> str | None:
    """Return the project of a hit: its record's; `own` for a file or the project's lesson; None when it has none."""
    if record is None:
        return own or None
    is_own_lesson = record.kind == "lesson" and not record.id.startswith("S")
    return record.project or (own or None if is_own_lesson else None)


def result_json(found: ResultHit, *, project: str, is_explained: bool) -> dict[str, Any]:
    """Return one hit of a search as JSON; `project` is the name of the project that was searched."""
    form = hit_json(found.hit, project=project_of(found.record, project), text=found.text)
    return form | {"steps": steps_json(found.hit)} if is_explained else form


def search_json(query: Query, mode: str, found: SearchResult, *, project: str, is_explained: bool) -> dict[str, Any]:
    """Return the JSON of `hybrid search`; `is_explained` adds to each hit what gave it its place."""
    from hybrid.answer.select import gate_form

    files = found.files
    return {
        "query": query.text,
        "mode": mode,
        "top_cosine": files.top_cosine if files else None,
        "candidates": files.n_candidates if files else None,
        "hits": [
            result_json(one, project=project, is_explained=is_explained) for part in found.lists for one in part.hits
        ],
        "kinds": {part.kind: gate_form(part.verdict) for part in found.lists if part.verdict},
        "problems": list(found.problems),
    }


def everywhere_json(query: Query, mode: str, found: EverywhereResult, *, is_explained: bool) -> dict[str, Any]:
    """Return the JSON of `hybrid search` in several projects: hits as in `search_json` with roots, and gates."""
    from hybrid.answer.select import gate_form

    return {
        "query": query.text,
        "mode": mode,
        "hits": [
            result_json(one.found, project=one.project, is_explained=is_explained)
            | {"root": one.root or None, "worth": one.worth}
            for one in found.hits
        ],
        "projects": [
            {
                "name": one.name,
                "root": one.root or None,
                "commit": one.commit or None,
                "gate": gate_form(one.selection.verdict),
            }
            for one in found.asked
        ],
        "problems": list(found.problems),
    }


# --- for the page -----------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")
_NUMBERS = ("cosine", "cosine_rank", "bm25", "bm25_rank", "rrf", "relevance")


def _on_page(part: ResultList, terms: Collection[str]) -> dict[str, Any]:
    """Return the hits of a kind as the page shows them: without secrets, words of the query apart."""
    from hybrid.answer.recording import gate_part

    gate = {"is_open": part.verdict.is_open, **gate_part(part.verdict)} if part.verdict else None
    return {"kind": part.kind, "gate": gate, "hits": [_hit_on_page(one, terms) for one in part.hits]}


def _hit_on_page(one: ResultHit, terms: Collection[str]) -> dict[str, Any]:
    hit = one.hit
    begin, _, rest = one.header.partition("] ")
    lines = zip(one.numbers, one.telling.split("\n"), strict=True) if one.telling else ()
    return {name: getattr(hit, name) for name in _NUMBERS} | {
        "title": redact(rest if begin.startswith("[") and rest else one.header),
        "kind": hit.kind,
        "ref": record_id(hit.path) if hit.is_record else f"{redact(hit.path)}:{hit.start_line}-{hit.end_line}",
        "language": "" if hit.is_record else hit.language,
        "evidence": {name: value for name, value in hit.evidence.items() if abs(value) >= 0.005},
        "lines": [(0 if hit.is_record else number or 0, highlighted(line, terms)) for number, line in lines],
        "is_stale": one.text is None and not hit.is_record,
    }


def highlighted(line: str, terms: Collection[str]) -> list[str]:
    """Return a line in pieces: plain, a word of the query, plain, and so on; the plain ones may be empty."""
    parts, plain = list[str](), 0
    for match in _WORD.finditer(line):
        if any(token in terms for token in tokens_of_word(match[0])):
            parts += [line[plain : match.start()], match[0]]
            plain = match.end()
    return [*parts, line[plain:]]
