"""Searches what lies in the team's store: a project here, with what differs from it, or a repository that is not here.

`StoredSearcher` asks the store once a query and then searches a snapshot of candidates and overlay like any other. When
the store does not answer in time, or is down, `TeamSearcher` searches what lies here: the overlay, and the last whole
index. Of a repository that is not here nothing can be said then.
"""

from __future__ import annotations

import contextlib
import time
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hybrid.base.errors import IndexCorruptError, IndexUnavailableError, StoreDownError
from hybrid.base.tokens import query_tokens
from hybrid.index.backend import EVERYTHING
from hybrid.index.manifest import FORMAT_VERSION, Manifest, lenders
from hybrid.index.snapshot import Snapshot, open_segment, open_snapshot
from hybrid.prompting.query import said_in_english
from hybrid.search.gate.verdict import open_gate
from hybrid.search.searcher import Judging, Searcher, open_searcher
from hybrid.team.asking import Connections, TeamIndex, restricted
from hybrid.team.base import Outage, note_outage, read_base, read_outage
from hybrid.team.joined import JoinedSnapshot
from hybrid.team.store import StoreKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.config import Config
    from hybrid.constants import RankingConfig, SearchConfig
    from hybrid.index.backend import Filter
    from hybrid.index.history import History
    from hybrid.index.manifest import SegmentEntry
    from hybrid.index.segment import Segment
    from hybrid.prompting.query import Query
    from hybrid.search.gate.verdict import Gate
    from hybrid.search.searcher import Mode, Searched
    from hybrid.team.store import StoredFile
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


class StoredSearcher(Searcher):
    """Searches a generation of the team's index, with an overlay that may be empty.

    Its backend has the figures of everything and the rows of the overlay alone. A search raises `StoreDownError` when
    the store does not answer.

    Args:
        team: The generation in the store.
        overlay: The index of what differs from it.
        embedder: The embedder that both were built with.
        settings: How to search.
        ranking: The weights of the evidence.
    """

    is_whole = False

    def __init__(
        self,
        team: TeamIndex,
        overlay: Snapshot,
        *,
        embedder: Embedder,
        settings: SearchConfig,
        ranking: RankingConfig,
    ) -> None:
        self.team = team
        self._overlay = overlay
        self._ranking = ranking
        super().__init__(joined(team, overlay, settings), embedder, settings, None, ranking)

    def with_gate(self, gate: Gate | None, history: History | None) -> StoredSearcher:
        """Return a searcher with a gate of this backend, and what earlier commits tell."""
        other = copy(self)
        other.gate, other.history = gate, history
        return other

    def search(
        self,
        query: Query,
        *,
        top_k: int,
        mode: Mode = "hybrid",
        only: Filter = EVERYTHING,
        judging: Judging | None = None,
    ) -> Searched:
        """See `Searcher.search`."""
        if judging is not None and judging.prompt is None and self.gate is not None:
            judging = replace(judging, prompt=self.gate.ask(query.text, self.english(query)))
        searcher = self._near(query, only, judging)
        return searcher.search(query, top_k=top_k, mode=mode, only=only, judging=judging)

    def _near(self, query: Query, only: Filter, judging: Judging | None) -> Searcher:
        """Return a searcher of what the store finds near a query; that of `_without_store` when it does not answer."""
        asked = said_in_english(query) if self.english(query) else query
        vectors = [self._vector(asked)[np.newaxis, :]]
        queries = [query_tokens(asked.text)]
        if asked.text != query.text:
            vectors.append(self._vector(query)[np.newaxis, :])
            queries.append(query_tokens(query.text))
        if judging is not None and judging.prompt is not None:
            vectors.append(judging.prompt.vectors)
        files = self.team.candidates(
            np.concatenate(vectors), queries, self._settings.depth, restricted(only.kinds, only.path), self._is_hidden
        )
        self.problem = self.team.connection.problem
        if files is None:
            return self._without_store()
        backend = joined(self.team, self._overlay, self._settings, files)
        gate = self.gate.over(backend) if self.gate else None
        found = Searcher(backend, self.embedder, self._settings, gate, self._ranking)
        return found.with_history(self.history)

    def _is_hidden(self, path: str) -> bool:
        """Return whether a path of the generation is not to be found."""
        return False

    def _without_store(self) -> Searcher:
        """Return what searches while the store is down.

        Raises:
            StoreDownError: Nothing does.
        """
        raise StoreDownError(self.problem or "the store is not connected yet")


