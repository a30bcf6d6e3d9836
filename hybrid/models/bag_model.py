"""The files of a weighted-bag model: reads and writes `model.safetensors`, `vocab.txt` and `config.json` of a folder.

Called by `static`, `weighted_bag` and the conversion script in `training/`; it computes no vectors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.arrays import read_arrays, write_arrays
from hybrid.base.errors import ModelError
from hybrid.models.bags import Limits
from hybrid.models.words import WordTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS = "model.safetensors"
_VOCABULARY = "vocab.txt"
_CONFIG = "config.json"


class BagModel(Struct, frozen=True):
    """A weighted-bag model as it lies on disk.

    Attributes:
        tokenizer: With the vocabulary in row order.
        table: One row a token, int8 or float, shape (n_tokens, dim); its scale is folded into the weights.
        query_weights: Weight of each token in queries, float32, shape (n_tokens,).
        document_weights: The same in documents.
        head_weight: What a token of the head line counts against one of the body.
        limits: How many words count.
    """

    tokenizer: WordTokenizer
    table: NDArray[Any]
    query_weights: NDArray[np.float32]
    document_weights: NDArray[np.float32]
    head_weight: float
    limits: Limits


def read_bag_model(folder: Path) -> BagModel:
    """Map a model's arrays and read its vocabulary.

    Raises:
        ModelError: A file is missing or damaged, or the files do not fit together.
    """
    try:
        arrays = read_arrays(folder / _WEIGHTS)
        vocabulary = (folder / _VOCABULARY).read_text(encoding="utf-8").split("\n")
        limits = Limits(**json.loads((folder / _CONFIG).read_bytes()))
        model = BagModel(
            tokenizer=WordTokenizer(vocabulary[:-1] if vocabulary[-1] == "" else vocabulary),
            table=arrays["table"],
            query_weights=arrays["query_weights"],
            document_weights=arrays["document_weights"],
            head_weight=float(arrays["head_weight"][0]),
            limits=limits,
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ModelError(
            f"the model in {folder} is incomplete or damaged ({error}); reinstall hybrid or copy the folder again"
        ) from error
    _check(model, folder)
    return model


def _check(model: BagModel, folder: Path) -> None:
    n_tokens = len(model.tokenizer.vocabulary)
    shapes = (model.table.shape[:1], model.query_weights.shape, model.document_weights.shape)
    if model.table.ndim != 2 or any(shape != (n_tokens,) for shape in shapes):
        raise ModelError(
            f"the model in {folder} does not fit together: {n_tokens} tokens in {_VOCABULARY}, arrays of {shapes}; "
            "reinstall hybrid or copy the folder again"
        )


def write_bag_model(folder: Path, model: BagModel) -> None:
    """Write the three files into an existing folder.

    Raises:
        OSError: The disk is full or read-only.
    """
    import numpy as np

    arrays: dict[str, NDArray[Any]] = {
        "table": model.table,
        "query_weights": model.query_weights,
        "document_weights": model.document_weights,
        "head_weight": np.asarray([model.head_weight], np.float64),
    }
    write_arrays(folder / _WEIGHTS, arrays, {"format": "pt"})
    (folder / _VOCABULARY).write_text("\n".join(model.tokenizer.vocabulary), encoding="utf-8", newline="\n")
    (folder / _CONFIG).write_text(json.dumps(asdict(model.limits), indent=2) + "\n", encoding="utf-8", newline="\n")
