"""Checks of what lies under this program, and of lessons, lore and memory: what is broken, not accepted or behind.

Reads only; `repair_rights` and `renumber_twins` are what `hybrid doctor --fix` mends. `hybrid doctor` adds the hooks
and the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import sys
import time
from collections import Counter
from contextlib import closing
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from hybrid import __version__
from hybrid.base.errors import HybridError, IndexMismatchError, IndexMissingError, ModelError
from hybrid.base.home import is_switched_off
from hybrid.base.lasting import HOW_TO_INSTALL, cache_of, how_to_add
from hybrid.base.sqlite import open_for_reading
from hybrid.config import unknown_variables
from hybrid.health.status import HOW_TO_DECIDE, MISSED, left_out_in_words, refusals, status
from hybrid.ipc.spool import Spool
from hybrid.knowledge.stores import (
    FAMILY,
    RecordStores,
    in_words,
    lore_counts,
    open_stores,
    own_file,
    read_counts,
    read_lessons,
    rows_in_words,
    total,
    tree_records,
)
from hybrid.knowledge.stores import FILE as LESSONS
from hybrid.log.events import health
from hybrid.models.registry import describe, embedder_info, load_embedder, present_name, verify
from hybrid.project import registry
from hybrid.project.find import FOLDER_NAME
from hybrid.project.trust import NAME as ACCEPTED
from hybrid.project.trust import is_accepted
from hybrid.project.trust import is_damaged as is_trust_damaged
from hybrid.records.lessons.reranking import KEY, PACKAGE
from hybrid.records.lore.store import lore_folders, personal_folder
from hybrid.records.types import OF_TREES
from hybrid.redact import find_secrets, redact
from hybrid.render.numbers import amount, local_time
from hybrid.session.pauses import is_damaged, pauses_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hybrid.index.manifest import Place
    from hybrid.project.find import Project
    from hybrid.records.lessons.store import Lessons
    from hybrid.records.lore.types import Lore
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryStats
    from hybrid.records.types import Problem
    from hybrid.workspace import Workspace


Level = Literal["ok", "warning", "problem"]

_DISTRIBUTION = "hybrid-retrieval"
_OLDEST = (3, 10)
_LITTLE_BYTES = 500_000_000
_NOTHING_BYTES = 50_000_000
_MANY_FAILURES = 3
_ANOTHER_MODEL = "bring the model back, or `hybrid models use NAME`"
_PRIVATE = ("log", "sessions", "run", "installs")
"""Folders whose files hold prompts, or tell how to reach the service, and must be the owner's alone."""
_MOST_FILES = 20_000
"""Number of files of a folder whose rights are looked at, so that `doctor` ends soon on a home of any size."""


class Finding(Struct, frozen=True):
    """One finding of a check.

    Attributes:
        level: `ok`, `warning` (works, but not as it could) or `problem`.
        area: What was looked at, one word.
        what: The finding in one line.
        remedy: The command or step that helps; empty when all is well.
    """

    level: Level
    area: str
    what: str
    remedy: str = ""


