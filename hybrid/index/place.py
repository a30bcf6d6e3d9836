"""The paths of the index of a working tree; whoever opens or builds one is given a `Place`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path


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
