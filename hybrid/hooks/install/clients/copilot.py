"""Copilot CLI: a hooks file of our own with flat lists; events in Claude Code's spelling.

In that spelling the input names its event, the tool has the name that other clients give it, and times are dates; in
Copilot's own spelling the name of the event is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots
from hybrid.hooks.install.command import arguments, as_words, portable_line

if TYPE_CHECKING:
    from hybrid.hooks.install.command import Launcher


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        home = roots.environ.get("COPILOT_HOME") or roots.user_home / ".copilot"
        return Path(home) / "hooks" / "hybrid.json"
    if scope == "project" and roots.project_root is not None:
        return roots.project_root / ".github" / "hooks" / "hybrid.json"
    return None


def _handler(registration: Registration, launcher: Launcher) -> dict[str, Any]:
    event = registration.event
    if launcher.is_portable:
        words = " ".join(arguments("copilot", event))
        # PowerShell has neither `||` nor a null device in its first versions.
        powershell = f"try {{ hybrid {words} 2>$null }} catch {{ }}; exit 0"
        how: dict[str, Any] = {"bash": portable_line("copilot", event), "powershell": powershell}
    else:
        program, *rest = as_words(launcher, client="copilot", event=event)
        how = {"exec": program, "args": rest}
    return {"type": "command", **how, "timeoutSec": registration.timeout_s}


def _notes(scope: Scope) -> tuple[str, ...]:
    return ("Copilot CLI runs a project's hooks in trusted folders only",) if scope == "project" else ()


COPILOT = Client(
    name="copilot",
    label="Copilot CLI",
    files=_files,
    registrations=tuple(
        map(Registration, ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"))
    ),
    handler=_handler,
    is_grouped=False,
    base=(("version", 1),),
    has_own_file=True,
    notes=_notes,
)
