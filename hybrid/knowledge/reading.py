"""Has a sentence transformer read records and the memory, in the background, and opens what it read beside their index.

`reading.safetensors` lies in the folder of an index. That of lessons or lore is used only when it holds every record;
until then the view answers without it. Of the memory it holds the newest rows, and the others rank as without it.
`views` and `memory_views` open it, the service's process for reading and `hybrid eval` write it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.atomic import write_atomic
from hybrid.base.digest import chunk_digest
from hybrid.base.errors import BusyError, HybridError, ModelError
from hybrid.index.vectors import quantise
from hybrid.models.registry import LazyEmbedder
from hybrid.redact import redact
from hybrid.search.gate.background import load_background
from hybrid.search.gate.identity import background_key
from hybrid.search.gate.meant import RecordEvidence, pieces_of_background
from hybrid.search.gate.reader import (
    VERSION,
    Reading,
    RecordReader,
    load_read_background,
    read_records,
    read_text,
)
from hybrid.sources.records import record_text
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.config import Config
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher
    from hybrid.types import Embedder, Hit
    from hybrid.workspace import Workspace

NAME = "reading.safetensors"
"""Name of the file in the folder of a view, as `record_files.reading_of` has it."""


MOST_ROWS = 2000
"""Rows of the memory that are read, the newest: a row takes about 30 ms, once, and a kilobyte."""
FEW_ROWS = 20
"""Changes of the memory that are not worth the start of a process."""
_MOST_CHARS = 250
"""Characters of a row that are read: its title, and the beginning of what was done. 600 find less."""


class MemoryReader(Struct, frozen=True):
    """A sentence transformer and what it read of the memory.

    Attributes:
        embedder: It is loaded with the first prompt.
        weight: Of its part in the relevance of a row.
        places: Digest of a row's text → its vector's place.
        vectors: int8, shape (n_rows, dim).
        scales: Shape (n_rows,).
    """

    embedder: Embedder
    weight: float
    places: Mapping[bytes, int]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]

    def shared(self, text: str, hits: Sequence[Hit]) -> tuple[list[float], list[float]]:
        """Return the parts of each hit's relevance for a query: its own one, and its share of the largest cosine.

        Each is weighted, so that their sum is at most 1. A row that was not read counts as the mean of those that were.
        When the model cannot be loaded, or not yet, all keep their own relevance.
        """
        plain, read = [hit.relevance for hit in hits], [0.0] * len(hits)
        places = [self.places.get(hit.digest) for hit in hits]
        known = [(number, place) for number, place in enumerate(places) if place is not None]
        if not known:
            return plain, read
        try:
            vector = self.embedder.embed_query(read_text(text))
        except (BusyError, ModelError):
            return plain, read
        taken = [place for _, place in known]
        cosines = np.maximum((self.vectors[taken].astype(np.float32) @ vector) * self.scales[taken], 0)
        own = [relevance / (1 + self.weight) for relevance in plain]
        shares = self.weight / (1 + self.weight) * cosines / (float(cosines.max()) or 1.0)
        for (number, _), share in zip(known, shares.tolist(), strict=True):
            read[number] = share
        usual = float(shares.mean())
        return [one if place is not None else one + usual for one, place in zip(own, places, strict=True)], read


def reader_of(
    workspace: Workspace, weight: float, load: Callable[[str, Path], Embedder] | None = None
) -> LazyEmbedder | None:
    """Return the embedder that reads, not loaded yet; None when its part weighs nothing or it is not there."""
    name = workspace.config.model.reader
    if not name or not weight:
        return None
    with contextlib.suppress(HybridError):
        return LazyEmbedder(name, workspace.home, load=load)
    return None


def stamp_of(folder: Path) -> tuple[int, int]:
    """Return what changes with each new reading in the folder of a view; zeros without one."""
    try:
        stat = (folder / NAME).stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def open_reading(folder: Path, searcher: Searcher, embedder: Embedder, config: Config) -> RecordReader | None:
    """Return what a reader read of the records of an open view; None when it did not read all of them yet."""
    try:
        kept = read_arrays(folder / NAME)
        if kept.metadata.get("key") != _key(searcher, embedder, config):
            return None
        rows, n_live = _rows(searcher, kept)
        if rows is None or n_live != len(kept["digest"]):
            return None
        scales = np.where(rows >= 0, kept["scale"][rows], np.float32(0))
        reading = Reading(kept["vector"][rows], scales, kept["hub"][rows], kept["background"])
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return RecordReader(embedder, reading)


def read_view(
    workspace: Workspace, searcher: Searcher, by_path: Mapping[str, Record], folder: Path, embedder: Embedder
) -> bool:
    """Read the records of a view that were not read before, and write what is known of all; False when all is there.

    Args:
        workspace: With the settings in force.
        searcher: Of the view.
        by_path: Path in the index → record, of the view.
        folder: Of the view's index.
        embedder: The reader.

    Raises:
        ModelError: The model that reads cannot be loaded.
        OSError: The folder cannot be written.
    """
    config, gate = workspace.config, searcher.gate
    if gate is None or not gate.judges_records:
        return False
    if open_reading(folder, searcher, embedder, config) is not None:
        return False
    live = [row for block in searcher.backend.background.records() for row in _live(block.is_live, len(block.scales))]
    texts = [redact(record_text(by_path[path])) if path in by_path else "" for path in _paths(searcher)]
    digests = [searcher.backend.get(row).digest for row in range(searcher.backend.n_rows)]
    known = _known(folder, embedder)
    missing = [row for row, is_live in enumerate(live) if is_live and digests[row] not in known]
    vectors = embedder.embed_documents([EmbedInput("", texts[row]) for row in missing])
    known |= {digests[row]: vector for row, vector in zip(missing, vectors, strict=True)}
    background = load_read_background(embedder, workspace.home)
    rows = np.zeros((len(digests), embedder.info.dim), np.float32)
    for row, is_live in enumerate(live):
        if is_live:
            rows[row] = known[digests[row]]
    data, scales, hubs = read_records(rows, background.tasks)
    part = (background.prompts @ np.swapaxes(rows, 0, 1) - hubs) * np.float32(config.gate.reader)
    kept = list({digests[row]: row for row, is_live in enumerate(live) if is_live}.values())  # Copies are read once.
    arrays = {
        "digest": np.array([list(digests[row]) for row in kept], np.uint8).reshape(len(kept), -1),
        "vector": data[kept],
        "scale": scales[kept],
        "hub": hubs[kept].astype(np.float32),
        "background": _background(workspace, searcher, part),
    }
    metadata = {"key": _key(searcher, embedder, config), "model": embedder.info.key}
    write_atomic(folder / NAME, encode_arrays(arrays, metadata), durable=False)
    return True


def open_rows(folder: Path, embedder: Embedder, weight: float) -> MemoryReader | None:
    """Return what a reader read of the memory whose index lies in a folder; None when it read nothing yet."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = read_arrays(folder / NAME)
        if kept.metadata.get("key") == _rows_key(embedder):
            places = {digest.tobytes(): place for place, digest in enumerate(kept["digest"])}
            # Copies: a mapped file could not be replaced on Windows as long as the service runs.
            vectors, scales = np.array(kept["vector"], np.int8), np.array(kept["scale"], np.float32)
            return MemoryReader(embedder, weight, places, vectors, scales)
    return None


