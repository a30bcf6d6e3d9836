"""Where another memory's database lies, and which project a name in it means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.digest import sha256_hex
from hybrid.base.errors import HybridError
from hybrid.base.home import expanded
from hybrid.project.registry import load_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.records.memory.store import MemoryStore
    from hybrid.workspace import Workspace

_CLAUDE_MEM = ("~/.claude-mem/claude-mem.db",)
_KEY_DIGITS = 16


def claude_mem_file(given: str) -> Path:
    """The database of claude-mem: the one that is named, also by its folder, or where it lies by default.

    Raises:
        HybridError: There is none.
    """
    for text in (given,) if given else _CLAUDE_MEM:
        path = Path(expanded(text))
        path = path / "claude-mem.db" if path.is_dir() else path
        if path.is_file():
            return path
    raise HybridError(f"no database at {given or _CLAUDE_MEM[0]}; --claude-mem PATH names it")


def key_resolver(workspace: Workspace, store: MemoryStore) -> Callable[[str], tuple[str, str]]:
    """What gives key and name of a project of which only the name is known.

    The present project counts first, then the one project of that name that is known here; any other name, also one
    that several projects have, gets a key of its own, which no project on this machine has.
    """
    known: dict[str, set[str]] = {}
    for key, entry in load_registry(workspace.home).items():
        known.setdefault(entry.name, set()).add(key)
    for one in store.stats().by_project:
        known.setdefault(one.project, set()).add(one.key)
    project = workspace.project
    if project is not None:
        known[project.name] = {project.key}

    def resolve(name: str) -> tuple[str, str]:
        keys = known.get(name, set())
        if len(keys) == 1:
            return next(iter(keys)), name
        return sha256_hex(f"claude-mem\n{name}".encode("utf-8", "replace"))[:_KEY_DIGITS], name

    return resolve
