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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hybrid.atomic import locked, make_private_folder, write_atomic
from hybrid.errors import BusyError, IndexUnavailableError
from hybrid.index.analysis import analyse, chunk_text, head_line, input_key, recipe
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import FORMAT_VERSION, is_untouched, read_manifest
from hybrid.redact import mask
from hybrid.sqlite import set_database_aside
from hybrid.types import EmbedInput, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hybrid.index.analysis import ChunkRecord
    from hybrid.index.catalog import DocumentRow, KnownDocument
    from hybrid.index.commit import Annotator
    from hybrid.index.place import Place
    from hybrid.index.vectors import StoredVectors
    from hybrid.types import Chunked, ChunkLimits, Document, Embedder, Found, Source

_BATCH_INPUTS = 512
_BATCH_SECONDS = 2.0
_SPARE_CONTENTS = 5_000
_COLLECT_EVERY = 16
"""Generations between two looks for contents that nobody has: each look costs a pass over the catalog."""


class Progress(Protocol):
    """Hears how far a build is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """`step` is scan, read or write; `total` is 0 while it is not known."""
        ...


def silent(step: str, done: int, total: int) -> None:
    """A `Progress` that says nothing."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become chunks: the cutter with its version and limits, and how the source reads files."""

    chunk: Callable[[Document, ChunkLimits], Chunked]
    limits: ChunkLimits
    chunker_version: str
    source_version: str

    @property
    def of_chunks(self) -> str:
        """Key of the chunks of a text."""
        return recipe(self.chunker_version, self.limits)

    @property
    def of_documents(self) -> str:
        """Key of the documents of a tree."""
        return f"{self.of_chunks}; source {self.source_version}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a source that is looked at alone.

    Attributes:
        paths: Of documents, or of folders with everything below them; there or gone.
        scan: As `Source.scan`, of these paths only; None when only a full scan can tell.
    """

    paths: tuple[str, ...]
    scan: Callable[[Sequence[str]], Sequence[Found] | None]


@dataclass(slots=True)
class Summary:
    """What a build did; the JSON of `hybrid reindex`.

    Attributes:
        documents: Indexed now.
        chunks: Of them.
        added: Documents that are new.
        changed: Documents whose text is another.
        removed: Documents that are gone or no longer indexed.
        embedded: Inputs that were embedded.
        reused: Chunks of added and changed documents whose vector was known.
        skipped: Reason → files left out, by the last look at everything.
        seconds: Wall time.
        generation: Of the snapshot.
        is_full: False when only a part was looked at.
    """

    documents: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    reused: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0
    generation: int = 0
    is_full: bool = True

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {name: getattr(self, name) for name in self.__slots__} | {"seconds": round(self.seconds, 3)}


def build(
    place: Place,
    source: Source,
    embedder: Embedder,
    how: Recipe,
    *,
    part: Part | None = None,
    full: bool = False,
    max_segments: int = 8,
    wait_s: float = 0.0,
    progress: Progress = silent,
    now_ns: Callable[[], int] = time.time_ns,
    annotator: Annotator | None = None,
) -> Summary:
    """Bring the index up to date.

    Args:
        place: Where it lies.
        source: Of documents.
        embedder: Of chunks; another than last time re-embeds everything.
        how: How documents are cut.
        part: Look at this part only, if the index is whole and current; `Summary.is_full` says whether that was so.
        full: Read every file again and write one new segment.
        max_segments: Beyond which small segments are merged.
        wait_s: How long to wait for another build of this project, in seconds.
        progress: Hears how far it is.
        now_ns: Clock, nanoseconds since the epoch.
        annotator: Adds arrays to the segments that are written.

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
        _sign(place.lock)
        part = None if full else part
        run = _Run(place, source, embedder, how, part, full, max_segments, progress, now_ns, started, annotator)
        try:
            return run.once()
        except sqlite3.DatabaseError as error:
            # A page in the middle of the file is damaged, which opening does not notice.
            if isinstance(error, sqlite3.OperationalError) or not set_database_aside(place.catalog):
                raise OSError(f"{place.catalog}: {error}") from error
            return run.once()


