"""Which changed paths a build may look at alone, and which change what becomes of other files; `indexing` asks."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from hybrid.atomic import read_regular, write_atomic
from hybrid.sources.listing import folders_above, is_within
from hybrid.sources.reading import join

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_LINKS = "links.json"
_MAX_LINKS_BYTES = 4_000_000
_MAX_PATHS = 200
"""Paths beyond which everything is looked at: that costs about as much as to ask for each."""

_DECIDE_ON_ALL = {"", ".git/HEAD", ".git/index", ".git/info/exclude", ".hybrid", ".hybrid/config.toml"}
_NAMES_THAT_DECIDE = {".gitignore", ".hybridignore", ".git"}


def targets_of(paths: Collection[str], root: Path, folder: Path) -> list[str] | None:
    """Relative paths to look at, none below another.

    Args:
        paths: Of files and folders that changed, absolute or relative to the root, there or gone.
        root: Real path of the working tree.
        folder: Of its index.

    Returns:
        None when only a look at everything can tell: a rule, the settings, git's index or a link is among them.
    """
    relative = {path for given in paths for path in _relative(given, str(root))}
    if len(relative) > _MAX_PATHS or any(_decides_on_others(path) for path in relative):
        return None
    relative = {path for path in relative if ".git" not in path.split("/")}
    targets = sorted(path for path in relative if relative.isdisjoint(folders_above(path)))
    is_linked = any(is_within(link, targets) for link in _read_links(folder))
    return None if is_linked else targets


def write_links(folder: Path, links: frozenset[str]) -> None:
    """Keep the links of a tree and what they lead to, beside its index; a change of either is looked up there."""
    if set(links) != _read_links(folder):
        with contextlib.suppress(OSError):
            write_atomic(folder / _LINKS, json.dumps(sorted(links)).encode(), durable=False)


def _read_links(folder: Path) -> set[str]:
    try:
        data = read_regular(folder / _LINKS, _MAX_LINKS_BYTES)
        return {path for path in json.loads(data) if isinstance(path, str)}
    except (OSError, ValueError, TypeError, RecursionError):
        return set()


def _relative(path: str, root: str) -> set[str]:
    """A path as git names it, as given and with links on the way resolved; empty when it lies elsewhere."""
    full = os.path.normpath(join(root, path) if not os.path.isabs(path) else path)  # noqa: PTH117
    parent, name = os.path.split(full)
    resolved = join(os.path.realpath(parent), name)
    inside = join(root, "")
    found = (one for one in (full, resolved) if one == root or one.startswith(inside))
    return {one[len(inside) :].replace(os.sep, "/") for one in found}


def _decides_on_others(path: str) -> bool:
    """Whether a change of this file may change what becomes of other files."""
    return path in _DECIDE_ON_ALL or path.rpartition("/")[2] in _NAMES_THAT_DECIDE
