"""Takes our commands out of Gemini CLI's list of the project hooks that it has seen, for `hybrid hook uninstall`.

Gemini CLI writes `trusted_hooks.json` by itself when it first runs the hooks of a project: root of the project → a list
of `name:command`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.hooks.install import files
from hybrid.hooks.install.changes import FileChange, diff
from hybrid.hooks.install.clients import GEMINI
from hybrid.hooks.install.command import is_ours
from hybrid.hooks.install.jsonc import JsoncError, is_list, is_object, parse, remove_item
from hybrid.hooks.install.merge import ours_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from hybrid.hooks.install.jsonc import JsonNode
    from hybrid.hooks.install.parts import SettingsRoots


def forget_trust(roots: SettingsRoots, *, cleaned: Collection[Path], is_dry_run: bool) -> FileChange | None:
    """Remove our entries of each project whose settings call us no more; a list that is empty then is deleted.

    Args:
        roots: The folders in which settings lie.
        cleaned: Settings that are taken as cleaned, which they are not when nothing is written.
        is_dry_run: Only say what would be done.

    Returns:
        The change, made or not, `deleted` or `removed`; None when there are no such entries, or no JSON in the file.

    Raises:
        HybridError: The file is too long for settings, or is none.
        OSError: The file cannot be written.
    """
    user = GEMINI.files.file("user", roots)
    if user is None:
        return None
    path = user.with_name("trusted_hooks.json")
    data = files.read_bytes(path)
    old = (data or b"").decode("utf-8", "replace")
    try:
        new = _without(old, cleaned)
    except JsoncError:
        return None  # Gemini CLI does not read it either, and writes it anew.
    if new == old:
        return None
    is_deleted = not parse(new).items
    if is_deleted:
        new = ""
    if not is_dry_run:
        if is_deleted:
            path.unlink()
        else:
            files.write(files.real_path(path, "user", None), new.encode(), before=data, is_shared=False)
    return FileChange(
        GEMINI.name, ("hooks",), "user", path, "deleted" if is_deleted else "removed", diff(old, new, str(path))
    )


def _without(text: str, cleaned: Collection[Path]) -> str:
    """Return the text without the entries to remove, and without the projects of which none is left.

    Raises:
        JsoncError: The text does not parse.
    """
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
        entries: object = project.node.value
        if not is_list(entries) or _calls_us(Path(project.key), cleaned):
            continue
        for at_entry, entry in enumerate(entries):
            if isinstance(entry, str) and is_ours({"command": entry.partition(":")[2]}):
                return at_project, at_entry
    return None


def _calls_us(root: Path, cleaned: Collection[Path]) -> bool:
    """Return whether a project's settings call us, as they are or, if they are `cleaned`, will be."""
    path = root / GEMINI.files.places["project"]
    if path in cleaned:
        return False
    try:
        return bool(ours_in(files.decoded(files.read_bytes(path), path), GEMINI, name=str(path)))
    except (HybridError, OSError):
        return False
