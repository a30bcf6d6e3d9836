"""Takes over the snapshot of another tree of the project as the beginning of a tree's first one; the build calls it.

Only trees of one project do so: the views of the records share a catalog, too, and strangers' records must not decide.
Trees of a project share the catalog, so that a segment says the same in each of them: the build adds what differs here
and marks dead what is not here. Files are linked, or copied where the disk cannot link.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.errors import IndexUnavailableError
from hybrid.index.manifest import NAME, Manifest, read_manifest, remove_unused
from hybrid.index.place import OVERLAY, lenders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hybrid.index.catalog import Catalog
    from hybrid.index.place import Place
    from hybrid.index.plan import BuildTools
    from hybrid.index.segment import Segment
    from hybrid.types import Document


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
