"""Brings the index of a workspace up to date: joins the source, the chunker and the embedder with the index.

`targets` says which paths can be looked at alone, `automatic` what may be indexed unasked.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import ProjectError, RefusedError
from hybrid.chunking.chunker import chunk_document, chunker_version
from hybrid.chunking.languages import kind_of, language_of
from hybrid.index.build import build
from hybrid.index.manifest import NAME as MANIFEST_NAME
from hybrid.index.plan import Part, Recipe, Summary, silent
from hybrid.knowledge.record_files import record_paths
from hybrid.models.registry import LazyEmbedder
from hybrid.project.find import refusal
from hybrid.project.places import register
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.sources.files import SOURCE_VERSION, FileSource, FileTypes
from hybrid.sources.listing import folders_above, is_within
from hybrid.sources.patterns import ListingOptions
from hybrid.sources.reading import join
from hybrid.types import ChunkLimits
from hybrid.upkeep.projects import enforce_quota

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hybrid.config import IndexConfig
    from hybrid.index.plan import Progress
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


# Which changed paths a build may look at alone, and which change what becomes of other files; `indexing` asks.

_LINKS = "links.json"
_MAX_LINKS_BYTES = 4_000_000
_MAX_PATHS = 200
"""Paths beyond which everything is looked at: that costs about as much as to ask for each."""

_DECIDE_ON_ALL = {"", ".git/HEAD", ".git/index", ".git/info/exclude", ".hybrid", ".hybrid/config.toml"}
_NAMES_THAT_DECIDE = {".gitignore", ".hybridignore", ".git"}


def targets_of(paths: Collection[str], root: Path, folder: Path) -> list[str] | None:
    """Relative paths to look at, none below another.

    Args:
        paths: Of files and folders that changed, absolute or relative to the root, there or gone.
        root: Real path of the working tree.
        folder: Of its index.

    Returns:
        None when only a look at everything can tell: a rule, the settings, git's index or a link is among them.
    """
    relative = {path for given in paths for path in _relative(given, str(root))}
    if len(relative) > _MAX_PATHS or any(_decides_on_others(path) for path in relative):
        return None
    relative = {path for path in relative if ".git" not in path.split("/")}
    targets = sorted(path for path in relative if relative.isdisjoint(folders_above(path)))
    is_linked = any(is_within(link, targets) for link in _read_links(folder))
    return None if is_linked else targets


def write_links(folder: Path, links: frozenset[str]) -> None:
    """Keep the links of a tree and what they lead to, beside its index; a change of either is looked up there."""
    if set(links) != _read_links(folder):
        with contextlib.suppress(OSError):
            write_atomic(folder / _LINKS, json.dumps(sorted(links)).encode(), durable=False)


def _read_links(folder: Path) -> set[str]:
    try:
        data = read_regular(folder / _LINKS, _MAX_LINKS_BYTES)
        return {path for path in json.loads(data) if isinstance(path, str)}
    except (OSError, ValueError, TypeError, RecursionError):
        return set()


def _relative(path: str, root: str) -> set[str]:
    """A path as git names it, as given and with links on the way resolved; empty when it lies elsewhere."""
    full = os.path.normpath(join(root, path) if not os.path.isabs(path) else path)  # noqa: PTH117
    parent, name = os.path.split(full)
    resolved = join(os.path.realpath(parent), name)
    inside = join(root, "")
    found = (one for one in (full, resolved) if one == root or one.startswith(inside))
    return {one[len(inside) :].replace(os.sep, "/") for one in found}


def _decides_on_others(path: str) -> bool:
    """Return whether a change of this file may change what becomes of other files."""
    return path in _DECIDE_ON_ALL or path.rpartition("/")[2] in _NAMES_THAT_DECIDE


class Indexed(Struct, frozen=True):
    """What `bring_up_to_date` did.

    Attributes:
        summary: Of the build.
        folders: Relative folders in which a change matters: of the whole project, or those below the paths asked for.
    """

    summary: Summary
    folders: tuple[str, ...]


def file_source(root: Path, settings: IndexConfig, home: Path, records: Sequence[str] = ()) -> FileSource:
    """The files of a working tree as documents; `$HYBRID_HOME`, which may lie in the tree, holds none.

    Args:
        root: Top of the tree.
        settings: What is a document.
        home: `$HYBRID_HOME`.
        records: See `record_places.record_paths`: they are given out as records, not as documents.

    Raises:
        ProjectError: The tree is `$HYBRID_HOME` itself.
    """
    own, top = home.resolve(), root.resolve()
    if own == top:
        raise ProjectError(f"{root} is where hybrid keeps its own files: set HYBRID_HOME to a folder of its own")
    options = ListingOptions(
        include=tuple(settings.include),
        exclude=tuple(settings.exclude),
        record_paths=(*records, own.relative_to(top).as_posix()) if top in own.parents else tuple(records),
        follow_gitignore=settings.follow_gitignore,
    )
    return FileSource(root, FileTypes(language_of, kind_of), max_file_bytes=settings.max_file_bytes, options=options)


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
    paths: Collection[str] | None = None,
    full: bool = False,
    force: bool = False,
    wait_s: float = 0.0,
    progress: Progress = silent,
    embedder: Embedder | None = None,
) -> Summary:
    """As `bring_up_to_date`, and gives its summary alone."""
    return bring_up_to_date(
        workspace, paths=paths, full=full, force=force, wait_s=wait_s, progress=progress, embedder=embedder
    ).summary


def bring_up_to_date(
    workspace: Workspace,
    *,
    paths: Collection[str] | None = None,
    full: bool = False,
    force: bool = False,
    wait_s: float = 0.0,
    progress: Progress = silent,
    embedder: Embedder | None = None,
    workers: int | None = None,
    reason_against: Callable[[], str] = lambda: "",
) -> Indexed:
    """Bring the index of the workspace's project up to date.

    Args:
        workspace: With a project.
        paths: Files and folders that changed, absolute or relative to the project, there or gone: only these are
            looked at, as long as that tells all; None looks at everything.
        full: Read every file again.
        force: Index a home directory or a file-system root too.
        wait_s: How long to wait for another build, in seconds.
        progress: Hears how far it is.
        embedder: By default the configured one.
        workers: As in `build`, instead of what the settings say.
        reason_against: Asked again once no other process can build or forget this project; a reason ends the build.

    Raises:
        RefusedError: There was a reason against it.
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
    source = file_source(project.root, settings, workspace.home, record_paths(workspace))
    targets = None if paths is None or full else targets_of(paths, project.root, workspace.place.folder)
    if targets is not None and not targets:
        return Indexed(Summary(is_full=False), ())
    part = None if targets is None else Part(tuple(targets), source.scan_paths)

    def begin() -> None:
        if reason := reason_against():
            raise RefusedError(reason)
        if part is None or not (workspace.place.folder / MANIFEST_NAME).exists():
            # Without an index there is no part: all of it is looked at, and the project gets its name.
            register(project, workspace.home)

    summary = build(
        workspace.place,
        source,
        embedder,
        recipe_of(settings),
        part=part,
        full=full,
        max_segments=settings.max_segments,
        wait_s=wait_s,
        progress=progress,
        annotator=GateAnnotator(embedder, workspace.home, with_hub=workspace.config.gate.hub),
        workers=settings.workers if workers is None else workers,
        begin=begin,
    )
    if summary.is_full:
        write_links(workspace.place.folder, source.links)
        _tidy(workspace)
    return Indexed(summary, source.folders)


def _tidy(workspace: Workspace) -> None:
    """Keep `$HYBRID_HOME` bounded: old ledgers go, and indexes beyond the quota, the least recently built first.

    The build is done: what cannot be tidied now is left for the next one.
    """
    quota = workspace.config.index.quota_mb * 1_000_000
    with contextlib.suppress(OSError):
        workspace.ledgers.expire(workspace.config.hooks.ledger_days, time.time())
        enforce_quota(workspace.home, quota_bytes=quota, keep=workspace.require_project().key)
