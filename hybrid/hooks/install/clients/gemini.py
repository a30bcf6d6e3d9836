"""Gemini CLI: `settings.json`, its own words for the events, timeouts in milliseconds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hybrid.hooks.install.client import Client, Places, Registration, Scope, line_handler


def _files(scope: Scope, places: Places) -> Path | None:
    if scope == "user":
        return Path(places.environ.get("GEMINI_CLI_HOME") or places.user_home) / ".gemini" / "settings.json"
    if scope == "project" and places.project_root is not None:
        return places.project_root / ".gemini" / "settings.json"
    return None


def _notes(scope: Scope) -> tuple[str, ...]:
    note = "Gemini CLI runs a project's hooks in trusted folders only, and warns when they are new"
    return (note,) if scope == "project" else ()


GEMINI = Client(
    name="gemini",
    label="Gemini CLI",
    files=_files,
    registrations=(
        Registration("SessionStart"),
        Registration("BeforeAgent"),
        Registration("AfterTool"),
        Registration("PreCompress"),
        Registration("AfterAgent"),
        Registration("SessionEnd"),
    ),
    handler=partial(line_handler, client="gemini", named=True, per_second=1000, windows_shell="powershell"),
    notes=_notes,
)
