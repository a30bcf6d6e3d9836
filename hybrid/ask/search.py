"""Searches by hand: the files and each kind of records, every one a list with ranks of its own.

Commands ask here; nothing is recorded. The lists are never merged by score.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.answer.decide import CONSIDERED, file_collection
from hybrid.answer.select import Selection, verdict_of
from hybrid.base.errors import HybridError, IndexMismatchError, IndexUnavailableError, ModelError
from hybrid.index.backend import Filter
from hybrid.records.types import KINDS, OF_RECORDS
from hybrid.redact import redact
from hybrid.render.telling import numbered_telling_lines
from hybrid.search.searcher import Judging, open_by_words
from hybrid.types import Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.config import Loaded
    from hybrid.knowledge.collections import Collection
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.prompting.query import Query
    from hybrid.records.types import Record
    from hybrid.search.scores import Verdict
    from hybrid.search.searcher import Mode, Searched, Searcher
    from hybrid.types import Hit
    from hybrid.workspace import Workspace


_SHORT_LINES = 7
"""Lines of a text that is shown whole in a list: fewer would be left out than the gaps take."""
_PARTS = 1
"""Parts of a longer text that are shown besides its head: a list is read quickly, and `--verbose` shows all."""


class SearchRequest(Struct, frozen=True):
    """A request of a search by hand.

    Attributes:
        kinds: Kinds of hits (`code`, `lesson`, …), found whatever a gate says. Empty: the files, then the records that
            fit, of each kind whose gate opens.
        path: Restricts the files, as in `Filter`; records have no path, so there are none with it.
        mode: The legs that take part in the search.
        top_k: Hits of each list at most.
    """

    kinds: tuple[str, ...] = ()
    path: str = ""
    mode: Mode = "hybrid"
    top_k: int = 10

    def of(self, collection: str) -> tuple[str, ...]:
        """Return the kinds to look for in a collection; none when it is not to be searched."""
        if collection != "files" and self.path:
            return ()
        return tuple(kind for kind in KINDS[collection].hits if not self.kinds or kind in self.kinds)


class ResultHit(Struct, frozen=True):
    """A hit as it may be shown.

    Attributes:
        hit: Without secrets.
        header: As in the frame: `[lesson] L001 Git commit format (relevance 8/10)`.
        text: The present text of the hit; None for a part of a file that changed since it was indexed.
        telling: The text if it is short, else its head and the lines that tell most about the query.
        record: None for a part of a file.
        numbers: Of each line of `telling` its number in the file, from 1; None where lines were left out. Those of a
            record count from its first line.
    """

    hit: Hit
    header: str
    text: str | None
    telling: str
    record: Record | None = None
    numbers: tuple[int | None, ...] = ()


class ResultList(Struct, frozen=True):
    """The hits of one collection.

    Attributes:
        kind: files, lessons, lore or memory.
        searched: The search behind it.
        verdict: The verdict of the collection's gate; None when the gate was not asked.
        hits: Best first, ranks from 1.
    """

    kind: str
    searched: Searched
    verdict: Verdict | None
    hits: tuple[ResultHit, ...]


class SearchResult(Struct, frozen=True):
    """The result of `find`.

    Attributes:
        lists: The files first, then each kind of records that was searched, with hits or without.
        problems: What could not be searched, a sentence each.
    """

    lists: tuple[ResultList, ...]
    problems: tuple[str, ...] = ()

    @property
    def files(self) -> Searched | None:
        """The search in the files; None when the files were not searched."""
        return next((one.searched for one in self.lists if one.kind == "files"), None)


def find(workspace: Workspace, query: Query, wanted: SearchRequest, kinds: OpenKinds) -> SearchResult:
    """Search files and records; what cannot be searched is named in `problems` as long as something else is found.

    Args:
        workspace: With a project.
        query: Cleaned text.
        wanted: The kinds and the number of hits.
        kinds: The open stores and indexes.

    Raises:
        ProjectError: There is no project here.
        IndexUnavailableError: The files cannot be searched, and no record was found.
        HybridError: The records cannot be searched, and nothing else was wanted.
    """
    workspace.require_project()
    lists: list[ResultList] = []
    missing: IndexUnavailableError | None = None
    by_words: list[str] = []
    if wanted.of("files"):
        try:
            searcher, by_words = _opened(workspace, kinds)
            lists.append(_files(workspace, query, wanted, searcher))
            if searcher.problem:
                by_words.append(f"files: what lies on this machine was searched alone, for {searcher.problem}")
        except IndexUnavailableError as error:
            missing = error
    found, problems = _all_records(workspace, query, wanted, kinds)
    lists += found
    problems = [*by_words, *problems]
    if missing is not None:
        if not any(one.hits for one in lists):
            raise missing
        problems.insert(0, f"files: {missing}")
    elif problems and not lists:
        raise HybridError("; ".join(problems))
    return SearchResult(tuple(lists), tuple(problems))


def _opened(workspace: Workspace, kinds: OpenKinds) -> tuple[Searcher, list[str]]:
    """Return the searcher of the files, and sentences on what stands in: words alone, or another tree's index.

    It is one by words when no model of the index can be loaded.

    Raises:
        IndexUnavailableError: The files cannot be searched.
    """
    try:
        searcher = kinds.searcher(workspace)
        return searcher, [searcher.stands_in] if searcher.lender else []
    except (IndexMismatchError, ModelError) as error:
        return open_by_words(workspace), [f"files: found by words alone, for {error}"]


def _files(workspace: Workspace, query: Query, wanted: SearchRequest, searcher: Searcher) -> ResultList:
    collection = file_collection(workspace, searcher)
    only = Filter(wanted.of("files") if wanted.kinds else (), wanted.path)
    # Where hits are left out or put in another order, more are looked at.
    is_ordered = bool(searcher.lender or collection.near)
    top_k = _looked_at(wanted) if is_ordered else wanted.top_k
    searched = searcher.search(query, top_k=top_k, mode=wanted.mode, only=only)
    hits = collection.ordered(searched.hits, query)
    if searcher.lender:
        return ResultList("files", searched, None, _shown(collection, hits, query)[: wanted.top_k])
    weights = searcher.term_weights(query)
    ranked = (replace(hit, rank=rank) for rank, hit in enumerate(hits[: wanted.top_k], 1))
    return ResultList(
        "files", searched, None, tuple(_found(collection, hit, collection.text(hit), weights) for hit in ranked)
    )


def _all_records(
    workspace: Workspace, query: Query, wanted: SearchRequest, kinds: OpenKinds
) -> tuple[list[ResultList], list[str]]:
    names = [kind for kind in OF_RECORDS if wanted.of(kind)]
    collections, problems = kinds.open(workspace, names, waits=True)
    return [_records(collection, workspace, query, wanted) for collection in collections], problems


def _records(collection: Collection, workspace: Workspace, query: Query, wanted: SearchRequest) -> ResultList:
    if wanted.kinds:
        only = Filter(wanted.of(collection.kind))
        searched = collection.search(query, top_k=_looked_at(wanted), mode=wanted.mode, only=only)
        hits = _shown(collection, _ordered(collection, searched), query)[: wanted.top_k]
        return ResultList(collection.kind, searched, None, hits)
    selection = judged(collection, workspace.loaded, query, wanted)
    hits = _shown(collection, selection.hits, query)[: wanted.top_k]
    return ResultList(collection.kind, selection.searched, selection.verdict, hits)


def _looked_at(wanted: SearchRequest) -> int:
    """Return the number of hits to take: no fewer than `CONSIDERED`, or `top_k` would change which come first."""
    return max(wanted.top_k, CONSIDERED)


def _ordered(collection: Collection, searched: Searched) -> list[Hit]:
    """Return every hit of a search: first those that the collection orders, in its order, then the others as ranked."""
    first = collection.ordered(searched.hits, searched.query)
    keys = {hit.key for hit in first}
    return [*first, *(hit for hit in searched.hits if hit.key not in keys)]


def _shown(collection: Collection, hits: Sequence[Hit], query: Query) -> tuple[ResultHit, ...]:
    """Return the hits whose records still stand as they were indexed, ranked anew from 1; others are left out.

    Of a collection that does not need a text, all are.
    """
    read = [(hit, collection.text(hit)) for hit in hits]
    left = [(hit, text) for hit, text in read if text is not None or not collection.needs_text]
    weights = collection.searcher.term_weights(query) if left else {}
    ranked = enumerate(left, 1)
    return tuple(_found(collection, replace(hit, rank=rank), text, weights) for rank, (hit, text) in ranked)


def _found(collection: Collection, hit: Hit, text: str | None, weights: Mapping[str, float]) -> ResultHit:
    shown, record, whole = collection.shown(hit), collection.record(hit), text or ""
    lines: list[tuple[int | None, str]] = list(enumerate(whole.split("\n")))
    if len(lines) > _SHORT_LINES:
        n_blank = len(whole) - len(whole.lstrip("\n"))
        found = numbered_telling_lines(whole.strip("\n"), weights, shown.signature, parts=_PARTS)
        lines = [(None if number is None else number + n_blank, line) for number, line in found]
    numbers = tuple(None if number is None else number + max(hit.start_line, 1) for number, _ in lines)
    telling = "\n".join(line for _, line in lines)
    shown = shown if record is None else replace(shown, name=redact(record.name))
    header = collection.entry(Item(shown, text or "", "full")).header
    return ResultHit(shown, header, text, telling, record, numbers)


def best_lore(
    workspace: Workspace, query: Query, opened: OpenKinds, *, kinds: Sequence[str] = (), top_k: int
) -> list[Record]:
    """Return the records of lore that hold a word of a query, open the gate, or are near when it opens; best first.

    Empty when the project has no lore.

    Args:
        workspace: With a project.
        query: Cleaned text.
        opened: The open stores and indexes.
        kinds: Only these; empty for all.
        top_k: So many at most.

    Raises:
        HybridError: The index of the lore cannot be used.
    """
    found, problems = opened.open(workspace, ("lore",))
    if problems:
        raise HybridError(problems[0])
    if not found:
        return []
    [collection] = found
    searched = collection.search(query, top_k=top_k, only=Filter(tuple(kinds)), judging=Judging())
    verdict = verdict_of(searched, collection, workspace.loaded)
    least, meant = collection.min_cosine if verdict.is_open else math.inf, verdict.rows or ()
    fitting = (
        hit
        for hit in _ordered(collection, searched)
        if hit.row in meant or hit.bm25 is not None or (hit.cosine or 0.0) >= least
    )
    return [record for hit in fitting if (record := collection.record(hit)) is not None]


# --- several projects -------------------------------------------------------------------------------------


class FoundIn(Struct, frozen=True):
    """A hit in the files of one of several projects.

    Attributes:
        project: Name of the project.
        root: The working tree whose files were searched; empty for a repository of the team's store.
        found: The hit; its rank is that among all projects.
        worth: What it was ranked by, in the scale of all projects: see `ranked_together`.
    """

    project: str
    root: str
    found: ResultHit
    worth: float


class Judged(Struct, frozen=True):
    """A project that was searched among others.

    Attributes:
        name: Its name.
        root: The working tree whose files were searched; empty for a repository of the team's store.
        selection: Its hits past the floor, none when the gate is closed, and the verdict of that.
        commit: Of a repository of the team's store the commit that was searched; else empty.
    """

    name: str
    root: str
    selection: Selection
    commit: str = ""


class EverywhereResult(Struct, frozen=True):
    """The result of a search in several projects.

    Attributes:
        hits: Best first, ranks from 1.
        asked: The projects that could be searched, in the order given.
        problems: What could not be searched, a sentence each.
    """

    hits: tuple[FoundIn, ...]
    asked: tuple[Judged, ...]
    problems: tuple[str, ...]


_STEEPNESS = 3.0
"""How fast the worth of a project's hits falls with the strength of its best. 2 to 4 do alike on the dev questions."""
_OF_TALK = ("chat", "probe")
"""Parts of a gate's score that only one of its two bars counts: without them scores of two projects compare."""


