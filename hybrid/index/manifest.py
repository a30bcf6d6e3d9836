"""Where the index of a working tree lies, and its manifest: the segments of a snapshot with sizes and digests.

Whoever opens or builds an index is given a `Place`. A manifest is replaced in one atomic rename.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from msgspec import MsgspecError, Struct, to_builtins
from msgspec.json import decode
from msgspec.structs import replace

from hybrid.base.atomic import write_atomic
from hybrid.base.errors import IndexCorruptError, IndexMissingError, IndexUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


OVERLAY = ".team"
"""Ending of the id of a tree that holds only what differs from the team's index."""


class Place(Struct, frozen=True):
    """Paths of one index.

    Attributes:
        catalog: Database of the project, shared by its working trees.
        folder: Folder of the tree's manifest and segments.
        tree: Id of the working tree.
        root: Path of the working tree, for people.
        lock: File whose lock the one writer of the project holds.
    """

    catalog: Path
    folder: Path
    tree: str
    root: str
    lock: Path


def lenders(place: Place) -> list[Place]:
    """Return the places of the other trees of a project that have a snapshot, the newest first; `root` is empty there.

    They share the catalog, so that one of them can stand in for a tree that has no snapshot of its own yet.
    """
    found: list[tuple[int, str]] = []
    with contextlib.suppress(OSError):
        for folder in place.folder.parent.iterdir():
            with contextlib.suppress(OSError):
                found.append(((folder / NAME).stat().st_mtime_ns, folder.name))
    trees = [tree for _, tree in sorted(found, reverse=True) if tree != place.tree and not tree.endswith(OVERLAY)]
    return [replace(place, folder=place.folder.with_name(tree), tree=tree, root="") for tree in trees]


FORMAT_VERSION = 2
"""Number of the format of segments and manifest; an index with another one must be built anew."""

NAME = "manifest.json"
SEGMENTS = "segment-*.safetensors"
"""Names of the files of segments."""


class SegmentEntry(Struct, frozen=True):
    """One segment of a snapshot.

    Attributes:
        file: Name inside the tree's folder.
        size_bytes: Size of the file.
        mtime_ns: Time of the file when it was written; while it is the same, the digest need not be checked.
        sha256: SHA-256 of the file, in hex.
        n_chunks: Dead ones too.
        dead_documents: Document rows that were removed or replaced since.
    """

    file: str
    size_bytes: int
    mtime_ns: int
    sha256: str
    n_chunks: int
    dead_documents: tuple[int, ...]


class Manifest(Struct, frozen=True):
    """One generation of a snapshot.

    Attributes:
        format_version: See `FORMAT_VERSION`.
        generation: Grows by one with each commit.
        model: Key of the embedder whose vectors it holds.
        dim: Length of a vector.
        recipe: Recipe of the chunks and tokens.
        segments: In the order of their rows.
        calibration: Always empty: a key of the format, whose bars are found when an index is opened.
        background: Key of the background that the segments were annotated with; empty when they were not.
    """

    format_version: int
    generation: int
    model: str
    dim: int
    recipe: str
    segments: tuple[SegmentEntry, ...]
    calibration: dict[str, Any]
    background: str = ""


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest in a tree's folder.

    Raises:
        IndexMissingError: There is no manifest.
        IndexCorruptError: The manifest cannot be read.
    """
    path = folder / NAME
    try:
        return decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        raise IndexMissingError("no index was built here yet: run `hybrid reindex`") from error
    except (OSError, MsgspecError, RecursionError) as error:
        raise IndexCorruptError(f"{path} is damaged: run `hybrid reindex`") from error


def has_other_model(folder: Path, model: str) -> bool:
    """Return whether the generation in a tree's folder holds vectors of another model than that of a key.

    False too when there is none, or none that can be read.
    """
    try:
        return read_manifest(folder).model != model
    except IndexUnavailableError:
        return False


def is_untouched(folder: Path, manifest: Manifest) -> bool:
    """Return whether the files of a generation are as they were written, by size and time; reads none of them."""
    try:
        stats = [(folder / entry.file).stat() for entry in manifest.segments]
    except OSError:
        return False
    return all(
        (stat.st_size, stat.st_mtime_ns) == (entry.size_bytes, entry.mtime_ns)
        for stat, entry in zip(stats, manifest.segments, strict=True)
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest in one rename, which makes its generation current; readers see the old one or the new one."""
    write_atomic(folder / NAME, json.dumps(to_builtins(manifest), indent=1).encode())


def remove_unused(folder: Path, used: Iterable[str]) -> None:
    """Delete the segment files that are not in `used`; a reader that has one mapped can go on reading it."""
    keep = set(used)
    for path in folder.glob(SEGMENTS):
        if path.name not in keep:
            # Windows refuses while a reader holds it; the next commit tries again.
            with contextlib.suppress(OSError):
                path.unlink()


def last_generation(folder: Path) -> int:
    """Return the generation on disk, also of a snapshot that cannot be built upon; 0 without any.

    Segments are named after generations and written in place: counting from 0 again would overwrite a file that a
    reader has mapped.
    """
    try:
        return read_manifest(folder).generation
    except IndexUnavailableError:
        numbers = [int(path.stem.split("-")[1]) for path in folder.glob(SEGMENTS) if path.stem.split("-")[1].isdigit()]
        return max(numbers, default=0)
