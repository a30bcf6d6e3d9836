"""The indexed projects of a `$HYBRID_HOME`: which there are, how large, and forgetting one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid.atomic import locked
from hybrid.errors import BusyError
from hybrid.project import registry

if TYPE_CHECKING:
    from pathlib import Path


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
    """Every project with an index, the most recently built first."""
    entries = registry.load_registry(home)
    found: list[IndexedProject] = []
    for folder in sorted((home / "projects").glob("*/")):
        files = [path for path in folder.rglob("*") if path.is_file()]
        if not files:
            continue
        entry = entries.get(folder.name)
        found.append(
            IndexedProject(
                key=folder.name,
                name=entry.name if entry else "",
                roots=tuple(entry.paths) if entry else (),
                size_bytes=sum(path.stat().st_size for path in files),
                used_s=max(path.stat().st_mtime for path in files),
            )
        )
    return sorted(found, key=lambda project: (-project.used_s, project.key))


def forget(home: Path, project: IndexedProject) -> None:
    """Delete a project's index and its place in the registry; its own files stay.

    Raises:
        BusyError: It is being built.
    """
    folder = home / "projects" / project.key
    with locked(folder / "build.lock", 0) as held:
        if not held:
            raise BusyError(f"{project.name} is being indexed; try again when that is done")
        shutil.rmtree(folder, ignore_errors=True)
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
        forget(home, project)
        total -= project.size_bytes
        gone.append(project.name or project.key)
    return gone
