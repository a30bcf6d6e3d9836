"""Reads the prompts of the background with the reader that ships, so that no user's machine has to.

Run by hand: `python -m hybrid_lab.training.read_background models/background/reader.safetensors`. It takes half a
minute, and is due when the prompts, the reader or how prompts are cleaned change.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.arrays import write_arrays
from hybrid.config import load
from hybrid.models.registry import load_embedder
from hybrid.search.gate.background import read_background, read_key

if TYPE_CHECKING:
    from hybrid.types import Embedder


def write_background(path: Path, embedder: Embedder) -> None:
    """Write the vectors, with the identity of what they were made from."""
    write_arrays(path, read_background(embedder), {"key": read_key(embedder.info), "model": embedder.info.key})
    path.chmod(0o644)  # It ships, and is nobody's own.


def main() -> None:
    """Read and write, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="file to write, models/background/reader.safetensors")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        name = load(home=Path(home), environ={}).config.model.reader
        write_background(arguments.target, load_embedder(name, home=Path(home)))


if __name__ == "__main__":
    main()
