"""The probe of a model: weights of a logistic regression "is this text about code", beside the model's files.

`lab/hybrid_lab/training/gate_probe.py` makes it. It changes no vector, so it is no part of a model's identity; a model
without one is used all the same.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.errors import ModelError
from hybrid.models.registry import model_folder

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.types import EmbedderInfo

_NAME = "probe.safetensors"


class Probe(Struct, frozen=True):
    """Weights of the logit: weight · x + bias, where x is a query's unit vector times its null factor, shape (dim,)."""

    weight: NDArray[np.float32]
    bias: float


def read_probe(model: EmbedderInfo) -> Probe | None:
    """Return the probe of a model, or None when it has none.

    Raises:
        ModelError: The probe is damaged, or was made for another model.
    """
    from hybrid.base.arrays import read_arrays  # Brings numpy, which a digest does not need.

    path = _path(model.name)
    if path is None:
        return None
    try:
        arrays = read_arrays(path)
        probe = Probe(arrays["weight"], float(arrays["bias"][0]))
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"{path} cannot be read: {error}; reinstall hybrid") from error
    made_for = arrays.metadata.get("model", model.key)
    is_same_name = made_for.startswith(f"{model.name}@")  # A folder given by its path has a name and digest of its own.
    if probe.weight.shape != (model.dim,) or (is_same_name and made_for != model.key):
        raise ModelError(f"{path} was made for another model than {model.key}; reinstall hybrid, or remove it")
    return probe


def probe_digest(name: str) -> str:
    """Return the SHA-256 in hex of a model's probe; empty when the model has none."""
    path = _path(name)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def _path(name: str) -> Path | None:
    folder = model_folder(name)
    path = folder / _NAME if folder else None
    return path if path and path.is_file() else None
