"""Opens the lore of a command: which folders are read, where new records go, what the project is called."""

from __future__ import annotations

import secrets
import sys
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.cli.common import workspace_of
from hybrid.knowledge.stores import RecordStores, names_of
from hybrid.records.lore.files import project_folder
from hybrid.records.lore.writing import LoreWriter, Moment

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from hybrid.records.lore.eligible import ProjectNames
    from hybrid.records.lore.files import LoreFolder
    from hybrid.records.lore.store import LoreShelf
    from hybrid.workspace import Workspace


class OpenLore(Struct, frozen=True):
    """The lore of a directory.

    Attributes:
        workspace: The directory's.
        shelf: The folders that are read.
        target: Where new records go.
        names: What the project and the others are called.
    """

    workspace: Workspace
    shelf: LoreShelf
    target: LoreFolder
    names: ProjectNames

    def writer(self) -> LoreWriter:
        """Writes at this moment, for this project."""
        moment = Moment(time.time(), lambda: secrets.token_hex(4))
        return LoreWriter(self.shelf, self.target, self.names.name, moment)


def open_lore(args: argparse.Namespace) -> OpenLore:
    """The lore of the directory that the command line names; a tree that nobody accepted has no lore of its own.

    Raises:
        HybridError: The directory does not exist, or the user's settings hold a mistake.
    """
    workspace = workspace_of(args)
    shelf = RecordStores().shelf(workspace)
    project = workspace.project
    own = project_folder(project.root) if project else None
    if own and not args.quiet and not any(_is_same(own, store.folder) for store in shelf.stores):
        sys.stderr.write(f"hybrid: {own} was left out: nobody accepted it yet; run `hybrid trust`\n")
    return OpenLore(workspace, shelf, shelf.stores[0].folder, names_of(workspace))


def _is_same(own: Path, folder: LoreFolder) -> bool:
    return folder.path.exists() and own.samefile(folder.path)
