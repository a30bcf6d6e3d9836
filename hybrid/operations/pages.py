"""Operations of the page alone, by the names in `PAGES`: search with its parts, what is indexed, how far a build is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.answer.recording import gate_part
from hybrid.ask.search import SearchRequest, find
from hybrid.base.errors import IndexMissingError
from hybrid.base.text import cut
from hybrid.base.tokens import query_tokens, tokens_of_word
from hybrid.index.catalog import Catalog
from hybrid.index.holder import is_held, read_holder
from hybrid.operations import types
from hybrid.operations.asking import OperationError
from hybrid.prompting.query import make_query
from hybrid.records.types import HIT_KINDS, KINDS, hits_named
from hybrid.redact import redact
from hybrid.render.telling import GAP
from hybrid.sources.records import record_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hybrid.ask.search import ResultHit, ResultList
    from hybrid.operations.asking import Asking


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
    if wanted.path and set(kinds) - set(KINDS["files"].hits):
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
    found = tuple(dict.fromkeys(hit for name in names for hit in hits_named(name)))
    unknown = [kind for kind in found if kind not in HIT_KINDS]
    if unknown:
        raise OperationError(f"{unknown[0][:40]!r} is no kind; there are {', '.join(sorted(HIT_KINDS))}")
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
