"""Searches a project beside the other repositories of the team's store, each at the commit that was pushed last.

`hybrid search --team` asks here. Of a repository that is not here a store says all there is, and it may say anything:
paths are shown and never opened, lines only where the stored text has the digest of the chunk, and names only where
they stand in such lines.
"""

from __future__ import annotations

import math
import re
import time
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from hybrid.ask.search import Judged, judged, judged_here, ranked_together
from hybrid.base.errors import BusyError, HybridError, IndexCorruptError, ProjectError, StoreDownError
from hybrid.base.text import digest_of_normalised
from hybrid.base.tokens import query_tokens
from hybrid.index.analysis import chunk_text
from hybrid.index.bundle import stands_in
from hybrid.knowledge.collections import Collection
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.redact import mask, redact
from hybrid.search.team import open_stored
from hybrid.team.asking import Connections, TeamIndex, require_uri
from hybrid.team.base import Shelf
from hybrid.upkeep.indexing import key_of, recipe_of, repository_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.answer.select import Selection
    from hybrid.ask.search import EverywhereResult, SearchRequest
    from hybrid.config import Config
    from hybrid.index.analysis import ChunkRecord
    from hybrid.prompting.query import Query
    from hybrid.search.team import StoredSearcher
    from hybrid.types import Hit
    from hybrid.workspace import Workspace

FOLDER = "team"
"""Folder in a `$HYBRID_HOME` for what is kept of other repositories."""
LIMIT_S = 20.0
"""Seconds that a search may take for the store, with connecting and downloading."""
_CONNECT_S = 10.0
_CALL_S = 5.0
"""Seconds that the calls for one repository may take."""
_NAMED = 3
"""Repositories that a problem names, of all that it concerns."""
_DOUBTFUL = (HybridError, OSError, ValueError, TypeError, LookupError, ArithmeticError)
"""What comes of reading what a store says: numbers that do not fit each other raise like mistakes of ours."""
_MOST_STRENGTH = 20.0
"""What a gate compares is some 1 to 2; e to the power of three times the sum of its parts must be a number."""
_PLAIN = re.compile(r"[a-z][a-z0-9_+#-]{0,29}")
"""A word for a kind or a language."""


def find_in_team(workspace: Workspace, query: Query, wanted: SearchRequest) -> EverywhereResult:
    """Search the files of a project and of all other repositories of the team's store, and rank the hits together.

    What cannot be searched is named in the problems, as long as something can.

    Args:
        workspace: Its settings count for every repository; without a project the store is searched alone.
        query: Cleaned text.
        wanted: Kinds of files, path, legs, and the number of hits together.

    Raises:
        ConfigError: The settings name no store.
        HybridError: Nothing can be searched.
    """
    require_uri(workspace.config.index)
    ends_s = time.monotonic() + LIMIT_S
    stores = Connections(wait_s=_CONNECT_S)
    models = LoadedModels()
    found: list[Judged] = []
    problems: list[str] = []
    if workspace.project is not None:
        try:
            found.append(
                judged_here(workspace, query, wanted, OpenKinds(indexes=OpenIndexes(models, connections=stores)))
            )
        except (HybridError, OSError) as error:
            problems.append(f"{workspace.project.name}: {error}")
    try:
        stored, told = _Others(workspace, models, stores, ends_s).judged(query, wanted)
        found, problems = [*found, *stored], [*problems, *told]
    except HybridError as error:
        problems.append(f"the team's index was not searched: {error}")
    if not found:
        raise HybridError("; ".join(problems) or "the team's index holds no repository yet: `hybrid index push`")
    return ranked_together(found, query, wanted, problems)


class _Others:
    """The repositories of the team's store but the present one, open for one search.

    Args:
        workspace: The present one, whose settings count.
        models: Gives the embedder.
        stores: Gives the connection.
        ends_s: Monotonic time from which on the store is not asked any more.

    Raises on opening:
        HybridError: The embedder cannot be loaded, or the store does not answer.
    """

    def __init__(self, workspace: Workspace, models: LoadedModels, stores: Connections, ends_s: float) -> None:
        config = workspace.config
        self._workspace = workspace
        self._ends_s = ends_s
        self._embedder = models.load(config.model.name, workspace.home)
        self._key = key_of(self._embedder.info, recipe_of(config.index))
        self._connection = stores.to(config.index, self._key)
        store = self._connection.store()
        if store is None:
            raise StoreDownError(self._connection.problem or f"the store does not answer within {_CONNECT_S:.0f} s")
        self._store = store
        latest = store.latest(timeout_s=self._left_s())
        named = (config.index.uri, config.index.collection, *map(str, astuple(self._key)))
        self._shelf = Shelf(workspace.home / FOLDER, "\0".join(named))
        self._shelf.keep(latest)
        here = _name_here(workspace)
        self._commits = {repository: commit for repository, commit in latest.items() if repository != here}

    def judged(self, query: Query, wanted: SearchRequest) -> tuple[list[Judged], list[str]]:
        """Search each of them; return what was found, and a sentence for each problem.

        Once the store does not answer, the others are not asked for.
        """
        found: list[Judged] = []
        problems: list[str] = []
        for place, repository in enumerate(self._commits):
            try:
                found.append(self._judged(repository, query, wanted))
            except (StoreDownError, BusyError) as error:
                left = list(self._commits)[place:]
                more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
                problems.append(f"{', '.join(left[:_NAMED])}{more}: not searched, for {error}")
                break
            except _DOUBTFUL as error:
                problems.append(f"{repository}: {error}")
        else:
            if self._connection.problem:
                problems.append(f"not all texts of the team's index were read, for {self._connection.problem}")
        return found, problems

    def _judged(self, repository: str, query: Query, wanted: SearchRequest) -> Judged:
        workspace, commit = self._workspace, self._commits[repository]
        base = self._shelf.take(
            repository, commit, lambda: self._store.generation(repository, commit, timeout_s=self._left_s())
        )
        team = TeamIndex(self._connection, base, call_s=min(_CALL_S, self._left_s()))
        searcher = open_stored(team, self._key, self._embedder, workspace.home, workspace.config)
        collection = StoredCollection(searcher, workspace.config)
        selection = judged(collection, workspace.loaded, query, wanted)
        _require_sound(selection)
        collection.read(selection.hits[: wanted.top_k])
        return Judged(repository, "", selection, commit)

    def _left_s(self) -> float:
        """Seconds that are left.

        Raises:
            StoreDownError: None are.
        """
        left_s = self._ends_s - time.monotonic()
        if left_s <= 0:
            raise StoreDownError(f"the store took more than {LIMIT_S:.0f} s")
        return left_s


