"""The indexed projects of a `$HYBRID_HOME`: which there are, how large, and forgetting one."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid.atomic import locked
from hybrid.errors import BusyError
from hybrid.project import registry

if TYPE_CHECKING:
    from pathlib import Path


_LOCKS = ("build.lock", "build.holder")


@dataclass(frozen=True, slots=True)
class IndexedProject:
    """A project that has an index.

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
        return {name: getattr(self, name) for name in self.__slots__} | {"roots": list(self.roots)}


def indexed_projects(home: Path) -> list[IndexedProject]:
    """Every project with an index, the most recently built first; files that vanish meanwhile are passed over."""
    entries = registry.load_registry(home)
    found: list[IndexedProject] = []
    for folder in sorted((home / "projects").glob("*/")):
        sizes, times = [0], [0.0]
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                stat = path.stat()
                if path.is_file() and path.name not in _LOCKS:
                    sizes.append(stat.st_size)
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


def forget(home: Path, project: IndexedProject) -> None:
    """Delete a project's index and its place in the registry; its own files stay.

    The lock file stays too: a build that waits for it must not find itself holding a file that is gone.

    Raises:
        BusyError: It is being built.
    """
    folder = home / "projects" / project.key
    with locked(folder / "build.lock", 0) as held:
        if not held:
            raise BusyError(f"{project.name} is being indexed; try again when that is done")
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in _LOCKS:
                path.unlink(missing_ok=True)
    registry.forget(project.key, home)


def enforce_quota(home: Path, *, quota_bytes: int, keep: str) -> list[str]:
    """Forget the least recently built projects until all indexes together fit.

    Args:
        home: `$HYBRID_HOME`.
        quota_bytes: Of all indexes.
        keep: Key of the project that must stay.

    Returns:
        Names of the forgotten projects.
    """
    projects = indexed_projects(home)
    total = sum(project.size_bytes for project in projects)
    gone: list[str] = []
    for project in reversed(projects):
        if total <= quota_bytes:
            break
        if project.key == keep:
            continue
        try:
            forget(home, project)
        except BusyError:
            continue
        total -= project.size_bytes
        gone.append(project.name or project.key)
    return gone