def change_read(folder: Path, embedder: Embedder) -> int:
    """Return the number of the memory's last change when it was read last; 0 when it never was."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = read_arrays(folder / NAME)
        if kept.metadata.get("key") == _rows_key(embedder):
            return int(kept.metadata["change"])
    return 0


def read_rows(folder: Path, embedder: Embedder, texts: Sequence[str], change: int) -> None:
    """Read the rows of a memory that were not read before, and write what is known of all of them.

    Args:
        folder: Of the memory's index.
        embedder: The reader.
        texts: Of the rows, as they are searched.
        change: Number of the last change in them.

    Raises:
        ModelError: The model that reads cannot be loaded.
        OSError: The folder cannot be written.
    """
    wanted = {chunk_digest(text): text for text in texts}
    known = _known(folder, embedder)
    missing = [digest for digest in wanted if digest not in known]
    vectors = embedder.embed_documents([EmbedInput("", wanted[digest][:_MOST_CHARS]) for digest in missing])
    known |= dict(zip(missing, vectors, strict=True))
    rows = np.array([known[digest] for digest in wanted], np.float32).reshape(len(wanted), embedder.info.dim)
    stored = quantise(rows, np.zeros(len(rows), np.bool_))
    digests = np.array([list(digest) for digest in wanted], np.uint8).reshape(len(wanted), -1)
    arrays = {"digest": digests, "vector": stored.data, "scale": stored.scale}
    metadata = {"key": _rows_key(embedder), "model": embedder.info.key, "change": str(change)}
    write_atomic(folder / NAME, encode_arrays(arrays, metadata), durable=False)


def keep_rows(folder: Path, texts: Sequence[str]) -> None:
    """Take the rows that are not among these out of what was read of a memory; a damaged file is deleted.

    Raises:
        OSError: The folder cannot be written.
    """
    try:
        kept = read_arrays(folder / NAME)
        wanted = {chunk_digest(text) for text in texts}
        rows = [place for place, digest in enumerate(kept["digest"]) if digest.tobytes() in wanted]
        arrays = {name: kept[name][rows] for name in ("digest", "vector", "scale")}
        n_before, metadata = len(kept["digest"]), kept.metadata
        del kept  # A mapped file cannot be replaced on Windows.
    except FileNotFoundError:
        return
    except (ValueError, KeyError, IndexError):
        (folder / NAME).unlink(missing_ok=True)
        return
    if len(rows) < n_before:
        write_atomic(folder / NAME, encode_arrays(arrays, metadata), durable=False)


def _rows_key(embedder: Embedder) -> str:
    return f"rows {VERSION} {embedder.info.key}"


def _background(workspace: Workspace, searcher: Searcher, part: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the largest evidence of each calibration piece for one record, with the reader's part of each prompt.

    Args:
        workspace: With the settings in force.
        searcher: Of the view.
        part: The part `reader` of each calibration prompt for each row, shape (n_prompts, n_rows).
    """
    background = load_background(searcher.embedder, workspace.home, background_key(searcher.embedder.info))
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


def _key(searcher: Searcher, embedder: Embedder, config: Config) -> str:
    """Return what a reading follows from beside the records: the reader, the background, and the part's weight."""
    return f"{VERSION} {embedder.info.key} {searcher.backend.background.key} {config.gate.reader:g}"


def _known(folder: Path, embedder: Embedder) -> dict[bytes, NDArray[np.float32]]:
    """Return digest → vector of the records that the same model read before; empty without a file."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = read_arrays(folder / NAME)
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
