"""Brings the index of a workspace up to date, and says what may be indexed without being asked.

Where searches use the team's index, that of the tree holds what differs from one of its generations, the base.
Commands build by hand; the service asks `reason_against` before each build in the background.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import HybridError, ProjectError, RefusedError
from hybrid.chunking.chunker import chunk_document, chunker_version
from hybrid.chunking.languages import kind_of, language_of
from hybrid.index.build import build, link_or_copy, take_over
from hybrid.index.manifest import NAME as MANIFEST_NAME
from hybrid.index.manifest import lenders
from hybrid.index.plan import BuildTask, BuildTools, Part, Recipe, Summary, silent
from hybrid.knowledge.stores import record_paths
from hybrid.models.registry import LazyEmbedder, gone_models
from hybrid.project.find import marks_of, refusal, register
from hybrid.project.registry import is_forgotten
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.sources.file_rules import join
from hybrid.sources.files import SOURCE_VERSION, FileSource, FileTypes
from hybrid.sources.git import GitUnavailableError, read_output
from hybrid.sources.listing import folders_above, is_within
from hybrid.sources.patterns import listing_options
from hybrid.types import ChunkLimits
from hybrid.upkeep.projects import enforce_quota

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hybrid.config import IndexConfig
    from hybrid.index.catalog import Catalog
    from hybrid.index.manifest import Place
    from hybrid.index.plan import Lending, Progress
    from hybrid.team.store import StoreKey
    from hybrid.types import Embedder, EmbedderInfo
    from hybrid.workspace import Workspace


# --- which changed paths a build may look at alone --------------------------------------------------------

_LINKS = "links.json"
_MAX_LINKS_BYTES = 4_000_000
_MAX_PATHS = 200
"""Changed paths beyond which the whole tree is looked at, which costs about as much as to look at each path."""

_MERGED_BY_AN_EDIT = 16_000
"""Chunks that an edit merges at most, which takes two seconds: the next edit waits for it. More is merged by a look at
everything, as at the start of a session."""

_DECIDE_ON_ALL = {"", ".git/HEAD", ".git/index", ".git/info/exclude", ".hybrid", ".hybrid/config.toml"}
_NAMES_THAT_DECIDE = {".gitignore", ".hybridignore", ".git"}


def targets_of(paths: Collection[str], root: Path, folder: Path) -> list[str] | None:
    """Return the relative paths that a build must look at, none below another; without `.git`.

    Args:
        paths: Paths of files and folders that changed, absolute or relative to the root, there or gone.
        root: Real path of the working tree.
        folder: Folder of the tree's index.

    Returns:
        The paths; None when a build must look at everything: there are too many paths, or a rule for files, the
        settings, git's index or a link is among them.
    """
    relative = {path for given in paths for path in _relative(given, str(root))}
    if len(relative) > _MAX_PATHS or any(map(_decides_on_others, relative)):
        return None
    relative = {path for path in relative if ".git" not in path.split("/")}
    targets = sorted(path for path in relative if relative.isdisjoint(folders_above(path)))
    is_linked = any(is_within(link, targets) for link in _read_links(folder))
    return None if is_linked else targets


def write_links(folder: Path, links: frozenset[str]) -> None:
    """Store the paths of a tree's links and of what they lead to: when one changes, everything is looked at.

    Writes `links.json` only when it differs; an error of the disk loses it silently.
    """
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
    """Return a path relative to the root, as given and with links resolved; nothing for a path outside the root."""
    full = os.path.normpath(join(root, path) if not os.path.isabs(path) else path)  # noqa: PTH117
    parent, name = os.path.split(full)
    resolved = join(os.path.realpath(parent), name)
    inside = join(root, "")
    found = (one for one in (full, resolved) if one == root or one.startswith(inside))
    return {one[len(inside) :].replace(os.sep, "/") for one in found}


def _decides_on_others(path: str) -> bool:
    """Return whether a change of this file may change which other files are indexed."""
    return path in _DECIDE_ON_ALL or path.rpartition("/")[2] in _NAMES_THAT_DECIDE


# --- building ---------------------------------------------------------------------------------------------


class Indexed(Struct, frozen=True):
    """The outcome of `bring_up_to_date`.

    Attributes:
        summary: The summary of the build.
        folders: Relative folders in which a change matters: of the whole project, or those below the requested paths.
    """

    summary: Summary
    folders: tuple[str, ...]


def file_source(root: Path, settings: IndexConfig, home: Path, records: Sequence[str] = ()) -> FileSource:
    """Return the files of a working tree as documents; `$HYBRID_HOME`, which may lie in the tree, holds none.

    Args:
        root: Top of the tree.
        settings: What is a document.
        home: `$HYBRID_HOME`.
        records: See `stores.record_paths`: they are given out as records, not as documents.

    Raises:
        ProjectError: The tree is `$HYBRID_HOME` itself.
    """
    if home.resolve() == root.resolve():
        raise ProjectError(f"{root} is where hybrid keeps its own files: set HYBRID_HOME to a folder of its own")
    options = listing_options(root, settings, home, records)
    return FileSource(root, FileTypes(language_of, kind_of), max_file_bytes=settings.max_file_bytes, options=options)


def chunk_limits(settings: IndexConfig) -> ChunkLimits:
    """Return the sizes of chunks from the settings."""
    return ChunkLimits(settings.chunk_max_chars, settings.chunk_merge_chars, settings.chunk_cut_chars)


def recipe_of(settings: IndexConfig) -> Recipe:
    """Return the recipe by which documents become chunks under these settings."""
    return Recipe(
        chunk=chunk_document,
        limits=chunk_limits(settings),
        chunker_version=chunker_version(),
        source_version=f"{SOURCE_VERSION}, max {settings.max_file_bytes} bytes",
    )


class BuildRequest(Struct, frozen=True):
    """The extent of a build.

    Attributes:
        paths: Files and folders that changed, absolute or relative to the project, there or gone: only these are
            looked at, as long as that tells all; None looks at everything.
        is_full: Read every file again.
        is_forced: Index a home directory or a file-system root too.
        wait_s: Seconds to wait for another build.
        workers: Processes that read files, as of `index.build.build`; None for what the settings say.
        lend: As of `BuildTask.lend`; by default the snapshot of another tree of the project.
    """

    paths: Collection[str] | None = None
    is_full: bool = False
    is_forced: bool = False
    wait_s: float = 0.0
    workers: int | None = None
    lend: Callable[[Place, Catalog, BuildTools], Lending | None] = take_over


EVERYTHING = BuildRequest()
"""A look at everything, in which unchanged files are not read."""


def reindex(workspace: Workspace, request: BuildRequest = EVERYTHING, *, progress: Progress = silent) -> Summary:
    """Bring the index up to date, and return the summary alone; see `bring_up_to_date`."""
    return bring_up_to_date(workspace, request, progress=progress).summary


def bring_up_to_date(
    workspace: Workspace,
    request: BuildRequest = EVERYTHING,
    *,
    progress: Progress = silent,
    embedder: Embedder | None = None,
    reason_against: Callable[[], str] = lambda: "",
) -> Indexed:
    """Bring the index of the workspace's project up to date.

    Args:
        workspace: With a project.
        request: The extent of the build.
        progress: Hears how far it is.
        embedder: By default the configured one.
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
    if reason and not request.is_forced:
        raise ProjectError(f"{reason}; --force indexes it all the same")
    settings = workspace.config.index
    embedder = embedder or LazyEmbedder(workspace.config.model.name, workspace.home)
    source = file_source(project.root, settings, workspace.home, record_paths(workspace))
    targets = None
    if request.paths is not None and not request.is_full:
        targets = targets_of(request.paths, project.root, workspace.place.folder)
    if targets is not None and not targets:
        return Indexed(Summary(is_full=False), ())
    part = None if targets is None else Part(tuple(targets), source.scan_paths)
    recipe, documents = recipe_of(settings), source
    if settings.backend == "milvus":
        from hybrid.team.base import OverlaySource, read_base  # Brings numpy.

        if part is None:
            # Without the store the base that is here stays; without any, all of the tree is indexed here.
            _refresh_base(workspace, key_of(embedder.info, recipe))
        base = read_base(workspace.place.folder)
        documents = OverlaySource(source, workspace.place.folder)
        recipe = replace(recipe, source_version=f"{recipe.source_version}; over {base.commit if base else 'nothing'}")

    def begin() -> None:
        if reason := reason_against():
            raise RefusedError(reason)
        if part is None or not was_indexed(workspace):
            # Without an index there is no part: all of it is looked at, and the project gets its name.
            register(project, workspace.home)

    tools = replace(
        tools_of(workspace, source, embedder),
        source=documents,
        how=recipe,
        workers=settings.workers if request.workers is None else request.workers,
        progress=progress,
    )
    task = BuildTask(
        part=part,
        full=request.is_full,
        max_segments=settings.max_segments,
        most_merged=math.inf if part is None else _MERGED_BY_AN_EDIT,
        wait_s=request.wait_s,
        lend=request.lend,
        begin=begin,
    )
    summary = build(workspace.place, tools, task)
    if summary.is_full:
        write_links(workspace.place.folder, source.links)
        _read_history(workspace, is_anew=request.is_full)
        _tidy(workspace)
    return Indexed(summary, source.folders)


