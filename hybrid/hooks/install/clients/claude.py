"""Claude Code: three settings files that add up, commands in exec form, and plugins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots, line_handler
from hybrid.hooks.install.command import as_words

if TYPE_CHECKING:
    from hybrid.hooks.install.command import Launcher

UNKNOWN_EVENTS_SINCE = (2, 1, 101)
"""The first version that passes over an event it does not know; an older one drops the whole settings file."""

SUBAGENT_START = Registration("SubagentStart")
TOOL_FAILURE = Registration("PostToolUseFailure")


def config_folder(roots: SettingsRoots) -> Path:
    """Return Claude Code's folder of settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return Path(roots.environ.get("CLAUDE_CONFIG_DIR") or roots.user_home / ".claude")


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        return config_folder(roots) / "settings.json"
    if roots.project_root is None:
        return None
    return roots.project_root / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def _handler(registration: Registration, launcher: Launcher) -> dict[str, Any]:
    if launcher.is_portable:
        return line_handler(registration, launcher, client="claude")
    program, *rest = as_words(launcher, client="claude", event=registration.event)
    return {"type": "command", "command": program, "args": rest, "timeout": registration.timeout_s}


def _notes(scope: Scope) -> tuple[str, ...]:
    shared = "Copilot CLI and VS Code run the hooks of .claude/settings.json too, in folders that they trust"
    return (shared,) if scope == "project" else ()


CLAUDE = Client(
    name="claude",
    label="Claude Code",
    files=_files,
    is_plain=True,
    registrations=(
        Registration("SessionStart"),
        Registration("UserPromptSubmit"),
        Registration("PostToolUse"),
        Registration("Stop"),
        Registration("SessionEnd"),
    ),
    handler=_handler,
    notes=_notes,
)
