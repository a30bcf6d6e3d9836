"""The record files of a working tree, which commands and events open, and what is read of them.

A project's lessons stand in the tree, for people (`.hybrid/LESSONS.md`; an existing `.claude-recall/LESSONS.md` in
place), once its owner has accepted the tree. Until then what is learned there stands in `$HYBRID_HOME`.

No build takes record files for documents. What lies in `.hybrid/` and `.claude-recall/` is left out by
`sources.listing` itself; `record_paths` names those that lie elsewhere in a tree.

`trust`, `status` and `doctor` are told the counts and the problems of the files themselves: nothing of the record index
is opened. A damaged database is reported, and set aside by whoever uses it next.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from hybrid.base.errors import HybridError, IndexCorruptError, IndexMismatchError, ProjectError
from hybrid.base.home import expanded
from hybrid.base.sqlite import migrations, open_for_reading
from hybrid.base.text import sha256_hex
from hybrid.models.registry import embedder_info, verify
from hybrid.project.find import FOLDER_NAME, project_folder
from hybrid.project.registry import load_registry
from hybrid.project.trust import is_accepted
from hybrid.records.lessons.store import Lessons, LessonStore
from hybrid.records.lessons.types import id_form
from hybrid.records.lore.store import LoreFolder, LoreShelf, LoreStore, lore_folders, personal_folder
from hybrid.records.lore.store import project_folder as lore_folder_of
from hybrid.records.lore.types import ProjectNames, project_names
from hybrid.records.memory.database import size_bytes
from hybrid.records.memory.store import MemoryStore, stats
from hybrid.records.memory.types import NO_STATS, iso
from hybrid.records.scoring import LessonScorer
from hybrid.records.types import KINDS, OF_TREES, LessonsError, Problem
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from hybrid.project.find import Project
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.lore.types import Lore
    from hybrid.records.memory.types import MemoryStats
    from hybrid.records.types import Record
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


# --- what is read of the files ----------------------------------------------------------------------------


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

    def records(self, workspace: Workspace, kind: str) -> Sequence[Record]:
        """Return the records of a kind that may be given in a workspace; the same object while nothing changed."""
        if kind == "lessons":
            return self.lessons(workspace).records
        if kind == "lore":
            return self.lore(workspace)
        project = workspace.project
        is_read = project is not None and is_accepted(project, workspace.home)
        return KINDS[kind].read(project.root / FOLDER_NAME) if project and is_read else ()

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


# --- counts and problems ----------------------------------------------------------------------------------


_COUNTED = ("lessons", "patterns", "anti_patterns", "decisions", "handoffs")


class RecordFile(Struct, frozen=True):
    """A file of records, or the folder of the handoffs.

    Attributes:
        path: Where it is.
        counts: What, one of `_COUNTED`, → number of records that may be given out, without withdrawn ones.
        problems: Places in the file that cannot be read.
        is_read: False for a file of lessons that is not used, because another one or `$HYBRID_HOME` is.
    """

    path: Path
    counts: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    is_read: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the file as an object for JSON output, with stable keys."""
        counts = {kind: self.counts[kind] for kind in _COUNTED if kind in self.counts}
        return {"path": str(self.path), "is_read": self.is_read, **counts, "problems": len(self.problems)}


def tree_records(project: Project, home: Path) -> tuple[RecordFile, ...]:
    """Return the record files that stand in a working tree, accepted or not."""
    return (*_lesson_files(project, home), *_lore_files(project))


