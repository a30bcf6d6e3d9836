"""A tiny weighted-bag model, and a small StaticEmbedding folder, made of nothing but this file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.arrays import write_arrays
from hybrid.models.bag_model import BagModel, Limits, WordTokenizer, write_bag_model

if TYPE_CHECKING:
    from pathlib import Path

VOCABULARY = ("retry", "client", "http", "parse", "token", "count", "<num>", "7", "con", "nect", "ion", "loop")


@pytest.fixture
def tiny_model() -> BagModel:
    """Twelve tokens, eight dimensions, fixed numbers; reads 6 words of a query, 5 of a body, 3 of a head."""
    random = np.random.default_rng(7)
    return BagModel(
        tokenizer=WordTokenizer(VOCABULARY),
        table=random.integers(-100, 100, (len(VOCABULARY), 8)).astype(np.int8),
        query_weights=random.uniform(0.1, 1, len(VOCABULARY)).astype(np.float32),
        document_weights=random.uniform(0.1, 1, len(VOCABULARY)).astype(np.float32),
        head_weight=0.5,
        limits=Limits(query_words=6, body_words=5, head_words=3),
    )


@pytest.fixture
def tiny_folder(tiny_model: BagModel, tmp_path: Path) -> Path:
    """The tiny model as a folder, without a manifest."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_bag_model(folder, tiny_model)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "hybrid.models.weighted_bag.WeightedBag"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.fixture
def token_table_folder(tmp_path: Path) -> Path:
    """A StaticEmbedding folder as sentence-transformers saves it: three words of two dimensions and [UNK]."""
    folder = tmp_path / "static-embedding"
    folder.mkdir()
    words = {"[UNK]": 0, "retry": 1, "client": 2, "loop": 3}
    tokenizer = {
        "version": "1.0",
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    types = ["sentence_transformers.models.StaticEmbedding", "sentence_transformers.models.Normalize"]
    modules = [{"idx": i, "name": str(i), "path": f"{i}_x" if i else "", "type": t} for i, t in enumerate(types)]
    (folder / "modules.json").write_text(json.dumps(modules))
    table = np.array([[1, 1], [3, 0], [0, 4], [0, 1]], np.float32)
    write_arrays(folder / "model.safetensors", {"embedding.weight": table})
    return folder
