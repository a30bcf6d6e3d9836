"""Brings the index of one working tree up to date: scan, chunk, embed, commit a new generation; `hybrid reindex`.

Every step can be killed at any byte: the catalog keeps what was done, readers keep the last complete generation, and
the next run goes on where this one stopped. A document's row is written with the vectors of its chunks, so that the
next run reads it again. A first build may begin with the snapshot of another tree (`take_over`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import sqlite3
import time
from collections import Counter
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked, make_private_folder
from hybrid.base.errors import BusyError, IndexUnavailableError
from hybrid.base.sqlite import set_database_aside
from hybrid.index.analysis import Reader, Task, chunk_text, head_line, input_key
from hybrid.index.build_progress import Signature, read_holder
from hybrid.index.catalog import Catalog, recipe_of_tree
from hybrid.index.manifest import (
    NAME,
    OVERLAY,
    Manifest,
    is_untouched,
    last_generation,
    lenders,
    read_manifest,
    remove_unused,
)
from hybrid.index.plan import EVERYTHING, BuildTask, Summary
from hybrid.index.workers import are_worth_it, automatic_workers, look_in_processes
from hybrid.redact import mask
from hybrid.types import EmbedInput, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from hybrid.index.analysis import ChunkRecord, Looked
    from hybrid.index.catalog import DocumentRow, KnownDocument
    from hybrid.index.commit import Sealed
    from hybrid.index.drafting import SegmentDraft
    from hybrid.index.manifest import Place
    from hybrid.index.plan import BuildTools, Lending, Part
    from hybrid.index.segment import Segment
    from hybrid.index.vectors import StoredVectors
    from hybrid.types import Document, Found, Source


_BATCH_INPUTS = 128
"""Waiting inputs from which on they are embedded: enough to fill the batches of a transformer."""
_LEAST_COST_BYTES = 3_500
"""Bytes that take as long as what every file takes: 1.1 ms, and 0.32 s a megabyte, of 112,785 files on two cores."""
_LARGE_BYTES = 1_000_000
_WRITE_SHARE = 0.12
"""Part of a build's time in which its last segment is written, of a tree with no more than that segment."""
_SEGMENT_BYTES = 100_000_000
"""Bytes of files that fill a segment."""
_BATCH_SECONDS = 2.0
"""Seconds after which fewer inputs are embedded, too, so that what was read is stored while large files are cut."""


