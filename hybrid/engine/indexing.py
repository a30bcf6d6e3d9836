"""Builds and opens the index of a workspace: joins the source, the chunker and the embedder with the index."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.chunking.chunker import chunk_document, chunker_version
from hybrid.chunking.languages import kind_of, language_of
from hybrid.engine.projects import enforce_quota
from hybrid.errors import ProjectError
from hybrid.index.build import Recipe, Summary, build, silent
from hybrid.models.lazy import LazyEmbedder
from hybrid.project.find import refusal
from hybrid.project.places import register
from hybrid.sources.files import SOURCE_VERSION, FileSource
from hybrid.types import ChunkLimits

if TYPE_CHECKING:
    from hybrid.config import IndexConfig
    from hybrid.engine.workspace import Workspace
    from hybrid.index.build import Progress
    from hybrid.types import Embedder


def file_source(root: Path, settings: IndexConfig, home: Path) -> FileSource:
    """The files of a working tree as documents; `$HYBRID_HOME`, which may lie in the tree, holds none.

    Raises:
        ProjectError: The tree is `$HYBRID_HOME` itself.
    """
    own, top = home.resolve(), root.resolve()
    if own == top:
        raise ProjectError(f"{root} is where hybrid keeps its own files: set HYBRID_HOME to a folder of its own")
    return FileSource(
        root,
        language_of=language_of,
        kind_of=kind_of,
        include=settings.include,
        exclude=settings.exclude,
        max_file_bytes=settings.max_file_bytes,
        record_paths=(own.relative_to(top).as_posix(),) if top in own.parents else (),
        follow_gitignore=settings.follow_gitignore,
    )


def chunk_limits(settings: IndexConfig) -> ChunkLimits:
    """Sizes of chunks from the settings."""
    return ChunkLimits(settings.chunk_max_chars, settings.chunk_merge_chars, settings.chunk_cut_chars)


def recipe_of(settings: IndexConfig) -> Recipe:
    """How documents become chunks under these settings."""
    return Recipe(
        chunk=chunk_document,
        limits=chunk_limits(settings),
        chunker_version=chunker_version(),
        source_version=f"{SOURCE_VERSION}, max {settings.max_file_bytes} bytes",
    )


def reindex(
    workspace: Workspace,
    *,
    full: bool = False,
    force: bool = False,
    wait_s: float = 0.0,
    progress: Progress = silent,
    embedder: Embedder | None = None,
) -> Summary:
    """Bring the index of the workspace's project up to date.

    Args:
        workspace: With a project.
        full: Read every file again.
        force: Index a home directory or a file-system root too.
        wait_s: How long to wait for another build, in seconds.
        progress: Hears how far it is.
        embedder: By default the configured one.

    Raises:
        ProjectError: No project, or one that must not be indexed.
        ModelError: The embedder cannot be loaded.
        BusyError: Another build is running.
        OSError: The disk is full or read-only.
    """
    project = workspace.require_project()
    reason = refusal(project.root, Path.home())
    if reason and not force:
        raise ProjectError(f"{reason}; --force indexes it all the same")
    settings = workspace.config.index
    embedder = embedder or LazyEmbedder(workspace.config.model.name, workspace.home)
    source = file_source(project.root, settings, workspace.home)
    register(project, workspace.home)
    summary = build(
        workspace.place,
        source,
        embedder,
        recipe_of(settings),
        full=full,
        max_segments=settings.max_segments,
        wait_s=wait_s,
        progress=progress,
    )
    _tidy(workspace)
    return summary


def _tidy(workspace: Workspace) -> None:
    """Keep `$HYBRID_HOME` bounded: old ledgers go, and indexes beyond the quota, the least recently built first.

    The build is done: what cannot be tidied now is left for the next one.
    """
    quota = workspace.config.index.quota_mb * 1_000_000
    with contextlib.suppress(OSError):
        workspace.ledgers.expire(workspace.config.hooks.ledger_days, time.time())
        enforce_quota(workspace.home, quota_bytes=quota, keep=workspace.require_project().key)
