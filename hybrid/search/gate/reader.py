"""The part `reader` of the evidence for a record: a sentence transformer's cosine, beside that of the index's model.

    reader(prompt, record) = weight · (cosine − hub)

A static table sees words; a sentence transformer sees that a prompt and a record say the same in other words. It reads
records once, in the background (`knowledge.reading`), and the beginning of each prompt. The hub of a record is its mean
cosine to the nearest tasks of other projects, as in `parts.hubness`. The bars of a collection count the part too, so it
reads the prompts of the background once; what it read stands in `$HYBRID_HOME`.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.atomic import make_private_folder, write_atomic
from hybrid.index.vectors import quantise
from hybrid.prompting.clean import clean
from hybrid.search.gate.background import FOLDER, shipped_prompts
from hybrid.search.gate.identity import prompts_digest
from hybrid.search.gate.parts import hubness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.types import Embedder

VERSION = "1"
"""Changes whenever the same prompts, records and model give other figures."""

_MOST_CHARS = 400
"""Characters of a prompt that are read: the time of a transformer grows with the text."""


class ReadBackground(Struct, frozen=True):
    """The background as a sentence transformer reads it.

    Attributes:
        tasks: Tasks of other projects, unit vectors, shape (n_tasks, dim).
        prompts: The calibration prompts, unit vectors or zeros, shape (n_prompts, dim).
    """

    tasks: NDArray[np.float32]
    prompts: NDArray[np.float32]


class Reading(Struct, frozen=True):
    """The records of one collection as a sentence transformer reads them.

    Attributes:
        vectors: int8, shape (n_rows, dim).
        scales: Scale of each vector, 0 for a row that cannot be found, shape (n_rows,).
        hubs: Shape (n_rows,).
        background: Largest evidence of each calibration piece for one record, with this part, shape (n_pieces,).
    """

    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    hubs: NDArray[np.float32]
    background: NDArray[np.float32]


class RecordReader(Struct, frozen=True):
    """A sentence transformer and what it read of a collection.

    Attributes:
        embedder: It is loaded with the first prompt.
        reading: Of the collection.
    """

    embedder: Embedder
    reading: Reading

    def evidence(self, text: str) -> NDArray[np.float32]:
        """Return cosine − hub of a cleaned prompt and each record, shape (n_rows,)."""
        vector = self.embedder.embed_query(read_text(text))
        cosines = (self.reading.vectors.astype(np.float32) @ vector) * self.reading.scales
        return cosines - self.reading.hubs


def read_text(text: str) -> str:
    """Return the part of a cleaned prompt that is read."""
    return text[:_MOST_CHARS]


def read_records(vectors: NDArray[np.float32], tasks: NDArray[np.float32]) -> tuple[Any, Any, Any]:
    """Return int8 rows, scales and hubs of the vectors of records, (n, dim), beside those of tasks, (n_tasks, dim)."""
    stored = quantise(vectors, np.zeros(len(vectors), np.bool_))
    return stored.data, stored.scale, hubness(vectors @ np.swapaxes(tasks, 0, 1))


def load_read_background(embedder: Embedder, home: Path) -> ReadBackground:
    """Load the background of a reader from `$HYBRID_HOME`, or read it now, which takes seconds, and keep it there.

    A folder that cannot be written costs the next call the same work, nothing else.
    """
    key = hashlib.sha256(f"{VERSION} {embedder.info.key} {prompts_digest()}".encode()).hexdigest()[:16]
    path = home / FOLDER / f"reader-{key}.safetensors"
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = read_arrays(path)
        return ReadBackground(kept["tasks"].astype(np.float32), kept["prompts"].astype(np.float32))
    prompts = shipped_prompts()
    tasks = _read(embedder, [prompt.text for prompt in prompts if prompt.is_bank and not prompt.is_talk])
    held = _read(embedder, [prompt.text for prompt in prompts if not prompt.is_bank])
    with contextlib.suppress(OSError):
        make_private_folder(path.parent)
        arrays = {"tasks": tasks.astype(np.float16), "prompts": held.astype(np.float16)}
        write_atomic(path, encode_arrays(arrays), durable=False)
        for other in path.parent.glob("reader-*.safetensors"):
            if other != path:
                other.unlink()
    return ReadBackground(tasks, held)


def _read(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return embedder.embed_queries([read_text(clean(text).text) for text in texts])[0]
