"""Converts the first static model (table.npy, weights.npz, vocab.txt) into a model folder of hybrid.

Run by hand: `python -m hybrid_lab.training.convert_static_v0 SOURCE TARGET`. Writes the weights, the vocabulary and the
configuration into TARGET, and the digests into its `manifest.toml`, whose other fields are written by a person.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import tomlkit

from hybrid.models.bag_model import BagModel, Limits, WordTokenizer, write_bag_model
from hybrid.models.manifest import MANIFEST_NAME, file_sha256

LIMITS = Limits(query_words=128, body_words=320, head_words=32)
"""As the model was trained."""

FILES = ("config.json", "config_sentence_transformers.json", "model.safetensors", "modules.json", "vocab.txt")
"""Every file that decides the vectors."""

MODULES = [{"idx": 0, "name": "0", "path": "", "type": "hybrid.models.weighted_bag.WeightedBag"}]
SENTENCE_TRANSFORMERS = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}


def convert(source: Path, target: Path) -> None:
    """Write the model files of `source` into `target` in the shipped format."""
    target.mkdir(parents=True, exist_ok=True)
    weights = np.load(source / "weights.npz")
    model = BagModel(
        tokenizer=WordTokenizer((source / "vocab.txt").read_text(encoding="utf-8").split("\n")),
        table=np.load(source / "table.npy"),
        query_weights=weights["wq"],
        document_weights=weights["wd"],
        head_weight=float(weights["h"]),
        limits=LIMITS,
    )
    write_bag_model(target, model)
    write_json(target / "modules.json", MODULES)
    write_json(target / "config_sentence_transformers.json", SENTENCE_TRANSFORMERS)


def write_json(path: Path, value: object) -> None:
    """Write indented JSON with LF line ends on every platform."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8", newline="\n")


def stamp(target: Path) -> None:
    """Bring the digests in the manifest of `target` up to date, leaving its other lines as they are."""
    path = target / MANIFEST_NAME
    manifest = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    files = tomlkit.table()
    for name in FILES:
        files[name] = file_sha256(target / name)
    manifest["files"] = files
    path.write_text(tomlkit.dumps(manifest), encoding="utf-8", newline="\n")


def main() -> None:
    """Convert and stamp, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder with table.npy, weights.npz and vocab.txt")
    parser.add_argument("target", type=Path, help="model folder to write, for example models/static-v0")
    arguments = parser.parse_args()
    convert(arguments.source, arguments.target)
    stamp(arguments.target)


if __name__ == "__main__":
    main()