def _require_sound(selection: Selection) -> None:
    """Check the numbers of a search: figures beyond what can be would spoil the order of all hits.

    Raises:
        IndexCorruptError: They are beyond it.
    """
    verdict, hits = selection.verdict, selection.hits
    numbers = [number for hit in hits for number in (hit.bm25 or 0.0, hit.rrf, hit.relevance, *hit.evidence.values())]
    strengths = (verdict.score or 0.0, *verdict.parts.values())
    # What is no number is not small either.
    if not (all(map(math.isfinite, numbers)) and all(abs(part) <= _MOST_STRENGTH for part in strengths)):
        raise IndexCorruptError("its figures in the team's index are beyond what can be: push it again")


def _name_here(workspace: Workspace) -> str:
    """Return the name that the store has for the present project; empty without a project, or one from nowhere."""
    try:
        return repository_of(workspace)
    except ProjectError:
        return ""


class StoredCollection(Collection):
    """Files of a repository of which nothing lies here.

    A hit shows its place alone, until `read` was given it and the store has its text.
    """

    kind = "files"
    needs_text = False

    def __init__(self, searcher: StoredSearcher, config: Config) -> None:
        self.searcher = searcher
        self.threshold = config.hooks.threshold
        self.min_cosine = config.search.min_cosine
        self._team = searcher.team
        self._is_redacting = config.privacy.redact
        self._texts: dict[str, _Text] = {}

    def read(self, hits: Sequence[Hit]) -> None:
        """Fetch the texts of the files of some hits, those that the store has; without them their places are shown."""
        paths = dict.fromkeys(hit.path for hit in hits)
        for path, text in (self._team.texts(paths) if paths else {}).items():
            if (file := self._team.file_at(path)) is not None:
                self._texts[path] = _Text(text, file.records)

    def text(self, hit: Hit) -> str | None:
        """Return the lines of a hit; None when the store has none, or others than its chunk was made of."""
        text = self._texts.get(hit.path)
        return text.of(hit, is_masked=self._is_redacting) if text else None

    def says(self, hit: Hit, name: str) -> bool:
        """As `Collection.says`, by the terms that are stored of the hit."""
        file, terms = self._team.file_at(hit.path), query_tokens(name)
        records = [record for record in file.records if _is_of(record, hit)] if file else []
        return bool(terms) and any(all(term in record.body for term in terms) for record in records)

    def shown(self, hit: Hit) -> Hit:
        """Return the hit with what of it may be shown: names only where they stand in the stored text."""
        clean = redact if self._is_redacting else str
        proven = self._texts[hit.path].proven if self.text(hit) is not None else ""
        name, signature, scope = (
            clean(one) if proven and stands_in((one,), proven) else "" for one in (hit.name, hit.signature, hit.scope)
        )
        return replace(
            hit,
            path=clean(hit.path),
            name=name,
            signature=signature,
            scope=scope,
            chunk_kind=_plain(hit.chunk_kind),
            language=_plain(hit.language),
        )


class _Text:
    """A stored text, with the chunks that it should be of."""

    def __init__(self, text: str, records: Sequence[ChunkRecord]) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._fitting = [record for record in records if self._fits(record)]

    def _fits(self, record: ChunkRecord) -> bool:
        """Return whether the lines of a chunk are those that it was made of, but for its secrets."""
        start, end = record.start_line, record.end_line
        is_inside = 1 <= start <= end <= len(self._lines)
        return is_inside and digest_of_normalised(chunk_text(self._lines, start, end)) == record.embedded

    @cached_property
    def proven(self) -> str:
        """The lines of all chunks that fit."""
        return "\n".join(chunk_text(self._lines, one.start_line, one.end_line) for one in self._fitting)

    @cached_property
    def _masked(self) -> list[str]:
        return mask(self._text).split("\n")

    def of(self, hit: Hit, *, is_masked: bool) -> str | None:
        """Return the lines of a hit; None when they do not fit. Secrets that the store has all the same are masked."""
        if not any(_is_of(record, hit) for record in self._fitting):
            return None
        return chunk_text(self._masked if is_masked else self._lines, hit.start_line, hit.end_line)


def _is_of(record: ChunkRecord, hit: Hit) -> bool:
    return (record.start_line, record.end_line, record.digest) == (hit.start_line, hit.end_line, hit.digest)


def _plain(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else ""
