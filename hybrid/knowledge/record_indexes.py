"""The record index: lessons, lore and memory that may be given out in a project, each kind a collection of its own.

One catalog in `$HYBRID_HOME/records` keeps texts and vectors of all; the index of a kind is what one working tree may
be given of it, with its own statistics and its own bars. It is brought up to date before it is asked: its files are
looked at, and only when one changed are records read and built, so nothing that was withdrawn is ever found.

The memory is one collection over all projects, grown by what is new. The store tells what changed since the index was
brought up to date last, so a prompt pays for the new rows alone. Rows that were forgotten vanish at once: whatever is
found is compared with the store before it is given.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.atomic import write_atomic
from hybrid.base.errors import BusyError, HybridError, IndexMismatchError, IndexUnavailableError
from hybrid.base.text import sha256_hex
from hybrid.index.analysis import recipe
from hybrid.index.manifest import FORMAT_VERSION, NAME, Place, has_other_model, is_untouched, read_manifest
from hybrid.knowledge.open_indexes import KindIndex, OpenIndex
from hybrid.knowledge.stores import memory_name, reading_of
from hybrid.models.registry import LazyEmbedder, embedder_key, gone_models
from hybrid.records.memory.types import row_name
from hybrid.redact import redact
from hybrid.search.gate import background as backgrounds
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.identity import background_key
from hybrid.search.gate.record_evidence import RecordEvidence, pieces_of_background
from hybrid.search.searcher import Searcher, open_collection
from hybrid.sources.records import MEMORY_VERSION, RECORDS_VERSION, MemorySource, RecordSource, record_text
from hybrid.types import ChunkLimits, EmbedInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.config import Config
    from hybrid.constants import GateConfig
    from hybrid.index.plan import Part, Progress, Summary
    from hybrid.knowledge.collections import RecordCollection
    from hybrid.knowledge.open_indexes import OpenIndexes
    from hybrid.knowledge.stores import RecordStores
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.types import Record
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

FOLDER = "records"
"""Name of the folder of the record index in `$HYBRID_HOME`."""

_WAIT_S = 0.3
"""Seconds to wait for another process or thread that builds an index of records; after that the last index serves."""
WHOLE = ChunkLimits(1_000_000_000, 1, 1_000_000_000)
"""Limits of chunks that no record reaches, so that a record is one chunk."""
_SEEN = "seen.json"
"""Name of the file beside an index that says what is in it.