class DocumentUpdate:
    """One run over the documents of a tree.

    Args:
        catalog: Gets documents, chunks and vectors.
        folder: Folder of the tree's segments.
        tools: What the build works with.
        summary: Gets the counts of what was done.
    """

    def __init__(self, catalog: Catalog, folder: Path, tools: BuildTools, summary: Summary) -> None:
        self._catalog = catalog
        self._folder = folder
        self._tools = tools
        self._embedder = tools.embedder
        self._how = tools.how
        self._reader = Reader(tools.source, tools.how.chunk, tools.how.limits)
        self._summary = summary
        self._model_id = 0
        self._is_full = False
        self._lent: Lending | None = None
        self._pending: dict[bytes, tuple[int, EmbedInput]] = {}
        self._pending_documents: list[tuple[Found, int, int, str]] = []
        self._last_commit = time.monotonic()
        self.changes: dict[str, DocumentRow | None] = {}
        """What this run changed: path → its row, None for a document that is gone or skipped now."""
        self.draft: SegmentDraft | None = None
        """The documents that this run has read, for the next segment, but for those in `sealed`; None without any."""
        self.sealed: list[Sealed] = []
        """The segments that this run has written, since one draft would have become too large."""
        self.share = 0.0
        """The part of the whole build that is done when all files are read."""
        self.is_new_recipe = False
        """The documents were made in another way before, or with another model."""
        self.n_chunks_more = 0
        """Number of chunks now minus that before this run."""

    def run(self, *, full: bool, part: Part | None, lent: Lending | None = None) -> None:
        """Bring everything up to date, or one part; to be called once.

        Documents, chunks and vectors are committed as they are made, so an exception loses only the last seconds. The
        summary gets its counts; `changes`, `draft` and `n_chunks_more` are complete afterwards.

        Args:
            full: Read every file again.
            part: Look at this part only, unless the recipe changed or `Part.scan` asks for a full scan by None.
            lent: The snapshot that the next one begins with: what it holds has vectors, and goes into no draft.
        """
        catalog = self._catalog
        self._lent = lent
        recipe_key = recipe_of_tree(self._how.of_documents, self._embedder.info.key)
        part = None if catalog.recipe() != recipe_key else part
        known, found = self._look(part)
        catalog.begin(is_durable=False)
        self._model_id = catalog.model_id(self._embedder.info.key)
        self.is_new_recipe = catalog.require_recipe(recipe_key)
        self._is_full = full or self.is_new_recipe
        catalog.commit()
        self._tools.progress("scan", len(found), len(found))
        gone = known.keys() - {entry.path for entry in found}
        stale = [e for e in found if self._is_full or e.path not in known or not known[e.path].is_unchanged(e.stamp)]
        if gone:
            self._forget(gone, known)
        size_bytes, done_bytes = sum(_cost(entry) for entry in stale), 0
        self.share = 1 - _WRITE_SHARE * min(1.0, _SEGMENT_BYTES / max(size_bytes, 1))
        with contextlib.closing(self._looked_at(stale)) as looked_at:
            for done, (entry, checked_ns, looked) in enumerate(looked_at, 1):
                self._take(entry, checked_ns, looked, known.get(entry.path))
                self._seal_if_enough()
                done_bytes += _cost(entry)
                if done % 16 == 0 or done == len(stale):
                    self._tools.progress("read", done, len(stale), self.share * done_bytes / size_bytes)
        self._flush(is_last=True)

    def _look(self, part: Part | None) -> tuple[dict[str, KnownDocument], list[Found]]:
        """Return the known documents and the files there now: of the part, or of all if only a full scan can tell."""
        if part is not None:
            found = part.scan(part.paths)
            if found is not None:
                self._summary.is_full = False
                return self._catalog.known_within(part.paths), list(found)
        return self._catalog.known(), list(self._tools.source.scan())

    def _forget(self, gone: set[str], known: dict[str, KnownDocument]) -> None:
        catalog = self._catalog
        catalog.begin(is_durable=False)
        catalog.mark_dirty()
        catalog.remove_documents(gone)
        catalog.commit()
        was_indexed = [path for path in gone if known[path].content_id is not None]
        self.n_chunks_more -= sum(catalog.n_chunks(known[path].content_id) for path in was_indexed)
        self.changes.update(dict.fromkeys(was_indexed))
        self._summary.removed += len(was_indexed)

    def _looked_at(self, stale: Sequence[Found]) -> Generator[tuple[Found, int, Looked | Skipped]]:
        """Yield each file, in order, with the time just before it was read (nanoseconds) and what was read."""
        n_workers = self._tools.workers or automatic_workers()
        if n_workers > 1 and are_worth_it(sum(found.stamp.size_bytes for found in stale)):
            known = self._catalog.known_contents(self._how.of_chunks)
            task = Task(self._reader, known | self._lent.known if self._lent else known)
            yield from look_in_processes(
                task, stale, n_workers=n_workers, now_ns=self._tools.now_ns, meanwhile=self._prepare
            )
            return
        for found in stale:
            checked_ns = self._tools.now_ns()
            yield found, checked_ns, self._reader.look(found, self._is_known)

    def _is_known(self, document: Document) -> bool:
        if self._lent and (document.digest, document.language) in self._lent.known:
            return True
        return self._catalog.content_of(document, self._how.of_chunks) is not None

    def _take(self, found: Found, checked_ns: int, looked: Looked | Skipped, before: KnownDocument | None) -> None:
        content_before = before.content_id if before else None
        self._catalog.begin(is_durable=False)
        if isinstance(looked, Skipped):
            if content_before is not None:
                self._catalog.mark_dirty()
                self.changes[found.path] = None
                self.n_chunks_more -= self._catalog.n_chunks(content_before)
                self._summary.removed += 1
            self._catalog.put_document(found, checked_ns, content_id=None, kind="", reason=looked.reason)
            return
        document = looked.document
        if before is None and self._lent and (content_id := self._lent.content_of(document)) is not None:
            self._summary.added += 1
            self._summary.reused += self._catalog.n_chunks(content_id)
            self._take_later(found, checked_ns, (content_id, document.kind, document.language))
            return
        content_id, records = self._content(looked)
        postings = looked.analysis.postings if looked.analysis else None
        row = (document.path, content_id, document.kind, document.language)
        is_same = before is not None and (content_id, document.kind) == (content_before, before.kind)
        if is_same and not self.is_new_recipe:
            self._catalog.put_document(found, checked_ns, content_id=content_id, kind=document.kind, reason=None)
            if self._is_full:
                self._draft().add(row, records, postings=postings)
            return
        self.n_chunks_more += len(records) - self._catalog.n_chunks(content_before)
        self._summary.added += content_before is None
        self._summary.changed += content_before is not None and not is_same
        self._draft().add(row, records, self._need_vectors(looked, content_id, records), postings)
        self._take_later(found, checked_ns, row[1:])

    def _take_later(self, found: Found, checked_ns: int, row: DocumentRow) -> None:
        """Note a document's row, which is written with the vectors of its chunks: a killed run reads it again."""
        self.changes[found.path] = row
        self._pending_documents.append((found, checked_ns, *row[:2]))
        if len(self._pending) >= _BATCH_INPUTS or time.monotonic() - self._last_commit > _BATCH_SECONDS:
            self._flush()

    def _prepare(self) -> None:
        """Load what the first documents and the commit will need: the draft's module, the annotator's background."""
        self._draft()
        if self._tools.annotator is not None:
            self._tools.annotator.prepare()

    def _seal_if_enough(self) -> None:
        """Write the draft as a segment when it is large enough, so that memory does not grow with the tree."""
        if self.draft is None:
            return
        from hybrid.index.commit import MOST_CHUNKS, seal  # Brings numpy, as the draft does.

        if self.draft.n_chunks >= MOST_CHUNKS:
            self._flush(is_last=True)
            name = f"segment-{self._generation:08d}-{len(self.sealed) + 1:03d}.safetensors"
            self.sealed.append(seal(self._catalog, self._folder / name, self._tools, self.draft))
            self.draft = None

    @cached_property
    def _generation(self) -> int:
        """The generation of the segments that this run writes; looked up once, since they would count themselves."""
        return last_generation(self._folder) + 1

    def _draft(self) -> SegmentDraft:
        if self.draft is None:
            from hybrid.index.drafting import SegmentDraft  # Brings numpy, which a build without a change never needs.

            self.draft = SegmentDraft()
        return self.draft

    def _content(self, looked: Looked) -> tuple[int, Sequence[ChunkRecord]]:
        catalog, key, document = self._catalog, self._how.of_chunks, looked.document
        content_id = catalog.content_of(document, key)
        if content_id is not None:
            return content_id, looked.analysis.records if looked.analysis else catalog.records(content_id)
        analysis = looked.analysis or self._reader.analyse(document)
        return catalog.put_content(document, key, analysis), analysis.records

    def _need_vectors(self, looked: Looked, content_id: int, records: Sequence[ChunkRecord]) -> list[bytes]:
        """Queue the inputs of a document that have no vector yet for embedding; return the keys of all its inputs."""
        heads = [head_line(looked.document.path, record.scope, record.definitions) for record in records]
        keys = [input_key(head, record.embedded) for head, record in zip(heads, records, strict=True)]
        known = self._catalog.known_inputs(self._model_id, keys)
        # A vector goes with its content: from here on with this one, since the one that it was made for may be gone.
        self._catalog.keep_vectors(self._model_id, sorted(known), content_id)
        unknown = set(keys) - known - self._pending.keys()
        self._summary.reused += sum(key not in unknown for key in keys)
        if unknown:
            texts = looked.analysis.texts if looked.analysis else _texts(looked.document.text, records)
            for key, head, text in zip(keys, heads, texts, strict=True):
                if key in unknown:
                    self._pending[key] = (content_id, EmbedInput(head, text))
        return keys

    def _flush(self, *, is_last: bool = False) -> None:
        """Embed what is waiting and store it together with the documents that need it.

        The last time all of it becomes durable: no segment may hold a content whose id could be given again.
        """
        catalog = self._catalog
        # A transformer may take a minute for a batch: nobody else's write waits for it.
        catalog.commit()
        stored: StoredVectors | None = None
        if self._pending:
            from hybrid.index.vectors import quantise  # Brings numpy, which a build without a change never needs.

            inputs = [entry for _, entry in self._pending.values()]
            vectors = self._embedder.embed_documents(inputs)
            stored = quantise(vectors, self._embedder.truncated(inputs))
            self._draft().add_vectors(list(self._pending), stored)
            self._summary.embedded += len(inputs)
        catalog.begin(is_durable=is_last)
        if stored is not None:
            keys = [(key, content_id) for key, (content_id, _) in self._pending.items()]
            catalog.put_vectors(self._model_id, keys, stored)
        if self._pending_documents or (is_last and self.changes):
            catalog.mark_dirty()
        for found, checked_ns, content_id, kind in self._pending_documents:
            catalog.put_document(found, checked_ns, content_id=content_id, kind=kind, reason=None)
        catalog.commit()
        self._pending.clear()
        self._pending_documents.clear()
        self._last_commit = time.monotonic()


