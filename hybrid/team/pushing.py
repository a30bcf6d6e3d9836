"""Puts the index of a working tree into the team's store as a generation: `hybrid index push`.

A push writes what the store does not hold and then the list of files, so that it can be killed at any time and begun
again. Another push may run at once, and may clean up what it takes for unused: the list is written, then what it names
is looked for once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import StoreDownError
from hybrid.index.drafting import inputs_of
from hybrid.team.content import Generation, StoredFile, file_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.index.catalog import Catalog, DocumentRow
    from hybrid.index.plan import Progress
    from hybrid.team.store import TeamStore
    from hybrid.types import EmbedderInfo

CALL_S = 60.0
"""Seconds that a call of a push may take: nobody waits for it as for a hook."""
_BATCH_FILES = 200
_BATCH_CHUNKS = 2_000
_TRIES = 3
"""Times that a push writes what went missing while it ran."""
_YOUNG_S = 86_400
"""Seconds for which files of no generation stay: a push that still runs, or was killed, may need them."""


class Tree(Struct, frozen=True):
    """The index of a working tree that is pushed.

    Attributes:
        catalog: Its open catalog; of what the commit holds it says what the commit says.
        model: The embedder's identity.
        figures: Figures of the index, as `figures_of` makes them.
        paths: The files of the commit: others in the index are not pushed; None for all.
    """

    catalog: Catalog
    model: EmbedderInfo
    figures: bytes
    paths: frozenset[str] | None = None


class Pushed(Struct, frozen=True):
    """The outcome of a push.

    Attributes:
        files: Files of the generation.
        written: Files that the store did not hold.
        forgotten: Older generations that were deleted.
        removed: Texts of files that no generation needs any more, and that were deleted.
    """

    files: int
    written: int
    forgotten: int
    removed: int


def push(
    store: TeamStore, repository: str, tree: Tree, *, commit: str, now_s: int, keep: int, progress: Progress
) -> Pushed:
    """Make the store hold a working tree as the generation of a commit, and delete what is too old.

    Args:
        store: An open store.
        repository: Name of the repository.
        tree: What is pushed.
        commit: Id of the commit that the tree is at.
        now_s: The time, seconds since the epoch.
        keep: Generations of the repository that stay, this one counted.
        progress: Hears how many files are done.

    Raises:
        StoreDownError: The store does not answer in time; to push again goes on where this push stopped.
    """
    rows = tree.catalog.indexed()
    if tree.paths is not None:
        rows = {path: row for path, row in rows.items() if path in tree.paths}
    ids = {
        path: file_id(repository, path, tree.catalog.digest_of(content_id), kind, language)
        for path, (content_id, kind, language) in rows.items()
    }
    n_written = 0
    for _ in range(_TRIES):
        held = store.held(repository, timeout_s=CALL_S)
        missing = [path for path in rows if ids[path] not in held]
        if n_written and not missing:
            break
        for n_done, batch in _batches(tree, rows, missing):
            progress("write", n_done, len(missing))
            store.put(repository, {ids[file.path]: file for file in batch}, now_s, timeout_s=CALL_S)
        progress("write", len(missing), len(missing))
        n_written += len(missing)
        store.wait_visible(repository, [ids[path] for path in missing], timeout_s=CALL_S)
        store.commit(repository, Generation(commit, now_s, ids, tree.figures), timeout_s=CALL_S)
        if not missing:
            break
    else:
        raise StoreDownError("the store loses files while they are written: is another push cleaning it up?")
    forgotten = forget_old(store, repository, keep)
    return Pushed(len(ids), n_written, forgotten, clean(store, repository, now_s))


def _batches(
    tree: Tree, rows: Mapping[str, DocumentRow], paths: Sequence[str]
) -> Iterator[tuple[int, list[StoredFile]]]:
    """Yield the files at some paths in lists for one call each, with the number of those before."""
    batch: list[StoredFile] = []
    n_done = n_chunks = 0
    for path in paths:
        batch.append(stored_file(tree, path, rows[path]))
        n_chunks += len(batch[-1].records)
        if len(batch) == _BATCH_FILES or n_chunks >= _BATCH_CHUNKS:
            yield n_done, batch
            n_done, n_chunks, batch = n_done + len(batch), 0, []
    if batch:
        yield n_done, batch


def stored_file(tree: Tree, path: str, row: DocumentRow) -> StoredFile:
    """Return a file of a working tree as the store keeps it."""
    content_id, kind, language = row
    catalog, model = tree.catalog, tree.model
    records = catalog.records(content_id)
    vectors = catalog.vectors(catalog.model_id(model.key), inputs_of(path, records), model.dim)
    return StoredFile(
        path=path,
        digest=catalog.digest_of(content_id),
        kind=kind,
        language=language,
        records=tuple(records),
        data=vectors.data.tobytes(),
        scale=vectors.scale.astype("<f4").tobytes(),
        is_cut=vectors.is_cut.astype("u1").tobytes(),
    )


def forget_old(store: TeamStore, repository: str, keep: int) -> int:
    """Delete all generations of a repository but the newest `keep`; return how many."""
    old = store.generations(repository, timeout_s=CALL_S)[keep:]
    for commit, _ in old:
        store.forget(repository, commit, timeout_s=CALL_S)
    return len(old)


def clean(store: TeamStore, repository: str, now_s: int, *, young_s: int = _YOUNG_S) -> int:
    """Delete the files that no generation needs and that no push wrote lately; return how many."""
    held = store.held(repository, timeout_s=CALL_S)
    needed: set[str] = set()
    for commit, _ in store.generations(repository, timeout_s=CALL_S):
        needed.update(store.generation(repository, commit, timeout_s=CALL_S).files.values())
    unused = [name for name, at_s in held.items() if name not in needed and at_s <= now_s - young_s]
    if unused:
        store.remove(repository, unused, timeout_s=CALL_S)
    return len(unused)
