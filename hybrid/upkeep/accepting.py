"""Accepts the record files of a working tree for its owner; `hybrid trust`, `init` and a `reindex` by hand call it.

What was learned while the tree was not accepted stands in `$HYBRID_HOME`: it moves into the tree's own LESSONS.md.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.base.atomic import locked
from hybrid.base.errors import HybridError
from hybrid.config import load
from hybrid.knowledge.record_figures import RecordFile, total, tree_records
from hybrid.knowledge.record_files import lock_of, open_stores, own_file
from hybrid.project.trust import accept
from hybrid.records.lessons.importing import import_lessons

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from hybrid.project.find import Project
    from hybrid.records.lessons.importing import ImportReport
    from hybrid.workspace import Workspace

_LOCK_S = 10.0


class Moved(Struct, frozen=True):
    """Lessons that were learned before the tree was accepted.

    Attributes:
        file: Where they stand now.
        report: Which were taken over, which stood there already, which could not be read.
        aside: The old file, under another name; it still holds all of them.
    """

    file: Path
    report: ImportReport
    aside: Path

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        report = self.report
        return {
            "file": str(self.file),
            "imported": [{"from": one.lesson.id, "id": one.lesson_id} for one in report.imported],
            "duplicates": [{"from": one.lesson.id, "duplicate_of": one.duplicate_of} for one in report.duplicates],
            "malformed": [{"line": one.line, "message": one.message} for one in report.problems],
            "aside": str(self.aside),
        }


class Accepted(Struct, frozen=True):
    """What accepting a tree did.

    Attributes:
        is_new: Whether it was not accepted before.
        files: Its record files.
        moved: What was learned before; None when nothing was, or it stays where it is.
        problem: Why what was learned before could not be moved; it stays where it is. Empty when all is well.
        settings: `section.key` → value of the tree's settings file that waited for this and count now.
    """

    is_new: bool
    files: tuple[RecordFile, ...]
    moved: Moved | None = None
    problem: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def counts(self) -> Mapping[str, int]:
        """Records that are given out from now on, by kind."""
        return total(self.files)

    def as_json(self) -> dict[str, Any]:
        """Stable keys; absent values are None."""
        return {
            "is_new": self.is_new,
            **self.counts,
            "files": [file.as_json() for file in self.files],
            "moved": self.moved.as_json() if self.moved else None,
            "settings": dict(self.settings),
            "problem": self.problem or None,
        }


def accept_tree(workspace: Workspace, *, today: date, stamp: str) -> Accepted:
    """Accept the record files of a workspace's working tree, and bring its lessons together in one file.

    Args:
        workspace: Opened after `.hybrid/` was made, if it was.
        today: Lessons without a date were learned then.
        stamp: Of this moment, for the name of the file that is put aside.

    Raises:
        ProjectError: There is no project.
        OSError: `$HYBRID_HOME` cannot be written.
    """
    project = workspace.require_project()
    is_new = accept(project, workspace.home)
    moved, problem = None, ""
    try:
        moved = _move_own(workspace, today, stamp)
    except (HybridError, OSError) as error:
        problem = f"{own_file(project, workspace.home)} was not taken over: {error}"
    settings = _waiting(project, workspace.home) if is_new else dict[str, object]()
    return Accepted(is_new, tree_records(project, workspace.home), moved, problem, settings)


def _waiting(project: Project, home: Path) -> Mapping[str, object]:
    """Settings of the tree that do not count as long as nobody accepts it."""
    folder = project.root / ".hybrid"
    return load(home=home, project_folder=folder, environ={}).waiting if project.has_folder else {}


def _move_own(workspace: Workspace, today: date, stamp: str) -> Moved | None:
    stores = open_stores(workspace)
    own = own_file(workspace.require_project(), workspace.home)
    target = stores.project
    if target is None or target.file == own or not own.is_file():
        return None
    # Whoever waits for this lock to add a lesson there writes a new file, which the next acceptance takes over.
    with locked(lock_of(own), _LOCK_S) as is_held:
        if not is_held:
            raise HybridError("another process writes it; run `hybrid trust` when it is done")
        report = import_lessons(own, {"project": target, "system": stores.system}, today=today)
        return Moved(target.file, report, _put_aside(own, stamp))


def _put_aside(path: Path, stamp: str) -> Path:
    aside, number = path.with_name(f"{path.name}.adopted-{stamp}"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.adopted-{stamp}-{number}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    return aside
