"""Gives the index of a working tree to others: into the team's store, or as one file, with which another tree begins.

`hybrid index push`, `export` and `import` call it: a first build costs a download then, and what the working tree
changed is indexed on top.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked, make_private_folder
from hybrid.base.errors import BusyError, HybridError, ProjectError
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import FORMAT_VERSION, read_manifest
from hybrid.knowledge.stores import record_paths
from hybrid.models.registry import LazyEmbedder
from hybrid.sources.files import FileReader
from hybrid.sources.git import GitUnavailableError, newest, read_output
from hybrid.upkeep.indexing import (
    BuildRequest,
    bring_up_to_date,
    file_source,
    key_of,
    recipe_of,
    repository_of,
    tools_of,
    was_indexed,
    whole_tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hybrid.index.bundle import BundleLender, Header
    from hybrid.index.manifest import Place
    from hybrid.index.plan import BuildTools, Progress, Summary
    from hybrid.index.segment import Segment
    from hybrid.team.pushing import Pushed
    from hybrid.team.store import TeamStore
    from hybrid.workspace import Workspace


_WAIT_S = 60.0
"""Seconds to wait for another process that builds the index."""
_UNPACKED = "import-"
"""Beginning of the names of folders that a file is unpacked into."""
_LEFT_S = 3600.0
"""Seconds after which such a folder is one that a killed import left: the next one removes it."""


@contextmanager
def _whole_index(workspace: Workspace) -> Generator[Catalog]:
    """Give the open catalog of a working tree, which nobody else builds meanwhile.

    Raises:
        BusyError: Another process builds it.
    """
    place = workspace.place
    with locked(place.lock, _WAIT_S) as is_held:
        if not is_held:
            raise BusyError("another process is indexing this project; try again when it is done")
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            yield catalog


# --- in the team's store ----------------------------------------------------------------------------------


def open_team_store(workspace: Workspace, *, makes: bool) -> TeamStore:
    """Connect to the store of the settings, for the model and the recipe of this workspace; see `connect`."""
    from hybrid.team.asking import connect

    embedder, settings = LazyEmbedder(workspace.config.model.name, workspace.home), workspace.config.index
    return connect(settings, key_of(embedder.info, recipe_of(settings)), makes=makes)


def push_here(workspace: Workspace, store: TeamStore, *, keep: int, progress: Progress) -> tuple[str, Pushed]:
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
    from hybrid.index.snapshot import open_snapshot
    from hybrid.team.base import figures_of
    from hybrid.team.pushing import PushedTree, push

    workspace = whole_tree(workspace)
    repository = repository_of(workspace)
    embedder = LazyEmbedder(workspace.config.model.name, workspace.home)
    commit = _clean_commit(workspace)
    bring_up_to_date(workspace, BuildRequest(wait_s=_WAIT_S), progress=progress, embedder=embedder)
    with _whole_index(workspace) as catalog:
        if _clean_commit(workspace) != commit:
            raise ProjectError("the working tree went to another commit meanwhile: push again")
        snapshot = open_snapshot(workspace.place.folder, model=embedder.info.key)
        read = _reader(workspace) if workspace.config.index.store_text else None
        tree = PushedTree(catalog, embedder.info, figures_of(snapshot), _paths_of(workspace, commit), read)
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


# --- as a file --------------------------------------------------------------------------------------------


def export_index(workspace: Workspace, file: Path, progress: Progress) -> Header:
    """Bring the index of the whole tree up to date, and write it into one file; returns the header of the file.

    The whole tree also where searches use the team's index, and the tree's own holds only what differs from it.

    Raises:
        HybridError: The file cannot be written there, or the tree has no document.
        ProjectError: No project, or one that must not be indexed.
        ModelError: The embedder cannot be loaded.
        BusyError: Another build is running.
        OSError: The file cannot be written.
    """
    from hybrid.index.bundle import BUNDLE_FORMAT, Header, write_bundle

    _require_writable(file)
    workspace = whole_tree(workspace)
    bring_up_to_date(workspace, BuildRequest(wait_s=_WAIT_S), progress=progress)
    tools, place = _tools(workspace), workspace.place
    with _whole_index(workspace) as catalog, _folder(place) as folder:
        documents = catalog.indexed()
        if not documents:
            raise HybridError("the index holds no document: there is nothing to export")
        n_chunks = catalog.figures()["chunks"]
        segment = _one_segment(place, catalog, tools, folder)
        made = (tools.embedder.info.key, tools.how.of_chunks, tools.background)
        header = Header(
            BUNDLE_FORMAT, FORMAT_VERSION, *made, workspace.require_project().name, len(documents), n_chunks, {}
        )
        return write_bundle(file, segment, catalog, header)


def _require_writable(file: Path) -> None:
    """Raise a HybridError when a file cannot be written at its place, before anybody waits for a build."""
    if not file.parent.is_dir():
        raise HybridError(f"{file} cannot be written: there is no folder {file.parent}; make it first")
    if file.is_dir():
        raise HybridError(f"{file} cannot be written: it is a folder; name a file in it")
    if not os.access(file.parent, os.W_OK):
        raise HybridError(f"{file} cannot be written: the folder {file.parent} is read-only")


def _one_segment(place: Place, catalog: Catalog, tools: BuildTools, folder: Path) -> Path:
    """Return a segment with all documents and no dead ones: that of the tree if it has just one, else a new one."""
    from hybrid.index.commit import write_segment

    segments = read_manifest(place.folder).segments
    if len(segments) == 1 and not segments[0].dead_documents:
        return place.folder / segments[0].file
    target = folder / "segment.safetensors"
    rows = [(path, *row) for path, row in catalog.indexed().items()]
    write_segment(catalog, target, tools, rows, None)
    return target


def import_index(workspace: Workspace, file: Path, progress: Progress, *, sha256: str = "") -> tuple[Header, Summary]:
    """Begin the index of a tree with an exported one, and index what the tree has besides; returns header and summary.

    Args:
        workspace: With a project that has no index.
        file: Anything; it is checked.
        progress: Hears how far the build is.
        sha256: As of `open_bundle`.

    Raises:
        HybridError: The tree has an index, or uses the team's, or the file is damaged, or made with another model or
            version.
        ProjectError: No project, or one that must not be indexed.
        BusyError: Another build is running.
        OSError: The disk is full or read-only.
    """
    from hybrid.index.bundle import BundleLender, open_bundle

    if reason := _reason_against(workspace):
        raise HybridError(reason)
    with _folder(workspace.place) as folder, closing(open_bundle(file, folder, sha256)) as bundle:
        tools = _tools(workspace)
        _require_fit(bundle.header, tools, file)
        _require_shapes(bundle.segment, tools, file)

        def lend(place: Place, catalog: Catalog, tools: BuildTools) -> BundleLender:
            return BundleLender(bundle, place, catalog, tools)

        # The service may build while the file is unpacked: asked again under the lock, so that the build asks `lend`.
        done = bring_up_to_date(
            workspace,
            BuildRequest(lend=lend, wait_s=_WAIT_S),
            progress=progress,
            reason_against=partial(_reason_against, workspace),
        )
        return bundle.header, done.summary


def _reason_against(workspace: Workspace) -> str:
    """Return why no index can be imported into a tree; empty when one can be."""
    root = workspace.require_project().root
    if workspace.config.index.backend == "milvus":
        return (
            f"{root} uses the team's index (index.backend is milvus), and its own holds only what differs from it: "
            "`hybrid reindex` makes that; HYBRID_INDEX_BACKEND=embedded imports an index of the whole tree"
        )
    if was_indexed(workspace):
        return f"{root} has an index: `hybrid reindex` brings it up to date, an import only makes a first one"
    return ""


def _require_fit(header: Header, tools: BuildTools, file: Path) -> None:
    """Raise a HybridError when an exported index was made in another way than these tools make one."""
    told = {
        "format of the index": (header.index_format, FORMAT_VERSION),
        "model": (header.model, tools.embedder.info.key),
        "recipe of the chunks": (header.recipe, tools.how.of_chunks),
        "background of the gate": (header.background, tools.background),
    }
    for what, (theirs, ours) in told.items():
        if theirs != ours:
            raise HybridError(
                f"{file} was made with another {what} ({theirs}) than the one here ({ours}): export it with the same "
                "version and settings of hybrid; nothing was imported"
            )


def _require_shapes(segment: Segment, tools: BuildTools, file: Path) -> None:
    """Raise a HybridError unless vectors and background have the sizes of those that these tools make."""
    from hybrid.index.drafting import encode_segment
    from hybrid.index.segment import BACKGROUND
    from hybrid.index.vectors import from_rows

    dim = tools.embedder.info.dim
    own = encode_segment([], from_rows([], dim))
    own |= tools.annotator.annotate(own) if tools.annotator else {}
    wanted = {name: own[name].shape for name in BACKGROUND if name in own}
    found = {name: segment.arrays[name].shape for name in BACKGROUND if segment.has(name)}
    if segment.vector.shape[1] != dim or found != wanted:
        raise HybridError(f"{file} is damaged (vectors or background of another size); nothing was imported")


def _tools(workspace: Workspace) -> BuildTools:
    root, settings = workspace.require_project().root, workspace.config.index
    source = file_source(root, settings, workspace.home, record_paths(workspace))
    return tools_of(workspace, source, LazyEmbedder(workspace.config.model.name, workspace.home))


@contextmanager
def _folder(place: Place) -> Generator[Path]:
    """Give an empty folder beside the catalog, and remove it in the end, and at once those that killed imports left."""
    above = place.catalog.parent
    make_private_folder(above)
    for left in above.glob(f"{_UNPACKED}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_UNPACKED, dir=above))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
