"""Which lesson files a working tree has; commands, events and the record index ask here.

A project's lessons stand in the tree, for people (`.hybrid/LESSONS.md`; an existing `.claude-recall/LESSONS.md` in
place), once its owner has accepted the tree. Until then what is learned there stands in `$HYBRID_HOME`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.project.find import FOLDER_NAME
from hybrid.project.places import project_folder
from hybrid.project.trust import is_accepted
from hybrid.records.lessons.store import LessonStore

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.find import Project
    from hybrid.workspace import Workspace

FILE = "LESSONS.md"
COUNTERS = "lessons.stats.json"
OLDER_FOLDER = ".claude-recall"

_LOCK_S = 10.0


class Stores(Struct, frozen=True):
    """The lessons that concern a directory.

    Attributes:
        project: Those of its project, read and written here; None outside any project.
        system: Those for all projects.
        foreign: Lesson files in the tree that are not given out, since nobody accepted the tree.
    """

    project: LessonStore | None
    system: LessonStore
    foreign: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[LessonStore, ...]:
        """Those there are, the project's first."""
        return (self.project, self.system) if self.project else (self.system,)

    def of(self, lesson_id: str) -> LessonStore | None:
        """The store of an id: `S…` is the system's, everything else the project's."""
        return self.system if lesson_id[:1].upper() == "S" else self.project


def open_stores(workspace: Workspace, *, lock_s: float = _LOCK_S) -> Stores:
    """The lesson stores of a workspace; nothing is read or made yet.

    Args:
        workspace: Of a directory.
        lock_s: How long a change waits for another process, in seconds.
    """
    home, project = workspace.home, workspace.project
    system = LessonStore(home / FILE, home / COUNTERS, level="system", keeps_inline=False, lock_s=lock_s)
    if project is None:
        return Stores(None, system)
    in_tree = tree_files(project)
    counters = project_folder(project, home) / COUNTERS
    # Counters of its own: its ids are not those of the tree's file.
    own_place = own_file(project, home)
    own = LessonStore(own_place, own_place.with_name(COUNTERS), level="project", keeps_inline=False, lock_s=lock_s)
    if not is_accepted(project, home):
        return Stores(own, system, foreign=tuple(path for path in in_tree if path.is_file()))
    ours, older = in_tree
    if older.is_file() and not ours.is_file():
        return Stores(LessonStore(older, counters, level="project", keeps_inline=True, lock_s=lock_s), system)
    if not project.has_folder:
        return Stores(own, system)
    return Stores(LessonStore(ours, counters, level="project", keeps_inline=False, lock_s=lock_s), system)


def tree_files(project: Project) -> tuple[Path, Path]:
    """Where lessons stand in a working tree: ours, and those of an older tool."""
    return project.root / FOLDER_NAME / FILE, project.root / OLDER_FOLDER / FILE


def own_file(project: Project, home: Path) -> Path:
    """Where the lessons of a tree stand that is not accepted, or holds no `.hybrid/`."""
    return project_folder(project, home) / "trees" / project.tree / FILE


def lock_of(own: Path) -> Path:
    """The lock that writers of such a file hold."""
    return own.with_name(f"{COUNTERS}.lock")