def total(files: Iterable[RecordFile]) -> dict[str, int]:
    """Return kind → number of records in all files that are read."""
    counted: Counter[str] = Counter()
    for file in files:
        if file.is_read:
            counted.update(file.counts)
    return {kind: counted[kind] for kind in _COUNTED}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts in words, `12 lessons, 3 patterns and 1 decision`; empty when all are 0."""
    parts = [amount(n, kind[:-1].replace("_", "-")) for kind in _COUNTED if (n := counts.get(kind, 0))]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def read_lessons(store: LessonStore) -> Lessons:
    """Return the lessons of a store; when its file cannot be read, no lessons and the error among the problems."""
    try:
        return store.read()
    except LessonsError as error:
        return Lessons((), (Problem(str(store.file), 0, str(error)),))


def lore_counts(lores: Sequence[Lore]) -> dict[str, int]:
    """Return kind → number of records of lore that are not withdrawn, of any project."""
    return {
        "patterns": sum(one.is_active for lore in lores for one in lore.patterns),
        "anti_patterns": sum(one.is_active for lore in lores for one in lore.anti_patterns),
        "decisions": sum(one.is_active for lore in lores for one in lore.decisions),
        "handoffs": sum(len(lore.handoffs) for lore in lores),
    }


def records_status(workspace: Workspace) -> dict[str, Any]:
    """Return the `records` part of the status.

    `waiting` holds the counts of the records in a tree that is not accepted, and None for an accepted one.
    """
    project, home, config = workspace.require_project(), workspace.home, workspace.config
    stores = open_stores(workspace)
    read = {store.level: read_lessons(store) for store in stores.all}
    shelf = RecordStores().shelf(workspace)
    lores = shelf.read()
    has_accepted = is_accepted(project, home)
    return {
        "accepted": has_accepted,
        "waiting": None if has_accepted else total(tree_records(project, home)),
        "lessons": {
            "enabled": config.lessons.enabled,
            "project": len(read["project"].active),
            "system": len(read["system"].active),
            "superseded": sum(not one.is_active for lessons in read.values() for one in lessons.lessons),
            "file": str(stores.project.file) if stores.project else None,
        },
        "lore": {
            "enabled": config.lore.enabled,
            **lore_counts(lores),
            "folders": [str(store.folder.path) for store in shelf.stores],
        },
        "reader": _reader_status(workspace),
        "problems": sum(len(one.problems) for one in (*read.values(), *lores)),
    }


def _reader_status(workspace: Workspace) -> dict[str, Any]:
    """Return the name of the reader, None without one; why it cannot be used; and the kinds that it has read."""
    config, project = workspace.config, workspace.require_project()
    name = config.model.reader if config.gate.reader else ""
    problem = None
    if name:
        try:
            embedder_info(name, workspace.home)
            verify(name)
        except HybridError as error:
            problem = str(error)
    kinds = OF_TREES if name and not problem else ()
    read = [kind for kind in kinds if reading_of(workspace.home, f"{kind}-{project.tree}").exists()]
    return {"model": name or None, "problem": problem, "read": read}


def _lesson_files(project: Project, home: Path) -> list[RecordFile]:
    counters = project_folder(project, home) / COUNTERS
    ours, older = tree_files(project)
    found: list[RecordFile] = []
    for file in (ours, older):
        if not file.is_file():
            continue
        is_read = project.has_folder if file == ours else not found
        lessons = read_lessons(LessonStore(file, counters, level="project", keeps_inline=file == older))
        found.append(RecordFile(file, {"lessons": len(lessons.active)}, lessons.problems, is_read))
    return found


def _lore_files(project: Project) -> list[RecordFile]:
    place = lore_folder_of(project.root)
    if place is None:
        return []
    folder = LoreFolder(place, "project")
    lore = LoreStore(folder).read()
    counts = lore_counts([lore])
    kinds = (
        (folder.patterns, ("patterns", "anti_patterns")),
        (folder.decisions, ("decisions",)),
        (folder.sessions, ("handoffs",)),
    )
    found: list[RecordFile] = []
    for path, names in kinds:
        if path.exists():
            problems = tuple(problem for problem in lore.problems if problem.file.startswith(str(path)))
            found.append(RecordFile(path, {kind: counts[kind] for kind in names}, problems))
    return found


# --- memory -----------------------------------------------------------------------------------------------


FAMILY = "memory"


def memory_status(workspace: Workspace) -> dict[str, Any]:
    """Return the `memory` part of the status."""
    store = RecordStores().memory(workspace)
    counted, problem = read_counts(store)
    settings = workspace.config.memory
    return {
        "enabled": settings.enabled,
        "capture": settings.capture,
        **_counts(counted),
        "path": str(store.path),
        "set_aside": [path.name for path in store.set_aside],
        "problems": [problem] if problem else [],
    }


def figures_form(workspace: Workspace, store: MemoryStore, counted: MemoryStats) -> dict[str, Any]:
    """Return the JSON of `hybrid memory stats`."""
    return {
        **_counts(counted),
        "by_type": dict(counted.by_type),
        "by_project": [
            {
                "key": project.key,
                "project": project.project,
                "observations": project.n_observations,
                "summaries": project.n_summaries,
            }
            for project in counted.by_project
        ],
        "path": str(store.path),
        "index_bytes": _index_bytes(workspace.home, store),
    }


def rows_in_words(n_observations: int, n_summaries: int) -> str:
    """Return the counts in words: `3 observations, 1 summary`."""
    return f"{amount(n_observations, 'observation')}, {amount(n_summaries, 'summary', 'summaries')}"


def _counts(counted: MemoryStats) -> dict[str, Any]:
    return {
        "sessions": counted.n_sessions,
        "observations": counted.n_observations,
        "summaries": counted.n_summaries,
        "prompts": counted.n_prompts,
        "pending": counted.n_pending,
        "oldest": None if counted.oldest_ms is None else iso(counted.oldest_ms),
        "newest": None if counted.newest_ms is None else iso(counted.newest_ms),
        "size_bytes": counted.size_bytes,
    }


def read_counts(store: MemoryStore) -> tuple[MemoryStats, str]:
    """Return the memory's counts, 0 if it cannot be read, and what is wrong with it; nothing is changed or made."""
    if not store.exists:
        return NO_STATS, ""
    try:
        with closing(open_for_reading(store.path, FAMILY)) as db:
            return stats(db, size_bytes(store.path)), ""
    except IndexCorruptError:
        return NO_STATS, f"{store.path} is damaged; whoever uses it next sets it aside and starts a new one"
    except IndexMismatchError:
        return NO_STATS, _mismatch(store.path)
    except (OSError, sqlite3.DatabaseError) as error:
        return NO_STATS, f"{store.path} cannot be read: {error}"


def _mismatch(path: Path) -> str:
    """Return a sentence on a database of another format: a newer one needs an upgrade, an older one mends itself."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > migrations(FAMILY)[-1][0]:
        return f"{path} was written by a newer version: upgrade hybrid"
    return f"{path} has an older format, which its next use brings up to date"


def _index_bytes(home: Path, store: MemoryStore) -> int:
    """Return the bytes of the memory's segments; texts and vectors stand in the catalog that all records share."""
    folder = reading_of(home, memory_name(store.path, "")).parent
    return sum(path.stat().st_size for path in folder.parent.glob(f"{folder.name}*/*") if path.is_file())
