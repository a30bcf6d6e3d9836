"""Checks of lessons, lore and memory for `hybrid doctor`: what is malformed, not accepted, damaged or behind.

Reads only; `renumber_twins` is what `hybrid doctor --fix` mends.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError, IndexMismatchError, IndexMissingError
from hybrid.base.lasting import how_to_add
from hybrid.base.sqlite import open_for_reading
from hybrid.health.doctor import Finding
from hybrid.health.memory_figures import FAMILY, read_counts, rows_in_words
from hybrid.ipc.spool import Spool
from hybrid.knowledge.record_figures import (
    KINDS,
    in_words,
    lore_counts,
    read_lessons,
    total,
    tree_records,
)
from hybrid.knowledge.record_files import open_stores, own_file
from hybrid.knowledge.stores import RecordStores
from hybrid.project.find import FOLDER_NAME
from hybrid.project.trust import NAME as ACCEPTED
from hybrid.project.trust import is_accepted, is_damaged
from hybrid.records.lessons.reranking import KEY, PACKAGE
from hybrid.records.lore.store import personal_folder
from hybrid.redact import redact
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.index.manifest import Place
    from hybrid.project.find import Project
    from hybrid.records.lessons.document import Lessons
    from hybrid.records.lore.types import Lore
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryStats
    from hybrid.records.types import Problem
    from hybrid.workspace import Workspace


_AREA = "records"
_MOST_PROBLEMS = 20
"""Number of problems of one file that are told; whoever mends these sees the others next."""
_RENUMBER = "hybrid lessons renumber"
_MOST_NAMED = 3
"""Number of records, of those that name code which is not there, that are told."""
_MADE_AGAIN = (IndexMissingError, IndexMismatchError)


def check_records(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Report everything about lessons and lore that its owner should know.

    Args:
        workspace: The workspace of any directory.
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
    """
    lessons = [read_lessons(store) for store in open_stores(workspace).all]
    lores = RecordStores(environ).shelf(workspace).read()
    problems = [problem for read in lessons for problem in read.problems]
    problems += [problem for lore in lores for problem in lore.problems]
    findings = [
        *_of_problems(problems),
        *_of_trust(workspace),
        *_of_folders(workspace, environ),
        *_of_records_index(workspace),
        *_of_names(workspace, environ),
        *_of_reader(workspace),
        *_of_rerank(workspace, environ),
    ]
    yield from findings or [Finding("ok", _AREA, _summary(lessons, lores))]


def renumber_twins(workspace: Workspace) -> list[str]:
    """Give new ids to the newer of lessons that share one; returns what was done, a line for each id.

    Raises:
        LessonsError: A file cannot be written, or another process writes it.
    """
    lines: list[str] = []
    for store in open_stores(workspace).all:
        counted = Counter(lesson.id for lesson in read_lessons(store).lessons)
        for lesson_id in sorted(name for name, n in counted.items() if n > 1):
            fresh = store.renumber(lesson_id)
            if fresh:
                lines.append(f"the newer lesson with the id {lesson_id} is now {', '.join(fresh)} ({store.file})")
    return lines


def _summary(lessons: Sequence[Lessons], lores: Sequence[Lore]) -> str:
    return in_words({"lessons": sum(len(read.active) for read in lessons), **lore_counts(lores)}) or "none yet"


def _of_problems(problems: Iterable[Problem]) -> Iterator[Finding]:
    """Yield a warning for each malformed place, with file and line; at most 20 of a file, and how many more."""
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.file] += 1
        if counts[problem.file] > _MOST_PROBLEMS:
            continue
        what = str(problem) if problem.line or problem.file not in problem.message else problem.message
        yield Finding("warning", _AREA, what, _remedy(problem))
    for file, count in counts.items():
        if count > _MOST_PROBLEMS:
            more = count - _MOST_PROBLEMS
            yield Finding("warning", _AREA, f"{file}: {more:,} more places to mend", "mend those above first")


def _remedy(problem: Problem) -> str:
    if _RENUMBER in problem.message:
        return "hybrid doctor --fix"
    return f"mend line {problem.line} of that file; the rest of it is read" if problem.line else "see the message"


def _of_trust(workspace: Workspace) -> Iterator[Finding]:
    project, home = workspace.project, workspace.home
    if is_damaged(home):
        what = f"{home / ACCEPTED} is damaged: the records of no tree are given out"
        yield Finding("problem", _AREA, what, "hybrid trust, in each project")
    if project is None:
        return
    files = tree_records(project, home)
    if not is_accepted(project, home):
        waiting = in_words(total(files))
        if files:
            names = ", ".join(file.path.relative_to(project.root).as_posix() for file in files)
            what = f"{waiting or 'nothing'} in {names}: not given out, since nobody accepted this tree"
            yield Finding("warning", _AREA, what, "read them, then hybrid trust")
        return
    yield from _left_behind(workspace, project)
    for file in files:
        if not file.is_read and file.counts.get(KINDS[0]):
            what = f"{file.path} is not read: .hybrid/LESSONS.md stands in its place"
            yield Finding("warning", _AREA, what, f"hybrid lessons import '{file.path}'")


