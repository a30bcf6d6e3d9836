"""Answers an event in this process, without a service: opens the index, decides, and afterwards records.

The one module of the hook path that imports the engine; `run` imports it when there is no service to ask.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.engine.answering import answer
from hybrid.engine.recording import record_error
from hybrid.engine.workspace import open_workspace
from hybrid.types import HookEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.engine.answering import Reply
    from hybrid.engine.searching import Searcher
    from hybrid.engine.workspace import Workspace


def answer_event(
    fields: Mapping[str, Any], flags: Mapping[str, object], *, set_deadline: Callable[[int], None]
) -> Reply:
    """Decide what an event gets.

    Args:
        fields: Of a `HookEvent`.
        flags: Settings from the command line.
        set_deadline: Told the configured deadline in milliseconds as soon as it is known.

    Raises:
        HybridError: A flag is wrong, or a model cannot be loaded.
        OSError: Files cannot be read.
    """
    event = event_of(fields)
    workspace = open_workspace(Path(event.cwd or "/"), flags=flags)
    set_deadline(workspace.config.hooks.deadline_ms)
    return answer(workspace, event, open_searcher=_open_searcher)


def event_of(fields: Mapping[str, Any]) -> HookEvent:
    """The fields as a value."""
    return HookEvent(**{**fields, "paths": tuple(fields.get("paths") or ())})


def _open_searcher(workspace: Workspace) -> Searcher:
    # Brings numpy, 120 ms: a prompt that is not searched never pays for it.
    from hybrid.engine.searching import open_searcher

    return open_searcher(workspace)


def note_failure(error: Exception | str, fields: Mapping[str, Any] | None) -> None:
    """Leave a line in the event log."""
    event = event_of(fields) if fields else None
    cwd = Path(event.cwd) if event and event.cwd else Path()
    record_error(open_workspace(cwd), event, error)
