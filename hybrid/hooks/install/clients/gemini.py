"""Gemini CLI: `settings.json` in its home or in the project, and its list of the project hooks that it has seen.

Gemini CLI writes `trusted_hooks.json` by itself when it first runs the hooks of a project: root of the project → a list
of `name:command`. `hybrid hook uninstall` takes our commands out of it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.hooks.install import files
from hybrid.hooks.install.client import Client, Registration, Scope, SettingsRoots, line_handler
from hybrid.hooks.install.command import is_ours
from hybrid.hooks.install.jsonc import JsoncError, JsonNode, is_object, parse, remove_item
from hybrid.hooks.install.merge import ours_in

if TYPE_CHECKING:
    from collections.abc import Collection


def _files(scope: Scope, roots: SettingsRoots) -> Path | None:
    if scope == "user":
        return Path(roots.environ.get("GEMINI_CLI_HOME") or roots.user_home) / ".gemini" / "settings.json"
    if scope == "project" and roots.project_root is not None:
        return roots.project_root / ".gemini" / "settings.json"
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


# --- the list of trusted hooks ----------------------------------------------------------------------------


class TrustChange(Struct, frozen=True):
    """The change that was made to Gemini CLI's list of trusted hooks, or would be.

    Attributes:
        path: The file of the list.
        is_deleted: Whether the file is deleted, since nothing else stands in it.
        old: Its text before.
        new: Its text without our entries.
    """

    path: Path
    is_deleted: bool
    old: str
    new: str


def forget_trust(
    roots: SettingsRoots, *, cleaned: Collection[Path] = (), is_dry_run: bool = False
) -> TrustChange | None:
    """Remove our entries of each project whose settings call us no more; returns the change, None when there are none.

    Args:
        roots: The folders in which settings lie.
        cleaned: Settings that are taken as cleaned, which they are not when nothing is written.
        is_dry_run: Only say what would be done.

    Raises:
        HybridError: The file is too long for settings, or is none.
        OSError: The file cannot be written.
    """
    user = GEMINI.files("user", roots)
    if user is None:
        return None
    path = user.with_name("trusted_hooks.json")
    old = (files.read_bytes(path) or b"").decode("utf-8", "replace")
    try:
        new = _without(old, cleaned)
    except JsoncError:
        return None  # Gemini CLI does not read it either, and writes it anew.
    if new == old:
        return None
    is_deleted = not parse(new).items
    if not is_dry_run:
        if is_deleted:
            path.unlink()
        else:
            files.write(files.real_path(path, "user", None), new.encode(), is_shared=False)
    return TrustChange(path, is_deleted, old, "" if is_deleted else new)


def _without(text: str, cleaned: Collection[Path]) -> str:
    root = parse(text or "{}")
    while (position := _first(root, cleaned)) is not None:
        at_project, at_entry = position
        entries = root.items[at_project].node
        is_last = len(entries.items) == 1
        text = remove_item(text, root, at_project) if is_last else remove_item(text, entries, at_entry)
        root = parse(text)
    return text


def _first(root: JsonNode, cleaned: Collection[Path]) -> tuple[int, int] | None:
    """Return the positions of the first entry to remove: of its project, and in the list; None without one."""
    for at_project, project in enumerate(root.items if is_object(root.value) else ()):
        if project.node.kind != "array" or _calls_us(Path(project.key), cleaned):
            continue
        for at_entry, entry in enumerate(project.node.items):
            if isinstance(entry.node.value, str) and is_ours({"command": entry.node.value.partition(":")[2]}):
                return at_project, at_entry
    return None


def _calls_us(root: Path, cleaned: Collection[Path]) -> bool:
    path = root / ".gemini" / "settings.json"
    if path in cleaned:
        return False
    try:
        return bool(ours_in(files.decoded(files.read_bytes(path), path), GEMINI, name=str(path)))
    except (HybridError, OSError):
        return False
