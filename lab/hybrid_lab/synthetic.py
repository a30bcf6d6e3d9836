"""Makes seeded corpora: chunks written straight into segments, and trees of small source files; for `speed` and tests.

Words are drawn from a Zipf-Mandelbrot law, as terms of code and prose are, and chunk lengths from a log-normal one.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import write_arrays
from hybrid.base.text import sha256_hex
from hybrid.index.analysis import CHUNK_FIELDS, ChunkRecord
from hybrid.index.drafting import SegmentDocument, encode_segment
from hybrid.index.manifest import FORMAT_VERSION, Manifest, SegmentEntry, write_manifest
from hybrid.index.vectors import quantise
from hybrid.types import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.plan import Annotator
    from hybrid.types import EmbedderInfo

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aou"]
_SEGMENT_CHUNKS = 25_000
_MAX_SEGMENTS = 8
_CHUNKS_A_FILE = 8
_FILES_A_FOLDER = 50


class Shape(Struct, frozen=True):
    """The shape of a corpus; the defaults are near those of source repositories in several languages.

    Attributes:
        seed: Of everything drawn.
        n_words: Size of the vocabulary.
        exponent: Of the Zipf-Mandelbrot law p(rank) ∝ 1 / (rank + offset)^exponent.
        offset: Of the same; flattens the top ranks.
        mean_tokens: Tokens of a chunk.
        spread: Standard deviation of the logarithm of the number of tokens.
    """

    seed: int = 1
    n_words: int = 50_000
    exponent: float = 1.05
    offset: float = 2.7
    mean_tokens: float = 90.0
    spread: float = 0.6


DEFAULT_SHAPE = Shape()


def word(rank: int) -> str:
    """The word of a rank from 0: at least two syllables, left alone by the stemmer, each rank another."""
    number, parts = rank + len(_SYLLABLES), list[str]()
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[digit])
    return "".join(parts)


class Words:
    """Draws words of a shape; the same seed gives the same words."""

    def __init__(self, shape: Shape = DEFAULT_SHAPE) -> None:
        self._shape = shape
        self._random = np.random.default_rng(shape.seed)
        weights = 1 / (np.arange(1, shape.n_words + 1) + shape.offset) ** shape.exponent
        self._cumulative = np.cumsum(weights / weights.sum())
        self._words = [word(rank) for rank in range(shape.n_words)]

    def bags(self, n_chunks: int) -> Iterator[dict[str, int]]:
        """Term frequencies of so many chunks."""
        shape = self._shape
        centre = np.log(shape.mean_tokens) - shape.spread**2 / 2
        lengths = np.maximum(self._random.lognormal(centre, shape.spread, n_chunks).astype(np.int64), 1)
        for length in lengths.tolist():
            ranks, counts = np.unique(self._ranks(length), return_counts=True)
            yield {self._words[rank]: n for rank, n in zip(ranks.tolist(), counts.tolist(), strict=True)}

    def queries(self, n: int, *, shortest: int = 3, longest: int = 8) -> list[str]:
        """Queries of distinct words from the same law, without the ten most frequent: they stand for function words."""
        found: list[str] = []
        lengths: list[int] = self._random.integers(shortest, longest + 1, n).tolist()
        for length in lengths:
            ranks: dict[int, None] = dict.fromkeys(rank for rank in self._ranks(20 * length).tolist() if rank >= 10)
            found.append(" ".join(self._words[rank] for rank in list(ranks)[:length]))
        return found

    def _ranks(self, n: int) -> NDArray[np.int64]:
        found = np.searchsorted(self._cumulative, self._random.random(n))
        return np.minimum(found, self._shape.n_words - 1).astype(np.int64)


def write_snapshot(
    folder: Path,
    bags: Iterator[Mapping[str, int]] | Sequence[Mapping[str, int]],
    model: EmbedderInfo,
    annotator: Annotator | None = None,
    *,
    seed: int = 1,
) -> int:
    """Write chunks of these term frequencies as a snapshot, without building from files; vectors are random units.

    Args:
        folder: Of the snapshot; made when it is not there.
        bags: Of each chunk; eight chunks make a document.
        model: Whose vectors the random ones pretend to be.
        annotator: Adds to the segments.
        seed: Of the vectors.

    Returns:
        Bytes of the snapshot on disk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(bags)
    random = np.random.default_rng(seed)
    step = max(_SEGMENT_CHUNKS, -(-len(listed) // _MAX_SEGMENTS))
    step += -step % _CHUNKS_A_FILE
    entries = tuple(
        _write_segment(folder, number, listed[at : at + step], at, model, annotator, random)
        for number, at in enumerate(range(0, len(listed), step), 1)
    )
    background = annotator.key if annotator else ""
    write_manifest(folder, Manifest(FORMAT_VERSION, 1, model.key, model.dim, "synthetic", entries, {}, background))
    return sum(path.stat().st_size for path in folder.iterdir())


def _write_segment(
    folder: Path,
    number: int,
    bags: Sequence[Mapping[str, int]],
    first: int,
    model: EmbedderInfo,
    annotator: Annotator | None,
    random: np.random.Generator,
) -> SegmentEntry:
    documents = [_document(bags[at : at + _CHUNKS_A_FILE], first + at) for at in range(0, len(bags), _CHUNKS_A_FILE)]
    vectors = random.standard_normal((len(bags), model.dim), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = quantise(vectors, np.zeros(len(bags), np.bool_))
    path = folder / f"segment-{number:08d}.safetensors"
    arrays = encode_segment(documents, stored)
    if annotator:
        arrays |= annotator.annotate(arrays)
    data = write_arrays(path, arrays, {"format": str(FORMAT_VERSION), "model": model.key})
    return SegmentEntry(path.name, len(data), path.stat().st_mtime_ns, sha256_hex(data), len(bags), ())


def _document(bags: Sequence[Mapping[str, int]], first: int) -> SegmentDocument:
    number = first // _CHUNKS_A_FILE
    path = f"d{number // _FILES_A_FOLDER:06d}/f{number:08d}.py"
    return SegmentDocument(path, number, "code", "python", [_record(bag, first + i, i) for i, bag in enumerate(bags)])


def _record(bag: Mapping[str, int], number: int, place: int) -> ChunkRecord:
    name = word(number)
    start = 1 + 20 * place
    definition = Definition(name, "function", start, start + 18, f"def {name}()", "", 0, is_value=False)
    fields: dict[str, dict[str, int]] = {field: {} for field in CHUNK_FIELDS}
    return ChunkRecord(
        start_line=start,
        end_line=start + 18,
        digest=number.to_bytes(16, "big"),
        name=name,
        kind="function",
        signature=definition.signature,
        scope="",
        body=dict(bag),
        fields=fields,
        definitions=(definition,),
        comments=(),
    )


# --- trees -------------------------------------------------------------------------------------------------


def write_tree(root: Path, n_files: int, *, seed: int = 1, age_s: float = 3600) -> None:
    """Write a tree of small Python files, each with two functions.

    Args:
        root: Folder; made when it is not there.
        n_files: How many.
        seed: Of the words.
        age_s: The files look as if they were written so many seconds ago: a stamp of just now proves nothing.
    """
    words = Words(Shape(seed=seed, n_words=5_000, mean_tokens=25))
    bags = words.bags(2 * n_files)
    for number in range(n_files):
        path = root / word(number // _FILES_A_FOLDER) / f"{word(number)}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(_function(next(bags)) for _ in range(2)), encoding="utf-8")
        make_older(path, age_s)


def make_older(path: Path, age_s: float) -> None:
    """Set the times of a file back, counted from its own."""
    stat = path.stat()
    shift = int(age_s * 1e9)
    os.utime(path, ns=(stat.st_atime_ns - shift, stat.st_mtime_ns - shift))


def _function(bag: Mapping[str, Any]) -> str:
    names = list(bag)
    name = "_".join(names[:2])
    body = "\n".join(f"    {left} = {right}" for left, right in itertools.pairwise(names))
    return f'def {name}({names[0]}):\n    """{" ".join(names)}."""\n{body}\n    return {names[-1]}\n'