def whole_tree(workspace: Workspace) -> Workspace:
    """Return the workspace with an index of all of it, also where searches use the team's index."""
    config = workspace.config
    whole = replace(config, index=replace(config.index, backend="embedded"))
    return replace(workspace, loaded=replace(workspace.loaded, config=whole))


def tools_of(workspace: Workspace, source: FileSource, embedder: Embedder) -> BuildTools:
    """Return the tools with which the index of a workspace is built, in one process."""
    return BuildTools(
        source,
        embedder,
        recipe_of(workspace.config.index),
        annotator=GateAnnotator(embedder, workspace.home),
        is_gone=gone_models(workspace.home),
    )


def _read_history(workspace: Workspace, *, is_anew: bool) -> None:
    """Bring what earlier commits tell up to date.

    A commit or a switch of branches writes git's own index, which asks for a look at everything, so that no build of a
    part needs this.
    """
    from hybrid.index.history import NAME  # Brings numpy.
    from hybrid.index.history_build import update_history

    folder = workspace.place.folder
    if not (folder / NAME).exists():
        for lender in lenders(workspace.place)[:1]:  # Only the commits since are read then.
            with contextlib.suppress(OSError):
                link_or_copy(lender.folder / NAME, folder / NAME)
    update_history(folder, str(workspace.require_project().root), is_anew=is_anew)


