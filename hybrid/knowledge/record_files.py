"""The record files of a working tree: the lesson stores that commands, events and the record index open.

A project's lessons stand in the tree, for people (`.hybrid/LESSONS.md`; an existing `.claude-recall/LESSONS.md` in
place), once its owner has accepted the tree. Until then what is learned there stands in `$HYBRID_HOME`.

No build takes record files for documents. What lies in `.hybrid/` and `.claude-recall/` is left out by
`sources.listing` itself; `record_paths` names those that lie elsewhere in a tree.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.digest import sha256_hex
from hybrid.base.errors import ProjectError
from hybrid.project.find import FOLDER_NAME, project_folder
from hybrid.project.trust import is_accepted
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lessons.types import id_form
from hybrid.records.lore.store import LoreFolder, personal_folder
from hybrid.records.types import LessonsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from hybrid.project.find import Project
    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace


NO_PROJECT = (
    "there is no project here: go to one, or use --project; --system writes for all projects, which a person decides"
)
FILE = "LESSONS.md"
COUNTERS = "lessons.stats.json"
OLDER_FOLDER = ".claude-recall"

_LOCK_S = 10.0


class Stores(Struct, frozen=True):
    """The lessons that concern a directory.

    Attributes:
        project: The lessons of its project, read and written here; None outside any project.
        system: The lessons for all projects.
        foreign: Lesson files in the tree that are not given out, since nobody accepted the tree.
    """

    project: LessonStore | None
    system: LessonStore
    foreign: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[LessonStore, ...]:
        """The stores there are, the project's first."""
        return (self.project, self.system) if self.project else (self.system,)

    def of(self, lesson_id: str) -> LessonStore | None:
        """Return the store of an id: the system's for `S…`, the project's for all others, None outside any project."""
        return self.system if lesson_id[:1].upper() == "S" else self.project

    def of_project(self) -> LessonStore:
        """Return the store of the project.

        Raises:
            ProjectError: There is no project here.
        """
        if self.project is None:
            raise ProjectError(NO_PROJECT)
        return self.project

    def named(self, lesson_id: str) -> tuple[str, LessonStore]:
        """Return a lesson's id in upper case, and the store that holds that lesson.

        Raises:
            LessonsError: The text is no id.
            ProjectError: The id is of a project's lesson, and there is no project here.
        """
        name = id_form(lesson_id)
        return name, self.of(name) or self.of_project()

    def promote(self, lesson_id: str, today: date) -> Lesson:
        """Make a lesson of the project one for all projects, and return that one.

        Raises:
            ProjectError: The id is of a project's lesson, and there is no project here.
            LessonsError: It is for all projects already, is not active or must not be promoted, or has no such form.
        """
        name, store = self.named(lesson_id)
        if store is self.system:
            raise LessonsError(f"{name} is a lesson for all projects already")
        return store.promote(name, self.system, today)

    def supersede(self, old: str, new: str) -> Lesson:
        """Mark a lesson as superseded by another one, and return it.

        Raises:
            LessonsError: A text is no id, one of them is not there, or the other one is superseded itself.
            ProjectError: One is of a project, and there is none here.
        """
        (old, store), (new, other) = self.named(old), self.named(new)
        if not other.find(new).is_active:
            raise LessonsError(f"{new} is superseded itself; name an active lesson")
        return store.supersede(old, new)


def open_stores(workspace: Workspace, *, lock_s: float = _LOCK_S) -> Stores:
    """Return the lesson stores of a workspace; nothing is read or made yet.

    Args:
        workspace: The workspace of a directory.
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


def memory_name(path: Path, own: str) -> str:
    """Return the name of a memory's index: of its database, and of its one project's key, if it has but one."""
    return f"memory-{sha256_hex(str(path).encode('utf-8', 'surrogateescape'))[:12]}{'-' + own if own else ''}"


def reading_of(home: Path, name: str) -> Path:
    """Return the file of what the reader read of an index: `lessons-…` or `lore-…` of a tree, or that of the memory."""
    return home / "records" / "views" / name / "reading.safetensors"


def tree_files(project: Project) -> tuple[Path, Path]:
    """Return the paths of the lesson files of a working tree, ours and that of an older tool; neither need exist."""
    return project.root / FOLDER_NAME / FILE, project.root / OLDER_FOLDER / FILE


def own_file(project: Project, home: Path) -> Path:
    """Return the path in `$HYBRID_HOME` of the lessons of a tree that is not accepted or holds no `.hybrid/`."""
    return project_folder(project, home) / "trees" / project.tree / FILE


def lock_of(own: Path) -> Path:
    """Return the path of the lock that writers of a lesson file of `own_file` hold."""
    return own.with_name(f"{COUNTERS}.lock")


def record_paths(workspace: Workspace, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the files and folders of records elsewhere in a working tree, as sorted relative paths.

    They are the files of the user's lore, when its folder lies in the tree (what stands beside them there are
    documents), and those that a link in the place of a LESSONS.md leads to.

    Args:
        workspace: A workspace with a project.
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
    """
    project = workspace.require_project()
    lore = LoreFolder(personal_folder(workspace.home, environ, workspace.config.lore.data_dir), "personal")
    links = [path for path in tree_files(project) if path.is_symlink()]
    places = [lore.patterns, lore.decisions, lore.sessions, *links]
    return tuple(sorted({path for place in places if (path := _inside(place, project.root))}))


def _inside(place: Path, root: Path) -> str:
    """Return the path of a place relative to a folder, after all links; empty when it lies elsewhere."""
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):  # Elsewhere, or a loop of links.
        return ""