def _left_behind(workspace: Workspace, project: Project) -> Iterator[Finding]:
    """Warn of lessons in `$HYBRID_HOME` that are not given out, since the tree has a file of its own by now."""
    own, used = own_file(project, workspace.home), open_stores(workspace).project
    if used is None or used.file == own or not own.is_file():
        return
    what = f"{own} holds lessons of this tree, but {used.file} is read"
    yield Finding("warning", _AREA, what, "hybrid trust brings them together")


def _of_folders(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the folders of lore that are named but not there, or that lead out of the tree."""
    configured = workspace.config.lore.data_dir.strip()
    folder = personal_folder(workspace.home, environ, configured)
    is_named = configured or environ.get("LORE_DATA_DIR", "").strip()
    if is_named and not folder.is_dir():
        named = "lore.data_dir" if configured else "LORE_DATA_DIR"
        back = "hybrid config unset lore.data_dir --user" if configured else "unset LORE_DATA_DIR"
        what = f"{named} names {folder}, which is no folder"
        yield Finding("warning", _AREA, what, f"mkdir -p '{folder}', or {back}")
    root = workspace.project.root if workspace.project else None
    for path in (root / FOLDER_NAME, root / FOLDER_NAME / "lore") if root else ():
        if path.is_symlink():
            what = f"{path} is a link, so no record in it is read"
            yield Finding("warning", _AREA, what, "put a folder in its place")


def _of_records_index(workspace: Workspace) -> Iterator[Finding]:
    """Report each damaged index of the records; all of it can be made again from their files."""
    from hybrid.index.catalog import Catalog
    from hybrid.knowledge.views import FOLDER, place_of
    from hybrid.knowledge.views import KINDS as VIEWS

    tree = workspace.project.tree if workspace.project else ""
    places = [place_of(workspace.home, f"{kind}-{tree}") for kind in VIEWS]
    catalog = places[0].catalog
    if not tree or not catalog.exists():
        return
    try:
        Catalog(catalog, tree="", root="", is_read_only=True).close()
    except (HybridError, sqlite3.DatabaseError, OSError) as error:
        damages = [(catalog, error)]
    else:
        damages = [(place.folder, _damage_of_index(place, workspace)) for place in places]
    for place, error in damages:
        # What is missing or of another model is made by the next prompt that is searched.
        if error and not isinstance(error, _MADE_AGAIN):
            what = f"the index of the records cannot be used ({place}: {error})"
            yield Finding("warning", _AREA, what, f"rm -r '{workspace.home / FOLDER}'; the next prompt makes it again")


def _damage_of_index(place: Place, workspace: Workspace) -> Exception | None:
    """Return why the index of records or of the memory cannot be searched with the present model; None when it can."""
    from hybrid.index.snapshot import open_snapshot
    from hybrid.models.registry import embedder_info

    model = embedder_info(workspace.config.model.name, home=workspace.home)
    try:
        open_snapshot(place.folder, model=model.key)
    except (HybridError, OSError) as error:
        return error
    return None


def _of_names(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Name the records of the project that name code which moved or is not there; nothing without an index."""
    from hybrid.index.history import open_history
    from hybrid.index.snapshot import open_snapshot
    from hybrid.knowledge.collections import is_of_project
    from hybrid.knowledge.named_code import ProjectCode

    if workspace.project is None:
        return
    stores, folder = RecordStores(environ), workspace.place.folder
    try:
        backend = open_snapshot(folder, model=None)
        records = [*stores.lessons(workspace).records, *stores.lore(workspace)]
    except (HybridError, OSError):
        return
    code = ProjectCode(workspace.project.root, backend, open_history(folder), frozenset())
    noted = [(one.id, notes) for one in records if is_of_project(one) and (notes := code.standing(one).notes)]
    if noted:
        shown = "; ".join(f"{identity}: {redact(notes[0])}" for identity, notes in noted[:_MOST_NAMED])
        more = f"; and {len(noted) - _MOST_NAMED:,} more" if len(noted) > _MOST_NAMED else ""
        what = f"code that moved or is not there is named by {amount(len(noted), 'record')} ({shown}{more})"
        yield Finding("warning", _AREA, what, "hybrid lessons edit ID, or hybrid lore supersede OLD NEW")


def _of_reader(workspace: Workspace) -> Iterator[Finding]:
    """Warn when the model that is to read the records is not on this machine, or damaged."""
    from hybrid.models.registry import load_embedder, verify

    name = workspace.config.model.reader
    if not name or not workspace.config.gate.reader:
        return
    try:
        verify(name)
        load_embedder(name, home=workspace.home)
    except HybridError as error:
        what = f"lessons and lore are judged without a reader (model.reader): {error}"
        yield Finding("warning", _AREA, what, "install hybrid again, or hybrid config set model.reader '' --user")


def _of_rerank(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Warn when the re-rank of lessons by a language model is on but lacks its package or key."""
    if not workspace.config.lessons.use_haiku_scoring:
        return
    on = "lessons.use_haiku_scoring is on, but lessons keep their local order"
    if find_spec(PACKAGE) is None:
        what = f"{on}: the package {PACKAGE} is not installed"
        command = how_to_add(PACKAGE)
        yield Finding("warning", _AREA, what, f"install the extra `{PACKAGE}` with `{command}`, or switch it off")
    if not environ.get(KEY, ""):
        yield Finding("warning", _AREA, f"{on}: {KEY} is not set", f"export {KEY}, or switch it off")


# --- memory -----------------------------------------------------------------------------------------------


_MEMORY = "memory"
_MANY_BEHIND = 1_000
_LONG_S = 3_600
"""Seconds after which a waiting event is told of: it waits for somebody to use an agent again."""


def check_memory(workspace: Workspace) -> Iterator[Finding]:
    """Report on the memory: switched off, empty, unreadable or damaged; else its counts, size, and indexes to mend."""
    settings = workspace.config.memory
    store = RecordStores().memory(workspace)
    if not settings.enabled:
        yield Finding("ok", _MEMORY, "switched off (memory.enabled)")
        return
    if not store.exists:
        kept = "nothing yet" if settings.capture else "nothing, and nothing is kept (memory.capture)"
        yield Finding("ok", _MEMORY, kept)
        return
    counted, problem = read_counts(store)
    if problem:
        yield Finding("problem", _MEMORY, problem, "hybrid memory stats" if "newer" not in problem else "")
        return
    damage = _damage(store.path)
    if damage:
        what = f"{store.path} is damaged ({damage})"
        remedy = "hybrid memory export FILE saves what can be read; then move the database away"
        yield Finding("problem", _MEMORY, what, remedy)
        return
    what = rows_in_words(counted.n_observations, counted.n_summaries)
    yield Finding("ok", _MEMORY, f"{what}, whole; {counted.size_bytes / 1e6:,.1f} MB")
    if counted.n_aside:
        uses = amount(counted.n_aside, "use of a tool is", "uses of tools are")
        what = f"{uses} set aside, since reading them ended or stalled hybrid: they stay in {store.path}"
        yield Finding("warning", _MEMORY, what, "upgrade hybrid: another version tries them again")
    yield from _of_memory_index(workspace, store, counted)


def check_waiting(workspace: Workspace) -> Iterator[Finding]:
    """Report the events that hooks kept because they ran out of time, and that nobody took in yet."""
    spool = Spool(str(workspace.home))
    waiting = spool.waiting()
    if not waiting:
        return
    count = amount(len(waiting), "event waits", "events wait")
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(waiting[0].at_ms / 1000))
    what = f"{count} in {spool.folder}, the oldest since {at}: the service or the next hook takes them in"
    is_old = time.time() - waiting[0].at_ms / 1000 > _LONG_S
    yield Finding("warning" if is_old else "ok", _MEMORY, what, "hybrid daemon start" if is_old else "")


def _damage(path: Path) -> str:
    """Return the first finding of `PRAGMA integrity_check`, or why it cannot be read; empty for a whole database."""
    try:
        with closing(open_for_reading(path, FAMILY)) as db:
            (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    except (HybridError, OSError, sqlite3.DatabaseError) as error:
        return str(error)
    return "" if verdict == "ok" else str(verdict)


def _of_memory_index(workspace: Workspace, store: MemoryStore, counted: MemoryStats) -> Iterator[Finding]:
    """Report how far the index reaches that prompts here search the memory by, and which others cannot be opened."""
    from hybrid.knowledge.memory_views import n_behind, places_of_store

    if not counted.n_observations + counted.n_summaries:
        return
    mended = 'hybrid memory search "words"'
    places = places_of_store(workspace.home, store)
    is_own = workspace.project is not None and not workspace.config.memory.cross_project
    used = workspace.require_project().key if is_own else ""
    names = {one.key: one.project for one in counted.by_project}
    if used not in (key for _, key in places):
        yield Finding("warning", _MEMORY, "not indexed yet", f"{mended} does it, the next prompt too")
    for place, key in places:
        name = "the index" if key == used else f"the index of {names.get(key, key) or 'all projects'}"
        error = _damage_of_index(place, workspace)
        if key != used and (not error or isinstance(error, _MADE_AGAIN)):
            continue  # Whoever searches by it next brings it up to date.
        if isinstance(error, _MADE_AGAIN):
            yield Finding("warning", _MEMORY, f"{name} is of another model or missing", mended)
            continue
        if error:
            what = f"{name} cannot be used ({error})"
            yield Finding("warning", _MEMORY, what, f"rm -r '{place.folder}'; it is made again")
            continue
        n = n_behind(place, store)
        behind = "behind by more than is counted" if n is None else f"{amount(n, 'row')} behind"
        if n is None or n > _MANY_BEHIND:
            yield Finding("warning", _MEMORY, f"{name} is {behind}", f"{mended} brings it up to date")
        else:
            yield Finding("ok", _MEMORY, f"{name} is up to date" if n == 0 else f"{name} is {behind}: the next prompt")
