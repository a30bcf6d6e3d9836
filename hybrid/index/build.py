"""Brings the index of one working tree up to date: scan, chunk, embed, commit a new generation; `hybrid reindex`.

Every step can be killed at any byte: the catalog keeps what was done, readers keep the last complete generation, and
the next run goes on where this one stopped.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.atomic import locked, make_private_folder, write_atomic
from hybrid.base.errors import BusyError, IndexUnavailableError
from hybrid.base.sqlite import set_database_aside
from hybrid.index.catalog import Catalog
from hybrid.index.documents import DocumentUpdate, Means
from hybrid.index.manifest import FORMAT_VERSION, is_untouched, read_manifest
from hybrid.index.plan import Part, Progress, Recipe, Summary, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hybrid.index.catalog import DocumentRow
    from hybrid.index.commit import Annotator
    from hybrid.index.place import Place
    from hybrid.types import Embedder, Source

_SPARE_CONTENTS = 5_000
_COLLECT_EVERY = 16
"""Generations between two looks for contents that nobody has: each look costs a pass over the catalog."""


def build(
    place: Place,
    source: Source,
    embedder: Embedder,
    how: Recipe,
    *,
    part: Part | None = None,
    full: bool = False,
    is_purged: bool = False,
    max_segments: int = 8,
    wait_s: float = 0.0,
    progress: Progress = silent,
    now_ns: Callable[[], int] = time.time_ns,
    annotator: Annotator | None = None,
    workers: int = 1,
    begin: Callable[[], None] = lambda: None,
) -> Summary:
    """Bring the index up to date.

    Args:
        place: Where it lies.
        source: Of documents.
        embedder: Of chunks; another than last time re-embeds everything.
        how: How documents are cut.
        part: Look at this part only, if the index is whole and current; `Summary.is_full` says whether that was so.
        full: Read every file again and write one new segment.
        is_purged: Write one new segment, and drop what no document of any tree has, without reading again what did not
            change: no file of the index holds any more what is gone.
        max_segments: Beyond which small segments are merged.
        wait_s: How long to wait for another build of this project, in seconds.
        progress: Hears how far it is.
        now_ns: Clock, nanoseconds since the epoch.
        annotator: Adds arrays to the segments that are written.
        workers: Processes that read and cut files when much changed; 0: as many as are fast, 1: none but this one.
        begin: Called once the lock is held, before anything is written; what it raises ends the build.

    Raises:
        BusyError: Another process is building, and the wait is over.
        OSError: The disk is full or read-only; the last generation stays.
    """
    started = time.perf_counter()
    make_private_folder(place.folder)
    # A folder that cannot be written raises here: it is not another build that holds the lock.
    place.lock.touch(mode=0o600)
    with locked(place.lock, wait_s) as held:
        if not held:
            raise BusyError(
                f"another process is indexing this project ({_holder(place.lock)}); try again when it is done"
            )
        begin()
        _sign(place.lock)
        part = None if full else part
        means = Means(source, embedder, how, progress, now_ns, workers, annotator)
        run = _Run(place, means, part, full, is_purged or full, max_segments, started)
        try:
            return run.once()
        except sqlite3.DatabaseError as error:
            # A page in the middle of the file is damaged, which opening does not notice.
            if isinstance(error, sqlite3.OperationalError) or not set_database_aside(place.catalog):
                raise OSError(f"{place.catalog}: {error}") from error
            return run.once()


class _Run(Struct, frozen=True):
    """One build under the lock: documents into the catalog, the catalog into a snapshot, the summary into both."""

    place: Place
    means: Means
    part: Part | None
    full: bool
    is_purged: bool
    max_segments: int
    started: float

    def once(self) -> Summary:
        place = self.place
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            summary = Summary()
            documents = DocumentUpdate(catalog, self.means, summary)
            was_cut_short = catalog.is_dirty()
            current = 0 if was_cut_short else self._current(catalog)
            documents.run(full=self.full, part=self.part if current else None)
            is_dirty = self.is_purged or catalog.is_dirty()
            is_current = current > 0 and not is_dirty
            summary.generation = (
                current if is_current else self._commit(catalog, documents, documents.changes if current else None)
            )
            if summary.is_full:
                _describe(summary, catalog, self.means.source)
            else:
                _describe_part(summary, catalog.summary_of(current), documents.n_chunks_more)
            summary.seconds = time.perf_counter() - self.started
            catalog.begin()
            if is_dirty or summary.generation != catalog.generation():
                catalog.finish(summary.generation, summary.as_json())
                # Builds that were killed end no generation, and leave what they read.
                if self.is_purged or was_cut_short or summary.generation % _COLLECT_EVERY == 0:
                    catalog.collect(spare=0 if self.is_purged else min(_SPARE_CONTENTS, summary.documents))
            else:
                catalog.touch()
            catalog.commit()
            catalog.compact_if_loose()
        return summary

    def _commit(
        self, catalog: Catalog, documents: DocumentUpdate, changes: Mapping[str, DocumentRow | None] | None
    ) -> int:
        """The generation that is current afterwards."""
        from hybrid.index.commit import commit_snapshot  # Brings numpy, which a build without a change never needs.

        return commit_snapshot(
            catalog,
            self.place.folder,
            self.means.embedder.info,
            self.means.how.of_chunks,
            changes=changes,
            full=self.is_purged,
            max_segments=self.max_segments,
            progress=self.means.progress,
            annotator=self.means.annotator,
            draft=documents.draft,
        )

    def _current(self, catalog: Catalog) -> int:
        """The generation on disk when it is the catalog's last one and its files are untouched, else 0."""
        try:
            manifest = read_manifest(self.place.folder)
        except IndexUnavailableError:
            return 0
        background = self.means.annotator.key if self.means.annotator else ""
        wanted = (
            FORMAT_VERSION,
            self.means.embedder.info.key,
            self.means.how.of_chunks,
            background,
            catalog.generation(),
        )
        found = (manifest.format_version, manifest.model, manifest.recipe, manifest.background, manifest.generation)
        return manifest.generation if found == wanted and is_untouched(self.place.folder, manifest) else 0


def _holder(lock: Path) -> str:
    try:
        holder = json.loads(lock.with_suffix(".holder").read_bytes())
        return f"process {int(holder['pid'])} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "process unknown"


def _sign(lock: Path) -> None:
    holder = {"pid": os.getpid(), "host": socket.gethostname()}
    write_atomic(lock.with_suffix(".holder"), json.dumps(holder).encode(), durable=False)


def _describe(summary: Summary, catalog: Catalog, source: Source) -> None:
    figures = catalog.figures()
    summary.documents = figures["documents"]
    summary.chunks = figures["chunks"]
    summary.skipped = dict(figures["skipped"])
    for reason, count in source.skipped.items():
        summary.skipped[reason] = summary.skipped.get(reason, 0) + count


def _describe_part(summary: Summary, last: Mapping[str, Any], n_chunks_more: int) -> None:
    """Figures from those of the last build, since counting costs a pass over the catalog."""
    summary.documents = int(last.get("documents", 0)) + summary.added - summary.removed
    summary.chunks = int(last.get("chunks", 0)) + n_chunks_more
    summary.skipped = dict(last.get("skipped", {}))
