"""Whose ledger an event belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.session.ledger import SessionKey

if TYPE_CHECKING:
    from hybrid.engine.workspace import Workspace
    from hybrid.types import HookEvent


def session_key(workspace: Workspace, event: HookEvent) -> SessionKey:
    """Whose ledger an event belongs to; without a session id, that of the working tree."""
    tree = workspace.project.tree if workspace.project else ""
    return SessionKey(event.client, event.session_id or f"tree:{tree}", event.agent_id)