def find_everywhere(
    workspaces: Sequence[Workspace], query: Query, wanted: SearchRequest, kinds: OpenKinds
) -> EverywhereResult:
    """Search the files of several projects and rank their hits together (`ranked_together`).

    Args:
        workspaces: Each with a project; their indexes should be of one model.
        query: Cleaned text.
        wanted: Kinds of files, path, legs, and the number of hits of all projects together.
        kinds: The open indexes.
    """
    found: list[Judged] = []
    problems: list[str] = []
    for workspace in workspaces:
        try:
            found.append(judged_here(workspace, query, wanted, kinds))
        except (HybridError, OSError) as error:
            problems.append(f"{workspace.require_project().name}: {error}")
    return ranked_together(found, query, wanted, problems)


def judged_here(workspace: Workspace, query: Query, wanted: SearchRequest, kinds: OpenKinds) -> Judged:
    """Search the files of a working tree among other projects.

    Raises:
        HybridError, OSError: They cannot be searched.
    """
    project = workspace.require_project()
    collection = file_collection(workspace, kinds.searcher(workspace))
    return Judged(project.name, str(project.root), judged(collection, workspace.loaded, query, wanted))


def judged(collection: Collection, loaded: Loaded, query: Query, wanted: SearchRequest) -> Selection:
    """Search a collection whose gate decides: nothing when that is closed, else what passes the floor."""
    only = Filter(wanted.of("files") if wanted.kinds else (), wanted.path)
    judging = Judging(stops_when_closed=True) if loaded.config.hooks.gate_threshold == "auto" else None
    searched = collection.search(query, top_k=_looked_at(wanted), mode=wanted.mode, only=only, judging=judging)
    selection = Selection(collection, searched, verdict_of(searched, collection, loaded))
    if selection.verdict.is_open:
        selection.pass_floor()
    return selection


