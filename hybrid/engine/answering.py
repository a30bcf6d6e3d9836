"""Answers any hook event: the one entry of the engine for the service and for a hook without one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.engine.injecting import decide, session_key
from hybrid.engine.recording import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.engine.injecting import Decision
    from hybrid.engine.searching import Searcher
    from hybrid.engine.workspace import Workspace
    from hybrid.types import HookEvent

_TURN_S = 0.5
"""Seconds that an event waits for another one of the same session: a cold answer takes about that long."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A decision that is not recorded yet."""

    workspace: Workspace
    event: HookEvent
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

    def drop(self) -> None:
        """Record nothing: the answer was not delivered."""
        self.turn.close()


def answer(workspace: Workspace, event: HookEvent, *, open_searcher: Callable[[Workspace], Searcher]) -> Reply:
    """Decide what an event gets.

    Args:
        workspace: Of the event's directory, with the settings in force.
        event: Of a client.
        open_searcher: Gives the open index.

    Raises:
        HybridError: A model cannot be loaded.
        OSError: Files cannot be read.
    """
    turn = ExitStack()
    turn.enter_context(workspace.ledgers.turn(session_key(workspace, event), _TURN_S))
    try:
        decision = decide(workspace, event, open_searcher=open_searcher)
    except BaseException:
        turn.close()
        raise
    return Reply(workspace, event, decision, turn)
