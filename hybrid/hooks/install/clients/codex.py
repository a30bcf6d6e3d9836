"""Codex: `hooks.json` in its home or in the project; runs a hook only after the user has trusted it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots, line_handler


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        return Path(roots.environ.get("CODEX_HOME") or roots.user_home / ".codex") / "hooks.json"
    if scope == "project" and roots.project_root is not None:
        return roots.project_root / ".codex" / "hooks.json"
    return None


def _notes(scope: Scope) -> tuple[str, ...]:
    trust = "Codex runs no hook before you trust it, and does not say so: start codex, type /hooks, approve hybrid's"
    return (trust, "the project's folder must be trusted by Codex too") if scope == "project" else (trust,)


CODEX = Client(
    name="codex",
    label="Codex",
    files=_files,
    registrations=(
        Registration("SessionStart"),
        Registration("UserPromptSubmit"),
        Registration("PostToolUse"),
        Registration("PreCompact"),
        Registration("Stop"),
        Registration("SessionEnd"),
    ),
    handler=partial(line_handler, client="codex"),
    notes=_notes,
)