@dataclass(frozen=True, slots=True)
class _Run:
    """One build under the lock: documents into the catalog, the catalog into a snapshot, the summary into both."""

    place: Place
    source: Source
    embedder: Embedder
    how: Recipe
    part: Part | None
    full: bool
    max_segments: int
    progress: Progress
    now_ns: Callable[[], int]
    started: float
    annotator: Annotator | None

    def once(self) -> Summary:
        place = self.place
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            documents = _Documents(catalog, self.source, self.embedder, self.how, self.progress, self.now_ns)
            current = 0 if catalog.is_dirty() else self._current(catalog)
            summary = documents.bring_up_to_date(full=self.full, part=self.part if current else None)
            is_dirty = self.full or catalog.is_dirty()
            is_current = current > 0 and not is_dirty
            summary.generation = (
                current if is_current else self._commit(catalog, documents.changes if current else None)
            )
            if summary.is_full:
                _describe(summary, catalog, self.source)
            else:
                _describe_part(summary, catalog.summary_of(current), documents.n_chunks_more)
            summary.seconds = time.perf_counter() - self.started
            catalog.begin()
            if is_dirty or summary.generation != catalog.generation():
                catalog.finish(summary.generation, summary.as_json())
                if self.full or summary.generation % _COLLECT_EVERY == 0:
                    catalog.collect(spare=0 if self.full else _SPARE_CONTENTS)
            else:
                catalog.touch()
            catalog.commit()
        return summary

    def _commit(self, catalog: Catalog, changes: Mapping[str, DocumentRow | None] | None) -> int:
        """The generation that is current afterwards."""
        from hybrid.index.commit import commit_snapshot  # Brings numpy, which a build without a change never needs.

        return commit_snapshot(
            catalog,
            self.place.folder,
            self.embedder.info,
            self.how.of_chunks,
            changes=changes,
            full=self.full,
            max_segments=self.max_segments,
            progress=self.progress,
            annotator=self.annotator,
        )

    def _current(self, catalog: Catalog) -> int:
        """The generation on disk when it is the catalog's last one and its files are untouched, else 0."""
        try:
            manifest = read_manifest(self.place.folder)
        except IndexUnavailableError:
            return 0
        background = self.annotator.key if self.annotator else ""
        wanted = (FORMAT_VERSION, self.embedder.info.key, self.how.of_chunks, background, catalog.generation())
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


