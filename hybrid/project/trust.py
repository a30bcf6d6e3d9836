"""Trust: the working trees whose records and settings their owner has accepted; `$HYBRID_HOME/accepted.json` remembers.

A cloned repository's lessons and lore are foreign text, which could steer an agent: they are given out only after the
owner said so (`hybrid trust`, `init`, or a `reindex` by hand). What hybrid or the owner writes there later stays
accepted. Its settings could silence hybrid: until then they raise privacy and leave files out, and nothing else
(`hybrid.config`). Standard library only.
"""

from __future__ import annotations

import errno
import json
import time
from typing import TYPE_CHECKING, Any, cast

from hybrid.base.atomic import locked, read_regular, set_aside, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hybrid.project.find import Project

NAME = "accepted.json"

_MAX_BYTES = 4_000_000
_LOCK_S = 2.0
"""Seconds to wait for another process that changes the file, which takes milliseconds."""


def is_accepted(project: Project, home: Path) -> bool:
    """Return whether the owner has accepted the record files of this tree; False for another project in its place."""
    entry = (_load(home) or {}).get(project.tree)
    return isinstance(entry, dict) and cast("dict[str, Any]", entry).get("key") == project.key


def accept(project: Project, home: Path) -> bool:
    """Accept the record files of a working tree.

    Returns:
        True if they were not accepted before.

    Raises:
        OSError: `$HYBRID_HOME` cannot be written.
    """
    if is_accepted(project, home):
        return False
    entry = {"key": project.key, "root": str(project.root), "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    _change(home, lambda trees: {**trees, project.tree: entry})
    return True


def refuse(project: Project, home: Path) -> bool:
    """Take the acceptance of a working tree back, and return whether there was one.

    Raises:
        OSError: `$HYBRID_HOME` cannot be written.
    """
    if project.tree not in (_load(home) or {}):
        return False
    _change(home, lambda trees: {tree: entry for tree, entry in trees.items() if tree != project.tree})
    return True


def accepted_trees(key: str, home: Path) -> tuple[str, ...]:
    """Return the accepted working trees of a project, as 16 hex digits each (`Project.tree`), the oldest first."""
    entries = _load(home) or {}
    return tuple(tree for tree, entry in entries.items() if isinstance(entry, dict) and entry.get("key") == key)


def refuse_all(key: str, home: Path) -> None:
    """Take the acceptance of every working tree of a project back.

    Raises:
        OSError: `$HYBRID_HOME` cannot be written.
    """
    gone = accepted_trees(key, home)
    if gone:
        _change(home, lambda trees: {tree: entry for tree, entry in trees.items() if tree not in gone})


def is_damaged(home: Path) -> bool:
    """Return whether `accepted.json` is there and cannot be read, so that no tree counts as accepted."""
    return _load(home) is None


def _change(home: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = home / NAME
    with locked(path.with_suffix(".lock"), _LOCK_S) as held:
        if not held:
            raise OSError(
                errno.EAGAIN,
                "another process changes which trees are accepted, or the folder cannot be written",
                str(path),
            )
        before = _load(home)
        if before is None:
            if path.exists():
                read_regular(path, _MAX_BYTES)  # What cannot be read at all is not damaged: say so, and keep it.
            set_aside(path)
        trees = change(before or {})
        # ASCII only: paths may hold bytes that are not UTF-8, which JSON escapes carry as lone surrogates.
        write_atomic(path, (json.dumps({"version": 1, "trees": trees}, indent=1) + "\n").encode("ascii"))


def _load(home: Path) -> dict[str, Any] | None:
    """Read the accepted trees; empty without a file, None for a damaged one, which accepts nothing."""
    try:
        data: Any = json.loads(read_regular(home / NAME, _MAX_BYTES))
        trees = data["trees"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return cast("dict[str, Any]", trees) if isinstance(trees, dict) else None
