"""OpenCode: no hook settings but a code module in its plugin folder, which starts us as the others do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots
from hybrid.hooks.install.command import arguments

if TYPE_CHECKING:
    from hybrid.hooks.install.command import Launcher


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        config = roots.environ.get("XDG_CONFIG_HOME") or roots.user_home / ".config"
        # OPENCODE_CONFIG_DIR is read besides this folder, not in its place.
        return Path(config) / "opencode" / "plugin" / "hybrid.js"
    if scope == "project" and roots.project_root is not None:
        return roots.project_root / ".opencode" / "plugin" / "hybrid.js"
    return None


def _handler(registration: Registration, launcher: Launcher) -> dict[str, Any]:
    return {"command": [*(launcher.program or ("hybrid",)), *arguments("opencode", registration.event)]}


OPENCODE = Client(
    name="opencode",
    label="OpenCode",
    files=_files,
    registrations=tuple(
        Registration(event)
        for event in (
            "session.created",
            "chat.message",
            "tool.execute.after",
            "experimental.session.compacting",
            "session.idle",
            "session.deleted",
        )
    ),
    handler=_handler,
    is_grouped=False,
    has_own_file=True,
    module="opencode",
)
