"""The team's index of a workspace: where its store is, what of the working tree is pushed, what is deleted there."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, ConfigError, ProjectError
from hybrid.models.registry import LazyEmbedder
from hybrid.project.find import explain_project
from hybrid.sources.commits import newest
from hybrid.sources.git import GitUnavailableError, read_output
from hybrid.upkeep.indexing import BuildRequest, bring_up_to_date, recipe_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.index.plan import Progress
    from hybrid.team.pushing import Pushed
    from hybrid.team.store import TeamStore
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

TOKEN = "HYBRID_MILVUS_TOKEN"
"""The environment variable with `user:password` or the key of the store; it stands in no file of hybrid."""
_OPEN_S = 20.0
_LOCK_S = 60.0


def repository_of(workspace: Workspace) -> str:
    """Return the name under which everyone stores this project: the address that it was cloned from, `host/path`.

    Raises:
        ProjectError: There is no project here, or it was cloned from nowhere.
    """
    origin = explain_project(workspace.require_project(), workspace.home).origin
    if not origin:
        raise ProjectError("this project has no remote called origin: nobody else's clone could be told to be the same")
    return origin


def open_team_store(
    workspace: Workspace, *, makes: bool, embedder: Embedder | None = None, environ: Mapping[str, str] = os.environ
) -> TeamStore:
    """Connect to the store of the settings, for the model and the recipe of this workspace.

    Args:
        workspace: Any workspace.
        makes: Make what is missing in the store, which only a push does.
        embedder: By default that of the settings.
        environ: Holds the token.

    Raises:
        ConfigError: The settings name no store, or pymilvus is missing.
        StoreDownError: It does not answer in time, or refuses.
        StoreNotReadyError: Nothing was pushed there yet.
        IndexMismatchError: It is too old, or what is there was pushed by another version or for another model.
    """
    settings = workspace.config.index
    if not settings.uri:
        raise ConfigError("no team's index is set: `hybrid config set index.uri https://HOST:19530 --user`")
    from hybrid.team.milvus import address_of, open_milvus
    from hybrid.team.store import StoreKey

    info = (embedder or LazyEmbedder(workspace.config.model.name, workspace.home)).info
    key = StoreKey(info.key, info.dim, recipe_of(settings).of_chunks)
    address = address_of(settings.uri, settings.collection, environ.get(TOKEN, ""))
    return open_milvus(address, key, timeout_s=_OPEN_S, makes=makes)


def push_here(
    workspace: Workspace, store: TeamStore, *, keep: int, progress: Progress, embedder: Embedder | None = None
) -> tuple[str, Pushed]:
    """Bring the index of the working tree up to date and push it as the generation of its commit.

    Only what the commit holds is pushed: no file that git does not know, and nothing while a file differs.

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

    repository, embedder = (
        repository_of(workspace),
        embedder or LazyEmbedder(workspace.config.model.name, workspace.home),
    )
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
            tree = Tree(catalog, embedder.info, figures_of(snapshot), _paths_of(workspace, commit))
            return commit, push(
                store, repository, tree, commit=commit, now_s=int(time.time()), keep=keep, progress=progress
            )


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
