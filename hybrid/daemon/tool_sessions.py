"""Knows which session of an agent a tool's answer went to, so that its ledger counts what the session got.

A client tells a server of tools nothing of its sessions. Its hooks do: a session that is heard of in the same tree is
the one that asks, when there is but one. The use of a tool that a hook reports says so for certain, also when a
subagent asked. Without hooks the connection stands in for the session.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.feedback.events import newest_events
from hybrid.hooks.names import SESSION_VARIABLES
from hybrid.operations.asking import CONNECTION
from hybrid.session.ledger import Given, SessionKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from hybrid.operations.asking import Outcome
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_MOST_WAITING = 200
_WAIT_S = 900.0
"""Seconds after which an answer that no hook told of is forgotten."""
_LIVE_S = 1800.0
_LOG_BYTES = 200_000


class _Waiting(Struct, frozen=True):
    """An answer whose session is not certain yet."""

    root: Path
    name: str
    arguments: str
    session_id: str
    given: Given
    at_s: float


class ToolSessions:
    """Finds sessions of tools; safe to use from several threads."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.Lock()

    @staticmethod
    def session_of(heard: Iterable[tuple[str, str]], client: str, named: str, connection: str) -> str:
        """Return the id of the session that asks; one that begins with `tool:` where only the connection is known.

        Args:
            heard: Client and session of each live session of the tree.
            client: Name of the client that asks.
            named: The session that the client's variables name (`session_named_by`); empty for none.
            connection: Id of the connection; empty for none.
        """
        live = list(dict.fromkeys(session for one, session in heard if one == client and session))
        if len(live) == 1:
            return live[0]
        # A variable is as old as the client's process: a session that began since has another id.
        if named and (not live or named in live):
            return named
        return f"{CONNECTION}{connection}" if connection else ""

    def answered(
        self, workspace: Workspace, key: SessionKey, name: str, arguments: Mapping[str, Any], outcome: Outcome
    ) -> None:
        """Note what an answer shows: in the ledger at once, or with the hook that tells of this use of the tool.

        Args:
            workspace: The workspace of the session's tree.
            key: The session that probably asked.
            name: Name of the operation.
            arguments: Its arguments.
            outcome: The answer.
        """
        given = Given([(one.hit.digest, one.form) for one in outcome.shown])
        if key.session_id.startswith(CONNECTION):
            _record(workspace, key, given)
            return
        root = workspace.require_project().root
        with self._lock:
            self._waiting.append(_Waiting(root, name, _told(arguments), key.session_id, given, time.monotonic()))

    def heard(self, workspace: Workspace, event: HookEvent) -> None:
        """Take in a hook event: of a use of one of our tools, or the next prompt of a session with untold uses."""
        if workspace.project is None or not self._waiting:
            return
        if event.event == "PostToolUse" and "hybrid" in event.tool.lower():
            is_it = self._uses(workspace.project.root, event)
        elif event.event == "UserPromptSubmit":
            is_it = self._of_session(workspace.project.root, event)
        else:
            return
        key = SessionKey(event.client, event.session_id, event.agent_id)
        for one in is_it:
            _record(workspace, key, one.given)

    def _uses(self, root: Path, event: HookEvent) -> list[_Waiting]:
        told, tool = _told(event.tool_input or {}), event.tool.lower()

        def is_it(one: _Waiting) -> bool:
            return one.root == root and tool.endswith(one.name) and one.arguments == told

        return self._taken(is_it, most=1)

    def _of_session(self, root: Path, event: HookEvent) -> list[_Waiting]:
        def is_it(one: _Waiting) -> bool:
            return one.root == root and one.session_id == event.session_id

        return self._taken(is_it)

    def _taken(self, is_it: Callable[[_Waiting], bool], *, most: int = _MOST_WAITING) -> list[_Waiting]:
        found: list[_Waiting] = []
        kept: list[_Waiting] = []
        limit_s = time.monotonic() - _WAIT_S
        with self._lock:
            for one in self._waiting:
                if len(found) < most and is_it(one):
                    found.append(one)
                elif one.at_s > limit_s:
                    kept.append(one)
            self._waiting = deque(kept, maxlen=_MOST_WAITING)
        return found


def session_named_by(environ: Mapping[str, str]) -> str:
    """Return the id of the session in which a client started a program, from its variables; empty for none."""
    return next((environ[name] for name in SESSION_VARIABLES if environ.get(name)), "")


def logged_sessions(workspace: Workspace, now_s: float) -> list[tuple[str, str]]:
    """Return client and session of the sessions that a hook answered in a tree within the last half hour.

    A hook answers by itself before there is a service, which then has heard of no session.
    """
    root = str(workspace.require_project().root)
    over: set[tuple[str, str]] = set()
    found: dict[tuple[str, str], None] = {}
    for event in newest_events(workspace.home / "log", max_bytes=_LOG_BYTES):
        try:
            age_s = now_s - datetime.fromisoformat(str(event.get("at"))).timestamp()
        except ValueError:
            continue
        if age_s > _LIVE_S:
            break
        key = (str(event.get("client") or ""), str(event.get("session") or ""))
        if event.get("event") == "SessionEnd":
            over.add(key)
        elif event.get("root") == root and all(key) and key not in over:
            found[key] = None
    return list(found)


def _told(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)


def _record(workspace: Workspace, key: SessionKey, given: Given) -> None:
    with contextlib.suppress(OSError):  # A full disk: the session may be given it once more.
        workspace.ledgers.record(key, given)
