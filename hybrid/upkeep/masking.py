"""Masks once more what is stored when the rules for secrets are newer: rows, log, marks, ledgers and counters.

The service does it in a process of its own, commands that read the stores before they begin; a prompt never does. It is
one pass, and its notes are written last: in the memory for its rows, in `cleaned.json` for the files. One that was
killed or failed is done again. The indexes of files are not touched: their next build reads every file again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked, write_atomic
from hybrid.knowledge.stores import RecordStores
from hybrid.log import given_texts, marks, state
from hybrid.log.events import OUTCOMES, log_folder
from hybrid.project.find import FOLDER_NAME
from hybrid.project.registry import load_registry
from hybrid.records.memory.forgetting import is_masked, masked, note_masked, rewrite
from hybrid.redact import REDACT_VERSION

if TYPE_CHECKING:
    from hybrid.workspace import Workspace

NAME = "cleaned.json"
"""File of a `$HYBRID_HOME` with the version of the rules by which its small files are masked."""
_NOTE = json.dumps({"rules": REDACT_VERSION}).encode()


def is_due(workspace: Workspace) -> bool:
    """Return whether the memory or the small files of the home may stand under other rules; False without a home.

    Raises:
        HybridError: The memory cannot be read.
        OSError: The note cannot be read.
    """
    if _are_files_masked(workspace.home) and is_masked(RecordStores().memory(workspace).database):
        return False
    return workspace.home.is_dir()


def _are_files_masked(home: Path) -> bool:
    return (home / NAME).is_file() and (home / NAME).read_bytes() == _NOTE


def mask_again(workspace: Workspace) -> None:
    """Mask what is due, unless another process is at it; what fails is left to the next call.

    Raises:
        HybridError: The memory or the marks cannot be used.
        OSError: A file cannot be read or written.
    """
    if not is_due(workspace):
        return
    from hybrid.upkeep.purging import purge_index  # Brings numpy.

    with locked(workspace.home / "cleaning.lock", 0.0) as held, RecordStores().memory(workspace) as store:
        if held:
            # The words of old texts are in the index of the memory too.
            if not is_masked(store.database) and rewrite(store.database) and not purge_index(workspace, store):
                note_masked(store.database)
            if not _are_files_masked(workspace.home):
                _mask_files(workspace)
                write_atomic(workspace.home / NAME, _NOTE)


def _mask_files(workspace: Workspace) -> None:
    home, log = workspace.home, log_folder(workspace.home)
    with marks.held(log):
        for path in (*log.glob(marks.NAME), *log.glob(given_texts.NAME), *log.glob(f"{OUTCOMES}*.jsonl")):
            _mask_lines(path)
    with workspace.log.held_parts() as parts:
        for path in (*parts, *(home / "sessions").glob("*.jsonl")):
            _mask_lines(path)
    roots = [Path(root) / FOLDER_NAME for entry in load_registry(home).values() for root in entry.paths]
    for folder in (*(home / "projects").glob("*/trees/*"), *roots):
        if folder.is_symlink():
            continue  # A project leads nowhere else.
        before = state.read_state(folder).as_json()
        if masked(before) != before:  # Such counters begin anew.
            (folder / state.NAME).unlink()
            (folder / state.HOT_TOPICS).unlink(missing_ok=True)


def _mask_lines(path: Path) -> None:
    """Mask each line of a file; its time stays, by which old ledgers are deleted."""
    before, times = path.read_bytes(), path.stat()
    after = _masked_lines(before)
    if after != before:
        # Masking takes seconds, in which a hook may append.
        write_atomic(path, after + _masked_lines(path.read_bytes()[len(before) :]))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _masked_lines(data: bytes) -> bytes:
    return "\n".join(map(masked, data.decode("utf-8", "replace").split("\n"))).encode("utf-8", "replace")
