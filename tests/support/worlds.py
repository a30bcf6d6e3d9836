"""Backgrounds and corpora for the gate, and a model, small enough to work out by hand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import pack_strings, write_arrays
from hybrid.constants import GateConfig
from hybrid.index.analysis import CHUNK_FIELDS, ChunkRecord
from hybrid.index.drafting import SegmentDocument, encode_segment
from hybrid.index.manifest import FORMAT_VERSION, Manifest
from hybrid.index.segment import Segment
from hybrid.index.snapshot import Snapshot
from hybrid.index.vectors import StoredVectors
from hybrid.models.registry import HashingEmbedder
from hybrid.search.gate.background import Background, segment_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.models.registry import Probe

DIM = 4
N_GENERIC = 16_000
SCALE = 0.01
SETTINGS = GateConfig(
    max_false_open_rate=0.25,
    max_other_task_rate=0.5,
    pieces=12,
    null=True,
    chat=0.5,
    chat_without_probe=0.9,
    probe=0.1,
    lexical=0.05,
    together=0.03,
    names=0.2,
    alone=0.0,
    absent=0.07,
    lacking=0.0,
    length=0.3,
    words=0.0,
    hinge=0.0,
    trigger=0.0,
    reader=0.0,
    reader_rate=1.0,
    file=0.0,
    least=0.0,
)


@dataclass(frozen=True)
class Piece:
    """One piece of a calibration prompt."""

    vector: Sequence[float]
    null: float = 1.0
    chat: float = 0.0
    logit: float = 0.0
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Held:
    """A calibration prompt; without a piece it is one that a rule silences."""

    is_talk: bool
    pieces: tuple[Piece, ...]
    n_words: int = 5


@dataclass(frozen=True)
class TinyChunk:
    """A chunk: its vector in hundredths, or None for one without, and its terms."""

    vector: Sequence[int] | None
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    """A background with the numbers that it was made of, for a second implementation to read."""

    held: tuple[Held, ...]
    generic: Mapping[str, int]
    background: Background


def make_world(
    held: Sequence[Held],
    *,
    generic: Mapping[str, int] | None = None,
    chat_bank: Sequence[Sequence[float]] = ((0, 0, 0, 1),),
    probe: Probe | None = None,
) -> World:
    """A background of these calibration prompts; `generic` counts terms in `N_GENERIC` documents of code at large."""
    generic = generic or {}
    pieces = [piece for prompt in held for piece in prompt.pieces]
    terms = sorted({term for piece in pieces for term in (*piece.words, *piece.names)})
    blob, offsets = pack_strings(terms)
    words, words_at = _ragged([[terms.index(word) for word in piece.words] for piece in pieces])
    names, names_at = _ragged([[terms.index(name) for name in piece.names] for piece in pieces])
    arrays: dict[str, NDArray[Any]] = {
        "chat_bank": np.array(chat_bank, np.float32),
        "piece_vector": np.array([piece.vector for piece in pieces], np.float32).reshape(len(pieces), DIM),
        "piece_null": np.array([piece.null for piece in pieces], np.float32),
        "piece_chat": np.array([piece.chat for piece in pieces], np.float32),
        "piece_probe": np.array([piece.logit for piece in pieces], np.float32),
        "piece_prompt": np.array([i for i, prompt in enumerate(held) for _ in prompt.pieces], np.int32),
        "prompt_is_talk": np.array([prompt.is_talk for prompt in held], np.uint8),
        "prompt_words": np.array([prompt.n_words for prompt in held], np.int32),
        "term_text": blob,
        "term_at": offsets,
        "term_generic": np.array([generic.get(term, 0) for term in terms], np.int64),
        "generic_documents": np.array([N_GENERIC], np.int64),
        "piece_words": words,
        "piece_words_at": words_at,
        "piece_names": names,
        "piece_names_at": names_at,
    }
    return World(tuple(held), generic, Background("tiny-key", arrays, probe))


def segment_file(path: Path, chunks: Sequence[TinyChunk], background: Background) -> Segment:
    """The chunks as a segment on disk, one document each, annotated with a background."""
    vector = np.array([chunk.vector or [0] * DIM for chunk in chunks], np.int8).reshape(len(chunks), DIM)
    scale = np.array([SCALE if chunk.vector else 0 for chunk in chunks], np.float32)
    documents = [
        SegmentDocument("", number, "code", "text", [_record(dict.fromkeys(chunk.terms, 1))])
        for number, chunk in enumerate(chunks)
    ]
    arrays = encode_segment(documents, StoredVectors(vector, scale, np.zeros(len(chunks), np.bool_)))
    arrays["chunk_length"] = np.ones(len(chunks), np.float32)
    write_arrays(path, arrays | segment_arrays(arrays, background))
    return Segment(path)


def _record(terms: dict[str, int]) -> ChunkRecord:
    """A chunk of these terms and nothing else."""
    fields: dict[str, dict[str, int]] = {name: {} for name in CHUNK_FIELDS}
    return ChunkRecord(1, 1, bytes(16), "", "", "", "", terms, fields, (), ())


def snapshot_of(folder: Path, world: World, *segments: Sequence[TinyChunk]) -> Snapshot:
    """A snapshot of some segments, which are written to a folder."""
    manifest = Manifest(FORMAT_VERSION, 1, "tiny", DIM, "recipe", (), {}, world.background.key)
    numbers = count(len(list(folder.iterdir())))
    opened = [
        segment_file(folder / f"segment-{next(numbers)}.safetensors", chunks, world.background) for chunks in segments
    ]
    return Snapshot(manifest, opened)


def _ragged(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.array([i for row in rows for i in row], np.int32), np.array([0, *accumulate(map(len, rows))], np.int32)


class Weighing(HashingEmbedder):
    """The hashing model, but every word has a direction of its own in few dimensions, and queries have lengths.

    A word of n letters weighs n / 4; a text is the sum of its words; one that begins with `un` is unknown.
    """

    def __init__(self, known: Mapping[str, Sequence[float]] | None = None) -> None:
        super().__init__(DIM)
        self.known = known or {}

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Unit vectors, and the lengths of the sums."""
        sums = np.array([np.sum([self._word(word) for word in text.split()], axis=0) for text in texts])
        sums = sums.reshape(len(texts), DIM)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        unit = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
        return unit.astype(np.float32), lengths[:, 0].astype(np.float32)

    def _word(self, word: str) -> NDArray[np.float64]:
        if word in self.known:
            return np.array(self.known[word], np.float64)
        if word.startswith("un"):
            return np.zeros(DIM)
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        direction = np.random.default_rng(seed).normal(size=DIM)
        return direction / np.linalg.norm(direction) * len(word) / 4
