"""Opens the memory of a command: whose rows it looks at, from where, and what waits to be looked at with them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.ask.memory_filters import Scope, project_named
from hybrid.base.errors import HybridError
from hybrid.cli.common import workspace_of
from hybrid.knowledge.stores import RecordStores
from hybrid.records.errors import MemoryFormatError

if TYPE_CHECKING:
    import argparse

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Owner
    from hybrid.search.ranking.memory import Present
    from hybrid.workspace import Workspace


class OpenMemory(Struct, frozen=True):
    """The memory as a directory sees it.

    Attributes:
        workspace: The directory's.
        store: Of the settings.
        scope: Whose rows.
        now_ms: Milliseconds since 1970.
    """

    workspace: Workspace
    store: MemoryStore
    scope: Scope
    now_ms: int

    @property
    def present(self) -> Present:
        """From where rows are ranked."""
        return self.scope.looking_back(self.workspace.config, self.now_ms)

    def scope_of(self, owner: Owner) -> Scope:
        """The rows of the project of a row."""
        return Scope(owner.key, owner.project, self.scope.present, is_cross=False)


def open_memory(args: argparse.Namespace, *, is_of_one: bool = False) -> OpenMemory:
    """The memory that the command line names.

    Args:
        args: Perhaps with `named`, `here` and `all_projects`.
        is_of_one: Without any of these, only the present project's rows.

    Raises:
        HybridError: The directory does not exist, a project is not known, or the settings hold a mistake.
    """
    named, is_all = getattr(args, "named", ""), getattr(args, "all_projects", False)
    # Where projects are kept apart, each has an index of its own rows; who names another one wants that of all.
    workspace = workspace_of(args, flags={"memory.cross_project": True} if named or is_all else None)
    store = RecordStores().memory(workspace)
    now_ms = time.time_ns() // 1_000_000
    if named:
        key, name = project_named(named, workspace.home, store)
        present = workspace.project.key if workspace.project else ""
        return OpenMemory(workspace, store, Scope(key, name, present, is_cross=False), now_ms)
    if getattr(args, "here", False):
        workspace.require_project()
    # A path means a file of this project; another one may have one of the same name.
    is_own = not is_all and (is_of_one or getattr(args, "here", False) or bool(getattr(args, "file", None)))
    return OpenMemory(workspace, store, _scope(workspace, is_own=is_own), now_ms)


def _scope(workspace: Workspace, *, is_own: bool) -> Scope:
    project = workspace.project
    if project is None:
        return Scope("", "", "", is_cross=True)
    is_cross = workspace.config.memory.cross_project and not is_own
    return Scope("" if is_cross else project.key, project.name, project.key, is_cross=is_cross)


def flushed(memory: OpenMemory, args: argparse.Namespace) -> OpenMemory:
    """The same, with the observations of what has waited long enough; what goes wrong there is only told."""
    if memory.workspace.project is None or not memory.store.exists:
        return memory
    try:
        from hybrid.knowledge.memory_intake import flush

        failures = flush(memory.workspace, memory.store, memory.now_ms)
    except MemoryFormatError:
        raise
    except HybridError as error:  # A database that cannot be written may still be read.
        failures = (str(error),)
    for failure in failures if not args.quiet else ():
        sys.stderr.write(f"hybrid: warning: {failure}\n")
    return memory
