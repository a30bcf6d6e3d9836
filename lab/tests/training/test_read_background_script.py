"""The script that reads the background is run by hand; what it writes is tested here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.arrays import read_arrays
from hybrid.models.registry import HashingEmbedder
from hybrid.search.gate.background import load_read_background, read_key

if TYPE_CHECKING:
    from pathlib import Path


def test_the_file_says_what_it_was_made_from(tmp_path: Path) -> None:
    """It has the vectors that a home would keep, the identity of texts and model, and may be read by everyone."""
    from hybrid_lab.training.read_background import write_background

    embedder, path = HashingEmbedder(64), tmp_path / "reader.safetensors"
    write_background(path, embedder)
    written, made = read_arrays(path), load_read_background(embedder, tmp_path / "home")

    assert read_key(embedder.info) == written.metadata["key"]
    assert made.tasks.tobytes() == written["tasks"].astype("float32").tobytes()
    assert made.prompts.tobytes() == written["prompts"].astype("float32").tobytes()
    assert 0o644 == path.stat().st_mode & 0o777
