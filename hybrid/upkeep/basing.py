"""Keeps the base of a working tree up to date: the commit of the team's index that its overlay differs from."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError, ProjectError
from hybrid.project.find import explain_project
from hybrid.sources.git import GitUnavailableError, read_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.index.plan import Recipe
    from hybrid.team.base import Base
    from hybrid.team.store import StoreKey
    from hybrid.types import EmbedderInfo
    from hybrid.workspace import Workspace

_CALL_S = 60.0
_MOST_COMMITS = 10_000


def repository_of(workspace: Workspace) -> str:
    """Return the name under which everyone stores this project: the address that it was cloned from, `host/path`.

    Raises:
        ProjectError: There is no project here, or it was cloned from nowhere.
    """
    origin = explain_project(workspace.require_project(), workspace.home).origin
    if not origin:
        raise ProjectError("this project has no remote called origin: nobody else's clone could be told to be the same")
    return origin


def key_of(model: EmbedderInfo, recipe: Recipe) -> StoreKey:
    """Return what is stored under this model and recipe."""
    from hybrid.team.store import StoreKey

    return StoreKey(model.key, model.dim, recipe.of_chunks)


def refresh_base(workspace: Workspace, key: StoreKey) -> str:
    """Download the generation that fits the working tree best, unless it is there already; return why not, or "".

    That is the newest one pushed among the commits before the present one; of none of them, the newest pushed.
    A store that is down leaves the base as it is: the overlay then differs from an older commit, in more files.
    """
    from hybrid.team.base import read_base, write_base
    from hybrid.team.connecting import connect

    folder = workspace.place.folder
    try:
        repository = repository_of(workspace)
        store = connect(workspace.config.index, key)
        with contextlib.closing(store):
            pushed = [commit for commit, _ in store.generations(repository, timeout_s=_CALL_S)]
            if not pushed:
                return f"nothing of {repository} was pushed yet"
            commit = _nearest(workspace, pushed)
            known = read_base(folder)
            if known is None or (known.repository, known.commit) != (repository, commit):
                write_base(folder, repository, store.generation(repository, commit, timeout_s=_CALL_S))
    except (HybridError, OSError, ValueError) as error:
        return str(error)
    return ""


def open_base(workspace: Workspace) -> Base | None:
    """Return the base that the overlay of a working tree differs from; None without one, and without a team's index."""
    if workspace.config.index.backend != "milvus":
        return None
    from hybrid.team.base import read_base

    return read_base(workspace.place.folder)


def _nearest(workspace: Workspace, pushed: Sequence[str]) -> str:
    root = str(workspace.require_project().root)
    with contextlib.suppress(GitUnavailableError):
        command = ("rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--")
        before = b"".join(read_output(root, command)).decode("ascii", "replace").split()
        wanted = set(pushed)
        for commit in before:
            if commit in wanted:
                return commit
    return pushed[0]
