"""Checks of what lies under this program: home, rights, settings, model, index, state, last failures, kept secrets.

Reads only; `repair_rights` is the one thing that may be mended unasked. `hybrid doctor` adds the records, the hooks and
the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from hybrid import __version__
from hybrid.base.errors import HybridError, ModelError
from hybrid.base.home import is_switched_off
from hybrid.base.lasting import HOW_TO_INSTALL, cache_of
from hybrid.config import unknown_variables
from hybrid.feedback.events import health
from hybrid.health.tree import HOW_TO_DECIDE, MISSED, left_out_in_words, refusals
from hybrid.knowledge.record_files import FILE as LESSONS
from hybrid.knowledge.record_files import open_stores
from hybrid.project import registry
from hybrid.project.trust import is_accepted
from hybrid.records.lore.store import lore_folders
from hybrid.redact import find_secrets
from hybrid.render.numbers import amount, local_time
from hybrid.session.pauses import is_damaged, pauses_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
    from hybrid.models.registry import describe, present_name

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
    from hybrid.health.status import status

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


_AREA = "secrets"
_MOST_LINES = 20
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
            yield Finding("warning", _AREA, what, remedy)


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
