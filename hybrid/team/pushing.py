"""Puts the index of a working tree into the team's store as a generation: `hybrid index push`.

A push writes what the store does not hold and then the list of files, so that it can be killed at any time and begun
again. Another push may run at once, and may clean up what it takes for unused: the list is written, then what it names
is looked for once more. Texts come last, where the owner stores them; otherwise those that are there are deleted first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import StoreDownError
from hybrid.base.text import document_digest
from hybrid.index.drafting import inputs_of
from hybrid.redact import mask
from hybrid.team.store import Generation, StoredFile, StoredText, file_id, in_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hybrid.index.catalog import Catalog, DocumentRow
    from hybrid.index.plan import Progress
    from hybrid.team.store import TeamStore
    from hybrid.types import EmbedderInfo

CALL_S = 60.0
"""Seconds that a call of a push may take: nobody waits for it as for a hook."""
_BATCH_FILES = 200
_BATCH_CHUNKS = 2_000
_BATCH_CHARS = 4_000_000
"""Characters of texts that are gathered for one call."""
_TRIES = 3
"""Times that a push writes what went missing while it ran."""
_YOUNG_S = 86_400
"""Seconds for which files of no generation stay: a push that still runs, or was killed, may need them."""


class PushedTree(Struct, frozen=True):
    """The index of a working tree that is pushed.

    Attributes:
        catalog: Its open catalog; of what the commit holds it says what the commit says.
        model: The embedder's identity.
        figures: Figures of the index, as `figures_of` makes them.
        paths: The files of the commit: others in the index are not pushed; None for all.
        read: Returns the text of a path as it is now, with secrets, or None when it cannot be read. Without it no text
            is stored, and those that are stored are deleted.
    """

    catalog: Catalog
    model: EmbedderInfo
    figures: bytes
    paths: frozenset[str] | None = None
    read: Callable[[str], str | None] | None = None


class Pushed(Struct, frozen=True):
    """The outcome of a push.

    Attributes:
        files: Files of the generation.
        written: Files that the store did not hold.
        forgotten: Older generations that were deleted.
        removed: Texts of files that no generation needs any more, and that were deleted.
        texts: Files of which the text was stored, to be shown.
        texts_deleted: Files of which the stored text was deleted, since texts are not stored any more.
    """

    files: int
    written: int
    forgotten: int
    removed: int
    texts: int
    texts_deleted: int


def push(
    store: TeamStore, repository: str, tree: PushedTree, *, commit: str, now_s: int, keep: int, progress: Progress
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
    rows = _rows(tree)
    ids = {
        path: file_id(repository, path, tree.catalog.digest_of(content_id), kind, language)
        for path, (content_id, kind, language) in rows.items()
    }
    n_deleted = delete_texts(store, repository) if tree.read is None else 0
    held = store.held(repository, timeout_s=CALL_S)
    wanted = [*_missing(ids, held), *_unlisted(store, repository, ids, held, now_s)]
    n_written = 0
    for _ in range(_TRIES):
        n_written += sum(ids[path] not in held for path in wanted)
        files, n_done = (stored_file(tree, path, rows[path]) for path in wanted), 0
        for batch in in_batches(files, lambda file: len(file.records), most=_BATCH_FILES, most_size=_BATCH_CHUNKS):
            progress("write", n_done, len(wanted))
            store.put(repository, {ids[file.path]: file for file in batch}, now_s, timeout_s=CALL_S)
            n_done += len(batch)
        progress("write", len(wanted), len(wanted))
        store.wait_visible(repository, [ids[path] for path in wanted], timeout_s=CALL_S)
        store.commit(repository, Generation(commit, now_s, ids, tree.figures), timeout_s=CALL_S)
        # A cleaning that read the lists before this commit may have taken what the list names.
        held = store.held(repository, timeout_s=CALL_S)
        wanted = _missing(ids, held)
        if not wanted:
            break
    else:
        raise StoreDownError("the store loses files while they are written: is another push cleaning it up?")
    n_texts = 0 if tree.read is None else _put_texts(store, repository, tree, ids)
    forgotten = forget_old(store, repository, keep)
    return Pushed(len(ids), n_written, forgotten, clean(store, repository, now_s), n_texts, n_deleted)


def _missing(ids: Mapping[str, str], held: Mapping[str, int]) -> list[str]:
    return [path for path, name in ids.items() if name not in held]


def _unlisted(
    store: TeamStore, repository: str, ids: Mapping[str, str], held: Mapping[str, int], now_s: int
) -> list[str]:
    """Return the paths whose file is held since earlier, in no generation: a cleaning would take it for unused.

    They are written again, with the time of now.
    """
    old = {path for path, name in ids.items() if held.get(name, now_s) < now_s}
    if not old:
        return []
    listed = _listed(store, repository)
    return [path for path, name in ids.items() if path in old and name not in listed]


def _listed(store: TeamStore, repository: str) -> set[str]:
    """Return the ids of the files that any generation of a repository lists."""
    found: set[str] = set()
    for commit, _ in store.generations(repository, timeout_s=CALL_S):
        found.update(store.generation(repository, commit, timeout_s=CALL_S).files.values())
    return found


def _rows(tree: PushedTree) -> dict[str, DocumentRow]:
    """Return path → row of the files of a tree that are pushed; a store takes no path that is not UTF-8."""
    return {
        path: row
        for path, row in tree.catalog.indexed().items()
        if (tree.paths is None or path in tree.paths) and path.encode("utf-8", "ignore").decode() == path
    }


def delete_texts(store: TeamStore, repository: str) -> int:
    """Delete every stored text of a repository; return how many there were."""
    n_texts = len(store.with_text(repository, timeout_s=CALL_S))
    store.remove_texts(repository, timeout_s=CALL_S)
    return n_texts


def _put_texts(store: TeamStore, repository: str, tree: PushedTree, ids: Mapping[str, str]) -> int:
    """Store the texts of a generation that are not stored yet; return how many. Texts without a file are deleted."""
    known = store.with_text(repository, timeout_s=CALL_S)
    if lost := known - store.held(repository, timeout_s=CALL_S).keys():
        store.remove_texts(repository, lost, timeout_s=CALL_S)
    n_texts = 0
    texts = _texts(tree, [path for path, name in ids.items() if name not in known])
    for batch in in_batches(texts, lambda one: len(one.text), most=_BATCH_FILES, most_size=_BATCH_CHARS):
        store.put_texts(repository, {ids[one.path]: one for one in batch}, timeout_s=CALL_S)
        n_texts += len(batch)
    return n_texts


def _texts(tree: PushedTree, paths: Iterable[str]) -> Iterator[StoredText]:
    """Yield the texts at some paths, secrets masked, but of files that do not say any more what their index is of."""
    rows = tree.catalog.indexed()
    for path in paths:
        text = tree.read(path) if tree.read else None
        if text is not None and document_digest(text) == tree.catalog.digest_of(rows[path][0]):
            yield StoredText(path, mask(text))


def stored_file(tree: PushedTree, path: str, row: DocumentRow) -> StoredFile:
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
    needed = _listed(store, repository)
    unused = [name for name, at_s in held.items() if name not in needed and at_s <= now_s - young_s]
    if unused:
        store.remove(repository, unused, timeout_s=CALL_S)
    return len(unused)
