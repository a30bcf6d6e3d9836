"""Builds and opens a repository once for all the ways in which it will be searched; `retrieval` calls it.

The only place of an evaluation that turns settings into a searcher.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.evaluation.trees import build_index, workspace_at
from hybrid.models.registry import load_embedder
from hybrid.search.searcher import Searcher, open_searcher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.evaluation.configurations import Configuration
    from hybrid.evaluation.trees import Scope
    from hybrid.index.plan import Summary
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

    Load = Callable[[Sequence[str]], Loaded]
    """The settings in force with `section.key=value` assignments on top."""


class Tree(Struct, frozen=True):
    """A repository on disk, and what of it is indexed."""

    root: Path
    scope: Scope


class Opened(Struct, frozen=True):
    """A repository that can be searched.

    Attributes:
        searchers: One for each configuration, by its label.
        workspaces: The same, with the settings of each.
        built: What the build of the settings in force did.
        workspace: With the settings in force.
    """

    searchers: dict[str, Searcher]
    workspaces: dict[str, Workspace]
    built: Summary
    workspace: Workspace


class Opener:
    """Opens repositories for a fixed list of configurations; an embedder is loaded once."""

    def __init__(self, configurations: Sequence[Configuration], home: Path, load: Load) -> None:
        """An opener.

        Args:
            configurations: At least one.
            home: Where the indexes lie.
            load: Gives settings.

        Raises:
            ConfigError: The settings in force or those of a configuration are wrong.
        """
        self._home = home
        self._in_force = load(())
        self._loaded = {each.label: load(each.settings) for each in configurations}
        self._embedder = cache(_load_embedder)

    @property
    def model(self) -> str:
        """Key of the embedder of the settings in force."""
        return self._embedder(self._in_force.config.model.name, self._home).info.key

    def open(self, tree: Tree) -> Opened:
        """Build each index that the configurations need, and open it once.

        Raises:
            ModelError: An embedder cannot be loaded.
            BusyError: Another process builds in the same home.
        """
        workspace = self._workspace(tree, self._in_force)
        built = self._build(tree, workspace)
        indexes = {_index_key(self._in_force): workspace}
        opened: dict[tuple[str, float, float], Searcher] = {}
        searchers: dict[str, Searcher] = {}
        workspaces: dict[str, Workspace] = {}
        for label, loaded in self._loaded.items():
            key, search = _index_key(loaded), loaded.config.search
            if key not in indexes:
                indexes[key] = self._workspace(tree, loaded)
                self._build(tree, indexes[key])
            searched = workspaces[label] = replace(indexes[key], loaded=loaded)
            place = (key, search.bm25_k1, search.bm25_b)
            if place not in opened:
                opened[place] = open_searcher(searched, load=self._embedder)
            searchers[label] = _with_settings(opened[place], searched)
        return Opened(searchers, workspaces, built, workspace)

    def _workspace(self, tree: Tree, loaded: Loaded) -> Workspace:
        return workspace_at(tree.root, self._home, loaded, self._scope(tree, loaded))

    def _build(self, tree: Tree, workspace: Workspace) -> Summary:
        embedder = self._embedder(workspace.config.model.name, self._home)
        return build_index(workspace, self._scope(tree, workspace.loaded), embedder=embedder)

    def _scope(self, tree: Tree, loaded: Loaded) -> Scope:
        key = _index_key(loaded)
        return tree.scope if key == _index_key(self._in_force) else replace(tree.scope, variant=key)


def _load_embedder(name: str, home: Path) -> Embedder:
    return load_embedder(name, home=home)


def _index_key(loaded: Loaded) -> str:
    """What of the settings decides the index."""
    config = loaded.config
    content = replace(config.index, workers=0, auto=True, auto_max_files=0, watch=True, debounce_ms=50, quota_mb=1)
    return hashlib.sha256(repr((content, config.model, config.gate.hub)).encode()).hexdigest()[:16]


def _with_settings(searcher: Searcher, workspace: Workspace) -> Searcher:
    """A searcher of the same open index with the settings of a workspace."""
    return Searcher(
        searcher.snapshot, searcher.embedder, workspace.config.search, searcher.gate, workspace.config.ranking
    )