def check_all(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what the checks find, in the order a person would go; a check that breaks is a problem itself.

    Secrets in the user's own files are not among them: see `check_own_texts`.
    """
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("install", _install),
        ("home", lambda: _home(workspace.home)),
        ("rights", lambda: _rights(workspace.home)),
        ("switch", lambda: _switch(workspace, environ)),
        ("settings", lambda: _settings(workspace, environ)),
        ("model", lambda: _model(workspace)),
        ("index", lambda: _index(workspace)),
        ("state", lambda: _set_aside(workspace)),
        ("log", lambda: _failures(workspace)),
    )
    for area, check in checks:
        yield from guarded(area, check)


def guarded(area: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check, once it is through; an error in it is the one finding instead."""
    try:
        yield from list(check())
    except (HybridError, OSError) as error:
        yield Finding("problem", area, str(error), "see the message")


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    what = f"Python {version} at {sys.executable or 'an unknown place'}"
    if sys.version_info < _OLDEST:
        yield Finding("problem", "python", what, "install hybrid with Python 3.10 or newer")
    elif not sys.executable or not Path(sys.executable).exists():
        yield Finding("problem", "python", f"{what}, which is gone", "install hybrid again, then its hooks")
    else:
        yield Finding("ok", "python", what)


def _install() -> Iterator[Finding]:
    package = Path(__file__).resolve().parent.parent
    what = f"hybrid {__version__} at {package}{_how_installed()}"
    if cache := cache_of():
        yield Finding("warning", "install", f"{what}, in a cache ({cache}) that may be emptied", HOW_TO_INSTALL)
    else:
        yield Finding("ok", "install", what)


def _how_installed() -> str:
    try:
        distribution = metadata.distribution(_DISTRIBUTION)
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return " (run from a checkout)"
    if distribution.version != __version__:
        return f" (but {_DISTRIBUTION} {distribution.version} is installed)"
    return " (editable)" if direct.get("dir_info", {}).get("editable") else ""


def _home(home: Path) -> Iterator[Finding]:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir():
        remedy = f"mv '{place}' elsewhere, or set HYBRID_HOME"
        yield Finding("problem", "home", f"{place} is a file, not a folder", remedy)
        return
    if not os.access(place, os.W_OK):
        yield Finding("problem", "home", f"{home} cannot be written", f"chmod u+rwx '{place}', or set HYBRID_HOME")
        return
    free = shutil.disk_usage(place).free
    what = f"{home}, {free / 1e9:.1f} GB free"
    level: Level = "problem" if free < _NOTHING_BYTES else "warning" if free < _LITTLE_BYTES else "ok"
    yield Finding(level, "home", what, "" if level == "ok" else "free disk space, or `hybrid projects forget NAME`")


def _rights(home: Path) -> Iterator[Finding]:
    if sys.platform == "win32" or not home.exists():
        return
    if home.stat().st_uid != os.geteuid():
        yield Finding("problem", "rights", f"{home} belongs to another user", f"sudo chown -R $(id -un) '{home}'")
        return
    open_ones = _readable_by_others(home)
    if open_ones:
        what = f"others may read {amount(len(open_ones), 'file or folder', 'files or folders')}, such as {open_ones[0]}"
        yield Finding("warning", "rights", what, "hybrid doctor --fix")
    else:
        yield Finding("ok", "rights", "only you can read it")


def repair_rights(home: Path) -> int:
    """Take the rights of others away from the home's files and folders; return how many were changed.

    What cannot be changed stays, silently. On Windows nothing is done.
    """
    if sys.platform == "win32":
        return 0
    count = 0
    for path in _readable_by_others(home):
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & 0o700)
            count += 1
    return count


def _readable_by_others(home: Path) -> list[Path]:
    """Return the home and what in it tells of its owner, where group or others have rights; links are passed over."""
    readable: list[Path] = []
    candidates = [home, home / "pauses.json"]
    for name in _PRIVATE:
        candidates.append(home / name)
        with contextlib.suppress(OSError):
            candidates += sorted((home / name).rglob("*"))[:_MOST_FILES]
    for path in candidates:
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & 0o077:
                readable.append(path)
    return readable


