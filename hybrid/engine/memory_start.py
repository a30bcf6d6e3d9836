"""What the memory gives a session at its start: the last lines of the project's log, and the last summary.

After a compaction it is what the session itself did before, and the files that it touched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid.ranking.memory import Present, parts_of, remembered
from hybrid.records.memory.forms import body_lines, index_line, moment_text, shown_number, title_of
from hybrid.records.memory.types import Observation, Wanted
from hybrid.render.frame import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.engine.workspace import Workspace
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row

_BUDGET_SHARE = 0.5
"""Of the characters of an injection: the list only says what is there, and is looked up when it matters."""

_SUMMARY_SHARE = 0.5
"""Of these, at most for the summary: the rows after it tell what else was done."""
_CANDIDATES = 100
_MOST_FILES = 15
_MOST_SUMMARIES = 3
_MORE = 'hybrid memory show NUMBER gives one in full; hybrid memory search "words" finds more'


def earlier_sessions(workspace: Workspace, store: MemoryStore, now_ms: int, *, session_id: str) -> Entry | None:
    """The project's last summary, and its last rows in index form; None when nothing is known.

    What changed something goes before what was merely read; the list is in the order of time. Other projects' rows
    are left out here: nothing was asked for that they could answer.
    """
    project, n_lines = workspace.require_project(), workspace.config.memory.session_start
    if not n_lines or not store.exists:
        return None
    wanted = Wanted(key=project.key, not_session=session_id)
    summaries = store.newest(replace(wanted, kinds=("summary",)), _MOST_SUMMARIES)
    rows = [*summaries[1:], *store.newest(replace(wanted, kinds=("observation",)), _CANDIDATES)]
    if not rows and not summaries:
        return None
    room = _budget(workspace) - len(_MORE)
    told = _within(_summary_lines(summaries[0]), int(room * _SUMMARY_SHARE)) if summaries else []
    present = Present(now_ms, project.key, (), workspace.config.memory.half_life_days)
    best = sorted(rows, key=lambda row: (not _has_effect(row), -parts_of(remembered(row), present).score))[:n_lines]
    lines = [index_line(row) for row in sorted(best, key=lambda row: -row.created_ms)]
    kept = _within([*told, *lines], room)
    return Entry("memory", f"{project.name}: earlier sessions", (*kept, _MORE)) if kept else None


def this_session(workspace: Workspace, store: MemoryStore, session_id: str) -> Entry | None:
    """What a session did before its conversation was shortened, the last first, and the files it touched."""
    n_lines = workspace.config.memory.session_start
    if not (n_lines and session_id and store.exists):
        return None
    rows = sorted(store.session_rows(session_id), key=lambda row: (-row.created_ms, -row.id))
    if not rows:
        return None
    files = store.touched_files(session_id)
    named = [f"Files: {', '.join(files[:_MOST_FILES])}"] if files else []
    kept = _within([*named, *(index_line(row) for row in rows[:n_lines])], _budget(workspace))
    return Entry("memory", "this session, before its conversation was shortened", tuple(kept)) if kept else None


def _summary_lines(summary: Row) -> list[str]:
    """What was asked for when, and what came of it."""
    title = f"#{shown_number(summary)} {moment_text(summary.created_ms)} {title_of(summary)}".rstrip()
    return [title, *(f"  {line}" for line in body_lines(summary))]


def _has_effect(row: Row) -> bool:
    """Was anything changed, decided or found to fail? What was merely read is found again when it matters."""
    if not isinstance(row, Observation):
        return True
    return bool(row.told.files_modified) or row.told.type != "discovery" or "gotcha" in row.told.concepts


def _budget(workspace: Workspace) -> int:
    return int(workspace.config.hooks.budget_chars * _BUDGET_SHARE)


def _within(lines: Sequence[str], n_chars: int) -> list[str]:
    """The first lines that fit."""
    kept: list[str] = []
    for line in lines:
        n_chars -= len(line) + 3
        if n_chars < 0:
            break
        kept.append(line)
    return kept
