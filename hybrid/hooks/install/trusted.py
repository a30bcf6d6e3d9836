"""Takes our commands out of Gemini CLI's list of the project hooks it has seen; `hybrid hook uninstall` calls this.

Gemini CLI writes `trusted_hooks.json` by itself when it first runs the hooks of a project: root of the project → a list
of `name:command`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.hooks.install import edit, files, targets
from hybrid.hooks.install.clients.gemini import GEMINI
from hybrid.hooks.install.command import is_ours
from hybrid.hooks.install.jsonc import JsoncError, Node, is_object, parse

if TYPE_CHECKING:
    from collections.abc import Collection

    from hybrid.hooks.install.client import Places


class Forgotten(Struct, frozen=True):
    """What was done to the list, or would be.

    Attributes:
        path: The file.
        is_deleted: Nothing else stood in it.
        old: Its text.
        new: The text without us.
    """

    path: Path
    is_deleted: bool
    old: str
    new: str


def forget(places: Places, *, cleaned: Collection[Path] = (), is_dry_run: bool = False) -> Forgotten | None:
    """Remove our entries of every project whose settings do not call us any more; None when there are none.

    Args:
        places: Where settings lie.
        cleaned: Settings that are taken as cleaned, which they are not when nothing is written.
        is_dry_run: Only say what would be done.

    Raises:
        HybridError: The file is too long for settings, or is none.
        OSError: It cannot be written.
    """
    user = GEMINI.files("user", places)
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
    return Forgotten(path, is_deleted, old, "" if is_deleted else new)


def _without(text: str, cleaned: Collection[Path]) -> str:
    root = parse(text or "{}")
    while (found := _first(root, cleaned)) is not None:
        at_project, at_entry = found
        entries = root.items[at_project].node
        is_last = len(entries.items) == 1
        text = edit.remove(text, root, at_project) if is_last else edit.remove(text, entries, at_entry)
        root = parse(text)
    return text


def _first(root: Node, cleaned: Collection[Path]) -> tuple[int, int] | None:
    """Where the first entry to remove stands: project, and entry in its list."""
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
        return bool(targets.ours_in(files.decoded(files.read_bytes(path), path), GEMINI, name=str(path)))
    except (HybridError, OSError):
        return False