def _switch(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    if is_switched_off(environ):
        yield Finding("warning", "switch", "HYBRID_DISABLE switches everything off", "unset HYBRID_DISABLE")
    for pause in pauses_for(workspace.home, workspace.project.key if workspace.project else None):
        option = {"all": " --all", "session": f" --session {pause.name}"}.get(pause.scope, "")
        yield Finding("warning", "switch", f"paused: {pause.scope} {pause.name}".rstrip(), f"hybrid resume{option}")


def _settings(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    loaded = workspace.loaded
    unknown = unknown_variables(environ)
    for problem in loaded.own_problems:
        yield Finding("problem", "settings", f"{problem}; the default is used", "hybrid config")
    for problem in loaded.warnings:
        yield Finding("warning", "settings", problem, "mend the file, or `hybrid config unset` what was removed")
    for sentence in unknown:
        yield Finding("warning", "settings", sentence, f"unset {sentence.partition(' ')[0]}, or mend its name")
    if loaded.waiting:
        what = f"the project's config.toml sets {', '.join(loaded.waiting)}, which does not count yet"
        yield Finding("warning", "settings", what, "hybrid trust accepts the tree with its records and settings")
    if not loaded.problems and not unknown:
        yield Finding("ok", "settings", "no mistake in any layer")


def _model(workspace: Workspace) -> Iterator[Finding]:
    given = workspace.config.model.name
    name = present_name(given)
    if name != given:
        what = f"{given}, which the settings name, does not ship any more; {name} replaced it and is used"
        yield Finding("warning", "model", what, f"hybrid models use {name}")
    try:
        model = describe(name)
    except ModelError as error:
        yield Finding("problem", "model", str(error), _ANOTHER_MODEL)
        return
    if model.manifest is not None and model.folder is not None:
        model.manifest.verify(model.folder)
        yield Finding("ok", "model", f"{name}: every file has the digest of its manifest")
    elif model.folder is None and model.id:
        yield Finding("problem", "model", f"{name} is not on this machine", f"hybrid models use {name}")
    else:
        yield Finding("ok", "model", f"{name}: has no manifest to compare it with")


def _index(workspace: Workspace) -> Iterator[Finding]:
    if workspace.project is None:
        yield Finding("warning", "index", "no project here", "cd into a git working tree, or `hybrid init`")
        return
    figures = status(workspace)
    index, error = figures["index"], figures["model"]["error"]
    state, size = index["state"], f"{amount(index['documents'], 'document')}, {amount(index['chunks'], 'chunk')}"
    if state == "error":
        yield Finding("problem", "index", str(index["error"]), "hybrid reindex --full")
    elif state == "missing":
        yield _missing(workspace, workspace.project.name)
    elif error and index["reembedding"]:
        yield Finding("problem", "index", f"{size}; {_stale(index)}", _ANOTHER_MODEL)
    elif state == "stale":
        yield Finding("warning", "index", f"{size}; {_stale(index)}", "hybrid reindex")
    else:
        yield Finding("ok", "index", f"{state}: {size}")
    yield from _tree(index, workspace.project.root)


def _tree(index: Mapping[str, Any], root: Path) -> Iterator[Finding]:
    """Yield which repositories inside the index leaves out, and where git does not list files."""
    for what, remedy in refusals(index["git_refused"], root):
        yield Finding("warning", "files", what, remedy)
    left_out = index["inner_left_out"]
    if missed := left_out_in_words(left_out, MISSED):
        yield Finding("warning", "files", f"repositories inside that are left out: {missed}", HOW_TO_DECIDE)
    if others := left_out_in_words({path: why for path, why in left_out.items() if why not in MISSED}):
        yield Finding("ok", "files", f"repositories inside that are left out: {others}")


def _stale(index: Mapping[str, Any]) -> str:
    """Return in words what the next build brings up to date; empty when nothing."""
    told = index["reembedding"]
    if told:
        gone = f"{told['from']} is gone and no prompt is answered"
        answers = f"{told['answers']} answers" if told["answers"] else gone
        return f"waits to be embedded with {told['to']}; {answers} until then"
    changed = f"{index['stale_documents']} changed since" if index["stale_documents"] else ""
    uncalibrated = "" if index["is_calibrated"] or not index["chunks"] else "not calibrated for the gate"
    return ", ".join(filter(None, (changed, uncalibrated)))


def _missing(workspace: Workspace, name: str) -> Finding:
    """Return the finding on a missing index: forgotten on purpose, refused for its size, or to be built."""
    from hybrid.upkeep.indexing import refused, was_forgotten

    if was_forgotten(workspace):
        what = f"{name} was forgotten on purpose: nothing indexes it unasked"
        return Finding("warning", "index", what, "hybrid reindex makes it a project again")
    no = refused(workspace)
    if no is None:
        return Finding("warning", "index", f"{name} is not indexed", "hybrid reindex")
    # `too_many_files` is the one refusal that is remembered.
    what = f"{name} is not indexed, and not by itself: it has more than {no['limit']:,} files ({no['reason']})"
    return Finding("warning", "index", what, "hybrid reindex; `index.exclude` leaves folders out")


def _set_aside(workspace: Workspace) -> Iterator[Finding]:
    damaged = [path for folder in _state_folders(workspace) for path in sorted(folder.glob("*.corrupt-*"))]
    for path in damaged:
        yield Finding("warning", "state", f"{path} was damaged and set aside", f"look at it, then rm '{path}'")
    if is_damaged(workspace.home):
        yield Finding("warning", "state", "pauses.json is damaged: nothing is paused", "hybrid pause, or resume, again")
    is_registry_damaged = registry.is_damaged(workspace.home)
    if is_registry_damaged:
        what = f"{registry.registry_path(workspace.home)} is damaged: a project that was moved is taken for a new one"
        yield Finding("warning", "state", what, "hybrid reindex, in each project; the first sets the file aside")
    if not (damaged or is_registry_damaged):
        yield Finding("ok", "state", "no state file was set aside")


def _state_folders(workspace: Workspace) -> list[Path]:
    home = workspace.home
    folders = [home, home / "sessions", home / "records", registry.registry_path(home).parent]
    if workspace.project is not None:
        folders += [workspace.state_folder, workspace.place.catalog.parent]
    return list(dict.fromkeys(folders))


def _failures(workspace: Workspace) -> Iterator[Finding]:
    figures = health(filter(workspace.is_here, workspace.log.newest()))
    count, last = figures["consecutive_failures"], cast("dict[str, Any] | None", figures["last_error"])
    when = f"{local_time(last['at'])}: {last['message']}" if last else ""
    if count and last:
        level = "problem" if count >= _MANY_FAILURES else "warning"
        what = f"{count} {'failure' if count == 1 else 'failures in a row'}, last {when}"
        yield Finding(level, "log", what, "hybrid log --reason error")
        return
    before = f"last error {when}, working since" if last else "no error recorded"
    yield Finding("ok", "log", f"last decision {local_time(figures['last_success'] or 'none yet')}; {before}")


# --- kept secrets -----------------------------------------------------------------------------------------


_MOST_SHOWN = 3
_MAX_BYTES = 5_000_000
"""Bytes of the largest file that is searched for secrets: a file of a person is smaller."""


def check_own_texts(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield one warning for each file of the user's own records with secrets: shown without them, never rewritten."""
    project, home = workspace.project, workspace.home
    files = [store.file for store in open_stores(workspace).all]
    files += sorted((home / "projects").glob(f"*/trees/*/{LESSONS}"))
    root = project.root if project and is_accepted(project, home) else None
    for folder in lore_folders(home, environ, workspace.config.lore.data_dir, root):
        files += [folder.patterns, folder.decisions, *sorted(folder.sessions.glob("*"))]
    for path in dict.fromkeys(files):
        if lines := _lines_with_secrets(path):
            shown = ", ".join(map(str, lines[:_MOST_SHOWN]))
            more = f" and {len(lines) - _MOST_SHOWN:,} more" if len(lines) > _MOST_SHOWN else ""
            what = f"{path} has a secret in {amount(len(lines), 'line')} ({shown}{more}), which is never shown"
            remedy = "take it out of the file, and change the secret if others may have it"
            yield Finding("warning", "secrets", what, remedy)


def _lines_with_secrets(path: Path) -> list[int]:
    """Return the numbers of the lines in which a secret begins, from 1, in order; empty for an unreadable file.

    The first 5 MB are searched.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return sorted({text.count("\n", 0, secret.start) + 1 for secret in find_secrets(text)})


# --- records ----------------------------------------------------------------------------------------------


_RECORDS = "records"
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
    yield from findings or [Finding("ok", _RECORDS, _summary(lessons, lores))]


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
        yield Finding("warning", _RECORDS, what, _remedy(problem))
    for file, count in counts.items():
        if count > _MOST_PROBLEMS:
            more = count - _MOST_PROBLEMS
            yield Finding("warning", _RECORDS, f"{file}: {more:,} more places to mend", "mend those above first")


def _remedy(problem: Problem) -> str:
    if _RENUMBER in problem.message:
        return "hybrid doctor --fix"
    return f"mend line {problem.line} of that file; the rest of it is read" if problem.line else "see the message"


def _of_trust(workspace: Workspace) -> Iterator[Finding]:
    project, home = workspace.project, workspace.home
    if is_trust_damaged(home):
        what = f"{home / ACCEPTED} is damaged: the records of no tree are given out"
        yield Finding("problem", _RECORDS, what, "hybrid trust, in each project")
    if project is None:
        return
    files = tree_records(project, home)
    if not is_accepted(project, home):
        waiting = in_words(total(files))
        if files:
            names = ", ".join(file.path.relative_to(project.root).as_posix() for file in files)
            what = f"{waiting or 'nothing'} in {names}: not given out, since nobody accepted this tree"
            yield Finding("warning", _RECORDS, what, "read them, then hybrid trust")
        return
    yield from _left_behind(workspace, project)
    for file in files:
        if not file.is_read and file.counts.get("lessons"):
            what = f"{file.path} is not read: .hybrid/LESSONS.md stands in its place"
            yield Finding("warning", _RECORDS, what, f"hybrid lessons import '{file.path}'")


def _left_behind(workspace: Workspace, project: Project) -> Iterator[Finding]:
    """Warn of lessons in `$HYBRID_HOME` that are not given out, since the tree has a file of its own by now."""
    own, used = own_file(project, workspace.home), open_stores(workspace).project
    if used is None or used.file == own or not own.is_file():
        return
    what = f"{own} holds lessons of this tree, but {used.file} is read"
    yield Finding("warning", _RECORDS, what, "hybrid trust brings them together")


def _of_folders(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the folders of lore that are named but not there, or that lead out of the tree."""
    configured = workspace.config.lore.data_dir.strip()
    folder = personal_folder(workspace.home, environ, configured)
    is_named = configured or environ.get("LORE_DATA_DIR", "").strip()
    if is_named and not folder.is_dir():
        named = "lore.data_dir" if configured else "LORE_DATA_DIR"
        back = "hybrid config unset lore.data_dir --user" if configured else "unset LORE_DATA_DIR"
        what = f"{named} names {folder}, which is no folder"
        yield Finding("warning", _RECORDS, what, f"mkdir -p '{folder}', or {back}")
    root = workspace.project.root if workspace.project else None
    for path in (root / FOLDER_NAME, root / FOLDER_NAME / "lore") if root else ():
        if path.is_symlink():
            what = f"{path} is a link, so no record in it is read"
            yield Finding("warning", _RECORDS, what, "put a folder in its place")


def _of_records_index(workspace: Workspace) -> Iterator[Finding]:
    """Report each damaged index of the records; all of it can be made again from their files."""
    from hybrid.index.catalog import Catalog
    from hybrid.knowledge.record_indexes import FOLDER, place_of

    tree = workspace.project.tree if workspace.project else ""
    places = [place_of(workspace.home, f"{kind}-{tree}") for kind in OF_TREES]
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
            yield Finding(
                "warning", _RECORDS, what, f"rm -r '{workspace.home / FOLDER}'; the next prompt makes it again"
            )


def _damage_of_index(place: Place, workspace: Workspace) -> Exception | None:
    """Return why the index of records or of the memory cannot be searched with the present model; None when it can."""
    from hybrid.index.snapshot import open_snapshot

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
        yield Finding("warning", _RECORDS, what, "hybrid lessons edit ID, or hybrid lore supersede OLD NEW")


def _of_reader(workspace: Workspace) -> Iterator[Finding]:
    """Warn when the model that is to read the records is not on this machine, or damaged."""
    name = workspace.config.model.reader
    if not name or not workspace.config.gate.reader:
        return
    try:
        verify(name)
        load_embedder(name, home=workspace.home)
    except HybridError as error:
        what = f"lessons and lore are judged without a reader (model.reader): {error}"
        yield Finding("warning", _RECORDS, what, "install hybrid again, or hybrid config set model.reader '' --user")


def _of_rerank(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Warn when the re-rank of lessons by a language model is on but lacks its package or key."""
    if not workspace.config.lessons.use_haiku_scoring:
        return
    on = "lessons.use_haiku_scoring is on, but lessons keep their local order"
    if find_spec(PACKAGE) is None:
        what = f"{on}: the package {PACKAGE} is not installed"
        command = how_to_add(PACKAGE)
        yield Finding("warning", _RECORDS, what, f"install the extra `{PACKAGE}` with `{command}`, or switch it off")
    if not environ.get(KEY, ""):
        yield Finding("warning", _RECORDS, f"{on}: {KEY} is not set", f"export {KEY}, or switch it off")


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
    from hybrid.knowledge.record_indexes import indexes_of_store

    if not counted.n_observations + counted.n_summaries:
        return
    mended = 'hybrid memory search "words"'
    indexes = indexes_of_store(workspace, store)
    is_own = workspace.project is not None and not workspace.config.memory.cross_project
    used = workspace.require_project().key if is_own else ""
    names = {one.key: one.project for one in counted.by_project}
    if used not in (key for _, key in indexes):
        yield Finding("warning", _MEMORY, "not indexed yet", f"{mended} does it, the next prompt too")
    for index, key in indexes:
        place = index.place
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
        part = index.changed()
        n = len(part.paths) if part else None
        behind = "behind by more than is counted" if n is None else f"{amount(n, 'row')} behind"
        if n is None or n > _MANY_BEHIND:
            yield Finding("warning", _MEMORY, f"{name} is {behind}", f"{mended} brings it up to date")
        else:
            yield Finding("ok", _MEMORY, f"{name} is up to date" if n == 0 else f"{name} is {behind}: the next prompt")
