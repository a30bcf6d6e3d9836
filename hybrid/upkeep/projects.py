"""The indexed projects of a `$HYBRID_HOME`: which there are, how large, and which indexes go when it gets too large.

`forgetting` forgets one on purpose. What people wrote, lessons first of all, is no index: no quota takes it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.knowledge.record_files import COUNTERS, FILE
from hybrid.project import registry
from hybrid.project.trust import accepted_trees

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNATURE = "build.holder"


class IndexedProject(Struct, frozen=True):
    """A project that has an index, or lessons that stand in `$HYBRID_HOME`.

    Attributes:
        key: 16 hex digits.
        name: As last seen; empty when the registry does not know it.
        roots: Working trees, as last seen.
        size_bytes: Of catalog and snapshots.
        used_s: When its index was last written, seconds since the epoch.
    """

    key: str
    name: str
    roots: tuple[str, ...]
    size_bytes: int
    used_s: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self) | {"roots": list(self.roots)}


def indexed_projects(home: Path) -> list[IndexedProject]:
    """Every project with an index, the most recently built first; files that vanish meanwhile are passed over."""
    entries = registry.load_registry(home)
    found: list[IndexedProject] = []
    for folder in sorted((home / "projects").glob("*/")):
        sizes, times = [0], [0.0]
        for path in _files(folder):
            with contextlib.suppress(OSError):
                stat = path.stat()
                if not _is_lock(path.name):
                    sizes.append(0 if is_lessons(path.name) else stat.st_size)
                    times.append(stat.st_mtime)
        if len(sizes) == 1:
            continue
        entry = entries.get(folder.name)
        found.append(
            IndexedProject(
                key=folder.name,
                name=entry.name if entry else "",
                roots=tuple(entry.paths) if entry else (),
                size_bytes=sum(sizes),
                used_s=max(times),
            )
        )
    return sorted(found, key=lambda project: (-project.used_s, project.key))


def enforce_quota(home: Path, *, quota_bytes: int, keep: str) -> list[str]:
    """Delete the indexes of the least recently built projects until all together fit.

    Args:
        home: `$HYBRID_HOME`.
        quota_bytes: Of all indexes of files.
        keep: Key of the project that must stay.

    Returns:
        Names of the projects that have none any more.
    """
    projects = indexed_projects(home)
    total = sum(project.size_bytes for project in projects)
    gone: list[str] = []
    for project in reversed(projects):
        if total <= quota_bytes:
            break
        if project.key == keep or not project.size_bytes:
            continue
        try:
            _drop_index(home, project)
        except BusyError:
            continue
        total -= project.size_bytes
        gone.append(project.name or project.key)
    return gone


def delete_index(folder: Path) -> None:
    """Delete everything in a project's folder but lessons and their counters; the caller holds its build lock.

    Locks stay too: a process that waits for one must not find itself holding a file that is gone.
    """
    for path in _files(folder):
        if not _is_lock(path.name) and not is_lessons(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            with contextlib.suppress(OSError):  # Not empty.
                Path(place, name).rmdir()


def is_lessons(name: str) -> bool:
    """Return whether a file of this name holds lessons or their counters, also under the name it was put aside with."""
    return name.startswith((FILE, COUNTERS)) and not _is_lock(name)


def _drop_index(home: Path, project: IndexedProject) -> None:
    """Delete an index. The registry knows the project still if there is something else that belongs to its key."""
    folder = home / "projects" / project.key
    with locked(folder / "build.lock", 0) as held:
        if not held:
            raise BusyError(f"{project.name} is being indexed; try again when that is done")
        delete_index(folder)
        has_more = any(is_lessons(path.name) for path in _files(folder)) or accepted_trees(project.key, home)
        if not has_more:
            # Under the lock too: a build that begins after it gives the project its name again.
            registry.forget(project.key, home)


def _is_lock(name: str) -> bool:
    return name == _SIGNATURE or name.endswith(".lock")


def _files(folder: Path) -> Iterator[Path]:
    """Files and links in a folder and below, links not followed."""
    for place, folders, names in os.walk(folder):
        yield from (Path(place, name) for name in names)
        yield from (path for name in folders if (path := Path(place, name)).is_symlink())
