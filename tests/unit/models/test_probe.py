from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.base.arrays import encode_arrays
from hybrid.base.errors import ModelError
from hybrid.base.resources import shipped
from hybrid.models.registry import hashing_info, load_embedder, probe_digest, read_probe

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import EmbedderInfo

WEIGHT = np.array([0.5, -1.0, 2.0], np.float32)


def _info(folder: Path, dim: int = 3) -> EmbedderInfo:
    """Of the model in a folder."""
    return replace(hashing_info(dim), name=str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model of three dimensions with a probe."""
    path = tmp_path / "model"
    path.mkdir()
    probe = encode_arrays({"weight": WEIGHT, "bias": np.array([0.25], np.float32)})
    (path / "probe.safetensors").write_bytes(probe)
    return path


def test_a_probe_beside_a_model(folder: Path) -> None:
    """Weights and bias as they stand in the file, with its digest."""
    probe = read_probe(_info(folder))

    assert probe is not None
    assert (WEIGHT.tolist(), 0.25) == (probe.weight.tolist(), probe.bias)
    content = (folder / "probe.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == probe_digest(str(folder))


@pytest.mark.parametrize("name", ["hashing-64", "all-MiniLM-L6-v2", "someone/unheard-of"])
def test_a_model_without_a_probe(name: str) -> None:
    """It has none, whether it has a folder or not."""

    assert (None, "") == (read_probe(hashing_info(64, name)), probe_digest(name))


def test_the_shipped_model_has_a_probe(tmp_path: Path) -> None:
    """Of its dimension, and made for this very model."""
    probe = read_probe(load_embedder("static-v1", home=tmp_path).info)

    assert probe is not None
    assert ((256,), np.float32) == (probe.weight.shape, probe.weight.dtype)
    assert hashlib.sha256(shipped("models", "static-v1", "probe.safetensors").read_bytes()).hexdigest() == probe_digest(
        "static-v1"
    )


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff" * 100, id="garbage"),
        pytest.param(encode_arrays({"weight": WEIGHT}), id="no bias"),
        pytest.param(encode_arrays({"bias": WEIGHT}), id="no weight"),
        pytest.param(encode_arrays({"weight": WEIGHT, "bias": WEIGHT[:0]}), id="empty bias"),
    ],
)
def test_a_damaged_probe_is_refused(folder: Path, content: bytes) -> None:
    """The error names the file and says what to do."""
    (folder / "probe.safetensors").write_bytes(content)

    with pytest.raises(ModelError, match=r"probe\.safetensors cannot be read.*reinstall hybrid"):
        read_probe(_info(folder))


def test_a_probe_of_another_model_is_refused(folder: Path) -> None:
    """By its dimension, or by the model that the file names: the other one is told by name, and this one reads it."""
    with pytest.raises(ModelError, match=r"was made for another model.*reinstall hybrid, or remove it"):
        read_probe(_info(folder, 4))
    probe = encode_arrays({"weight": WEIGHT, "bias": WEIGHT[:1]}, {"model": _info(folder).key})
    (folder / "probe.safetensors").write_bytes(probe)
    other = replace(_info(folder), sha256="00" * 32)

    assert read_probe(_info(folder)) is not None
    with pytest.raises(ModelError, match=f"was made for another model than {other.key}"):
        read_probe(other)
