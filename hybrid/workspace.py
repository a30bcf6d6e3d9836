"""A workspace: the project around a directory, the settings in force there, and where its files lie.

Made once at a rim (command, hook, daemon) from directory and environment; everything else is passed down from here.
"""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import ConfigError, HybridError, ProjectError
from hybrid.base.home import expanded
from hybrid.config import Config, Loaded, load
from hybrid.index.manifest import NAME as MANIFEST_NAME
from hybrid.index.manifest import OVERLAY, Place, lenders
from hybrid.ipc.settings import HookSettings, read_settings, write_settings
from hybrid.log.events import OUTCOMES, EventLog
from hybrid.log.given_texts import GivenTexts
from hybrid.project.find import Project, find_project, hybrid_home, open_tree_state, project_folder
from hybrid.project.trust import is_accepted
from hybrid.session.ledger import LedgerStore, SessionKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.types import HookEvent


class Workspace(Struct, frozen=True, dict=True):
    """The project around a directory and the settings in force there.

    Attributes:
        home: `$HYBRID_HOME`.
        project: The project the directory lies in, or None.
        loaded: Settings in force, with origins and problems.
        cwd: The directory; None for the top of the project.
    """

    home: Path
    project: Project | None
    loaded: Loaded
    cwd: Path | None = None

    @cached_property
    def config(self) -> Config:
        """The settings in force."""
        return self.loaded.config

    def require_valid_settings(self) -> None:
        """Raise on a mistake of the user, as commands do; hooks go on with the default.

        A mistake in the project's own file never raises.

        Raises:
            ConfigError: The user's settings file, the environment or a flag holds a mistake.
        """
        if self.loaded.own_problems:
            raise ConfigError("; ".join(self.loaded.own_problems))

    def require_project(self) -> Project:
        """Return the project that the directory lies in.

        Raises:
            ProjectError: The directory lies in no project.
        """
        if self.project is None:
            raise ProjectError(
                "no project here: not inside a git working tree, and no .hybrid folder above; run `hybrid init`"
            )
        return self.project

    @property
    def place(self) -> Place:
        """The paths of the index of the project's working tree.

        Raises:
            ProjectError: The directory lies in no project.
        """
        return _place(self.home, self.require_project(), OVERLAY if self.config.index.backend == "milvus" else "")

    @property
    def state_folder(self) -> Path:
        """The folder for counters and hot topics of the project's working tree."""
        return open_tree_state(self.require_project(), self.home)

    def is_here(self, event: Mapping[str, object]) -> bool:
        """Return whether a line of the event log is about this project; without a project, whether it is about none.

        A line without a project counts by its directory: a hook may have had no time to find its project.
        """
        key = event.get("project")
        if key is not None or self.project is None:
            return key == (self.project.key if self.project else None)
        cwd = str(event.get("cwd") or "")
        return bool(cwd) and self.project.root in (Path(cwd), *Path(cwd).parents)

    @cached_property
    def ledgers(self) -> LedgerStore:
        """The ledgers of all agent sessions."""
        return LedgerStore(self.home / "sessions")

    @property
    def log(self) -> EventLog:
        """The event log."""
        return EventLog(self.home / "log", max_bytes=self.config.log.max_bytes, keep=self.config.log.keep)

    @property
    def outcomes(self) -> EventLog:
        """The log of what became of decisions."""
        settings = self.config.log
        return EventLog(self.home / "log", max_bytes=settings.max_bytes, keep=settings.keep, name=OUTCOMES)

    @property
    def texts(self) -> GivenTexts:
        """The texts that agents were given."""
        return GivenTexts(self.home / "log", days=self.config.log.text_days)


def _place(home: Path, project: Project, ending: str = "") -> Place:
    folder, tree = project_folder(project, home), project.tree + ending
    return Place(
        catalog=folder / "catalog.db",
        folder=folder / "trees" / tree,
        tree=tree,
        root=str(project.root),
        lock=folder / "build.lock",
    )


def stand_ins(workspace: Workspace) -> list[tuple[Place, str]]:
    """Return the indexes that may answer until the working tree has its own, each with the folder of the tree in it.

    The other trees of the project come first, with an empty folder, then the projects around it whose index has files
    of this tree, the nearest first.
    """
    project = workspace.require_project()
    found = [(lender, "") for lender in lenders(workspace.place)]
    outer: Project | None = project
    while outer is not None and outer.root.parent != outer.root:
        outer = find_project(outer.root.parent, workspace.home, Path.home())
        if outer is not None:
            place, folder = _place(workspace.home, outer), project.root.relative_to(outer.root).as_posix()
            if _has_files_below(place, folder):
                found.append((place, folder))
    return found


def _has_files_below(place: Place, folder: str) -> bool:
    if not (place.folder / MANIFEST_NAME).exists():
        return False
    # A tree with an index of its own never comes here.
    import sqlite3

    from hybrid.index.catalog import Catalog

    with (
        contextlib.suppress(HybridError, OSError, sqlite3.Error),
        Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog,
    ):
        return any(known.content_id for known in catalog.known_within([folder]).values())
    return False


def open_workspace(
    cwd: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
    user_home: Path | None = None,
    is_accepting: bool = False,
) -> Workspace:
    """Return the workspace of a directory.

    Args:
        cwd: The directory.
        environ: Environment variables.
        flags: Settings from the command line, `section.key` → value; None values are not given.
        user_home: The user's home directory; by default the system's.
        is_accepting: The caller accepts the working tree for its owner, so the project's settings count as they do
            in an accepted tree.
    """
    home = hybrid_home(environ)
    project = find_project(cwd, home, user_home or Path.home())
    folder = project.root / ".hybrid" if project and project.has_folder else None
    is_settled = is_accepting or (folder is not None and project is not None and is_accepted(project, home))
    loaded = load(home=home, project_folder=folder, is_accepted=is_settled, environ=environ, flags=flags)
    return Workspace(home, project, loaded, cwd)


def keep_hook_settings(home: Path) -> None:
    """Write the settings that a hook needs before it asks the service to the file where hooks read them.

    Does nothing when that was done since the settings last changed; an error of the disk loses it silently.
    """
    if read_settings(str(home), {}) is not None:
        return
    loaded = load(home=home, environ={})
    with contextlib.suppress(OSError):
        config = loaded.config
        settings = HookSettings(
            config.hooks.deadline_ms,
            config.daemon.enabled,
            is_remembering=config.memory.enabled and config.memory.capture,
            is_learning=config.lessons.enabled and config.lessons.capture,
            excluded=excluded_patterns(config.memory.exclude_projects),
        )
        write_settings(str(home), settings)


def excluded_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of projects that the memory leaves out, with the user's home folder in place of `~`."""
    return tuple(expanded(pattern) if pattern.startswith("~") else pattern for pattern in patterns)


def session_key(workspace: Workspace, event: HookEvent) -> SessionKey:
    """Return the key of the ledger of an event; without a session id, that of the working tree."""
    tree = workspace.project.tree if workspace.project else ""
    return SessionKey(event.client, event.session_id or f"tree:{tree}", event.agent_id)