class TeamSearcher(StoredSearcher):
    """Searches a team's index with what differs from it in the working tree.

    Args:
        team: The generation in the store.
        overlay: The index of what differs in the working tree.
        root: Top of the working tree.
        folder: Folder of the overlay, where an outage of the store is noted.
        alone: Searches what lies here, when the store is down.
        options: As of `StoredSearcher`.
    """

    def __init__(
        self, team: TeamIndex, overlay: Snapshot, root: Path, folder: Path, alone: Searcher, **options: Any
    ) -> None:
        super().__init__(team, overlay, **options)
        self._root = root
        self._folder = folder
        self._alone = alone
        self._replaced = frozenset(overlay.live_documents())
        self._is_told = read_outage(folder) is not None

    def _near(self, query: Query, only: Filter, judging: Judging | None) -> Searcher:
        try:
            found = super()._near(query, only, judging)
        except IndexCorruptError as error:
            self.team.connection.failed(error)
            self.problem, found = str(error), self._alone
        self._tell(is_down=found is self._alone)
        return found

    def _without_store(self) -> Searcher:
        return self._alone

    def _tell(self, *, is_down: bool) -> None:
        """Note for `hybrid status` when the store goes down and when it is back; nothing while it is being opened."""
        if is_down != self._is_told and (self.problem or not is_down):
            self._is_told = is_down
            note_outage(self._folder, Outage(self.problem, time.time()) if is_down else None)

    def _is_hidden(self, path: str) -> bool:
        """Return whether the working tree has another file at a path, or none."""
        return path in self._replaced or not (self._root / path).is_file()


def joined(
    team: TeamIndex, overlay: Snapshot, settings: SearchConfig, files: Sequence[StoredFile] = ()
) -> JoinedSnapshot:
    """Return the view of some candidates and the overlay."""
    return JoinedSnapshot(files, overlay, team.base.figures, k1=settings.bm25_k1, b=settings.bm25_b)


def open_stored(team: TeamIndex, key: StoreKey, embedder: Embedder, home: Path, config: Config) -> StoredSearcher:
    """Open a generation of a repository that is not here for searching.

    Args:
        team: The generation.
        key: What the store holds was made by this.
        embedder: The embedder of that key.
        home: `$HYBRID_HOME`.
        config: Settings in force here: the repository's own are not stored.

    Raises:
        IndexCorruptError: Its figures are not those of such an index.
    """
    figures = team.base.figures
    if {figures.mean_vector.shape, figures.mean_file_vector.shape} != {(key.dim,)}:
        raise IndexCorruptError(f"the figures of {team.base.repository} in the team's index are damaged: push it again")
    manifest = Manifest(FORMAT_VERSION, 1, key.model, key.dim, key.recipe, (), {}, figures.background_key)
    found = StoredSearcher(
        team, Snapshot(manifest, []), embedder=embedder, settings=config.search, ranking=config.ranking
    )
    return found.with_gate(open_gate(found.backend, embedder, home, config.gate), None)


def open_files(
    workspace: Workspace,
    *,
    load: Callable[[str, Path], Embedder] | None = None,
    connections: Connections | None = None,
    is_asking: bool = True,
) -> Searcher:
    """Open the index of a workspace's files for searching, with the team's index where the settings name one.

    Args:
        workspace: A workspace with a project.
        load: As in `open_searcher`.
        connections: The stores that this process is connected with; by default a search waits for its own.
        is_asking: False searches what lies here alone, for who has no time to connect.

    Raises:
        ProjectError, ModelError, IndexUnavailableError: As `open_searcher`.
    """
    searcher = open_searcher(workspace, load=load)
    settings, place = workspace.config.index, workspace.place
    if settings.backend != "milvus" or searcher.lender:
        return searcher
    base, overlay = read_base(place.folder), searcher.backend
    if base is None or not isinstance(overlay, Snapshot):
        return searcher
    alone = _alone(workspace, searcher, overlay)
    if not is_asking:
        return alone
    manifest = overlay.manifest
    key = StoreKey(manifest.model, manifest.dim, manifest.recipe)
    team = TeamIndex((connections or Connections()).to(settings, key), base)
    config, embedder = workspace.config, searcher.embedder
    found = TeamSearcher(
        team,
        overlay,
        workspace.require_project().root,
        place.folder,
        alone,
        embedder=embedder,
        settings=config.search,
        ranking=config.ranking,
    )
    return found.with_gate(open_gate(found.backend, embedder, workspace.home, config.gate), searcher.history)


def _alone(workspace: Workspace, searcher: Searcher, overlay: Snapshot) -> Searcher:
    """Return a searcher of what lies here: the overlay, with the last whole index of a tree but for its paths."""
    config, manifest = workspace.config, overlay.manifest
    paths = [path for segment in overlay.segments for path in segment.paths]
    for lender in lenders(workspace.place):
        with contextlib.suppress(IndexUnavailableError, OSError, ValueError):
            whole = open_snapshot(lender.folder, model=manifest.model)
            if (whole.manifest.recipe, whole.manifest.background) != (manifest.recipe, manifest.background):
                continue
            entries = zip(whole.manifest.segments, whole.segments, strict=True)
            segments = [open_segment(lender.folder, _without(entry, segment, paths)) for entry, segment in entries]
            both = Snapshot(
                manifest,
                [*segments, *overlay.segments],
                k1=config.search.bm25_k1,
                b=config.search.bm25_b,
                n_compared=config.search.compared,
            )
            gate = open_gate(both, searcher.embedder, workspace.home, config.gate)
            found = Searcher(both, searcher.embedder, config.search, gate, config.ranking)
            return found.with_history(searcher.history)
    return searcher


def _without(entry: SegmentEntry, segment: Segment, paths: Sequence[str]) -> SegmentEntry:
    """Return the entry of a segment with the documents at some paths marked dead."""
    gone = {row for path in paths if (row := segment.document_at(path)) is not None}
    return replace(entry, dead_documents=tuple(sorted(gone | set(entry.dead_documents))))