def _tidy(workspace: Workspace) -> None:
    """Delete old ledgers, and the indexes of the least recently built other projects until the quota holds.

    Errors of the disk are ignored: the next build tries again.
    """
    quota = workspace.config.index.quota_mb * 1_000_000
    with contextlib.suppress(OSError):
        workspace.ledgers.expire(workspace.config.hooks.ledger_days, time.time())
        enforce_quota(workspace.home, quota_bytes=quota, keep=workspace.require_project().key)


# --- the base of a tree that uses the team's index ------------------------------------------------------


_CALL_S = 60.0
_MOST_COMMITS = 10_000


def repository_of(workspace: Workspace) -> str:
    """Return the name under which everyone stores this project: the address that it was cloned from, `host/path`.

    Raises:
        ProjectError: There is no project here, or it was cloned from nowhere.
    """
    origin = marks_of(workspace.require_project()).origin
    if not origin:
        raise ProjectError("this project has no remote called origin: nobody else's clone could be told to be the same")
    return origin


def key_of(model: EmbedderInfo, recipe: Recipe) -> StoreKey:
    """Return what is stored under this model and recipe."""
    from hybrid.team.store import StoreKey

    return StoreKey(model.key, model.dim, recipe.of_chunks)


def _refresh_base(workspace: Workspace, key: StoreKey) -> None:
    """Download the generation that fits the working tree best, unless it is there already.

    That is the newest one pushed among the commits before the present one; of none of them, the newest pushed.
    A store that is down leaves the base as it is: the overlay then differs from an older commit, in more files.
    """
    from hybrid.team.asking import connect
    from hybrid.team.base import kept_base

    with contextlib.suppress(HybridError, OSError, ValueError):
        repository = repository_of(workspace)
        with contextlib.closing(connect(workspace.config.index, key)) as store:
            pushed = [commit for commit, _ in store.generations(repository, timeout_s=_CALL_S)]
            if pushed:
                commit = _nearest(workspace, pushed)
                folder = workspace.place.folder
                kept_base(folder, repository, commit, lambda: store.generation(repository, commit, timeout_s=_CALL_S))


