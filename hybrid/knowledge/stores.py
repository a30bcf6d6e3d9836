"""Reads the record files that concern a working tree, and again only what changed; `views` indexes them.

Records in a tree count only once its owner has accepted them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from hybrid.base.home import expanded
from hybrid.knowledge.record_files import open_stores
from hybrid.project.registry import load_registry
from hybrid.project.trust import is_accepted
from hybrid.records.lore.store import LoreFolder, LoreShelf, LoreStore, lore_folders
from hybrid.records.lore.types import ProjectNames, project_names
from hybrid.records.memory.store import MemoryStore
from hybrid.records.scoring import LessonScorer
from hybrid.records.types import LessonsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.lessons.store import LessonStore
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.types import Record
    from hybrid.workspace import Workspace

MEMORY = "memory.db"
"""Name of the database of the memory in `$HYBRID_HOME`."""

_MOST_KEPT = 64
_Value = TypeVar("_Value")


class ActiveLessons(Struct, frozen=True, dict=True):
    """The lessons that may be given out.

    Attributes:
        active: Id → lesson with its counters; of two with one id the last.
        records: The lessons as records, in the order of their files, the project's first.
        problems: A sentence for each file whose lessons are missing.
        earlier: The scorer of the lessons before the last change; None when nothing was scored.
    """

    active: Mapping[str, Lesson]
    records: Sequence[Record]
    problems: tuple[str, ...] = ()
    earlier: LessonScorer[Lesson] | None = None

    @cached_property
    def scorer(self) -> LessonScorer[Lesson]:
        """The scorer of the active lessons, made at the first use and then kept, since it counts the words of all."""
        return LessonScorer(tuple(self.active.values()), self.earlier)

    @property
    def counted(self) -> LessonScorer[Lesson] | None:
        """The scorer if it was made, else `earlier`; nothing is made for it."""
        return self.__dict__.get("scorer", self.earlier)


class _Kept(Struct, frozen=True):
    """The lessons of files at some stamps; `is_proof` tells that the same stamps mean the same content."""

    stamps: object
    is_proof: bool
    found: ActiveLessons


class RecordStores:
    """The stores of any number of working trees, for any number of threads.

    Args:
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._lessons: OrderedDict[object, _Kept] = OrderedDict()
        self._lore: OrderedDict[LoreFolder, LoreStore] = OrderedDict()
        self._shelves: OrderedDict[tuple[LoreFolder, ...], LoreShelf] = OrderedDict()
        self._memories: dict[Path, MemoryStore] = {}

    def lessons(self, workspace: Workspace) -> ActiveLessons:
        """Return the active lessons of a workspace and those for all projects; the same object while nothing changed.

        Raises:
            LessonsFileError: A file cannot be read, and no other one holds a lesson.
        """
        stores = open_stores(workspace).all
        key = tuple((store.file, store.counters) for store in stores)
        stamps, now_ns = tuple(store.stamps() for store in stores), time.time_ns()
        with self._lock:
            known = self._lessons.get(key)
            if known is not None and known.stamps == stamps and known.is_proof:
                self._lessons.move_to_end(key)
                return known.found
        lessons, problems = _active_lessons(stores)
        records: Sequence[Record] = tuple(lesson.record() for lesson in lessons)
        if known is not None and known.found.records == records:
            records = known.found.records  # Only counters changed: who compares by identity sees nothing new.
        earlier = known.found.counted if known is not None else None
        found = ActiveLessons({lesson.id: lesson for lesson in lessons}, records, problems, earlier)
        if known is not None and known.found == found:
            found = known.found  # With what it has counted already.
        is_proof = all(stamp is None or stamp.is_proof_at(now_ns) for group in stamps for stamp in group)
        with self._lock:
            _keep(self._lessons, key, _Kept(stamps, is_proof, found))
        return found

    def lore(self, workspace: Workspace) -> Sequence[Record]:
        """Return the records of lore that may be given in a workspace; the same object while nothing changed."""
        return self.shelf(workspace).records(names_of(workspace))

    def shelf(self, workspace: Workspace) -> LoreShelf:
        """Return the lore folders of a workspace: the project's own, if accepted, then the user's."""
        project, home = workspace.project, workspace.home
        root = project.root if project and is_accepted(project, home) else None
        folders = lore_folders(home, self._environ, workspace.config.lore.data_dir, root)
        with self._lock:
            shelf = self._shelves.get(folders)
            if shelf is None:
                shelf = LoreShelf([self._store(folder) for folder in folders])
            _keep(self._shelves, folders, shelf)
        return shelf

    def memory(self, workspace: Workspace) -> MemoryStore:
        """Return the store of the memory that the settings name; the same one each time, opened by its first use."""
        named = workspace.config.memory.path
        path = workspace.home / (expanded(named) if named else MEMORY)
        with self._lock:
            found = self._memories.get(path)
            if found is None:
                found = self._memories[path] = MemoryStore(path)
        return found

    def _store(self, folder: LoreFolder) -> LoreStore:
        store = self._lore.get(folder) or LoreStore(folder)
        _keep(self._lore, folder, store)
        return store


def _active_lessons(stores: Sequence[LessonStore]) -> tuple[list[Lesson], tuple[str, ...]]:
    """Return the active lessons of some stores, and a sentence for each whose file cannot be read.

    Raises:
        LessonsError: A file cannot be read, and the others hold no active lesson.
    """
    lessons: list[Lesson] = []
    unread: list[LessonsError] = []
    for store in stores:
        try:
            lessons += [lesson for lesson in store.read().lessons if lesson.is_active]
        except LessonsError as error:
            unread.append(error)
    if unread and not lessons:
        raise unread[0]
    return lessons, tuple(map(str, unread))


def names_of(workspace: Workspace) -> ProjectNames:
    """Return the names of the project of a workspace, and those of the other projects that are known here."""
    project = workspace.project
    registry = [(key, entry.name) for key, entry in load_registry(workspace.home).items()]
    return project_names(project.name if project else "", project.key if project else "", registry)


def _keep(kept: OrderedDict[Any, _Value], key: object, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
