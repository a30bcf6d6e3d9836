"""Which files of a working tree hold records, so that no build takes them for documents.

What lies in `.hybrid/` and `.claude-recall/` is left out by `sources.listing` itself; here is what lies elsewhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hybrid.knowledge.lesson_files import tree_files
from hybrid.records.lore.files import LoreFolder, personal_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.workspace import Workspace


def record_paths(workspace: Workspace, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Files and folders of records elsewhere in a working tree, relative to it, sorted.

    They are the files of the user's lore, when its folder lies in the tree (what stands beside them there are
    documents), and those that a link in the place of a LESSONS.md leads to.

    Args:
        workspace: With a project.
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
    """
    project = workspace.require_project()
    lore = LoreFolder(personal_folder(workspace.home, environ, workspace.config.lore.data_dir), "personal")
    links = [path for path in tree_files(project) if path.is_symlink()]
    places = [lore.patterns, lore.decisions, lore.sessions, *links]
    return tuple(sorted({path for place in places if (path := _inside(place, project.root))}))


def _inside(place: Path, root: Path) -> str:
    """A place relative to the real path of a folder, after all links; empty when it lies elsewhere."""
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):  # Elsewhere, or a loop of links.
        return ""