def ranked_together(
    found: Sequence[Judged], query: Query, wanted: SearchRequest, problems: Sequence[str]
) -> EverywhereResult:
    """Rank the hits of several projects together.

    Each project has its own gate and floor. Fused scores of two indexes do not compare, nor do shares of the evidence:
    the best of each is 1. What the gate compares does (how near and how telling the best piece of the query is), since
    it is measured against the same background everywhere. A hit is worth relevance · exp(3 · that), and never more than
    the one before it in its project.
    """
    every: list[FoundIn] = []
    models: dict[str, str] = {}
    for one in found:
        collection, verdict = one.selection.collection, one.selection.verdict
        models.setdefault(collection.searcher.embedder.info.name, one.name)
        hits = _shown(collection, one.selection.hits, query)[: wanted.top_k]
        every += _weighed(one.name, one.root, verdict, hits)
    told = ", ".join(f"{name} of {model}" for model, name in models.items())
    mixed = [f"indexes of different models do not compare well ({told})"] if len(models) > 1 else []
    best = sorted(every, key=lambda one: (-one.worth, one.root, one.project, one.found.hit.rank))[: wanted.top_k]
    ranked = (
        replace(one, found=replace(one.found, hit=replace(one.found.hit, rank=rank)))
        for rank, one in enumerate(best, 1)
    )
    return EverywhereResult(tuple(ranked), tuple(found), (*problems, *mixed))


def _weighed(name: str, root: str, verdict: Verdict, hits: Sequence[ResultHit]) -> list[FoundIn]:
    """Return the hits of a project, best first, with what they are worth among those of others."""
    parts = [value for part, value in verdict.parts.items() if part not in _OF_TALK]
    strength = math.exp(_STEEPNESS * (sum(parts) if parts else verdict.score or 0.0))
    weighed: list[FoundIn] = []
    least = math.inf
    for one in hits:
        least = min(least, one.hit.relevance * strength)
        weighed.append(FoundIn(name, root, one, least))
    return weighed