Of lessons or lore a digest of the records and one of the manifest, of the memory the number of the last change.
"""


def place_of(home: Path, name: str) -> Place:
    """Return the paths of the index of a name, among those of all records of `home`."""
    folder = home / FOLDER
    return Place(
        catalog=folder / "catalog.db", folder=folder / "views" / name, tree=name, root=name, lock=folder / "build.lock"
    )


class RecordsIndex(KindIndex):
    """The index of a kind of records; `settings` are those of the kind, which hold its rates.

    Args:
        kind: The name of the kind, and of its section of the settings.
        workspace: With the settings in force.
        name: The name of the index.
    """

    wait_s = _WAIT_S
    version = ""
    """Changes when the same record becomes another chunk."""

    def __init__(self, kind: str, workspace: Workspace, name: str) -> None:
        config = workspace.config
        self.workspace = workspace
        self.place = place_of(workspace.home, name)
        self.settings: Any = getattr(config, kind)
        self.key = (kind, name, config.search, config.ranking, config.gate, config.model, self.settings)

    @property
    def gate(self) -> GateConfig:
        """The settings of the gate with the rates of the kind in place of those of the files."""
        rates = self.settings
        return replace(
            self.workspace.config.gate,
            max_false_open_rate=rates.max_false_open_rate,
            max_other_task_rate=rates.max_other_task_rate,
        )

    @cached_property
    def _wanted(self) -> str:
        """Key of the model of the settings; empty when that model is not there."""
        return embedder_key(self.workspace.config.model.name, self.workspace.home)

    @property
    def has_other_model(self) -> bool:
        """There is an index that another model than that of the settings has made."""
        return has_other_model(self.place.folder, self._wanted)

    def by_path(self) -> Mapping[str, Record]:
        """Return path in the index → record; empty for the memory, whose rows are read one by one."""
        return {}

    def as_it_is(self, indexes: OpenIndexes) -> OpenIndex | None:
        """As `KindIndex.as_it_is`, where no index of the model of the settings can be made or waited for."""
        is_hurried = indexes.is_lagging or indexes.most_new is not None
        if not (is_hurried or not self._wanted) or not self.has_other_model:
            return None
        return OpenIndex(self.searcher(indexes), self.stamp, self.by_path(), is_of_other_model=True)

    def open(self, indexes: OpenIndexes, before: OpenIndex | None) -> OpenIndex:
        """As `KindIndex.open`; `before` serves no one, since the index on disk is at least as new."""
        try:
            self.update(indexes)
        except (BusyError, OSError) as error:
            # Another process builds, or nothing can be written here: the last index serves, and what is found in it is
            # compared with the records, so it gives nothing wrong. The next prompt tries again.
            if not (self.place.folder / NAME).exists():
                raise
            try:
                return OpenIndex(self.searcher(indexes), None, self.by_path())
            except IndexMismatchError:
                raise error from None
        except sqlite3.DatabaseError as error:
            raise IndexUnavailableError(f"{self.place.catalog}: {error}") from error
        return OpenIndex(self.searcher(indexes), self.stamp, self.by_path())

    @abstractmethod
    def update(self, indexes: OpenIndexes) -> None:
        """Bring the index up to date; nothing is written when it is.

        Raises:
            BusyError: More records are new than are indexed at once, or another process builds.
        """

    def searcher(self, indexes: OpenIndexes) -> Searcher:
        """Open the index as it is; raises as `open_collection` does."""
        config, load = self.workspace.config, indexes.models.load
        return open_collection(self.place, config, self.workspace.home, gate=self.gate, load=load)

    def write(
        self, tools: tuple[Any, LazyEmbedder, GateAnnotator], *, progress: Progress | None = None, **task: Any
    ) -> Summary:
        """Write what a source has that the index has not; `tools` begin as `BuildTools`, `task` is of `BuildTask`."""
        # The first prompt after the service slept seldom builds.
        from hybrid.index.build import build
        from hybrid.index.plan import BuildTask, BuildTools, Recipe, silent

        source, embedder, annotator = tools
        how, is_gone = Recipe(source.chunk, WHOLE, self.version, self.version), gone_models(self.workspace.home)
        with_tools = BuildTools(source, embedder, how, annotator, progress=progress or silent, is_gone=is_gone)
        task.setdefault("wait_s", _WAIT_S)
        return build(self.place, with_tools, BuildTask(**task))

    def embedder(self, indexes: OpenIndexes | None) -> LazyEmbedder:
        """Return the embedder of the settings, loaded when it is needed."""
        load = indexes.models.load if indexes else None
        return LazyEmbedder(self.workspace.config.model.name, self.workspace.home, load=load)


# --- lessons and lore -------------------------------------------------------------------------------------


class TreeRecords(RecordsIndex):
    """The lessons or the lore that may be given in a working tree, read by a sentence transformer too.

    Args:
        kind: `lessons` or `lore`.
        workspace: With a project.
        records: The records as they are now.
        stores: What they are read by: the lore of another environment is another one.
    """

    version = RECORDS_VERSION

    def __init__(self, kind: str, workspace: Workspace, records: Sequence[Record], stores: RecordStores) -> None:
        super().__init__(kind, workspace, f"{kind}-{workspace.require_project().tree}")
        self.key = (*self.key, stores)
        self._records = records
        self.stamp = records, _stamp_of(self.place.folder)
        self.what = f"{len(records)} records are"

    @cached_property
    def _source(self) -> RecordSource:
        return RecordSource(self._records)

    def by_path(self) -> Mapping[str, Record]:
        """As `RecordsIndex.by_path`."""
        return self._source.by_path

    def searcher(self, indexes: OpenIndexes) -> Searcher:
        """As `RecordsIndex.searcher`, with what the reader of the settings read."""
        searcher, reader = super().searcher(indexes), reader_of(self.workspace, indexes)
        if reader is None:
            return searcher
        return searcher.with_reader(_open_reading(self.place.folder, searcher, reader, self.workspace.config))

    def update(self, indexes: OpenIndexes) -> None:
        """As `RecordsIndex.update`."""
        embedder, source = self.embedder(indexes), self._source
        if indexes.most_new is not None:
            n_new = len(self._records) - _n_indexed(self.place, embedder.info.key)
            if n_new > indexes.most_new:
                raise BusyError(f"{n_new} records are not indexed yet; `hybrid reindex` does it")
        annotator = GateAnnotator(embedder, self.workspace.home, records=self.workspace.config.gate)
        stamps = [f"{found.path} {found.stamp.size_bytes} {found.stamp.mtime_ns}" for found in source.scan()]
        versions = [str(FORMAT_VERSION), recipe(self.version, WHOLE), embedder.info.key, annotator.key]
        digest = sha256_hex("\n".join([*versions, *stamps]).encode("utf-8", "surrogatepass"))
        if _is_current(self.place, digest):
            return
        try:
            summary = self.write((source, embedder, annotator))
        except BusyError as error:
            raise BusyError(f"{self.what} being indexed") from error
        _note_seen(self.place, digest, summary.generation)


def reader_of(workspace: Workspace, indexes: OpenIndexes) -> LazyEmbedder | None:
    """Return the embedder that reads, not loaded yet; None when its part weighs nothing or it is not there."""
    config = workspace.config
    if indexes.most_new is None and config.model.reader and config.gate.reader:
        with contextlib.suppress(HybridError):
            return LazyEmbedder(config.model.reader, workspace.home, load=indexes.models.load)
    return None


def _is_current(place: Place, digest: str) -> bool:
    """Return whether the index holds the records of a digest and is as it was written; no database is opened."""
    try:
        known = json.loads((place.folder / _SEEN).read_bytes())
        manifest = sha256_hex((place.folder / NAME).read_bytes())
        return known == {"records": digest, "manifest": manifest} and is_untouched(
            place.folder, read_manifest(place.folder)
        )
    except (OSError, ValueError, RecursionError, IndexUnavailableError):
        return False


def _note_seen(place: Place, digest: str, generation: int) -> None:
    """Note which records an index holds; nothing is noted when another process has built since."""
    manifest = (place.folder / NAME).read_bytes()
    if json.loads(manifest)["generation"] == generation:
        seen = {"records": digest, "manifest": sha256_hex(manifest)}
        write_atomic(place.folder / _SEEN, json.dumps(seen).encode(), durable=False)


def _n_indexed(place: Place, model: str) -> int:
    """Return the number of chunks in an index, about that of its records; 0 for none, or one of another model."""
    try:
        manifest = read_manifest(place.folder)
        return sum(entry.n_chunks for entry in manifest.segments) if manifest.model == model else 0
    except (IndexUnavailableError, OSError):
        return 0


# --- what a sentence transformer read of lessons and lore ------------------------------------------------------
#
# `reading.safetensors` in the folder of an index is used only when it contains every record; until then the index
# answers without it. `OpenKinds.read` has it written in the background.


READING = "reading.safetensors"
"""Name of the file in the folder of an index, as `stores.reading_of` has it."""


def _stamp_of(folder: Path) -> tuple[int, int]:
    """Return what changes with each new reading in the folder of an index; zeros without one."""
    try:
        stat = (folder / READING).stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _open_reading(
    folder: Path, searcher: Searcher, embedder: Embedder, config: Config
) -> backgrounds.RecordReader | None:
    """Return what a reader read of the records of an open index; None when it did not read all of them yet."""
    try:
        kept = read_arrays(folder / READING)
        if kept.metadata.get("key") != _reading_key(searcher, embedder, config):
            return None
        rows, n_live = _rows(searcher, kept)
        if rows is None or n_live != len(kept["digest"]):
            return None
        scales = np.where(rows >= 0, kept["scale"][rows], np.float32(0))
        reading = backgrounds.Reading(kept["vector"][rows], scales, kept["hub"][rows], kept["background"])
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return backgrounds.RecordReader(embedder, reading)


def read_records_of(workspace: Workspace, records: RecordCollection, embedder: Embedder) -> bool:
    """Read the records of a tree that were not read before, and write what is known of all; False when all is there.

    Args:
        workspace: With the settings in force.
        records: Lessons or lore.
        embedder: The reader.

    Raises:
        ModelError: The model that reads cannot be loaded.
        OSError: The folder cannot be written.
    """
    config, searcher, by_path = workspace.config, records.searcher, records.by_path
    folder = reading_of(workspace.home, f"{records.kind}-{workspace.require_project().tree}").parent
    gate = searcher.gate
    if gate is None or not gate.judges_records:
        return False
    if _open_reading(folder, searcher, embedder, config) is not None:
        return False
    live = [row for block in searcher.backend.background.records() for row in _live(block.is_live, len(block.scales))]
    texts = [redact(record_text(by_path[path])) if path in by_path else "" for path in _paths(searcher)]
    digests = [searcher.backend.get(row).digest for row in range(searcher.backend.n_rows)]
    known = _known(folder, embedder)
    missing = [row for row, is_live in enumerate(live) if is_live and digests[row] not in known]
    vectors = embedder.embed_documents([EmbedInput("", texts[row]) for row in missing])
    known |= {digests[row]: vector for row, vector in zip(missing, vectors, strict=True)}
    background = backgrounds.load_read_background(embedder, workspace.home)
    rows = np.zeros((len(digests), embedder.info.dim), np.float32)
    for row, is_live in enumerate(live):
        if is_live:
            rows[row] = known[digests[row]]
    data, scales, hubs = backgrounds.read_records(rows, background.tasks)
    part = (background.prompts @ np.swapaxes(rows, 0, 1) - hubs) * np.float32(config.gate.reader)
    kept = list({digests[row]: row for row, is_live in enumerate(live) if is_live}.values())  # Copies are read once.
    arrays = {
        "digest": np.array([list(digests[row]) for row in kept], np.uint8).reshape(len(kept), -1),
        "vector": data[kept],
        "scale": scales[kept],
        "hub": hubs[kept].astype(np.float32),
        "background": _background(workspace, searcher, part),
    }
    metadata = {"key": _reading_key(searcher, embedder, config), "model": embedder.info.key}
    write_atomic(folder / READING, encode_arrays(arrays, metadata), durable=False)
    return True


def _background(workspace: Workspace, searcher: Searcher, part: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the largest evidence of each calibration piece for one record, with the reader's part of each prompt.

    Args:
        workspace: With the settings in force.
        searcher: Of the index.
        part: The part `reader` of each calibration prompt for each row, shape (n_prompts, n_rows).
    """
    background = backgrounds.load_background(searcher.embedder, workspace.home, background_key(searcher.embedder.info))
    pieces = pieces_of_background(background, searcher.embedder)
    assert pieces is not None  # A model whose lengths say nothing has no records that are judged one by one.
    of_piece = part[background.array("piece_prompt")]
    found, first = np.full(len(pieces.sums), -np.inf, np.float32), 0
    for block in searcher.backend.background.records():
        evidence = RecordEvidence(block)
        added = of_piece[:, first : first + len(evidence)]
        found = np.maximum(found, evidence.top_evidence(pieces, workspace.config.gate, added))
        first += len(evidence)
    return found


