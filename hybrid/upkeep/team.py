"""The team's index of a workspace: where its store is, what of the working tree is pushed, what is deleted there."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, ProjectError
from hybrid.models.registry import LazyEmbedder
from hybrid.sources.commits import newest
from hybrid.sources.files import FileReader
from hybrid.sources.git import GitUnavailableError, read_output
from hybrid.upkeep.basing import key_of, repository_of
from hybrid.upkeep.indexing import BuildRequest, bring_up_to_date, recipe_of, whole_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.index.plan import Progress
    from hybrid.team.pushing import Pushed
    from hybrid.team.store import TeamStore
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_LOCK_S = 60.0


def open_team_store(workspace: Workspace, *, makes: bool, embedder: Embedder | None = None) -> TeamStore:
    """Connect to the store of the settings, for the model and the recipe of this workspace; see `connect`."""
    from hybrid.team.connecting import connect

    info = (embedder or LazyEmbedder(workspace.config.model.name, workspace.home)).info
    settings = workspace.config.index
    return connect(settings, key_of(info, recipe_of(settings)), makes=makes)


def push_here(
    workspace: Workspace, store: TeamStore, *, keep: int, progress: Progress, embedder: Embedder | None = None
) -> tuple[str, Pushed]:
    """Bring the index of the working tree up to date and push it as the generation of its commit.

    Only what the commit holds is pushed: no file that git does not know, and nothing while a file differs. The files'
    texts are stored with `index.store_text` alone.

    Returns:
        The commit and what was done.

    Raises:
        ProjectError: No commit, no origin, or files that differ from the commit.
        BusyError: Another process builds the index.
        StoreDownError: The store does not answer in time; to push again goes on where this push stopped.
    """
    from hybrid.index.catalog import Catalog
    from hybrid.index.snapshot import open_snapshot
    from hybrid.team.figures import figures_of
    from hybrid.team.pushing import Tree, push

    workspace = whole_tree(workspace)
    repository = repository_of(workspace)
    embedder = embedder or LazyEmbedder(workspace.config.model.name, workspace.home)
    commit = _clean_commit(workspace)
    bring_up_to_date(workspace, replace(BuildRequest(), wait_s=_LOCK_S), progress=progress, embedder=embedder)
    place = workspace.place
    with locked(place.lock, _LOCK_S) as is_held:
        if not is_held:
            raise BusyError("another process is indexing this project; try again when it is done")
        if _clean_commit(workspace) != commit:
            raise ProjectError("the working tree went to another commit meanwhile: push again")
        snapshot = open_snapshot(place.folder, model=embedder.info.key)
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            read = _reader(workspace) if workspace.config.index.store_text else None
            tree = Tree(catalog, embedder.info, figures_of(snapshot), _paths_of(workspace, commit), read)
            return commit, push(
                store, repository, tree, commit=commit, now_s=int(time.time()), keep=keep, progress=progress
            )


def _reader(workspace: Workspace) -> Callable[[str], str | None]:
    """Return what gives the text of a file of the working tree, by its path."""
    root = workspace.require_project().root
    return FileReader(root, workspace.config.index.max_file_bytes).read_text


def _clean_commit(workspace: Workspace) -> str:
    """Return the commit that the working tree is at.

    Raises:
        ProjectError: There is none, or a file that git knows differs from it.
    """
    root = str(workspace.require_project().root)
    try:
        commit = newest(root)
        command = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
        changed = b"".join(read_output(root, command)).split(b"\0")[:-1]
    except GitUnavailableError as error:
        raise ProjectError(f"only a git working tree can be pushed: {error}") from error
    if not commit:
        raise ProjectError("there is no commit here yet that could be pushed")
    if changed:
        first = changed[0][3:].decode("utf-8", "replace")
        raise ProjectError(f"{len(changed)} files differ from the commit, as {first}: push from a clean working tree")
    return commit


def _paths_of(workspace: Workspace, commit: str) -> frozenset[str]:
    """Return the paths of a commit's files."""
    root = str(workspace.require_project().root)
    names = b"".join(read_output(root, ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit))).split(b"\0")
    return frozenset(os.fsdecode(name) for name in names if name)
