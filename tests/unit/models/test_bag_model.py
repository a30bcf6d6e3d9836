from pathlib import Path

import numpy as np
import pytest

from hybrid.base.errors import ModelError
from hybrid.models.bag_model import BagModel, read_bag_model


def test_reading_gives_back_what_was_written(tiny_model: BagModel, tiny_folder: Path) -> None:
    """Writing and reading a model is the identity."""
    read = read_bag_model(tiny_folder)

    assert list(tiny_model.tokenizer.vocabulary) == list(read.tokenizer.vocabulary)
    assert np.array_equal(tiny_model.table, read.table)
    assert np.array_equal(tiny_model.query_weights, read.query_weights)
    assert np.array_equal(tiny_model.document_weights, read.document_weights)
    assert (tiny_model.head_weight, tiny_model.limits) == (read.head_weight, read.limits)


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "config.json"])
def test_a_missing_file_is_named(tiny_folder: Path, name: str) -> None:
    """The error names the file and says what to do."""
    (tiny_folder / name).unlink()

    with pytest.raises(ModelError, match=rf"{name}.*reinstall hybrid or copy the folder again"):
        read_bag_model(tiny_folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("model.safetensors", b"\x00" * 40, id="weights"),
        pytest.param("config.json", b"{", id="config is no JSON"),
        pytest.param("config.json", b'{"words": 3}', id="config without the limits"),
    ],
)
def test_a_damaged_file_is_refused(tiny_folder: Path, name: str, content: bytes) -> None:
    """A file that cannot be understood is an error of the model, not a crash."""
    (tiny_folder / name).write_bytes(content)

    with pytest.raises(ModelError, match="incomplete or damaged"):
        read_bag_model(tiny_folder)


def test_a_vocabulary_that_does_not_fit_the_table_is_refused(tiny_folder: Path) -> None:
    """A token without a row would read another token's row; a line end behind the last one, as editors add it, is none."""
    path = tiny_folder / "vocab.txt"
    path.write_text(path.read_text() + "\n")
    assert 12 == len(read_bag_model(tiny_folder).tokenizer.vocabulary)
    path.write_text(path.read_text() + "more")

    with pytest.raises(ModelError, match="13 tokens"):
        read_bag_model(tiny_folder)