def _reading_key(searcher: Searcher, embedder: Embedder, config: Config) -> str:
    """Return what a reading follows from beside the records: the reader, the background, and the part's weight."""
    return f"{backgrounds.READER_VERSION} {embedder.info.key} {searcher.backend.background.key} {config.gate.reader:g}"


def _known(folder: Path, embedder: Embedder) -> dict[bytes, NDArray[np.float32]]:
    """Return digest → vector of the records that the same model read before; empty without a file."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = read_arrays(folder / READING)
        if kept.metadata.get("model") == embedder.info.key:
            vectors = kept["vector"] * kept["scale"][:, np.newaxis]
            return {digest.tobytes(): vector for digest, vector in zip(kept["digest"], vectors, strict=True)}
    return {}


def _rows(searcher: Searcher, kept: Arrays) -> tuple[NDArray[np.intp] | None, int]:
    """Return the place in a reading of each row of the index, −1 for removed ones, and how many digests are live.

    None in place of the first when a row that can be found was not read.
    """
    places = {digest.tobytes(): place for place, digest in enumerate(kept["digest"])}
    found = np.full(searcher.backend.n_rows, -1, np.intp)
    live: set[int] = set()
    row = 0
    for block in searcher.backend.background.records():
        for is_live in _live(block.is_live, len(block.scales)):
            if is_live:
                place = places.get(searcher.backend.get(row).digest)
                if place is None:
                    return None, 0
                found[row] = place
                live.add(place)
            row += 1
    return found, len(live)


def _live(is_live: NDArray[np.bool_] | None, n_rows: int) -> list[Any]:
    return [True] * n_rows if is_live is None else is_live.tolist()


def _paths(searcher: Searcher) -> list[str]:
    return [searcher.backend.get(row).path for row in range(searcher.backend.n_rows)]


# --- memory -----------------------------------------------------------------------------------------------


_CHANGES_KEPT = 10_000
"""Changes that the log of the store keeps after a build, for other indexes, which may lag behind."""
_FEW_NEW = 500
"""Changes that a search waits for: they are indexed in about a third of a second."""


class MemoryIndex(RecordsIndex):
    """The index of a memory.

    Args:
        workspace: With the settings in force.
        store: The store of the rows.
        own: Key of the one project that the index holds; empty for one of all.
    """

    version = MEMORY_VERSION
    what = "the memory is"
    may_lag = True

    def __init__(self, workspace: Workspace, store: MemoryStore, own: str) -> None:
        super().__init__("memory", workspace, memory_name(store.path, own))
        self._store = store
        self._source = MemorySource(store, own)
        self.stamp = self._newest = store.last_change()

    @property
    def gate(self) -> GateConfig:
        """As of `RecordsIndex`; it does not compare word by word."""
        return replace(super().gate, words=0.0)

    def is_near(self, opened: OpenIndex) -> bool:
        """As `KindIndex.is_near`."""
        return isinstance(opened.stamp, int) and max(0, self._newest - _FEW_NEW) <= opened.stamp

    def update(self, indexes: OpenIndexes) -> None:
        """As `RecordsIndex.update`, by the changed rows if the store still knows them, else by all.

        After a build the store forgets changes long past.
        """
        known, is_other = _read_seen(self.place), self.has_other_model
        if known == self._newest and not is_other and (self.place.folder / NAME).exists():
            return
        part = None if is_other else self.changed()
        n_new = _n_rows(self._store) if part is None else len(part.paths)
        if indexes.most_new is not None and n_new > indexes.most_new:
            raise BusyError(f"{n_new} rows of the memory are not indexed yet; the next prompt with the service does it")
        self.rewrite(indexes, part=part)
        # What came meanwhile may be in it already: it is looked at once more, which changes nothing.
        write_atomic(self.place.folder / _SEEN, json.dumps({"change": self._newest}).encode(), durable=False)
        self._store.forget_changes(self._newest - _CHANGES_KEPT)

    def changed(self) -> Part | None:
        """Return the part of the memory that changed since a build; None when unknown: the whole may have."""
        known = _read_seen(self.place)
        changes = self._store.changes_since(known) if known is not None else None
        if changes is None:
            return None
        from hybrid.index.plan import Part  # Where nothing changed, nothing is built.

        return Part(tuple(row_name(kind, number) for kind, number in changes), self._source.scan_part)

    def rewrite(self, indexes: OpenIndexes | None = None, **task: Any) -> None:
        """Write the index by the changed rows; as `write`."""
        embedder = self.embedder(indexes)
        self.write((self._source, embedder, GateAnnotator(embedder, self.workspace.home)), **task)


def indexes_of_store(workspace: Workspace, store: MemoryStore) -> list[tuple[MemoryIndex, str]]:
    """Return the indexes of a memory, each with the key of the one project that it holds, empty for all projects."""
    name = memory_name(store.path, "")
    found = sorted(folder.name for folder in (workspace.home / FOLDER / "views").glob(f"{name}*"))
    keys = [one.removeprefix(name).removeprefix("-") for one in found]
    return [(MemoryIndex(workspace, store, key), key) for key in keys]


def _read_seen(place: Place) -> int | None:
    """Return the number of the last change in the index; None when that is unknown."""
    try:
        return int(json.loads((place.folder / _SEEN).read_bytes())["change"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _n_rows(store: MemoryStore) -> int:
    figures = store.stats()
    return figures.n_observations + figures.n_summaries
