"""The script that writes a sentence transformer for numpy, on a tiny one with weights of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.base.arrays import encode_arrays
from hybrid.models.folders import read_manifest
from hybrid.models.registry import load_embedder
from hybrid_lab.training.sentence_encoder import convert, stamp

WIDTH, INNER, LIMIT = 8, 16, 6
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "retry", "pay", "##ment"]
MANIFEST = """name = "tiny"
engine = "sentence-encoder"
dim = 8
max_tokens = 6
licence = "MIT"
provenance = "random"
"""


def _weights() -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of one layer of BERT, as transformers names them."""
    random = np.random.default_rng(1)
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": (10, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm": (WIDTH,),
        "encoder.layer.0.attention.self.query": (WIDTH, WIDTH),
        "encoder.layer.0.attention.self.key": (WIDTH, WIDTH),
        "encoder.layer.0.attention.self.value": (WIDTH, WIDTH),
        "encoder.layer.0.attention.output.dense": (WIDTH, WIDTH),
        "encoder.layer.0.attention.output.LayerNorm": (WIDTH,),
        "encoder.layer.0.intermediate.dense": (INNER, WIDTH),
        "encoder.layer.0.output.dense": (WIDTH, INNER),
        "encoder.layer.0.output.LayerNorm": (WIDTH,),
    }
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            found[name] = random.normal(size=shape).astype(np.float32)
        else:
            found[f"{name}.weight"] = random.normal(size=shape).astype(np.float32)
            found[f"{name}.bias"] = random.normal(size=shape[0]).astype(np.float32)
    return found


def _norm(rows: np.ndarray[Any, Any], arrays: dict[str, np.ndarray[Any, Any]], name: str) -> np.ndarray[Any, Any]:
    rows = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    return rows * arrays[f"{name}.weight"] + arrays[f"{name}.bias"]


def _expected(arrays: dict[str, np.ndarray[Any, Any]], numbers: list[int], n_heads: int) -> np.ndarray[Any, Any]:
    """The vector of one text by the formulas of BERT in floats, head by head."""

    def linear(rows: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
        return rows @ arrays[f"{layer}{name}.weight"].T + arrays[f"{layer}{name}.bias"]

    layer = "encoder.layer.0."
    rows = arrays["embeddings.word_embeddings.weight"][numbers]
    rows = rows + arrays["embeddings.position_embeddings.weight"][: len(numbers)]
    rows = _norm(rows + arrays["embeddings.token_type_embeddings.weight"][0], arrays, "embeddings.LayerNorm")
    query, key, value = (linear(rows, f"attention.self.{name}") for name in ("query", "key", "value"))
    size = WIDTH // n_heads
    heads: list[np.ndarray[Any, Any]] = []
    for head in range(n_heads):
        part = slice(head * size, (head + 1) * size)
        weights = np.exp(query[:, part] @ key[:, part].T / np.sqrt(size))
        heads.append(weights / weights.sum(1, keepdims=True) @ value[:, part])
    rows = rows + linear(np.concatenate(heads, axis=1), "attention.output.dense")
    rows = _norm(rows, arrays, f"{layer}attention.output.LayerNorm")
    inner = linear(rows, "intermediate.dense")
    inner = inner * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
    rows = _norm(rows + linear(inner, "output.dense"), arrays, f"{layer}output.LayerNorm")
    mean = rows.mean(0)
    return mean / np.linalg.norm(mean)


def test_a_folder_is_written_that_numpy_runs(tmp_path: Path) -> None:
    """The vectors are those of the formulas in floats but for the rounding, and the manifest names the digests."""
    source, target = tmp_path / "source", tmp_path / "tiny"
    source.mkdir()
    arrays = _weights()
    (source / "model.safetensors").write_bytes(encode_arrays(arrays))
    (source / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    (source / "config.json").write_text(json.dumps({"num_hidden_layers": 1, "num_attention_heads": 2}))
    (source / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LIMIT}))
    target.mkdir()
    (target / "manifest.toml").write_text(MANIFEST, encoding="utf-8")
    convert(source, target)
    stamp(target)
    vectors = load_embedder(str(target), home=tmp_path).embed_queries(["Retry payment", "retry", "pay " * 9])[0]

    read_manifest(target).verify(target)
    expected = [_expected(arrays, numbers, 2) for numbers in ([2, 4, 5, 6, 3], [2, 4, 3], [2, 5, 5, 5, 5, 3])]
    assert np.einsum("ij,ij->i", np.stack(expected), vectors).min() > 0.999
