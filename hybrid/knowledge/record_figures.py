"""The record files of a tree, their counts and their problems, for `trust`, `status` and `doctor`.

Reads only, and reads the files themselves: nothing of the record index is opened.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.knowledge.record_files import COUNTERS, open_stores, reading_of, tree_files
from hybrid.knowledge.stores import RecordStores
from hybrid.models.registry import embedder_info, verify
from hybrid.project.find import project_folder
from hybrid.project.trust import is_accepted
from hybrid.records.lessons.document import Lessons
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lore.store import LoreFolder, LoreStore
from hybrid.records.lore.store import project_folder as lore_folder_of
from hybrid.records.types import LessonsError, Problem
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.project.find import Project
    from hybrid.records.lore.types import Lore
    from hybrid.workspace import Workspace

KINDS = ("lessons", "patterns", "anti_patterns", "decisions", "handoffs")


class RecordFile(Struct, frozen=True):
    """A file of records, or the folder of the handoffs.

    Attributes:
        path: Where it is.
        counts: Kind, one of `KINDS`, → number of records that may be given out, without withdrawn ones.
        problems: Places in the file that cannot be read.
        is_read: False for a file of lessons that is not used, because another one or `$HYBRID_HOME` is.
    """

    path: Path
    counts: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    is_read: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the file as an object for JSON output, with stable keys."""
        counts = {kind: self.counts[kind] for kind in KINDS if kind in self.counts}
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
    return {kind: counted[kind] for kind in KINDS}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts in words, `12 lessons, 3 patterns and 1 decision`; empty when all are 0."""
    parts = [amount(n, kind[:-1].replace("_", "-")) for kind in KINDS if (n := counts.get(kind, 0))]
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
    kinds = ("lessons", "lore") if name and not problem else ()
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