class _Documents:
    """One run over the documents of a tree: reads what changed and stores chunks and vectors in the catalog."""

    def __init__(
        self,
        catalog: Catalog,
        source: Source,
        embedder: Embedder,
        how: Recipe,
        progress: Progress,
        now_ns: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._source = source
        self._embedder = embedder
        self._how = how
        self._progress = progress
        self._now_ns = now_ns
        self._model_id = 0
        self._is_new_recipe = False
        self._pending: dict[bytes, tuple[int, EmbedInput]] = {}
        self._pending_documents: list[tuple[Found, int, int, str]] = []
        self._last_commit = time.monotonic()
        self._summary = Summary()
        self.changes: dict[str, DocumentRow | None] = {}
        """What this run changed: path → its row, None for a document that is gone or skipped now."""
        self.n_chunks_more = 0
        """Chunks there are more than before, or fewer when it is negative."""

    def bring_up_to_date(self, *, full: bool, part: Part | None) -> Summary:
        catalog = self._catalog
        recipe_key = f"{self._how.of_documents}; model {self._embedder.info.key}"
        part = None if catalog.recipe() != recipe_key else part
        known, found = self._look(part)
        catalog.begin()
        self._model_id = catalog.model_id(self._embedder.info.key)
        self._is_new_recipe = catalog.require_recipe(recipe_key)
        full = full or self._is_new_recipe
        catalog.commit()
        self._progress("scan", len(found), len(found))
        gone = known.keys() - {entry.path for entry in found}
        stale = [e for e in found if full or e.path not in known or not known[e.path].is_unchanged(e.stamp)]
        if gone:
            catalog.begin()
            catalog.mark_dirty()
            catalog.remove_documents(gone)
            catalog.commit()
            was_indexed = [path for path in gone if known[path].content_id is not None]
            self.n_chunks_more -= sum(catalog.n_chunks(known[path].content_id) for path in was_indexed)
            self.changes.update(dict.fromkeys(was_indexed))
            self._summary.removed += len(was_indexed)
        for done, entry in enumerate(stale, 1):
            before = known.get(entry.path)
            self._take(entry, before.content_id if before else None, before.kind if before else "")
            if done % 16 == 0 or done == len(stale):
                self._progress("read", done, len(stale))
        self._flush()
        return self._summary

    def _look(self, part: Part | None) -> tuple[dict[str, KnownDocument], list[Found]]:
        """What was known and what is there now, of the part, or of everything when the part cannot tell alone."""
        if part is not None:
            found = part.scan(part.paths)
            if found is not None:
                self._summary.is_full = False
                return self._catalog.known_within(part.paths), list(found)
        return self._catalog.known(), list(self._source.scan())

    def _take(self, found: Found, content_before: int | None, kind_before: str) -> None:
        checked_ns = self._now_ns()
        document = self._source.read(found)
        self._catalog.begin()
        if isinstance(document, Skipped):
            if content_before is not None:
                self._catalog.mark_dirty()
                self.changes[found.path] = None
                self.n_chunks_more -= self._catalog.n_chunks(content_before)
                self._summary.removed += 1
            self._catalog.put_document(found, checked_ns, content_id=None, kind="", reason=document.reason)
            return
        masked = mask(document.text)
        content_id, records = self._content(document, masked)
        is_same = content_id == content_before and document.kind == kind_before
        if is_same and not self._is_new_recipe:
            self._catalog.put_document(found, checked_ns, content_id=content_id, kind=document.kind, reason=None)
            return
        self.n_chunks_more += len(records) - self._catalog.n_chunks(content_before)
        self._summary.added += content_before is None
        self._summary.changed += content_before is not None and not is_same
        self.changes[found.path] = (content_id, document.kind, document.language)
        self._need_vectors(document.path, masked, content_id, records)
        # The row is written with the vectors of its chunks, so that a killed run reads the document again.
        self._pending_documents.append((found, checked_ns, content_id, document.kind))
        if len(self._pending) >= _BATCH_INPUTS or time.monotonic() - self._last_commit > _BATCH_SECONDS:
            self._flush()

    def _content(self, document: Document, masked: str) -> tuple[int, list[ChunkRecord]]:
        catalog, key = self._catalog, self._how.of_chunks
        content_id = catalog.content_of(document, key)
        if content_id is not None:
            return content_id, catalog.records(content_id)
        chunked = self._how.chunk(document, self._how.limits)
        records = analyse(document, chunked.chunks, masked=masked)
        content_id = catalog.put_content(document, key, records, method=chunked.method, fallback=chunked.fallback)
        return content_id, records

    def _need_vectors(self, path: str, masked: str, content_id: int, records: list[ChunkRecord]) -> None:
        heads = [head_line(path, record.scope, record.definitions) for record in records]
        keys = [input_key(head, record.digest) for head, record in zip(heads, records, strict=True)]
        unknown = set(keys) - self._catalog.known_inputs(self._model_id, keys) - self._pending.keys()
        self._summary.reused += sum(key not in unknown for key in keys)
        if not unknown:
            return
        lines = masked.split("\n")
        for key, head, record in zip(keys, heads, records, strict=True):
            if key in unknown:
                body = chunk_text(lines, record.start_line, record.end_line)
                self._pending[key] = (content_id, EmbedInput(head, body))

    def _flush(self) -> None:
        """Embed what is waiting and make it durable together with the documents that need it."""
        catalog = self._catalog
        # A transformer may take a minute for a batch: nobody else's write waits for it.
        catalog.commit()
        stored: StoredVectors | None = None
        if self._pending:
            from hybrid.index.vectors import quantise  # Brings numpy, which a build without a change never needs.

            inputs = [entry for _, entry in self._pending.values()]
            vectors = self._embedder.embed_documents(inputs)
            stored = quantise(vectors, self._embedder.truncated(inputs))
            self._summary.embedded += len(inputs)
        catalog.begin()
        if stored is not None:
            keys = [(key, content_id) for key, (content_id, _) in self._pending.items()]
            catalog.put_vectors(self._model_id, keys, stored)
        if self._pending_documents:
            catalog.mark_dirty()
        for found, checked_ns, content_id, kind in self._pending_documents:
            catalog.put_document(found, checked_ns, content_id=content_id, kind=kind, reason=None)
        catalog.commit()
        self._pending.clear()
        self._pending_documents.clear()
        self._last_commit = time.monotonic()
