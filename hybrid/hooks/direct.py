"""Answers an event in this process, without a service: opens the index, decides, and afterwards records.

The one module of the hook path that imports the engine; `run` imports it when there is no service to ask.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.answer.events import answer
from hybrid.answer.turn import Turn
from hybrid.hooks.answer import client_of, printed_answer
from hybrid.hooks.event import EventError, parse_event
from hybrid.hooks.taking import Taker
from hybrid.knowledge.open_kinds import OpenFiles, OpenKinds
from hybrid.types import HookEvent
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.answer.events import Reply
    from hybrid.hooks.service import Input


_MOST_NEW = 300
"""Number of new records that are indexed while a prompt waits; a larger first index is for the service or a command."""

_TAKING_S = 0.3
"""Seconds after which no more kept event is begun while an event waits; the first takes a hundred milliseconds, since
it brings the extraction, the others some ten."""

_REST_S = 0.7
"""Seconds after which no more kept event is begun once the answer is out."""


def read_event(event: Input) -> dict[str, Any]:
    """Return the fields of an event as it came.

    Raises:
        EventError: The input is no event.
    """
    client = client_of(event.client, os.environ)
    return parse_event(event.data, client=client, event=event.name, cwd=event.cwd) | {"key": event.key}


def answer_event(
    fields: Mapping[str, Any],
    flags: Mapping[str, object],
    *,
    set_deadline: Callable[[int], None],
    elapsed_ms: Callable[[], float],
) -> tuple[Reply, bytes]:
    """Decide what an event gets, and what is printed for it.

    Args:
        fields: The fields of a `HookEvent`.
        flags: Settings from the command line.
        set_deadline: Told the configured deadline in milliseconds as soon as it is known.
        elapsed_ms: Gives the milliseconds since the hook started.

    Raises:
        HybridError: A flag is wrong, or a model cannot be loaded.
        OSError: Files cannot be read.
    """
    event = HookEvent.of(fields)
    workspace = open_workspace(Path(event.cwd or "/"), flags=flags)
    set_deadline(workspace.config.hooks.deadline_ms)
    # To connect with a team's store takes longer than a hook has: a service does it.
    kinds = OpenKinds(files=OpenFiles(asks_team=False), most_new=_MOST_NEW)
    _take_waiting(kinds, workspace.home, _TAKING_S)
    reply = answer(Turn(workspace, event, kinds), is_alone=True)
    return reply, printed_answer(reply.text, event, notice=reply.notice(elapsed_ms()))


def take_rest(home: str) -> None:
    """Take in kept events once the answer is out, for a moment: the agent waits for the end of this process."""
    _take_waiting(OpenKinds(), Path(home), _REST_S)


def _take_waiting(kinds: OpenKinds, home: Path, seconds: float) -> None:
    """Take in kept events; none is begun after so many seconds."""
    taker = Taker(home, _own_environ, lambda _: kinds)
    taker.take_waiting(until_s=time.monotonic() + seconds)


def _own_environ(sent: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the settings of the client that sent an event in place of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_") or name == "HYBRID_HOME"}
    return own | {name: value for name, value in sent.items() if name != "HYBRID_HOME"}


def note_failure(error: Exception | str, fields: Mapping[str, Any] | None) -> None:
    """Leave a line in the event log that says what failed, with the event if its fields are known."""
    from hybrid.answer.recording import record_error

    event = HookEvent.of(fields) if fields else None
    cwd = Path(event.cwd) if event and event.cwd else Path()
    record_error(open_workspace(cwd), event, str(error) if isinstance(error, EventError) else error)