def _cost(found: Found) -> int:
    """Return what a file costs to read, in bytes: it goes by its size, but for a large one, which is rarely indexed."""
    size_bytes = found.stamp.size_bytes
    return _LEAST_COST_BYTES + (size_bytes if size_bytes <= _LARGE_BYTES else 0)


def _texts(text: str, records: Sequence[ChunkRecord]) -> list[str]:
    """Return the text that is embedded for each chunk of a text that was cut before: masked and normalised."""
    lines = mask(text).split("\n")
    return [chunk_text(lines, record.start_line, record.end_line) for record in records]


# --- the snapshot of another tree ----------------------------------------------------------------------------
#
# Only trees of one project lend: the views of the records share a catalog, too, and strangers' records must not decide.
# Trees of a project share the catalog, so that a segment says the same in each of them: the build adds what differs
# here and marks dead what is not here. Files are linked, or copied where the disk cannot link.


class Lent:
    """The snapshot of another tree; it fulfils `plan.Lending`."""

    known: frozenset[tuple[bytes, str]] = frozenset()

    def __init__(self, manifest: Manifest, segments: list[Segment], known_as: Callable[[Document], int | None]) -> None:
        """Take the snapshot, its files linked; `known_as` gives the content id of a text that the catalog knows."""
        self._manifest = manifest
        self._segments = segments
        self._known_as = known_as
        self._contents = {
            path: content
            for segment in segments
            for path, content, is_live in zip(
                segment.paths, segment.doc_content.tolist(), segment.doc_is_live.tolist(), strict=True
            )
            if is_live
        }

    def content_of(self, document: Document) -> int | None:
        """See `plan.Lending`."""
        lent = self._contents.get(document.path)
        return lent if lent is not None and lent == self._known_as(document) else None

    def snapshot(self) -> tuple[Manifest, list[Segment]]:
        """See `plan.Lending`."""
        return self._manifest, self._segments


