"""Qwen Code: `settings.json` with Claude Code's events, timeouts in seconds, and a name for each hook."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots, line_handler


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        return Path(roots.environ.get("QWEN_HOME") or roots.user_home / ".qwen") / "settings.json"
    if scope == "project" and roots.project_root is not None:
        return roots.project_root / ".qwen" / "settings.json"
    return None


def _notes(scope: Scope) -> tuple[str, ...]:
    return ("Qwen Code runs a project's hooks in trusted folders only",) if scope == "project" else ()


QWEN = Client(
    name="qwen",
    label="Qwen Code",
    files=_files,
    registrations=(
        Registration("SessionStart"),
        Registration("UserPromptSubmit"),
        Registration("PostToolUse"),
        Registration("PreCompact"),
        Registration("Stop"),
        Registration("SessionEnd"),
    ),
    handler=partial(line_handler, client="qwen", named=True),
    stamps=("$version",),
    notes=_notes,
)
