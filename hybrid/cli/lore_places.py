"""Opens the lore of a command: which folders are read, where new records go, what the project is called."""

from __future__ import annotations

import os
import secrets
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from hybrid.cli.common import workspace_of
from hybrid.project.registry import load_registry
from hybrid.project.trust import is_accepted
from hybrid.records.lore.attribution import ProjectNames, project_names
from hybrid.records.lore.folder import LoreFolder, lore_folders
from hybrid.records.lore.store import LoreShelf, LoreStore
from hybrid.records.lore.writing import LoreWriter, Moment

if TYPE_CHECKING:
    import argparse

    from hybrid.engine.workspace import Workspace


@dataclass(frozen=True, slots=True)
class OpenLore:
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
    project = workspace.project
    folders = lore_folders(workspace.home, os.environ, data_dir_of(workspace), project.root if project else None)
    if project and not is_accepted(project, workspace.home):
        foreign = [folder for folder in folders if folder.origin == "project"]
        folders = tuple(folder for folder in folders if folder not in foreign)
        if foreign and not args.quiet:
            sys.stderr.write(f"hybrid: {foreign[0].path} was left out: nobody accepted it yet; run `hybrid trust`\n")
    registry = [(key, entry.name) for key, entry in load_registry(workspace.home).items()]
    names = project_names(project.name if project else "", project.key if project else "", registry)
    return OpenLore(workspace, LoreShelf([LoreStore(folder) for folder in folders]), folders[0], names)


def data_dir_of(workspace: Workspace) -> str:
    """`[lore] data_dir`; empty when it is not set."""
    section = cast("Any", getattr(workspace.config, "lore", None))
    return str(getattr(section, "data_dir", ""))
