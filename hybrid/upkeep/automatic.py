"""What may be indexed without being asked: the service asks before each build in the background; status shows a no."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import ProjectError
from hybrid.index.manifest import NAME as MANIFEST_NAME
from hybrid.knowledge.record_files import record_paths
from hybrid.project.find import marks_of, refusal
from hybrid.project.registry import is_forgotten
from hybrid.upkeep.indexing import file_source

if TYPE_CHECKING:
    from hybrid.workspace import Workspace

_NOTE = "refused.json"
_NOTE_BYTES = 4096
_COUNT_AGAIN_S = 3600.0


def was_indexed(workspace: Workspace) -> bool:
    """Return whether this working tree has an index, even a damaged one: what was built once may be built again."""
    return (workspace.place.folder / MANIFEST_NAME).exists()


def was_forgotten(workspace: Workspace) -> bool:
    """Return whether the owner forgot this project on purpose, and did not index it by hand since."""
    project = workspace.require_project()
    return is_forgotten(project.key, marks_of(project), workspace.home)


def reason_against(workspace: Workspace, *, is_first: bool) -> str:
    """Why this project is not indexed in the background now; empty when it may be.

    `off` (`[index] auto`), `no_project`, `own_home`, `home_folder`, `forgotten` (on purpose); and for the first index
    `no_index` (nobody asked for one), `not_git`, `too_many_files`. The last is remembered for an hour: counting costs a
    look at the files.

    Args:
        workspace: Of any directory.
        is_first: Whether this may be the first index of the working tree.
    """
    project = workspace.project
    if project is None:
        return "no_project"
    if not workspace.config.index.auto:
        return "off"
    if refusal(project.root, Path.home()):
        return "home_folder"
    if was_indexed(workspace):
        return ""
    if was_forgotten(workspace):
        return "forgotten"
    if not is_first:
        return "no_index"
    return _reason_against_first(workspace) if project.is_git else "not_git"


def refused(workspace: Workspace) -> dict[str, Any] | None:
    """What `hybrid status` and `doctor` show of a refusal: `reason`, `limit`, `at_s`; None when there was none."""
    if was_indexed(workspace):
        return None
    try:
        note = json.loads(read_regular(workspace.place.folder / _NOTE, _NOTE_BYTES))
        return {"reason": str(note["reason"]), "limit": int(note["limit"]), "at_s": float(note["at_s"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _reason_against_first(workspace: Workspace) -> str:
    limit = workspace.config.index.auto_max_files
    note = refused(workspace)
    if note is not None and note["limit"] == limit and 0 <= time.time() - note["at_s"] < _COUNT_AGAIN_S:
        return note["reason"]
    try:
        root, settings = workspace.require_project().root, workspace.config.index
        source = file_source(root, settings, workspace.home, record_paths(workspace))
    except ProjectError:
        return "own_home"
    path = workspace.place.folder / _NOTE
    with contextlib.suppress(OSError):
        if source.has_more_files(limit):
            note = {"reason": "too_many_files", "limit": limit, "at_s": time.time()}
            write_atomic(path, json.dumps(note).encode(), durable=False)
            return "too_many_files"
        path.unlink(missing_ok=True)
        return ""
    # The note cannot be written, so neither can an index.
    return "read_only"