def _nearest(workspace: Workspace, pushed: Sequence[str]) -> str:
    before: list[str] = []
    with contextlib.suppress(GitUnavailableError):
        command = ("rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--")
        lines = read_output(str(workspace.require_project().root), command)
        before = b"".join(lines).decode("ascii", "replace").split()
    wanted = set(pushed)
    return next((commit for commit in before if commit in wanted), pushed[0])


# --- what may be indexed unasked ------------------------------------------------------------------------


_NOTE = "refused.json"
_NOTE_BYTES = 4096
_COUNT_AGAIN_S = 3600.0


def was_indexed(workspace: Workspace) -> bool:
    """Return whether this working tree has an index, even a damaged one: what was built once may be built again."""
    return (workspace.place.folder / MANIFEST_NAME).exists()


def was_forgotten(workspace: Workspace) -> bool:
    """Return whether the owner had this project forgotten, and did not index it by hand since."""
    project = workspace.require_project()
    return is_forgotten(project.key, marks_of(project), workspace.home)


def reason_against(workspace: Workspace) -> str:
    """Return why this project is not indexed in the background now; empty when it may be.

    `off` (`[index] auto`), `no_project`, `own_home`, `home_folder`, `forgotten` (on purpose); and for the first index
    `not_git`, `too_many_files`. The last is remembered for an hour: counting costs a look at the files. Another working
    tree of a project that has an index may have one, too: most of it is taken over.

    Args:
        workspace: The workspace of any directory.
    """
    project = workspace.project
    if project is None:
        return "no_project"
    if not workspace.config.index.auto:
        return "off"
    if refusal(project.root, Path.home()):
        return "home_folder"
    if was_indexed(workspace):
        return ""
    if was_forgotten(workspace):
        return "forgotten"
    if lenders(workspace.place):
        return ""
    return _reason_against_first(workspace) if project.is_git else "not_git"


def refused(workspace: Workspace) -> dict[str, Any] | None:
    """Return the noted refusal of a first index: `reason`, `limit`, `at_s`; None without one, or with an index."""
    if was_indexed(workspace):
        return None
    try:
        note = json.loads(read_regular(workspace.place.folder / _NOTE, _NOTE_BYTES))
        return {"reason": str(note["reason"]), "limit": int(note["limit"]), "at_s": float(note["at_s"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _reason_against_first(workspace: Workspace) -> str:
    limit = workspace.config.index.auto_max_files
    note = refused(workspace)
    if note is not None and note["limit"] == limit and 0 <= time.time() - note["at_s"] < _COUNT_AGAIN_S:
        return note["reason"]
    try:
        root, settings = workspace.require_project().root, workspace.config.index
        source = file_source(root, settings, workspace.home, record_paths(workspace))
    except ProjectError:
        return "own_home"
    path = workspace.place.folder / _NOTE
    with contextlib.suppress(OSError):
        if source.has_more_files(limit):
            note = {"reason": "too_many_files", "limit": limit, "at_s": time.time()}
            write_atomic(path, json.dumps(note).encode(), durable=False)
            return "too_many_files"
        path.unlink(missing_ok=True)
        return ""
    # The note cannot be written, so neither can an index.
    return "read_only"