def take_over(place: Place, catalog: Catalog, tools: BuildTools) -> Lent | None:
    """Take over the newest snapshot of another tree that these tools can build upon; None when there is none.

    None, too, when the tree has a snapshot of its own, even a damaged one, and for an overlay, which holds little.

    Args:
        place: The tree that gets it; the caller holds the lock of the project, so that no other tree changes.
        catalog: Tells which generation of a tree was made from it.
        tools: What the build works with.
    """
    if (place.folder / NAME).exists() or place.tree.endswith(OVERLAY):
        return None
    for lender in lenders(place):
        with contextlib.suppress(IndexUnavailableError, OSError, ValueError, IndexError):
            manifest = read_manifest(lender.folder)
            noted = catalog.generation_of(lender.tree)
            # As for the tree's own (`commit`): another snapshot was made from a catalog that is lost.
            if noted and manifest.generation - noted in (0, 1) and tools.made(manifest):
                manifest, segments = _linked(lender.folder, place.folder, manifest)
                return Lent(manifest, segments, partial(catalog.content_of, recipe=tools.how.of_chunks))
    return None


def _linked(source: Path, target: Path, manifest: Manifest) -> tuple[Manifest, list[Segment]]:
    from hybrid.index.snapshot import open_segment  # Brings numpy, which a build without a change never needs.

    # A segment is written in place: one that a killed build linked here must not be the target of the next.
    remove_unused(target, ())
    for entry in manifest.segments:
        link_or_copy(source / entry.file, target / entry.file)
    entries = tuple(replace(one, mtime_ns=(target / one.file).stat().st_mtime_ns) for one in manifest.segments)
    return replace(manifest, segments=entries), [open_segment(target, entry) for entry in entries]


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file that is never changed at a second place, in place of what is there.

    Raises:
        OSError: There is no such file, or the disk is full or read-only.
    """
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


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
        # What is loaded already stays loaded: to look through all of it once for garbage is a tenth of a small build.
        gc.freeze()
        try:
            return run.once()
        except sqlite3.DatabaseError as error:
            # A page in the middle of the file is damaged, which opening does not notice.
            if isinstance(error, sqlite3.OperationalError) or not set_database_aside(place.catalog):
                raise OSError(f"{place.catalog}: {error}") from error
            return run.once()
        finally:
            gc.unfreeze()


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
