"""Brings the index of one working tree up to date: scan, chunk, embed, commit a new generation; `hybrid reindex`.

Every step can be killed at any byte: the catalog keeps what was done, readers keep the last complete generation, and
the next run goes on where this one stopped.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked, make_private_folder
from hybrid.base.errors import BusyError, IndexUnavailableError
from hybrid.base.sqlite import set_database_aside
from hybrid.index.catalog import Catalog
from hybrid.index.documents import DocumentUpdate
from hybrid.index.holder import Signature, read_holder
from hybrid.index.manifest import is_untouched, read_manifest
from hybrid.index.plan import EVERYTHING, BuildTask, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.index.place import Place
    from hybrid.index.plan import BuildTools, Lending
    from hybrid.types import Source

_SPARE_CONTENTS = 5_000
"""Contents without a document that are kept at most, so that a switch of branches finds their vectors again."""
_COLLECT_EVERY = 16
"""Generations between two looks for contents that nobody has: each look costs a pass over the catalog."""


def build(place: Place, tools: BuildTools, task: BuildTask = EVERYTHING) -> Summary:
    """Bring the index of a working tree up to date; a damaged catalog is set aside and made anew.

    The folder of the tree and the lock file are made if they are missing; the lock is held until the build is done, and
    a file beside it names this process. What `BuildTask.begin` raises is passed on.

    Args:
        place: The paths of the index.
        tools: What the build works with: source, embedder, cutter and more.
        task: The work to do; by default everything that changed.

    Raises:
        BusyError: Another process is building, and the wait is over.
        OSError: The disk is full or read-only, or the catalog cannot be read or set aside; the last generation stays.
    """
    started = time.perf_counter()
    make_private_folder(place.folder)
    # A folder that cannot be written raises here: it is not another build that holds the lock.
    place.lock.touch(mode=0o600)
    with locked(place.lock, task.wait_s) as held:
        if not held:
            raise BusyError(
                f"another process is indexing this project ({_holder(place.lock)}); try again when it is done"
            )
        task.begin()
        tools = replace(tools, progress=Signature(place.lock, tools.progress))
        if task.full:
            task = replace(task, part=None, is_purged=True)
        run = _Run(place, tools, task, started)
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
    tools: BuildTools
    task: BuildTask
    started: float

    def once(self) -> Summary:
        place = self.place
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            summary = Summary()
            documents = DocumentUpdate(catalog, place.folder, self.tools, summary)
            was_cut_short = catalog.is_dirty()
            current = 0 if was_cut_short else self._current(catalog)
            lend = None if current or self.task.is_purged else self.task.lend
            lent = lend(place, catalog, self.tools) if lend else None
            documents.run(full=self.task.full, part=self.task.part if current else None, lent=lent)
            is_dirty = self.task.is_purged or catalog.is_dirty()
            is_current = current > 0 and not is_dirty
            summary.generation = current if is_current else self._commit(catalog, documents, bool(current), lent)
            if summary.is_full:
                _describe(summary, catalog, self.tools.source)
            else:
                _describe_part(summary, catalog.summary_of(current), documents.n_chunks_more)
            summary.seconds = time.perf_counter() - self.started
            catalog.begin()
            if is_dirty or summary.generation != catalog.generation():
                catalog.finish(summary.generation, summary.as_json())
                catalog.commit()
                self._merge(catalog, summary)
                catalog.begin()
                # Builds that were killed end no generation, and leave what they read.
                is_round = self.task.is_purged or was_cut_short or summary.generation % _COLLECT_EVERY == 0
                if is_round or documents.is_new_recipe:
                    catalog.forget_models(self.tools.is_gone)
                    catalog.collect(spare=0 if self.task.is_purged else min(_SPARE_CONTENTS, summary.documents))
            else:
                catalog.touch()
                if summary.is_full:
                    catalog.commit()
                    self._merge(catalog, summary)  # What edits left to it.
                    catalog.begin()
            catalog.commit()
            catalog.compact_if_loose()
        return summary

    def _commit(self, catalog: Catalog, documents: DocumentUpdate, is_known: bool, lent: Lending | None) -> int:
        """Commit a snapshot and return the generation that is current afterwards.

        `is_known`: What differs from the generation on disk is what this run changed.
        """
        # Brings numpy, which a build without a change never needs.
        from hybrid.index.commit import Changes, commit_snapshot

        known = documents.changes if is_known else None
        changes = Changes(known, documents.draft, lent, documents.sealed, documents.share)
        return commit_snapshot(catalog, self.place.folder, self.tools, self.task, changes)

    def _merge(self, catalog: Catalog, summary: Summary) -> None:
        """Merge segments after the generation that holds what changed: nobody waits for it to find that.

        The disk may be full, or a segment damaged: the next build merges, or makes the index anew.
        """
        from hybrid.index.commit import merge_segments

        with contextlib.suppress(OSError, IndexUnavailableError, ValueError, IndexError):
            merged = merge_segments(catalog, self.place.folder, self.tools, self.task)
            if merged != summary.generation:
                summary.generation = merged
                summary.seconds = time.perf_counter() - self.started
                catalog.begin()
                catalog.finish(merged, summary.as_json())
                catalog.commit()

    def _current(self, catalog: Catalog) -> int:
        """The generation on disk when it is the catalog's last one and its files are untouched, else 0."""
        try:
            manifest = read_manifest(self.place.folder)
        except IndexUnavailableError:
            return 0
        is_last = manifest.generation == catalog.generation() and self.tools.made(manifest)
        return manifest.generation if is_last and is_untouched(self.place.folder, manifest) else 0


def _holder(lock: Path) -> str:
    holder = read_holder(lock)
    if holder is None:
        return "process unknown"
    done = f", {holder.share:.0%} done" if holder.share else ""
    return f"process {holder.pid} on {holder.host}{done}"


def _describe(summary: Summary, catalog: Catalog, source: Source) -> None:
    figures = catalog.figures()
    summary.documents = figures["documents"]
    summary.chunks = figures["chunks"]
    summary.skipped = dict(Counter[str](figures["skipped"]) + Counter(source.skipped))


def _describe_part(summary: Summary, last: Mapping[str, Any], n_chunks_more: int) -> None:
    """Fill the figures of a summary from those of the last build, since counting costs a pass over the catalog."""
    summary.documents = int(last.get("documents", 0)) + summary.added - summary.removed
    summary.chunks = int(last.get("chunks", 0)) + n_chunks_more
    summary.skipped = dict(last.get("skipped", {}))
