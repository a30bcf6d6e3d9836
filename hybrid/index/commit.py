"""Writes the next generation of a snapshot: a segment for what changed and tombstones, then one rename.

Segments are merged in a generation of their own (`merge_segments`), when what changed can be found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.arrays import write_arrays
from hybrid.base.atomic import sync_folder
from hybrid.base.errors import IndexUnavailableError
from hybrid.base.text import sha256_hex
from hybrid.index.drafting import SegmentDraft
from hybrid.index.manifest import (
    FORMAT_VERSION,
    Manifest,
    SegmentEntry,
    last_generation,
    read_manifest,
    remove_unused,
    write_manifest,
)
from hybrid.index.snapshot import open_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.index.catalog import Catalog, DocumentRow
    from hybrid.index.plan import BuildTask, BuildTools, Lending
    from hybrid.index.segment import Segment


MOST_CHUNKS = 125_000
"""Chunks from which on a segment takes no more documents: what a build holds in memory goes by it, 0.75 GB at most."""


class Sealed(Struct, frozen=True):
    """A segment that was written while the build was still reading; no manifest names it yet.

    Attributes:
        rows: Path, content id, kind and language of its documents.
        entry: Its entry.
    """

    rows: Sequence[tuple[str, int, str, str]]
    entry: SegmentEntry


def seal(catalog: Catalog, target: Path, tools: BuildTools, draft: SegmentDraft) -> Sealed:
    """Write what a build has read so far, whose vectors are all made, as a segment of its own.

    A killed build leaves such files behind; the next one writes over them, or removes them when it ends.
    """
    return Sealed(draft.rows, _write(catalog, target, tools, draft))


class Changes(Struct, frozen=True):
    """The difference between the catalog and the generation on disk.

    Attributes:
        rows: Path → row of a document, None for one that is gone; None when the difference is not known and everything
            must be compared.
        draft: The documents that this build has read, or None; not decoded again if the segment holds exactly these.
        lent: The snapshot from elsewhere to begin with where there is none; None to begin with nothing.
        sealed: The segments that this build has written, of documents that are not in `draft`.
        share: The part of the whole build that is done.
    """

    rows: Mapping[str, DocumentRow | None] | None
    draft: SegmentDraft | None
    lent: Lending | None = None
    sealed: Sequence[Sealed] = ()
    share: float = 0.0


def commit_snapshot(catalog: Catalog, folder: Path, tools: BuildTools, task: BuildTask, changes: Changes) -> int:
    """Make the snapshot hold what the catalog holds; the cost of a small edit is one small segment.

    Args:
        catalog: Holds the documents that the snapshot must hold.
        folder: Folder of the tree.
        tools: What the build works with.
        task: What the build is asked for; a purge writes everything anew.
        changes: The changes since the generation on disk.

    Returns:
        The generation that is current afterwards: the old one when nothing had to change.

    Raises:
        OSError: The disk is full or read-only; the old generation stays.
    """
    old = None if task.is_purged else _usable(folder, tools, catalog.generation())
    if old is not None and not catalog.is_dirty():
        _restamp(folder, old[0])
        return old[0].generation
    lent = changes.lent
    previous, opened = old or (lent.snapshot() if lent else (_empty(folder, tools), []))
    if changes.rows is not None and old is not None:
        wanted = {path: row for path, row in changes.rows.items() if row is not None}
        entries, missing = _tombstone_some(previous.segments, opened, changes.rows), set(wanted)
    else:
        wanted = catalog.indexed()
        entries, missing = _tombstone(previous.segments, opened, {path: row[0] for path, row in wanted.items()})
    kept = [
        entry
        for entry, segment in zip(entries, opened, strict=True)
        if len(entry.dead_documents) < max(segment.n_documents, 1)
    ]
    left = set(missing)
    for one in changes.sealed:
        if all(path in missing and wanted[path] == tuple(row) for path, *row in one.rows):
            kept.append(one.entry)
            left.difference_update(path for path, *_ in one.rows)
    rows = [(path, *wanted[path]) for path in sorted(left)]
    return _write_generation(catalog, folder, tools, (previous, kept, changes.share), rows, changes.draft)


def merge_segments(catalog: Catalog, folder: Path, tools: BuildTools, task: BuildTask) -> int:
    """Write small segments as one, when they are many, and those that are half dead anew.

    Args:
        catalog: Holds the documents of the generation on disk, and no others.
        folder: Folder of the tree.
        tools: What the build works with.
        task: Its `max_segments` and `most_merged`.

    Returns:
        The generation that is current afterwards: the present one when there is nothing to merge.

    Raises:
        IndexUnavailableError, ValueError: The generation on disk is damaged.
        OSError: The disk is full or read-only; the present generation stays.
    """
    manifest = read_manifest(folder)
    n_small = sum(2 * entry.n_chunks < MOST_CHUNKS for entry in manifest.segments)
    if n_small <= task.max_segments and not any(entry.dead_documents for entry in manifest.segments):
        return manifest.generation
    opened = [open_segment(folder, entry) for entry in manifest.segments]
    kept, paths = _choose_merges(list(manifest.segments), opened, task)
    if len(kept) == len(opened):
        return manifest.generation
    wanted = catalog.indexed()
    return _write_generation(
        catalog, folder, tools, (manifest, kept, None), [(path, *wanted[path]) for path in sorted(paths)]
    )


def _write_generation(
    catalog: Catalog,
    folder: Path,
    tools: BuildTools,
    old: tuple[Manifest, list[SegmentEntry], float | None],
    rows: Sequence[tuple[str, int, str, str]],
    draft: SegmentDraft | None = None,
) -> int:
    """Write documents in segments of their own, beside some of those of the generation before, and make it current.

    Args:
        catalog: Holds the documents.
        folder: Folder of the tree.
        tools: What the build works with.
        old: The manifest before, the entries that stay, and the part of the build that is done, None for a merge.
        rows: Path, content id, kind and language of each document.
        draft: As of `write_segment`.
    """
    previous, kept, share = old
    n_written = 0
    for number, group in enumerate(_groups(catalog, rows)):
        part = n_written / len(rows)
        step, done = ("merge", part) if share is None else ("write", share + (1 - share) * part)
        tools.progress(step, n_written, len(rows), done)
        n_written += len(group)
        target = folder / f"segment-{previous.generation + 1:08d}{f'-m{number:02d}' if number else ''}.safetensors"
        kept.append(write_segment(catalog, target, tools, group, draft))
    tools.progress("merge" if share is None else "write", len(rows), len(rows), 1.0)
    # A reader opens what the manifest names: it is replaced last, in one rename, when the new segment is on disk. A
    # build killed before leaves the old generation whole, and one killed after leaves only files that nobody names.
    manifest = replace(previous, generation=previous.generation + 1, segments=tuple(kept))
    write_manifest(folder, manifest)
    remove_unused(folder, {entry.file for entry in kept})
    return manifest.generation


def _usable(folder: Path, tools: BuildTools, noted: int) -> tuple[Manifest, list[Segment]] | None:
    """Manifest and open segments of the current generation; None when it cannot be built upon.

    It must be whole, made by tools like these (`BuildTools.made`), and made from this catalog.

    Args:
        folder: Folder of the tree.
        tools: What the build works with.
        noted: The generation that the catalog last made; a killed build leaves one more on disk. Any other snapshot
            was made from a catalog that is lost: its content ids mean other texts.
    """
    try:
        manifest = read_manifest(folder)
        # 0: this catalog has made no snapshot yet, so one on disk is of another catalog, which is lost.
        if noted == 0 or manifest.generation - noted not in (0, 1) or not tools.made(manifest):
            return None
        return manifest, [open_segment(folder, entry) for entry in manifest.segments]
    except (IndexUnavailableError, OSError, ValueError, IndexError):
        return None


def _empty(folder: Path, tools: BuildTools) -> Manifest:
    """Return a manifest without segments, numbered as the last generation in the folder, to begin anew from."""
    model, recipe = tools.embedder.info, tools.how.of_chunks
    return Manifest(FORMAT_VERSION, last_generation(folder), model.key, model.dim, recipe, (), {}, tools.background)


def _tombstone(
    entries: tuple[SegmentEntry, ...], opened: list[Segment], wanted: dict[str, int]
) -> tuple[list[SegmentEntry], set[str]]:
    """Mark documents dead that are gone or changed; return the entries, and the wanted paths that no segment holds.

    `wanted` is path → content id of every document of the catalog.
    """
    missing = set(wanted)
    updated: list[SegmentEntry] = []
    for entry, segment in zip(entries, opened, strict=True):
        dead = set(entry.dead_documents)
        for row, (path, content) in enumerate(zip(segment.paths, segment.doc_content.tolist(), strict=True)):
            if row in dead:
                continue
            if wanted.get(path) == content and path in missing:
                missing.discard(path)
            else:
                dead.add(row)
        updated.append(replace(entry, dead_documents=tuple(sorted(dead))))
    return updated, missing


def _tombstone_some(
    entries: tuple[SegmentEntry, ...], opened: list[Segment], changes: Mapping[str, DocumentRow | None]
) -> list[SegmentEntry]:
    """Return the entries with every changed document marked dead; costs one look-up a document, no pass over all."""
    updated: list[SegmentEntry] = []
    for entry, segment in zip(entries, opened, strict=True):
        rows = map(segment.document_at, changes)
        dead = set(entry.dead_documents).union(row for row in rows if row is not None)
        updated.append(replace(entry, dead_documents=tuple(sorted(dead))))
    return updated


def _restamp(folder: Path, manifest: Manifest) -> None:
    """Write the present times of the segment files into the manifest, if they differ, as in a copied index.

    Otherwise every reader would have to check the digests of the files.
    """
    entries = tuple(replace(entry, mtime_ns=(folder / entry.file).stat().st_mtime_ns) for entry in manifest.segments)
    if entries != manifest.segments:
        write_manifest(folder, replace(manifest, segments=entries))


def _groups(
    catalog: Catalog, rows: Sequence[tuple[str, int, str, str]]
) -> Iterator[Sequence[tuple[str, int, str, str]]]:
    """Yield some documents in groups that each make one segment; none without a document."""
    start = n_chunks = 0
    for place, (_, content_id, *_) in enumerate(rows, 1):
        n_chunks += catalog.n_chunks(content_id)
        if n_chunks >= MOST_CHUNKS or place == len(rows):
            yield rows[start:place]
            start, n_chunks = place, 0


def _choose_merges(
    entries: list[SegmentEntry], opened: list[Segment], task: BuildTask
) -> tuple[list[SegmentEntry], set[str]]:
    """Return the segments that stay, and the paths of the live documents in those that are written anew.

    A segment that is half dead is written anew. Of those that hold less than half of `MOST_CHUNKS`, when they are more
    than `max_segments`, the smaller ones are merged until what is merged together is smaller than what stays: an edit
    costs the logarithm of the index at most, and a full segment is never part of it. Of all that, no more than
    `most_merged` chunks are written.
    """
    n_docs = {entry.file: segment.n_documents for entry, segment in zip(entries, opened, strict=True)}
    n_chunks = {entry.file: segment.n_live for entry, segment in zip(entries, opened, strict=True)}
    live = {entry.file: n_docs[entry.file] - len(entry.dead_documents) for entry in entries}
    by_size = sorted(entries, key=lambda entry: live[entry.file])
    # A segment that is half dead costs every scan twice its worth.
    half_dead = [entry.file for entry in by_size if 2 * len(entry.dead_documents) >= max(n_docs[entry.file], 1)]
    rewrite: set[str] = set()
    written = 0
    for file in half_dead:
        if written + n_chunks[file] <= task.most_merged:
            rewrite.add(file)
            written += n_chunks[file]
    staying = [entry for entry in by_size if entry.file not in rewrite and 2 * entry.n_chunks < MOST_CHUNKS]
    if len(staying) + bool(rewrite) > task.max_segments:
        # The smallest go first, down to half of the limit: so an edit seldom pays for a merge, and a large segment is
        # rewritten only when what is merged has grown as large as it.
        merged, fewest = 0, max(task.max_segments // 2, 1)
        while staying and (len(staying) + 1 > fewest or live[staying[0].file] <= merged):
            smallest = staying.pop(0)
            written += n_chunks[smallest.file]
            if written > task.most_merged:
                break
            merged += live[smallest.file]
            rewrite.add(smallest.file)
    if len(rewrite) == 1 and rewrite.isdisjoint(half_dead):
        rewrite.clear()  # One segment alone would be written again as it is.
    paths: set[str] = set()
    for entry, segment in zip(entries, opened, strict=True):
        if entry.file in rewrite:
            dead = set(entry.dead_documents)
            paths.update(path for row, path in enumerate(segment.paths) if row not in dead)
    return [entry for entry in entries if entry.file not in rewrite], paths


def write_segment(
    catalog: Catalog,
    target: Path,
    tools: BuildTools,
    rows: Sequence[tuple[str, int, str, str]],
    draft: SegmentDraft | None,
) -> SegmentEntry:
    """Write a segment with some documents of the catalog (path, content id, kind, language), in order of path.

    A draft that holds exactly these is taken as it is.
    """
    if draft is None or not draft.holds(rows):
        draft = SegmentDraft()
        for row in rows:
            draft.add(row, catalog.records(row[1]))
    return _write(catalog, target, tools, draft)


def _write(catalog: Catalog, target: Path, tools: BuildTools, draft: SegmentDraft) -> SegmentEntry:
    model = tools.embedder.info
    arrays = draft.arrays(catalog, model)
    if tools.annotator:
        arrays |= tools.annotator.annotate(arrays)
    data = write_arrays(target, arrays, {"format": str(FORMAT_VERSION), "model": model.key})
    sync_folder(target.parent)
    return SegmentEntry(
        file=target.name,
        size_bytes=len(data),
        mtime_ns=target.stat().st_mtime_ns,
        sha256=sha256_hex(data),
        n_chunks=draft.n_chunks,
        dead_documents=(),
    )
