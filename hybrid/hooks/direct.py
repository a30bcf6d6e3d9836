"""Answers a prompt in this process, without a service: opens the index, decides, and afterwards records.

The one module of this package that imports the engine; `prompt` imports it when an answer is needed.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.engine.injecting import decide, session_key
from hybrid.engine.recording import record, record_error
from hybrid.engine.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.engine.injecting import Decision
    from hybrid.engine.searching import Searcher
    from hybrid.engine.workspace import Workspace
    from hybrid.types import PromptEvent


_TURN_S = 0.5
"""Seconds that a hook waits for another one of the same session: a cold answer takes about that long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision that is not recorded yet."""

    workspace: Workspace
    event: PromptEvent
    decision: Decision
    turn: ExitStack

    @property
    def text(self) -> str:
        """What the agent gets."""
        return self.decision.text

    @property
    def debug_line(self) -> str:
        """One line for a person."""
        return self.decision.debug_line

    def finish(self, latency_ms: float) -> None:
        """Record the decision; call it after the answer was written. The session's next hook may go on then."""
        with self.turn:
            record(self.workspace, self.event, self.decision, latency_ms=latency_ms)


def answer_prompt(event: PromptEvent, flags: Mapping[str, object], *, set_deadline: Callable[[int], None]) -> Answer:
    """Decide what a prompt gets.

    Args:
        event: Of a client.
        flags: Settings from the command line.
        set_deadline: Told the configured deadline in milliseconds as soon as it is known.

    Raises:
        HybridError: A flag is wrong, or a model cannot be loaded.
        OSError: Files cannot be read.
    """
    workspace = open_workspace(Path(event.cwd or "/"), flags=flags)
    set_deadline(workspace.config.hooks.deadline_ms)
    turn = ExitStack()
    turn.enter_context(workspace.ledgers.turn(session_key(workspace, event), _TURN_S))
    return Answer(workspace, event, decide(workspace, event, open_searcher=_open_searcher), turn)


def _open_searcher(workspace: Workspace) -> Searcher:
    # Brings numpy, 120 ms: a prompt that is not searched never pays for it.
    from hybrid.engine.searching import open_searcher

    return open_searcher(workspace)


def note_failure(error: Exception | str, event: PromptEvent | None) -> None:
    """Leave a line in the event log."""
    cwd = Path(event.cwd) if event and event.cwd else Path()
    record_error(open_workspace(cwd), event, error)
