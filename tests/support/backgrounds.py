"""Reads the shipped models and embeds the gate's background once in a process: every new home would do it again."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.resources import shipped
from hybrid.models import bag_model, folders, sentence_encoder
from hybrid.search.gate import background, record_evidence
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.identity import background_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hybrid.models.bag_model import BagModel
    from hybrid.models.registry import Probe
    from hybrid.search.gate.background import Background
    from hybrid.search.gate.record_evidence import MeantPieces
    from hybrid.types import Embedder

_MADE: dict[str, dict[str, NDArray[Any]]] = {}
_PIECES: dict[tuple[str, bytes], MeantPieces | None] = {}
EMBED, PIECES = background.embed_background, record_evidence.pieces_of_background
"""The real ones."""


def remember_backgrounds() -> None:
    """From now on a background that was made once in this process is given again, as if its home had kept it."""

    def embed(embedder: Embedder, probe: Probe | None) -> dict[str, NDArray[Any]]:
        key = background_key(embedder.info)
        if key not in _MADE:
            _MADE[key] = EMBED(embedder, probe)
        return dict(_MADE[key])

    def pieces_of(of: Background, embedder: Embedder) -> MeantPieces | None:
        key = background_key(embedder.info), bytes(of.piece_vectors.data)
        if key not in _PIECES:
            _PIECES[key] = PIECES(of, embedder)
        return _PIECES[key]

    background.embed_background, record_evidence.pieces_of_background = embed, pieces_of
    # Whatever the model, the shipped prompts are cut into the same pieces.
    background.searched_pieces, background.gate_pieces = (
        cache(background.searched_pieces),
        cache(background.gate_pieces),
    )


def remember_models() -> None:
    """From now on the files of shipped models are read, cut into words and digested once; others as always."""
    ours = shipped("models")
    models: dict[Path, BagModel] = {}
    digests: dict[tuple[Path, int, int], str] = {}
    read, digest = bag_model.read_bag_model, folders.sha256_of_file

    def read_bag_model(folder: Path) -> BagModel:
        if ours not in folder.parents:
            return read(folder)
        if folder not in models:
            models[folder] = read(folder)
        return models[folder]

    def sha256_of_file(file: Path) -> str:
        if ours not in file.parents:
            return digest(file)
        state = file.stat()
        key = file, state.st_size, state.st_mtime_ns
        if key not in digests:
            digests[key] = digest(file)
        return digests[key]

    bag_model.read_bag_model, folders.sha256_of_file = read_bag_model, sha256_of_file
    sentence_encoder.WordPieces = cache(sentence_encoder.WordPieces)


def remember_annotations() -> None:
    """From now on a segment like one that was annotated in this process gets the same arrays: many tests build it."""
    kept: dict[bytes, dict[str, NDArray[Any]]] = {}
    real = GateAnnotator.annotate

    def annotate(self: GateAnnotator, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        self.prepare()  # It writes what a home keeps.
        parts = [repr((self.key, self._embedder.info, self._records)).encode()]
        for name in sorted(arrays):
            parts += [f"{name} {arrays[name].dtype} {arrays[name].shape}".encode(), arrays[name].tobytes()]
        key = hashlib.sha256(b"\n".join(parts)).digest()
        if key not in kept:
            kept[key] = real(self, arrays)
        return dict(kept[key])

    GateAnnotator.annotate = annotate


def make_backgrounds(*models: str) -> None:
    """Make those of some shipped models now, for processes that are forked from this one."""
    from hybrid.models.registry import load_embedder

    for model in models:
        embedder = load_embedder(model, home=Path())  # Where fetched models are noted: shipped ones are not.
        background.embed_background(embedder, background.read_probe(embedder.info))
