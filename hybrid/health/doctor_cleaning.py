"""Checks for `hybrid doctor` whether all that is stored stands under the present rules for secrets. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.health.doctor import Finding
from hybrid.knowledge.record_files import FILE as LESSONS
from hybrid.knowledge.record_files import open_stores
from hybrid.knowledge.stores import RecordStores
from hybrid.project.trust import is_accepted
from hybrid.records.lore.files import lore_folders
from hybrid.redact import REDACT_VERSION, find_secrets
from hybrid.upkeep.cleaning import read_cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hybrid.upkeep.cleaning import Cleaned
    from hybrid.workspace import Workspace

_AREA = "secrets"
_NOW = "hybrid doctor --fix does it now, the service in the background"
_MOST_LINES = 20
_MAX_BYTES = 5_000_000


def check_cleaning(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Return what older versions left behind: rows to clean, files set aside, lines that hold a secret."""
    yield from _of_stores(workspace)
    yield from _set_aside(workspace.home)
    yield from _in_own_texts(workspace, environ)


def _of_stores(workspace: Workspace) -> Iterator[Finding]:
    from hybrid.upkeep.cleaning_indexes import older_indexes

    known, waiting = read_cleaned(workspace.home), [*_waiting_rows(workspace)]
    waiting += [f"the index {name}" for name in older_indexes(workspace.home)]
    if known.rules == REDACT_VERSION:
        yield from (Finding("warning", _AREA, f"not cleaned: {problem}", _NOW) for problem in known.failures)
    elif known.rules:
        waiting.append("log and counters")
    if waiting:
        what = f"kept under older rules for secrets, and not cleaned yet: {'; '.join(waiting)}"
        yield Finding("warning", _AREA, what, _NOW)
    elif known.rules != REDACT_VERSION:
        yield Finding("ok", _AREA, "log and counters are looked through at the next start of the service")
    elif not known.problems:
        yield Finding("ok", _AREA, f"all that is stored stands under the present rules{_done(known)}")


def _waiting_rows(workspace: Workspace) -> Iterator[str]:
    """What of the memory waits; one that cannot be read is a finding of its own."""
    import sqlite3
    from contextlib import closing

    from hybrid.base.sqlite import open_for_reading
    from hybrid.health.memory_figures import FAMILY
    from hybrid.records.memory.cleaning import progress_of

    store = RecordStores().memory(workspace)
    if not store.exists:
        return
    try:
        with closing(open_for_reading(store.path, FAMILY)) as db:
            progress = progress_of(db)
    except (HybridError, OSError, sqlite3.DatabaseError):
        yield f"the memory {store.path}"
        return
    if not progress.is_done:
        at = f" (at {progress.stage} {progress.up_to:,})" if progress.rules == REDACT_VERSION else ""
        yield f"the memory {store.path}{at}"


def _done(known: Cleaned) -> str:
    """What was changed, and when; nothing when nothing was."""
    counts = (
        (known.memory, "row", "rows"),
        (known.lines, "line of log and counters", "lines of log and counters"),
        (known.rebuilt, "index made again", "indexes made again"),
        (known.dropped, "index dropped", "indexes dropped"),
    )
    parts = [f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n]
    return f"; cleaned on {known.at[:10]}: {', '.join(parts)}" if parts else ""


def _set_aside(home: Path) -> Iterator[Finding]:
    """Damaged files of any project; `doctor` names those of the present one anyway."""
    found = sorted(path for folder in ("projects", "log") for path in (home / folder).rglob("*.corrupt-*"))
    for path in found[:_MOST_LINES]:
        what = f"{path} was set aside, is never cleaned and may hold secrets"
        yield Finding("warning", _AREA, what, f"look at it, then rm '{path}'")


def _in_own_texts(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Lines of the user's own records that hold a secret; they are shown without it, and never rewritten."""
    project, home = workspace.project, workspace.home
    files = [store.file for store in open_stores(workspace).all]
    files += sorted((home / "projects").glob(f"*/trees/*/{LESSONS}"))
    root = project.root if project and is_accepted(project, home) else None
    for folder in lore_folders(home, environ, workspace.config.lore.data_dir, root):
        files += [folder.patterns, folder.decisions, *sorted(folder.sessions.glob("*"))]
    for path in dict.fromkeys(files):
        for line in _lines_with_secrets(path)[:_MOST_LINES]:
            what = f"{path}:{line} holds a secret; it is never shown, but it stands in the file"
            yield Finding(
                "warning", _AREA, what, "take it out of the file, and change the secret if others may have it"
            )


def _lines_with_secrets(path: Path) -> list[int]:
    """Numbers of the lines in which a secret begins, from 1."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return sorted({text.count("\n", 0, secret.start) + 1 for secret in find_secrets(text)})
