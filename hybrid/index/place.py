"""The paths of the index of a working tree; whoever opens or builds one is given a `Place`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.index.manifest import NAME

if TYPE_CHECKING:
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
