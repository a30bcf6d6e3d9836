"""Qwen Code: `settings.json` with Claude Code's events, timeouts in seconds, and a name for each hook."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hybrid.hooks.install.client import Client, Places, Registration, Scope, line_handler


def _files(scope: Scope, places: Places) -> Path | None:
    if scope == "user":
        return Path(places.environ.get("QWEN_HOME") or places.user_home / ".qwen") / "settings.json"
    if scope == "project" and places.project_root is not None:
        return places.project_root / ".qwen" / "settings.json"
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
