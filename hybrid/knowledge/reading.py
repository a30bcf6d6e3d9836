"""Readings of lessons and lore by a sentence transformer, beside their index.

`reading.safetensors` in the folder of an index is used only when it contains every record; until then the view answers
without it. `views` has it written in the background and opens it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.atomic import write_atomic
from hybrid.redact import redact
from hybrid.search.gate.background import (
    READER_VERSION,
    Reading,
    RecordReader,
    load_background,
    load_read_background,
    read_records,
)
from hybrid.search.gate.identity import background_key
from hybrid.search.gate.meant import RecordEvidence, pieces_of_background
from hybrid.search.searcher import Searcher
from hybrid.sources.records import record_text
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.config import Config
    from hybrid.records.types import Record
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

READING = "reading.safetensors"
"""Name of the file in the folder of a view, as `stores.reading_of` has it."""


def stamp_of(folder: Path) -> tuple[int, int]:
    """Return what changes with each new reading in the folder of a view; zeros without one."""
    try:
        stat = (folder / READING).stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def open_reading(folder: Path, searcher: Searcher, embedder: Embedder, config: Config) -> RecordReader | None:
    """Return what a reader read of the records of an open view; None when it did not read all of them yet."""
    try:
        kept = read_arrays(folder / READING)
        if kept.metadata.get("key") != _reading_key(searcher, embedder, config):
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
    metadata = {"key": _reading_key(searcher, embedder, config), "model": embedder.info.key}
    write_atomic(folder / READING, encode_arrays(arrays, metadata), durable=False)
    return True


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


def _reading_key(searcher: Searcher, embedder: Embedder, config: Config) -> str:
    """Return what a reading follows from beside the records: the reader, the background, and the part's weight."""
    return f"{READER_VERSION} {embedder.info.key} {searcher.backend.background.key} {config.gate.reader:g}"


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
