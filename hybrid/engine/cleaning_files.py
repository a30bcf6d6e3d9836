"""Takes out of hybrid's own small files what the present rules for secrets hide: log, marks, ledgers, counters.

Each file is replaced in one step, so a kill leaves the old one or the new one. What another process appends meanwhile
is taken over. Called by `cleaning`, which knows what was done already.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid.atomic import append_line, write_atomic
from hybrid.engine.memory_cleaning import redacted_strings, strings_in
from hybrid.feedback import hot_topics, marks
from hybrid.feedback.events import log_folder
from hybrid.feedback.state import read_state, update_state
from hybrid.project.find import FOLDER_NAME
from hybrid.project.registry import load_registry
from hybrid.redact import find_secrets, redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.engine.workspace import Workspace
    from hybrid.feedback.state import HookState

_LATE_S = 0.05
"""How long a process takes at most from opening a file to appending its line; it is waited for twice."""
_LEFT_OVER_S = 3600.0
"""After which a file that a killed process was writing is left over."""


def clean_log(workspace: Workspace) -> int:
    """Clean the event log and the marks; the number of lines that changed.

    Raises:
        OSError: A file cannot be read or written.
        HybridError: The marks are being changed.
    """
    folder = log_folder(workspace.home)
    if not folder.is_dir():
        return 0
    n = 0
    with workspace.log.held_parts() as parts:
        n += sum(map(clean_lines, parts))
    path = folder / marks.NAME
    if path.is_file():
        with marks.held(path.parent):
            n += clean_lines(path)
    return n


def clean_ledgers(workspace: Workspace) -> int:
    """Clean what sessions got; the number of lines that changed."""
    return sum(map(clean_lines, sorted((workspace.home / "sessions").glob("*.jsonl"))))


def clean_counters(workspace: Workspace) -> int:
    """Clean the counters of every known working tree and their hot topics; the number of files that changed."""
    return sum(map(_clean_counters, _state_folders(workspace)))


def remove_left_overs(home: Path, now_s: float) -> None:
    """Delete what killed processes were writing: it may hold anything that the file was to hold."""
    for name in ("log", "sessions", "records", "projects"):
        for path in (home / name).rglob(".*.tmp"):
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < now_s - _LEFT_OVER_S:
                    path.unlink()


def clean_lines(path: Path) -> int:
    """Clean a file of JSON lines that others append to; the number of lines that changed.

    A line that is no JSON is cleaned as text. The file keeps its time.
    """
    with path.open("rb") as old:
        lines = old.read().splitlines(keepends=True)
        cleaned = list(map(_cleaned_line, lines))
        n = sum(before is not after for before, after in zip(lines, cleaned, strict=True))
        if not n:
            return 0
        stat = os.fstat(old.fileno())
        if sys.platform == "win32":  # It replaces no file that is open.
            old.close()
        write_atomic(path, b"".join(cleaned))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        for _ in range(0 if sys.platform == "win32" else 2):
            for line in old.read().splitlines(keepends=True):
                append_line(path, _cleaned_line(line))
            time.sleep(_LATE_S)
    return n


def _cleaned_line(line: bytes) -> bytes:
    """A line without secrets; the same object when it holds none."""
    try:
        value: object = json.loads(line)
        if not find_secrets("\n".join(strings_in(value))):
            return line
        cleaned = redacted_strings(value)
    except (ValueError, RecursionError):
        text = line.decode("utf-8", "surrogateescape")
        shown = redact(text)
        return line if shown == text else shown.encode("utf-8", "surrogateescape")
    if cleaned == value:
        return line
    return json.dumps(cleaned, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _state_folders(workspace: Workspace) -> Iterator[Path]:
    yield from sorted((workspace.home / "projects").glob("*/trees/*/"))
    for entry in load_registry(workspace.home).values():
        for root in entry.paths:
            folder = Path(root) / FOLDER_NAME
            if folder.is_dir() and not folder.is_symlink():
                yield folder


def _clean_counters(folder: Path) -> int:
    topics = folder / hot_topics.NAME
    before = read_state(folder).as_json()
    is_clean = redacted_strings(before) == before
    has_topics = topics.is_file() and not topics.is_symlink()
    if has_topics:
        text = topics.read_text("utf-8", "replace").replace("\\_", "_")
        is_clean = is_clean and redact(text) == text
    if is_clean:
        return 0

    def change(state: HookState) -> None:
        for name, value in cleaned_counters(state).items():
            setattr(state, name, value)

    state = update_state(folder, change)
    if state is None:
        raise OSError(f"{folder} cannot be written")
    if has_topics:
        hot_topics.write_hot_topics(folder, state)
    return 1


def cleaned_counters(state: HookState) -> dict[str, object]:
    """The counters without secrets in names; those that become alike are added up."""
    kept = state.as_json()
    counts: dict[str, int] = {}
    for file, count in state.file_frequencies.items():
        counts[redact(file)] = counts.get(redact(file), 0) + count
    cleaned = redacted_strings({name: value for name, value in kept.items() if name != "file_frequencies"})
    return cast("dict[str, object]", cleaned) | {"file_frequencies": counts}
